//! A sample of a thread as the kernel writes it (perf_event_open(2), `PERF_RECORD_SAMPLE`).

use observe::{u32_at, u64_at};

use crate::calls::SAMPLE_REGISTERS;
use crate::unwind::COUNT;

/// What a sample has: thread, time, callers, CPU, registers and stack (`PERF_SAMPLE_TID` and so on).
pub(crate) const SAMPLE: u64 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | SAMPLE_REGISTERS | 1 << 13;
/// What a chain of callers has before those in the kernel, and before those of the program.
const CONTEXT_KERNEL: u64 = (-128_i64).cast_unsigned();
const CONTEXTS: u64 = (-4_096_i64).cast_unsigned();

/// A sample as the kernel writes it.
pub(crate) struct Sample<'a> {
    pub(crate) process: u32,
    pub(crate) time: u64,
    pub(crate) cpu: u32,
    /// Addresses, innermost first.
    pub(crate) kernel: Vec<u64>,
    /// Those of the program; `None` of a thread of the kernel.
    pub(crate) registers: Option<[u64; COUNT]>,
    pub(crate) stack: &'a [u8],
}

impl<'a> Sample<'a> {
    /// `None` of one that is shorter than it says.
    pub(crate) fn parse(record: &'a [u8]) -> Option<Self> {
        let callers = usize::try_from(u64_at(record, 24)?).ok()?;
        let mut at = 32;
        let (mut kernel, mut is_in_kernel) = (Vec::new(), false);
        for _ in 0..callers {
            match u64_at(record, at)? {
                CONTEXT_KERNEL => is_in_kernel = true,
                context if context >= CONTEXTS => is_in_kernel = false,
                address if is_in_kernel => kernel.push(address),
                _ => {}
            }
            at += 8;
        }
        let has_registers = u64_at(record, at)? != 0;
        at += 8;
        let (mut registers, mut stack) = (None, &record[..0]);
        if has_registers {
            let mut values = [0; COUNT];
            for value in &mut values {
                *value = u64_at(record, at)?;
                at += 8;
            }
            registers = Some(values);
        }
        let size = usize::try_from(u64_at(record, at)?).ok()?;
        if size > 0 {
            let copied = usize::try_from(u64_at(record, at + 8 + size)?).ok()?;
            stack = record.get(at + 8..at + 8 + copied.min(size))?;
        }
        let (process, time, cpu) = (u32_at(record, 0)?, u64_at(record, 8)?, u32_at(record, 16)?);
        Some(Self { process, time, cpu, kernel, registers, stack })
    }
}
