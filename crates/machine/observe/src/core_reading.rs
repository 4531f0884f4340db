//! The core under the calling thread, at this moment: its frequency and whether it is shared.
//!
//! For measurements that are themselves as short as 100 µs and are taken between two such
//! readings. [`core_hz`](crate::core_hz) takes a hundred times as long and is that much surer.

use units::Hertz;

use crate::{ObserveError, chains, contention};

/// 20,000 cycles of one chain: 6 to 10 µs. The clock's reading errors (20 to 40 ns) are then less
/// than 1%.
const BLOCKS: u64 = 100;

/// One reading, of about 15 µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreReading {
    /// The core's frequency. An interrupt makes a reading too low, nothing makes one too high.
    pub hz: Hertz,
    /// Additions per cycle that four chains reached, right after.
    pub additions_per_cycle: f64,
}

impl CoreReading {
    /// Reads the core that the calling thread runs on; pin it first.
    pub fn take() -> Result<Self, ObserveError> {
        chains::check_supported()?;
        // A clock that stood still gives infinity, which no caller takes for a frequency.
        let (one, four) = chains::seconds(BLOCKS);
        Ok(Self {
            hz: Hertz((BLOCKS * chains::BLOCK) as f64 / one),
            additions_per_cycle: 4.0 * one / four,
        })
    }

    /// Whether nothing else used the core's adders; `None` where the number of adders is not known
    /// (it is on x86-64).
    pub fn is_quiet(&self) -> Option<bool> {
        cfg!(target_arch = "x86_64").then_some(self.additions_per_cycle >= contention::QUIET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_a_frequency_and_a_throughput() {
        let reading = CoreReading::take().unwrap();
        assert!(reading.hz.0 > 0.0 && reading.additions_per_cycle > 0.0, "{reading:?}");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_core_that_adds_less_than_it_can_is_shared() {
        let reading =
            |additions_per_cycle| CoreReading { hz: Hertz(2.7e9), additions_per_cycle }.is_quiet();
        assert_eq!(reading(3.45), Some(true));
        assert_eq!(reading(2.6), Some(false));
    }
}
