//! Where the data lies when a timed run begins.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString};

/// Where the data lies when a timed run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[derive(Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = unknown)]
pub enum Cache {
    /// In the nearest cache that holds it: the same buffer over and over.
    #[default]
    Warm,
    /// In memory: buffers side by side, all written out of the caches before each sample, and each
    /// used once in it. As data comes from a network card.
    Cold,
}

/// Bytes that a sample with cold caches goes through.
pub(crate) const ARENA: usize = 512 << 10;

fn unknown(text: &str) -> String {
    format!("`{text}` is neither `warm` nor `cold`")
}

/// Whether data can be written out of the caches here.
pub(crate) const CAN_EVICT: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The least line of a cache.
const LINE: usize = 64;

/// Writes a buffer out of all caches.
#[cfg(target_arch = "x86_64")]
pub(crate) fn evict(buffer: &[u8]) {
    for line in buffer.chunks(LINE) {
        // SAFETY: every x86-64 processor has the instruction, and the address is readable.
        unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr()) };
    }
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_mm_mfence() };
}

/// Writes a buffer out of all caches.
#[cfg(target_arch = "aarch64")]
pub(crate) fn evict(buffer: &[u8]) {
    for line in buffer.chunks(LINE) {
        // SAFETY: Linux lets programs clean and invalidate lines that they can read.
        unsafe { std::arch::asm!("dc civac, {}", in(reg) line.as_ptr(), options(nostack)) };
    }
    // SAFETY: a barrier changes nothing.
    unsafe { std::arch::asm!("dsb ish", options(nostack)) };
}

/// Nothing: callers ask [`CAN_EVICT`] first.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn evict(_buffer: &[u8]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parsed_back() {
        for cache in [Cache::Warm, Cache::Cold] {
            assert_eq!(cache.to_string().parse(), Ok(cache));
        }
        assert_eq!("hot".parse::<Cache>().unwrap_err(), "`hot` is neither `warm` nor `cold`");
    }
}
