//! What the rows of a file come to.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tls::SendMode;

use crate::BatchCounts;
use crate::block::{Block, Cells, NUMBERS};
use crate::places::{
    ACCELERATOR, CALLS, HAS_ACCELERATOR, IN_BATCHES, IN_FLIGHT_MAX, ONE_BY_ONE, OWNER, PLAIN,
    TLS_REQUESTS, USED,
};
use crate::process::RowOwner;

/// How long connections and operations may take to end after a load.
const SETTLED_WITHIN: Duration = Duration::from_secs(1);
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// What a server has sent since it started, by its own count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendCounters {
    /// Connections whose handshake is over, by how they send.
    pub connections: BTreeMap<SendMode, u64>,
    /// Calls that took bytes of memory; over TLS in user space, encrypted ones.
    pub write: Calls,
    /// Calls that took bytes of a file.
    pub sendfile: Calls,
    /// Requests that came over TLS.
    #[serde(default)]
    pub tls_requests: u64,
    /// Connections over plain HTTP.
    #[serde(default)]
    pub plain_connections: u64,
    /// Requests that came over these.
    #[serde(default)]
    pub plain_requests: u64,
    /// Where the server has an accelerator of private keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<AcceleratorCounts>,
}

/// System calls, and the bytes that they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    pub calls: u64,
    pub bytes: u64,
}

/// What private-key operations came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceleratorCounts {
    /// Operations that the accelerator took.
    pub submitted: u64,
    /// Those that it answered.
    pub completed: u64,
    /// Operations that the CPU did because the ciphertext came for the first time.
    pub computed: u64,
    /// Operations that the CPU did because the accelerator had no room, or no rate for the key.
    pub refused: u64,
    /// Operations that the CPU did because the accelerator's answer was a second late.
    pub timed_out: u64,
    /// Operations whose connection or whose process ended before the answer was there.
    #[serde(default)]
    pub abandoned: u64,
    /// The most operations that were under way at once since that was last reset.
    pub in_flight_max: u64,
    /// Where the accelerator computes in batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<BatchCounts>,
}

impl AcceleratorCounts {
    /// Operations that are neither answered nor given up.
    pub fn in_flight(&self) -> u64 {
        let sent_back = self.batches.map_or(0, |batches| batches.sent_back());
        self.submitted.saturating_sub(self.completed + self.timed_out + self.abandoned + sent_back)
    }

    /// These and those of another thread or process.
    pub fn with(&self, other: &Self) -> Self {
        let in_flight_max = self.in_flight_max.max(other.in_flight_max);
        let batches = BatchCounts::each(self.batches, other.batches, |own, other| own + other);
        Self { in_flight_max, batches, ..self.each(other, |own, other| own + other) }
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let batches = BatchCounts::each(self.batches, earlier.batches, u64::saturating_sub);
        let in_flight_max = self.in_flight_max;
        Self { in_flight_max, batches, ..self.each(earlier, u64::saturating_sub) }
    }

    fn each(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let (own, other) = (self.numbers(), other.numbers());
        Self::of_numbers(std::array::from_fn(|place| of(own[place], other[place])))
    }

    /// As they are in a row.
    pub(crate) fn numbers(&self) -> [u64; 7] {
        let Self {
            submitted,
            completed,
            computed,
            refused,
            timed_out,
            abandoned,
            in_flight_max,
            batches: _,
        } = *self;
        [submitted, completed, computed, refused, timed_out, abandoned, in_flight_max]
    }

    fn of_numbers(numbers: [u64; 7]) -> Self {
        let [submitted, completed, computed, refused, timed_out, abandoned, in_flight_max] =
            numbers;
        Self {
            submitted,
            completed,
            computed,
            refused,
            timed_out,
            abandoned,
            in_flight_max,
            batches: None,
        }
    }
}

impl SendCounters {
    /// Those in a file, when no connection is open and no operation is under way, or a second has passed.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn settled(file: &Path) -> io::Result<Self> {
        let deadline = Instant::now() + SETTLED_WITHIN;
        loop {
            let (is_settled, counters) = Self::read(file)?;
            if is_settled || Instant::now() >= deadline {
                return Ok(counters);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// With whether they are complete: nothing was under way when they were read.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn read(file: &Path) -> io::Result<(bool, Self)> {
        let block = Block::to_read(file)?;
        let mut is_settled = true;
        let mut sum = Self::default();
        // All threads count their operations in the first row, each before it settles its own: read last, it has
        // those of every row that is settled.
        for (is_row_settled, row) in block.rows().iter().rev().map(Self::of_row) {
            is_settled &= is_row_settled;
            sum.add(&row);
        }
        let in_flight = sum.accelerator.as_ref().map_or(0, AcceleratorCounts::in_flight);
        Ok((is_settled && in_flight == 0, sum))
    }

    /// Begins `in_flight_max` of a file anew.
    ///
    /// # Errors
    /// As those of [`read`](Self::read).
    pub fn reset_in_flight_max(file: &Path) -> io::Result<()> {
        for Cells { numbers, .. } in Block::to_read(file)?.rows() {
            numbers[IN_FLIGHT_MAX].store(0, Relaxed);
        }
        Ok(())
    }

    /// Operations of the process whose row it is that are under way.
    pub(crate) fn in_flight_of(cells: &Cells) -> u64 {
        let counted = Self::counted_in(cells).1.accelerator;
        counted.map_or(0, |counts| counts.in_flight())
    }

    fn of_row(cells: &Cells) -> (bool, Self) {
        // Before its counts are read: those of a process that is gone are the last.
        let owner = RowOwner(cells.numbers[OWNER].load(Acquire));
        let is_gone = owner.0 != 0 && owner.is_gone();
        let (is_settled, mut counters) = Self::counted_in(cells);
        if is_gone && let Some(counts) = &mut counters.accelerator {
            counts.abandoned += counts.in_flight();
        }
        (is_settled, counters)
    }

    fn counted_in(cells: &Cells) -> (bool, Self) {
        let version = cells.version.load(Acquire);
        let mut numbers = [0; NUMBERS];
        // What is never counted is not read: a row that is read for long is more often one that has changed.
        let in_batches = cells.numbers[HAS_ACCELERATOR].load(Acquire) == IN_BATCHES;
        let used = if in_batches { USED } else { IN_FLIGHT_MAX + 1 };
        // The ends of operations before their begins: as many of both means that none was under way.
        for (number, cell) in numbers[..used].iter_mut().zip(&cells.numbers[..used]).rev() {
            *number = cell.load(Acquire);
        }
        let is_settled = version.is_multiple_of(2) && cells.version.load(Relaxed) == version;
        let calls = |place| Calls { calls: numbers[place], bytes: numbers[place + 1] };
        let accelerator = std::array::from_fn(|place| numbers[ACCELERATOR + place]);
        let accelerator = AcceleratorCounts::of_numbers(accelerator);
        let batches = || {
            BatchCounts::of_numbers(&std::array::from_fn(|place| {
                numbers[IN_FLIGHT_MAX + 1 + place]
            }))
        };
        let counters = Self {
            connections: SendMode::ALL.iter().copied().zip(numbers).collect(),
            write: calls(CALLS),
            sendfile: calls(CALLS + 2),
            tls_requests: numbers[TLS_REQUESTS],
            plain_connections: numbers[PLAIN],
            plain_requests: numbers[PLAIN + 1],
            accelerator: match numbers[HAS_ACCELERATOR] {
                ONE_BY_ONE => Some(accelerator),
                IN_BATCHES => Some(AcceleratorCounts { batches: Some(batches()), ..accelerator }),
                _ => None,
            },
        };
        (is_settled, counters)
    }

    /// Handshakes that are over.
    pub fn handshakes(&self) -> u64 {
        self.connections.values().sum()
    }

    /// Connections that the kernel encrypts.
    pub fn kernels(&self) -> u64 {
        self.connections.iter().filter(|(mode, _)| mode.is_kernels()).map(|(_, count)| count).sum()
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
        self.tls_requests += other.tls_requests;
        self.plain_connections += other.plain_connections;
        self.plain_requests += other.plain_requests;
    }

    /// What was added since `earlier`; modes without a connection are left out.
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
            tls_requests: self.tls_requests.saturating_sub(earlier.tls_requests),
            plain_connections: self.plain_connections.saturating_sub(earlier.plain_connections),
            plain_requests: self.plain_requests.saturating_sub(earlier.plain_requests),
            accelerator: self.accelerator.map(|now| match &earlier.accelerator {
                Some(earlier) => now.since(earlier),
                None => now,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{Call, CounterRow, KeyUse, PROCESSES, UseCounts, Uses, create};

    fn file(rows: usize) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        create(file.path(), rows).unwrap();
        file
    }

    const ACCELERATED: AcceleratorCounts = AcceleratorCounts {
        submitted: 900,
        completed: 200,
        computed: 3,
        refused: 4,
        timed_out: 50,
        abandoned: 6,
        in_flight_max: 70,
        batches: None,
    };

    #[test]
    fn the_counts_of_all_threads_are_added() {
        let file = file(2);
        let settled = || SendCounters::settled(file.path()).unwrap();
        let count = |row: CounterRow, bytes| {
            row.count_connection(SendMode::User);
            row.count_connection(SendMode::KtlsWrite);
            row.count_connection(SendMode::KtlsWrite);
            row.count_call(Call::Write, bytes);
            row.count_call(Call::Sendfile, 2 * bytes);
            row.count_call(Call::Sendfile, 2 * bytes);
            row.count_plain_connection();
            row.count_requests(true, 7);
            row.count_requests(false, 2);
        };
        let rows = CounterRow::open(file.path()).unwrap();
        assert_eq!(rows.len(), 2);
        count(rows[0], 5);
        let one = settled();
        assert_eq!(one.write, Calls { calls: 1, bytes: 5 });
        assert_eq!(one.sendfile, Calls { calls: 2, bytes: 20 });
        count(rows[1], u64::MAX >> 3);
        let both = settled();
        assert_eq!((both.connections[&SendMode::KtlsWrite], both.kernels()), (4, 4));
        assert_eq!((both.write.bytes, both.accelerator), (5 + (u64::MAX >> 3), None));
        assert_eq!(one.since(&both), SendCounters::default());
        let requests =
            |of: &SendCounters| (of.tls_requests, of.plain_connections, of.plain_requests);
        assert_eq!((both.handshakes(), requests(&both)), (6, (14, 2, 4)));
        assert_eq!(requests(&both.since(&one)), (7, 1, 2));
        assert_eq!(
            both.since(&one).connections,
            [(SendMode::User, 1), (SendMode::KtlsWrite, 2)].into()
        );
        create(file.path(), 2).unwrap();
        assert_eq!(settled().kernels(), 0);
    }

    #[test]
    fn accelerated_operations_of_all_processes_add_up_and_their_most_is_the_largest() {
        let file = file(1);
        // Each maps the file as a process of its own does.
        for _ in 0..2 {
            let row = CounterRow::open(file.path()).unwrap()[0];
            row.has_accelerator(false);
            row.count_accelerated(&ACCELERATED);
        }
        let (is_settled, before) = SendCounters::read(file.path()).unwrap();
        let both = before.accelerator.unwrap();
        assert_eq!(both, ACCELERATED.with(&ACCELERATED));
        assert_eq!((both.submitted, both.in_flight_max, both.in_flight()), (1800, 70, 1288));
        assert!(!is_settled);
        let over = AcceleratorCounts { completed: 1288, ..AcceleratorCounts::default() };
        CounterRow::open(file.path()).unwrap()[0].count_accelerated(&over);
        SendCounters::reset_in_flight_max(file.path()).unwrap();
        let (is_settled, after) = SendCounters::read(file.path()).unwrap();
        assert!(is_settled);
        assert_eq!(after.since(&before).accelerator, Some(over));
    }

    #[test]
    fn batches_are_counted_where_there_are_some() {
        let file = file(1);
        let row = CounterRow::open(file.path()).unwrap()[0];
        row.has_accelerator(true);
        let mut batches = BatchCounts {
            by_size: [1, 0, 0, 0, 0, 0, 0, 9],
            computing_ns: 4,
            waited_ns: 5,
            pause_ns: 0,
            uses: Uses::default(),
        };
        batches.uses[KeyUse::RsaDecrypt].submitted = u64::MAX >> 1;
        let last = &mut batches.uses[KeyUse::EcdhDerive];
        *last = UseCounts { below_break_even: 2, faulty: 3, ..*last };
        let new = AcceleratorCounts { submitted: 73, batches: Some(batches), ..ACCELERATED };
        row.count_accelerated(&AcceleratorCounts { completed: 12, timed_out: 50, ..new });
        let (is_settled, counted) = SendCounters::read(file.path()).unwrap();
        let counted = counted.accelerator.unwrap();
        assert_eq!((counted.batches, counted.in_flight()), (Some(batches), 0));
        assert!(is_settled);
        assert_eq!(counted.since(&counted).batches, Some(BatchCounts::default()));
        // Break-evens and pauses are measured and not counted.
        row.set_break_even(KeyUse::EcdhDerive, 5);
        row.set_break_even(KeyUse::EcdhDerive, 3);
        row.set_pause(7);
        let counted = SendCounters::read(file.path()).unwrap().1.accelerator.unwrap();
        for both in [counted.since(&counted), counted.with(&counted)] {
            let both = both.batches.unwrap();
            assert_eq!((both.uses[KeyUse::EcdhDerive].break_even, both.pause_ns), (5, 7));
        }
        assert_eq!(counted.with(&counted).batches.unwrap().by_size[7], 18);
    }

    #[test]
    fn what_a_process_that_is_gone_had_under_way_is_abandoned() {
        let file = file(1);
        let rows = CounterRow::open_for_processes(file.path()).unwrap();
        assert_eq!(rows.len(), PROCESSES);
        let counted = || SendCounters::read(file.path()).unwrap().1.accelerator.unwrap();
        let own = CounterRow::take(&rows).unwrap();
        assert_eq!(CounterRow::take(&rows), Some(own));
        rows[own].has_accelerator(false);
        rows[own].count_accelerated(&ACCELERATED);
        assert_eq!((counted().in_flight(), counted().abandoned), (644, 6));
        // The process with this number that started in the first tick of the machine.
        let block = Block::to_read(file.path()).unwrap();
        let set_owner = |place: usize, owner: u64| {
            block.rows()[place].numbers[OWNER].store(owner, Relaxed);
        };
        let gone = 1 << 22 | u64::from(std::process::id());
        set_owner(own, gone);
        assert!(SendCounters::read(file.path()).unwrap().0);
        assert_eq!((counted().in_flight(), counted().abandoned), (0, 650));
        // Its row is taken where no other is left, and nothing is counted twice.
        (1..PROCESSES).for_each(|place| set_owner(place, 1));
        assert_eq!(CounterRow::take(&rows), Some(own));
        assert_eq!((counted().in_flight(), counted().abandoned), (0, 650));
        set_owner(own, 1);
        assert_eq!(CounterRow::take(&rows), None);
    }

    /// The numbers of a round follow one another, and differ from round to round: were a round called settled
    /// before its last number, or read across two rounds, they would not agree.
    #[test]
    fn settled_counts_are_never_old_or_of_two_loads() {
        /// How many rounds the reader sees, of the many that there are.
        const SEEN: u64 = 1_000;
        let file = file(1);
        let row = CounterRow::open(file.path()).unwrap()[0];
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1.. {
                    row.begin();
                    row.count_connection(SendMode::User);
                    row.count_call(Call::Write, round);
                    row.count_call(Call::Sendfile, 1);
                    row.settle();
                    if is_over.load(Relaxed) {
                        return;
                    }
                }
            });
            let block = Block::to_read(file.path()).unwrap();
            let check = || {
                let (mut last, mut seen) = (0, 0);
                while seen < SEEN {
                    let (is_settled, counters) = SendCounters::of_row(&block.rows()[0]);
                    if !is_settled {
                        continue;
                    }
                    let rounds = counters.sendfile.calls;
                    let bytes = rounds * (rounds + 1) / 2;
                    let connections = counters.connections[&SendMode::User];
                    if rounds < last || (connections, counters.write.bytes) != (rounds, bytes) {
                        return Err(Box::new(counters));
                    }
                    seen += u64::from(rounds > last);
                    last = rounds;
                }
                Ok(())
            };
            let checked = check();
            is_over.store(true, Relaxed);
            checked.unwrap();
        });
    }

    #[test]
    fn a_load_that_is_under_way_is_not_settled() {
        let file = file(2);
        let rows = CounterRow::open(file.path()).unwrap();
        let is_settled = || SendCounters::read(file.path()).unwrap().0;
        assert!(is_settled());
        rows[1].begin();
        assert!(!is_settled());
        rows[1].settle();
        assert!(is_settled());
    }

    #[test]
    fn a_file_of_something_else_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "short").unwrap();
        assert!(SendCounters::settled(file.path()).is_err());
        assert!(create(Path::new("/nowhere/counters"), 1).is_err());
        assert!(CounterRow::open(Path::new("/")).is_err());
    }
}
