//! The instruments of the machine itself.

use std::time::Instant;

use observe::{CoreReading, CycleCounter, ObserveError};

use crate::sampler::{Core, Instruments, Tick};

/// The clock and the core under the calling thread, which must be pinned.
pub struct ThisCore {
    start: Instant,
    counter: Option<CycleCounter>,
}

/// Where core cycles come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CycleSource {
    /// The processor's own counter, in user mode.
    Counter,
    /// Time multiplied by the core's frequency, measured right before and after each sample.
    MeasuredFrequency,
}

impl CycleSource {
    /// In words for a reader of figures.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Counter => "the processor's cycle counter, user mode",
            Self::MeasuredFrequency => {
                "time multiplied by the core's frequency, which is measured before and after each \
                 sample by a chain of additions; this machine gives no cycle counter"
            }
        }
    }
}

impl ThisCore {
    /// For the calling thread.
    pub fn new() -> Result<Self, ObserveError> {
        CoreReading::take()?;
        Ok(Self { start: Instant::now(), counter: CycleCounter::open().ok() })
    }

    /// Where the cycles come from.
    pub fn source(&self) -> CycleSource {
        match self.counter {
            Some(_) => CycleSource::Counter,
            None => CycleSource::MeasuredFrequency,
        }
    }
}

impl Instruments for ThisCore {
    fn tick(&mut self) -> Tick {
        let cycles = self.counter.as_mut().and_then(|counter| counter.read().ok());
        Tick { nanos: u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX), cycles }
    }

    fn core(&mut self) -> Core {
        match CoreReading::take() {
            Ok(reading) => Core { hz: reading.hz.0, is_quiet: reading.is_quiet() },
            // It worked when this was made; a sample without a frequency does not count.
            Err(_) => Core { hz: f64::NAN, is_quiet: None },
        }
    }
}
