//! What single instructions cost, and the bounds that follow for algorithms.
//!
//! The latency is that of a chain in which each instruction waits for the one before. The throughput
//! is that of twelve chains side by side, more than any processor can overlap of these. Both are in
//! core cycles per instruction. Published tables have them for known processors; here they are
//! measured, because a processor under a hypervisor may not be the one that it says it is.

mod bounds;
mod instruction;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::sync::atomic::{AtomicBool, Ordering};

use cpus::{CpuList, pin_current_thread};

use crate::bench::BenchError;
use crate::routine::{Failed, Unavailable};
use crate::sampler::{Instruments, Series, Spent, Subject, TimedFigure};
use crate::{CycleSource, ThisCore};

pub use bounds::{Bound, Bounded, beaten, bounds};
use instruction::BLOCK;
pub use instruction::Instruction;

const SAMPLES: usize = 30;
/// Visits after which no quiet samples are to be expected.
const VISITS: usize = 60;

#[derive(Debug, Clone)]
pub struct Cost {
    pub instruction: Instruction,
    /// Cycles until its result can be used, and cycles from one to the next independent one; or why
    /// there are none.
    pub measured: Result<Timing, Unavailable>,
}

/// The two costs of an instruction, in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    pub latency: TimedFigure,
    /// Side by side: 0.5 means two per cycle.
    pub throughput: TimedFigure,
}

/// All that there are on this architecture.
pub fn all() -> &'static [Instruction] {
    #[cfg(target_arch = "x86_64")]
    return &x86_64::INSTRUCTIONS;
    #[cfg(not(target_arch = "x86_64"))]
    return &[];
}

/// Measures all instructions on that CPU; the rest are left out after an interrupt.
pub fn measure(
    cpu: usize,
    interrupted: &AtomicBool,
) -> Result<(Vec<Cost>, CycleSource), BenchError> {
    let work = || {
        pin_current_thread(&CpuList::from(cpu))
            .map_err(|source| BenchError::Cpu { cpu, source })?;
        let mut core = ThisCore::new()?;
        let mut costs = Vec::new();
        for &instruction in all() {
            if interrupted.load(Ordering::Relaxed) {
                break;
            }
            costs.push(Cost { instruction, measured: instruction.measure(&mut core) });
        }
        Ok((costs, core.source()))
    };
    std::thread::scope(|scope| {
        scope.spawn(work).join().map_err(|panic| BenchError::panicked(cpu, panic))?
    })
}

impl Instruction {
    fn measure(&self, instruments: &mut dyn Instruments) -> Result<Timing, Unavailable> {
        if !(self.is_here)() {
            return Err(Unavailable::because("this processor has no such instruction"));
        }
        let latency = figure(&mut Blocks(self.chain), instruments);
        let throughput = figure(&mut Blocks(self.spread), instruments);
        latency
            .zip(throughput)
            .map(|(latency, throughput)| Timing { latency, throughput })
            .ok_or_else(|| Unavailable::because("the clock stood still"))
    }
}

/// A loop of blocks; a run is one block.
struct Blocks(fn(u64));

impl Subject for Blocks {
    fn run(&mut self, runs: u64, instruments: &mut dyn Instruments) -> Result<Spent, Failed> {
        let start = instruments.tick();
        (self.0)(runs);
        Ok(Spent::between(start, instruments.tick()))
    }
}

fn figure(blocks: &mut Blocks, instruments: &mut dyn Instruments) -> Option<TimedFigure> {
    let mut series = Series::default();
    for _ in 0..VISITS {
        if series.quiet() >= SAMPLES || series.visit(blocks, instruments).is_err() {
            break;
        }
    }
    let figure = series.figure()?;
    Some(TimedFigure {
        cycles: figure.cycles.per(BLOCK as f64),
        nanos: figure.nanos / BLOCK as f64,
        ..figure
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_is_measured_or_has_a_reason() {
        let cpu = CpuList::allowed().unwrap().as_slice()[0];
        let (costs, _) = measure(cpu, &AtomicBool::new(false)).unwrap();
        assert_eq!(costs.len(), all().len());
        for cost in costs {
            match cost.measured {
                Ok(timing) => {
                    assert!(timing.latency.cycles.median > 0.0, "{}", cost.instruction.name);
                    assert!(timing.throughput.cycles.median > 0.0, "{}", cost.instruction.name);
                }
                Err(why) => assert!(!why.0.is_empty()),
            }
        }
    }

    #[test]
    fn an_instruction_that_the_processor_lacks_is_not_run() {
        let lacking = Instruction {
            name: "LACKING",
            purpose: "",
            width: 16,
            is_here: || false,
            chain: |_| panic!("it was run"),
            spread: |_| panic!("it was run"),
        };
        let mut core = ThisCore::new().unwrap();
        assert!(lacking.measure(&mut core).unwrap_err().0.contains("no such instruction"));
    }
}
