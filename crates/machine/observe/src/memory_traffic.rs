//! What moves between the processors and the memory, of the whole machine.
//!
//! The memory controllers count it, where the kernel shows their counters to this process; else the
//! processor may count what leaves its last-level caches (resctrl). Virtual machines have neither.

mod controllers;
mod resctrl;
mod source;

use std::fs::File;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use controllers::{Direction, Event};
use resctrl::Resctrl;
pub use source::MemorySource;

use crate::perf_event::{Counted, PerfEvent};
use crate::root::Root;
use crate::{Availability, ObserveError, PARANOID_ALLOWS_CPUS};

/// Bytes that moved since the counters began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryBytes {
    /// `None` where the source does not tell the directions apart.
    pub read: Option<u64>,
    pub written: Option<u64>,
    pub total: u64,
}

/// Counters that run.
#[derive(Debug)]
pub struct MemoryTraffic {
    source: MemorySource,
    counters: Counters,
}

#[derive(Debug)]
enum Counters {
    Controllers(Vec<(Event, File)>),
    Resctrl(Resctrl),
}

/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `PERF_FORMAT_TOTAL_TIME_RUNNING`: a unit with fewer counters
/// than events counts each for a part of the time.
const WITH_TIMES: u64 = 1 | 2;

impl MemoryTraffic {
    /// Begins to count.
    ///
    /// # Errors
    /// This machine has no such counters, or does not let this process read them.
    pub fn open() -> Result<Self, ObserveError> {
        let root = Root::machine();
        let controllers = controllers::find(&root).and_then(|(source, events)| {
            let open = |event: Event| event.open().map(|file| (event, file));
            let counters: io::Result<Vec<_>> = events.into_iter().map(open).collect();
            let counters = counters.map_err(|error| {
                format!(
                    "{source} cannot be read: {error}; it needs root, or \
                     kernel.perf_event_paranoid={PARANOID_ALLOWS_CPUS}"
                )
            })?;
            Ok(Self { source, counters: Counters::Controllers(counters) })
        });
        let why = match controllers {
            Ok(traffic) => return Ok(traffic),
            Err(why) => why,
        };
        let resctrl = Resctrl::find(&root)
            .map_err(|other| ObserveError::NoMemoryCounters(format!("{why}; {other}")))?;
        Ok(Self { source: MemorySource::Resctrl, counters: Counters::Resctrl(resctrl) })
    }

    pub fn source(&self) -> MemorySource {
        self.source
    }

    pub fn read(&self) -> Result<MemoryBytes, ObserveError> {
        match &self.counters {
            Counters::Resctrl(resctrl) => {
                Ok(MemoryBytes { total: resctrl.read()?, ..MemoryBytes::default() })
            }
            Counters::Controllers(counters) => {
                let counts: io::Result<Vec<(&Event, f64)>> =
                    counters.iter().map(|(event, file)| Ok((event, count(file)?))).collect();
                let counts = counts.map_err(|error| {
                    ObserveError::NoMemoryCounters(format!("they fail: {error}"))
                })?;
                Ok(sum(&counts))
            }
        }
    }
}

/// Whether this machine's memory traffic can be counted, tried.
pub(crate) fn probe() -> Availability {
    match MemoryTraffic::open().and_then(|traffic| traffic.read()) {
        Ok(_) => Availability::Available,
        Err(error) => Availability::NotAvailable(error.to_string()),
    }
}

impl Event {
    fn open(&self) -> io::Result<File> {
        let of = Counted::Cpu(self.cpu);
        let (kind, config) = (self.kind, self.config);
        PerfEvent { kind, config, read_format: WITH_TIMES, of, ..PerfEvent::default() }.open()
    }
}

/// The count of an event, for all of the time that it was open.
fn count(mut file: &File) -> io::Result<f64> {
    let mut values = [0; 24];
    file.read_exact(&mut values)?;
    Ok(of_whole_time(values))
}

/// The kernel gives the count, the time since the event was opened, and how much of that it counted.
fn of_whole_time(values: [u8; 24]) -> f64 {
    let value = |at: usize| {
        let bytes: [u8; 8] = values[at..at + 8].try_into().unwrap_or_default();
        u64::from_ne_bytes(bytes) as f64
    };
    let (count, enabled, running) = (value(0), value(8), value(16));
    if running > 0.0 { count * enabled / running } else { 0.0 }
}

fn sum(counts: &[(&Event, f64)]) -> MemoryBytes {
    let of = |direction: Option<Direction>| {
        let counts = counts.iter().filter(|(e, _)| direction.is_none_or(|d| e.direction == d));
        counts.map(|(event, count)| count * event.bytes).sum::<f64>().round() as u64
    };
    let is_split = counts.iter().all(|(event, _)| event.direction != Direction::Both);
    let side = |direction| is_split.then(|| of(Some(direction)));
    MemoryBytes { read: side(Direction::Read), written: side(Direction::Write), total: of(None) }
}

#[cfg(test)]
mod tests;
