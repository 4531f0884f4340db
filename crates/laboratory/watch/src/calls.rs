//! How often the server signs, completes a handshake and ends a connection: calls of functions that its TLS library
//! exports, counted by the kernel where they are (uprobes). A call leaves a record with one register, by which those
//! that do the work are told from those that ask for a length or wait for the client.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;

use observe::{Counted, PerfEvent, Recorder, u64_at};
use serde::{Deserialize, Serialize};

use crate::image::Mapping;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Call {
    /// `EVP_DigestSign` with memory for the signature: without, it answers with the length.
    Signature,
    /// `SSL_do_handshake` that has returned 1: the handshake is complete.
    Handshake,
    /// `SSL_free`.
    Connection,
}

/// A record has registers of the program (`PERF_SAMPLE_REGS_USER`).
pub(crate) const SAMPLE_REGISTERS: u64 = 1 << 12;
/// What perf calls the registers of x86-64 with the second argument of a function, and with what it returns, as bits.
const SECOND_ARGUMENT: u64 = 1 << 4;
const RETURNED: u64 = 1;

struct Probe {
    call: Call,
    library: &'static str,
    function: &'static str,
    is_at_return: bool,
    register: u64,
    counts: fn(u64) -> bool,
}

/// The function whose return is counted. The kernel puts an address of its own in place of the one that it returns to,
/// so that nobody finds its callers meanwhile.
pub(crate) const COUNTED_RETURN: &str = "SSL_do_handshake";

const PROBES: [Probe; 3] = [
    Probe {
        call: Call::Signature,
        library: "libcrypto.so",
        function: "EVP_DigestSign",
        is_at_return: false,
        register: SECOND_ARGUMENT,
        counts: |signature| signature != 0,
    },
    Probe {
        call: Call::Handshake,
        library: "libssl.so",
        function: COUNTED_RETURN,
        is_at_return: true,
        register: RETURNED,
        // An int: the upper half of the register is nobody's.
        counts: |returned| returned as u32 == 1,
    },
    Probe {
        call: Call::Connection,
        library: "libssl.so",
        function: "SSL_free",
        is_at_return: false,
        register: RETURNED,
        counts: |_| true,
    },
];

/// Room for records, as a power of 2 of pages: 64 KiB, some 2,700 calls.
const PAGES: u32 = 4;

/// The calls of one thread.
pub(crate) struct CallCounters(Vec<Counter>);

struct Counter {
    probe: &'static Probe,
    calls: Recorder,
    tally: Tally,
    /// What the kernel had counted when the window began.
    before: u64,
}

/// Calls, with those that count and those of which there is a record.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) counted: u64,
    pub(crate) recorded: u64,
    pub(crate) all: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.counted += other.counted;
        self.recorded += other.recorded;
        self.all += other.all;
    }

    /// How many count; of those without a record as many as of the others.
    pub(crate) fn count(&self) -> u64 {
        match self.recorded {
            0 => 0,
            recorded => (self.counted as f64 * self.all as f64 / recorded as f64).round() as u64,
        }
    }

    /// Whether each of them was looked at.
    pub(crate) fn is_exact(&self) -> bool {
        self.recorded == self.all
    }
}

/// What the kernel says of uprobes; the reason where it has none.
pub(crate) fn kind() -> Result<u32, String> {
    let path = "/sys/bus/event_source/devices/uprobe/type";
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "the kernel has no uprobes (CONFIG_UPROBE_EVENTS)".to_owned(),
        _ => format!("{path}: {error}"),
    })?;
    text.trim().parse().map_err(|_| format!("{path} has no number"))
}

impl CallCounters {
    /// Begins to count the calls of a thread of a process with these mappings; those are left out that no library has.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn open(kind: u32, mappings: &[Mapping], thread: u32) -> io::Result<Self> {
        let mut counters = Vec::new();
        for probe in &PROBES {
            let of = |map: &&Mapping| map.image.name.starts_with(probe.library);
            let mut maps = mappings.iter().filter(of);
            let Some((map, offset)) =
                maps.find_map(|map| Some((map, map.image.offset_of(probe.function)?)))
            else {
                continue;
            };
            let probe_path = CString::new(map.opened.as_os_str().as_bytes())?;
            let event = PerfEvent {
                kind,
                config: probe.is_at_return.into(),
                probe: Some((probe_path, offset)),
                period: 1,
                sample_type: SAMPLE_REGISTERS,
                registers: probe.register,
                of: Counted::Thread(thread),
                ..PerfEvent::default()
            };
            let calls = Recorder::open(&event, PAGES)?;
            counters.push(Counter { probe, calls, tally: Tally::default(), before: 0 });
        }
        Ok(Self(counters))
    }

    /// What came before now does not count.
    pub(crate) fn forget(&mut self) {
        for Counter { calls, before, .. } in &mut self.0 {
            calls.drain(|_| ());
            *before = calls.count().unwrap_or_default();
        }
    }

    /// Looks at the calls that have come.
    pub(crate) fn drain(&mut self) {
        for Counter { probe, calls, tally, .. } in &mut self.0 {
            calls.drain(|record| {
                // After the kind of registers, of which 0 means none.
                let register = u64_at(record, 8).unwrap_or_default();
                tally.recorded += 1;
                tally.counted += u64::from((probe.counts)(register));
            });
        }
    }

    /// Those that toll has looked at.
    pub(crate) fn recorded(&self) -> u64 {
        self.0.iter().map(|counter| counter.tally.recorded).sum()
    }

    /// All until now.
    pub(crate) fn add_to(&mut self, all: &mut BTreeMap<Call, Tally>) {
        self.drain();
        for Counter { probe, calls, tally, before } in &mut self.0 {
            // A counter that does not answer has counted what was recorded.
            let counted = calls.count().map_or(tally.recorded, |count| count - *before);
            tally.all = counted.max(tally.recorded);
            all.entry(probe.call).or_default().add(*tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_a_record_count_as_the_others_do() {
        let mut tally = Tally { counted: 50, recorded: 100, all: 100 };
        assert_eq!((tally.count(), tally.is_exact()), (50, true));
        tally.add(Tally { counted: 0, recorded: 0, all: 100 });
        assert_eq!((tally.count(), tally.is_exact()), (100, false));
        assert_eq!(Tally::default().count(), 0);
    }
}
