//! What the embedded server counts of what it sends.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use offload::Counts;
use serde::{Deserialize, Serialize};
use tls::SendMode;

/// How long connections and operations may take to end after a load.
const SETTLED_WITHIN: Duration = Duration::from_secs(1);
/// Between two looks.
const GLANCE: Duration = Duration::from_millis(2);

/// What a server has sent since it started, by its own count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendCounters {
    /// Connections whose handshake is over, by how they send.
    pub connections: BTreeMap<SendMode, u64>,
    /// Calls that took bytes of memory; over TLS in user space, encrypted ones.
    pub write: Calls,
    /// Calls that took bytes of a file.
    pub sendfile: Calls,
    /// Where the server has an accelerator of private keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<Counts>,
}

/// System calls, and the bytes that they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    pub calls: u64,
    pub bytes: u64,
}

/// What `read` gives when it says that nothing is under way any more, or after a second.
pub(crate) fn settled<T, E>(read: impl Fn() -> Result<(bool, T), E>) -> Result<T, E> {
    let deadline = Instant::now() + SETTLED_WITHIN;
    loop {
        match read() {
            Ok((true, counters)) => return Ok(counters),
            // A line may be half written.
            read if Instant::now() >= deadline => return read.map(|(_, counters)| counters),
            _ => thread::sleep(GLANCE),
        }
    }
}

/// A line of the file: the counts of one thread.
#[derive(Deserialize)]
struct Line {
    /// 1 where these are the last counts, and no connection is open.
    settled: u8,
    #[serde(flatten)]
    counters: SendCounters,
}

impl SendCounters {
    /// Those in the file that `toll serve --counters` keeps, when no connection is open any more or
    /// a second has passed.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn settled(file: &Path) -> Result<Self, String> {
        settled(|| Self::read(file))
    }

    /// Connections that the kernel encrypts.
    #[must_use]
    pub fn kernels(&self) -> u64 {
        self.connections.iter().filter(|(mode, _)| mode.is_kernels()).map(|(_, count)| count).sum()
    }

    /// With whether they are the last counts, and no connection is open.
    fn read(file: &Path) -> Result<(bool, Self), String> {
        let wrong = |why: String| format!("{}: {why}", file.display());
        let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let mut is_settled = true;
        let mut all = Self::default();
        for line in text.lines() {
            let line: Line =
                serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            is_settled &= line.settled == 1;
            all.add(&line.counters);
        }
        Ok((is_settled, all))
    }

    fn add(&mut self, other: &Self) {
        if let Some(theirs) = &other.accelerator {
            self.accelerator = Some(self.accelerator.unwrap_or_default().with(theirs));
        }
        for (mode, count) in &other.connections {
            *self.connections.entry(*mode).or_default() += count;
        }
        for (ours, theirs) in [(&mut self.write, other.write), (&mut self.sendfile, other.sendfile)]
        {
            ours.calls += theirs.calls;
            ours.bytes += theirs.bytes;
        }
    }

    /// What was added since `earlier`; modes without a connection are left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |now: Calls, before: Calls| Calls {
            calls: now.calls.saturating_sub(before.calls),
            bytes: now.bytes.saturating_sub(before.bytes),
        };
        let before = |mode| earlier.connections.get(mode).copied().unwrap_or(0);
        let connections = self.connections.iter().filter_map(|(mode, count)| {
            let new = count.saturating_sub(before(mode));
            (new > 0).then_some((*mode, new))
        });
        Self {
            connections: connections.collect(),
            write: less(self.write, earlier.write),
            sendfile: less(self.sendfile, earlier.sendfile),
            accelerator: self.accelerator.map(|now| match &earlier.accelerator {
                Some(earlier) => now.since(earlier),
                None => now,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"settled":1,"connections":{"user":1,"ktls-write":2,"ktls-sendfile":0},"write":{"calls":3,"bytes":4},"sendfile":{"calls":5,"bytes":6}}"#;

    #[test]
    fn the_counts_of_all_threads_are_added() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), format!("{LINE}   \n{LINE}\n")).unwrap();
        let both = SendCounters::settled(file.path()).unwrap();
        assert_eq!(both.connections[&SendMode::KtlsWrite], 4);
        assert_eq!((both.write.bytes, both.sendfile.calls), (8, 10));
        let one = SendCounters::read(file.path()).unwrap().1;
        assert_eq!(one.since(&both), SendCounters::default());
        fs::write(file.path(), LINE).unwrap();
        let half = both.since(&SendCounters::settled(file.path()).unwrap());
        assert_eq!(half.connections, [(SendMode::User, 1), (SendMode::KtlsWrite, 2)].into());
    }

    #[test]
    fn an_accelerators_counts_are_added_and_its_most_is_the_largest() {
        let of = |completed, most| Counts { completed, in_flight_max: most, ..Counts::default() };
        let line = |completed, most| {
            let accelerator = serde_json::to_string(&of(completed, most)).unwrap();
            let start = LINE.strip_suffix('}').unwrap();
            format!("{start},\"accelerator\":{accelerator}}}\n")
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), line(3, 2)).unwrap();
        let before = SendCounters::settled(file.path()).unwrap();
        fs::write(file.path(), line(5, 7) + &line(1, 4)).unwrap();
        let both = SendCounters::settled(file.path()).unwrap();
        assert_eq!(both.accelerator, Some(of(6, 7)));
        assert_eq!(both.since(&before).accelerator, Some(of(3, 7)));
    }

    #[test]
    fn a_file_of_something_else_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "{}\n").unwrap();
        assert!(SendCounters::settled(file.path()).unwrap_err().contains("missing field"));
    }
}
