//! Intel's multi-buffer library as an accelerator: it is the server's own CPU, which does up to eight
//! operations with private keys in little more than the time of one.
//!
//! A handshake that waits leaves its operation with its thread. A batch runs on that thread when eight wait,
//! when the thread has nothing else to do, or when the first has waited for company long enough. A batch
//! costs about the same however full it is, so that fewer than the break-even, which is measured for each
//! key, go back to OpenSSL. A server that moves connections between its threads may run a batch of another
//! thread's.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use counters::BatchCounts;
use crypto_mb::{CryptoMb, LANES, RsaKey, RsaOperation};
use openssl::bn::BigNumRef;
use openssl::pkey::Private;
use openssl::rsa::{Padding, Rsa};
use rustix::time::{ClockId, clock_gettime};

use crate::{Ticket, counts};

/// What an operation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A premaster secret (RFC 5246, section 7.4.7.1).
    RsaDecrypt,
    /// A signature of the server's.
    RsaSign,
}

/// The result of an operation; none where OpenSSL is to do it.
pub(crate) type Answer = Option<Vec<u8>>;

pub(crate) struct MultiBuffer {
    library: CryptoMb,
    /// How long an operation waits for company, at most.
    wait: Duration,
    operations: Mutex<Operations>,
}

/// A private key with how many operations of it a batch must have to cost less than OpenSSL.
pub(crate) struct PrivateRsa {
    key: Arc<RsaKey>,
    openssl: Rsa<Private>,
    break_even: OnceLock<usize>,
}

struct Pending {
    ticket: Ticket,
    since: Instant,
    key: Arc<PrivateRsa>,
    operation: RsaOperation,
}

#[derive(Default)]
struct Operations {
    next: u64,
    threads: HashMap<ThreadId, Waiting>,
    /// Those that nobody has taken.
    progress: HashMap<Ticket, Progress>,
}

/// The operations of a thread.
#[derive(Default)]
struct Waiting {
    /// By the sizes of their keys, of which a batch has one.
    sizes: BTreeMap<u32, VecDeque<Pending>>,
    /// Those that are over and were not named as ready.
    ready: Vec<Ticket>,
}

enum Progress {
    Waiting {
        /// The thread that it is with.
        owner: ThreadId,
        /// Whether that thread asks which are ready.
        is_polled: bool,
    },
    Over(Answer),
}

/// Which batches run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Full,
    /// And those whose first operation has waited long enough.
    Late,
    All,
}

impl MultiBuffer {
    pub(crate) fn new(library: CryptoMb, wait: Duration) -> Self {
        Self { library, wait, operations: Mutex::default() }
    }

    /// The library's name and version.
    pub(crate) fn title(&self) -> &str {
        self.library.title()
    }

    /// Leaves an operation with the calling thread, which asks whether it is [`ready`](Self::ready) if it
    /// `is_polled`; `None` where the input is none for the key.
    pub(crate) fn submit(
        &self,
        key: &Arc<PrivateRsa>,
        input: Vec<u8>,
        purpose: Purpose,
        is_polled: bool,
    ) -> Option<Ticket> {
        let operation = RsaOperation::new(Arc::clone(&key.key), input)?;
        let (owner, key, since) = (thread::current().id(), Arc::clone(key), Instant::now());
        let (ticket, in_flight) = {
            let mut operations = self.operations();
            let ticket = Ticket(operations.next);
            operations.next += 1;
            operations.progress.insert(ticket, Progress::Waiting { owner, is_polled });
            let sizes = &mut operations.threads.entry(owner).or_default().sizes;
            let queue = sizes.entry(key.key.bits()).or_default();
            queue.push_back(Pending { ticket, since, key, operation });
            (ticket, operations.progress.len())
        };
        counts::add(|counts| {
            counts.submitted += 1;
            counts.in_flight_max = in_flight as u64;
            let batches = counts.batches.get_or_insert_default();
            match purpose {
                Purpose::RsaDecrypt => batches.rsa_decrypt += 1,
                Purpose::RsaSign => batches.rsa_sign += 1,
            }
        });
        Some(ticket)
    }

    /// The operations of the calling thread that are over, each named once. Runs at most one batch of each
    /// size of keys, so that others are served in between; one that is not full only if the thread
    /// `is_idle`, or has waited long enough.
    pub(crate) fn ready(&self, is_idle: bool) -> Vec<Ticket> {
        let owner = thread::current().id();
        self.run_batches(owner, if is_idle { Which::All } else { Which::Late });
        let mut operations = self.operations();
        let waiting = operations.threads.get_mut(&owner);
        waiting.map(|waiting| mem::take(&mut waiting.ready)).unwrap_or_default()
    }

    /// Runs the batches of the calling thread that are full.
    pub(crate) fn run_full(&self) {
        self.run_batches(thread::current().id(), Which::Full);
    }

    /// Has an operation over, with those that wait beside it.
    pub(crate) fn finish(&self, ticket: Ticket) {
        loop {
            let owner = match self.operations().progress.get(&ticket) {
                Some(Progress::Waiting { owner, .. }) => *owner,
                Some(Progress::Over(_)) | None => return,
            };
            if !self.run_batches(owner, Which::All) {
                // Another thread computes it.
                thread::yield_now();
            }
        }
    }

    /// Whether operations of the calling thread wait.
    pub(crate) fn has_waiting(&self) -> bool {
        let operations = self.operations();
        operations.threads.get(&thread::current().id()).is_some_and(|waiting| {
            !waiting.ready.is_empty() || waiting.sizes.values().any(|queue| !queue.is_empty())
        })
    }

    /// The operations that nobody has taken.
    pub(crate) fn in_flight(&self) -> usize {
        self.operations().progress.len()
    }

    /// The answer to an operation, once, if it is over.
    pub(crate) fn take(&self, ticket: Ticket) -> Option<Answer> {
        let mut operations = self.operations();
        match operations.progress.remove(&ticket)? {
            Progress::Over(answer) => Some(answer),
            waiting @ Progress::Waiting { .. } => {
                operations.progress.insert(ticket, waiting);
                None
            }
        }
    }

    /// Forgets an operation that nobody will take; whether it was still to be done.
    pub(crate) fn abandon(&self, ticket: Ticket) -> bool {
        matches!(self.operations().progress.remove(&ticket), Some(Progress::Waiting { .. }))
    }

    /// How long an operation may still wait for company.
    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    /// Runs at most one batch of each size of a thread's keys; whether there was one.
    fn run_batches(&self, owner: ThreadId, which: Which) -> bool {
        let batches: Vec<Vec<Pending>> = {
            let mut operations = self.operations();
            let Operations { threads, progress, .. } = &mut *operations;
            let Some(waiting) = threads.get_mut(&owner) else { return false };
            let batch = |queue: &mut VecDeque<Pending>| {
                queue.retain(|one| progress.contains_key(&one.ticket));
                let oldest = queue.front()?;
                let runs = match which {
                    _ if queue.len() >= LANES => true,
                    Which::Full => false,
                    Which::Late => oldest.since.elapsed() >= self.wait,
                    Which::All => true,
                };
                runs.then(|| queue.drain(..queue.len().min(LANES)).collect())
            };
            waiting.sizes.values_mut().filter_map(batch).collect()
        };
        let has_run = !batches.is_empty();
        // No lock is held meanwhile: other threads submit and compute.
        for batch in batches {
            let answers = self.run(batch);
            let mut operations = self.operations();
            for (ticket, answer) in answers {
                // One that was abandoned is not there any more.
                let Some(progress) = operations.progress.get_mut(&ticket) else { continue };
                let before = mem::replace(progress, Progress::Over(answer));
                if matches!(before, Progress::Waiting { is_polled: true, .. }) {
                    operations.threads.entry(owner).or_default().ready.push(ticket);
                }
            }
        }
        has_run
    }

    fn operations(&self) -> MutexGuard<'_, Operations> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a batch of keys of one size, or sends it back where it is too small.
    fn run(&self, batch: Vec<Pending>) -> Vec<(Ticket, Answer)> {
        let size = batch.len();
        let waited = batch.iter().map(|one| one.since.elapsed().as_nanos() as u64);
        let mut new = BatchCounts { waited_ns: waited.sum(), ..BatchCounts::default() };
        let break_even = batch.iter().map(|one| one.key.break_even(&self.library)).max();
        let (tickets, mut operations): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|one| (one.ticket, one.operation)).unzip();
        let answers: Vec<Answer> = if break_even.is_some_and(|least| size < least) {
            new.below_break_even += size as u64;
            operations.iter().map(|_| None).collect()
        } else {
            let start = cpu_time();
            let outcomes = self.library.rsa_private(&mut operations);
            new.computing_ns = cpu_time().saturating_sub(start);
            new.by_size[size - 1] += 1;
            let outcomes = operations.into_iter().zip(outcomes);
            outcomes
                .map(|(mut one, outcome)| outcome.ok().map(|()| mem::take(&mut *one.output)))
                .collect()
        };
        let completed = answers.iter().flatten().count() as u64;
        new.faulty = size as u64 - completed - new.below_break_even;
        counts::add(|counts| {
            counts.completed += completed;
            counts.batches = Some(new);
        });
        tickets.into_iter().zip(answers).collect()
    }
}

impl PrivateRsa {
    /// `None` where the library has no code for the key.
    pub(crate) fn new(openssl: Rsa<Private>) -> Option<Self> {
        let bytes = |number: &BigNumRef| number.to_vec();
        let secrets =
            [openssl.p()?, openssl.q()?, openssl.dmp1()?, openssl.dmq1()?, openssl.iqmp()?];
        let secrets = secrets.map(|number| zeroize::Zeroizing::new(bytes(number)));
        let secrets = secrets.each_ref().map(|number| number.as_slice());
        let key = RsaKey::new(&bytes(openssl.n()), &bytes(openssl.e()), secrets).ok()?;
        Some(Self { key: Arc::new(key), openssl, break_even: OnceLock::new() })
    }

    /// Bytes of its modulus.
    pub(crate) fn bytes(&self) -> usize {
        self.key.bits() as usize / 8
    }

    /// How many operations cost as much in a batch as one by one in OpenSSL: by the least CPU time of a few
    /// runs of each in turn, at the first batch with this key. In a job of OpenSSL, with its stack of 32 KiB,
    /// that is possible too: the library takes 15 KiB at most.
    fn break_even(&self, library: &CryptoMb) -> usize {
        const RUNS: usize = 5;
        *self.break_even.get_or_init(|| {
            let mut input = vec![0x55; self.bytes()];
            input[0] = 0;
            let mut room = vec![0; self.bytes()];
            let [mut alone, mut batch] = [u64::MAX; 2];
            let timed = |shortest: &mut u64, act: &mut dyn FnMut()| {
                let start = cpu_time();
                act();
                *shortest = cpu_time().saturating_sub(start).min(*shortest);
            };
            for _ in 0..RUNS {
                // Neither fails for a number below the modulus.
                timed(&mut alone, &mut || {
                    let _ = self.openssl.private_decrypt(&input, &mut room, Padding::NONE);
                });
                timed(&mut batch, &mut || {
                    let operation = |_| RsaOperation::new(Arc::clone(&self.key), input.clone());
                    let mut operations: Vec<_> = (0..LANES).filter_map(operation).collect();
                    let _ = library.rsa_private(&mut operations);
                });
            }
            // More than there are lanes is never.
            (batch as f64 / alone as f64).ceil().clamp(1.0, LANES as f64 + 1.0) as usize
        })
    }
}

/// Of the calling thread, in nanoseconds.
fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use support::CryptoMbStandIn;

    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    /// Whose results are the input with the last bit changed, but for what is wrong with it.
    fn device(stand_in: CryptoMbStandIn, wait: Duration) -> MultiBuffer {
        let folder = tempfile::tempdir().unwrap();
        stand_in.build(folder.path());
        MultiBuffer::new(CryptoMb::open_at(folder.path()).unwrap(), wait)
    }

    fn key(bits: u32) -> Arc<PrivateRsa> {
        Arc::new(PrivateRsa::new(Rsa::generate(bits).unwrap()).unwrap())
    }

    fn input(byte: usize) -> Vec<u8> {
        vec![byte as u8; 256]
    }

    /// Below the modulus, whose highest bit is set.
    fn submit(device: &MultiBuffer, key: &Arc<PrivateRsa>, count: usize) -> Vec<Ticket> {
        let submit = |byte| device.submit(key, input(byte), Purpose::RsaSign, true).unwrap();
        (0..count).map(submit).collect()
    }

    #[test]
    fn eight_do_not_wait_and_fewer_wait_for_company() {
        let (device, key) = (device(CryptoMbStandIn::default(), LONG), key(2048));
        let tickets = submit(&device, &key, LANES + 3);
        assert_eq!(device.in_flight(), LANES + 3);
        assert_eq!(device.ready(false), tickets[..LANES]);
        assert_eq!(device.ready(false), []);
        assert!(device.has_waiting());
        assert_eq!(device.take(tickets[LANES]), None);
        assert_eq!(device.ready(true), tickets[LANES..]);
        assert!(!device.has_waiting());
        for (byte, ticket) in tickets.iter().enumerate() {
            let mut expected = input(byte);
            expected[255] ^= 1;
            assert_eq!(device.take(*ticket), Some(Some(expected)));
            assert_eq!(device.take(*ticket), None);
        }
        assert_eq!(device.in_flight(), 0);
    }

    #[test]
    fn who_has_waited_long_enough_waits_no_longer() {
        let (device, key) = (device(CryptoMbStandIn::default(), Duration::ZERO), key(2048));
        let tickets = submit(&device, &key, 1);
        assert_eq!(device.ready(false), tickets);
    }

    #[test]
    fn keys_of_one_size_share_a_batch_and_others_do_not() {
        let device = device(CryptoMbStandIn::default(), LONG);
        let (small, large) = ([key(2048), key(2048)], key(3072));
        for key in small.iter().cycle().take(LANES - 1) {
            submit(&device, key, 1);
        }
        let mut long = input(1);
        long.resize(384, 1);
        device.submit(&large, long, Purpose::RsaDecrypt, true).unwrap();
        assert_eq!(device.ready(false), []);
        submit(&device, &small[0], 1);
        assert_eq!(device.ready(false).len(), LANES);
        assert_eq!(device.ready(true).len(), 1);
    }

    #[test]
    fn a_result_that_is_wrong_goes_back() {
        let wrong = CryptoMbStandIn { wrong_lane: Some(2), ..CryptoMbStandIn::default() };
        let (device, key) = (device(wrong, LONG), key(2048));
        let tickets = submit(&device, &key, 4);
        device.finish(tickets[3]);
        for (lane, ticket) in tickets.iter().enumerate() {
            assert_eq!(device.take(*ticket).unwrap().is_none(), lane == 2);
        }
        // Those of others are named as ready all the same.
        assert_eq!(device.ready(false), tickets);
    }

    #[test]
    fn an_operation_that_is_abandoned_leaves_its_place_to_another() {
        let (device, key) = (device(CryptoMbStandIn::default(), LONG), key(2048));
        let tickets = submit(&device, &key, LANES);
        assert!(device.abandon(tickets[1]) && !device.abandon(tickets[1]));
        device.run_full();
        assert_eq!((device.in_flight(), device.ready(false)), (LANES - 1, vec![]));
        let last = submit(&device, &key, 1);
        device.run_full();
        let ready = device.ready(false);
        assert_eq!((ready.len(), ready[LANES - 1]), (LANES, last[0]));
        // One that is over is not abandoned: it was computed.
        assert!(!device.abandon(last[0]) && device.take(last[0]).is_none());
    }

    #[test]
    fn another_thread_may_finish_an_operation() {
        let (device, key) = (device(CryptoMbStandIn::default(), LONG), key(2048));
        let ticket = submit(&device, &key, 1)[0];
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(!device.has_waiting());
                device.finish(ticket);
                assert!(device.take(ticket).is_some_and(|answer| answer.is_some()));
            });
        });
        assert_eq!(device.in_flight(), 0);
    }

    #[test]
    fn fewer_than_the_break_even_go_back() {
        let (device, key) = (device(CryptoMbStandIn::default(), LONG), key(2048));
        key.break_even.set(3).unwrap();
        let tickets = submit(&device, &key, 2);
        assert_eq!(device.ready(true), tickets);
        assert!(tickets.iter().all(|ticket| device.take(*ticket) == Some(None)));
        let tickets = submit(&device, &key, 3);
        assert_eq!(device.ready(true), tickets);
        assert!(tickets.iter().all(|ticket| device.take(*ticket).unwrap().is_some()));
    }

    #[test]
    fn intels_library_does_what_openssl_does() {
        let library = CryptoMb::open().map_err(|why| eprintln!("skipped: {why}"));
        let Ok(library) = library else { return };
        let (device, key) = (MultiBuffer::new(library, LONG), key(2048));
        key.break_even.set(1).unwrap();
        let tickets = submit(&device, &key, LANES);
        assert_eq!(device.ready(false), tickets);
        for (byte, ticket) in tickets.iter().enumerate() {
            let mut expected = vec![0; 256];
            key.openssl.private_decrypt(&input(byte), &mut expected, Padding::NONE).unwrap();
            assert_eq!(device.take(*ticket), Some(Some(expected)));
        }
    }

    #[test]
    fn a_break_even_is_a_size_of_batches_or_one_more() {
        let device = device(CryptoMbStandIn::default(), LONG);
        let break_even = key(2048).break_even(&device.library);
        assert!((1..=LANES + 1).contains(&break_even));
    }
}
