//! Intel's multi-buffer library as an accelerator: it is the server's own CPU, which does up to eight
//! operations with private keys in little more than the time of one.
//!
//! A handshake that waits leaves its operation with its thread. A batch runs on that thread when eight wait,
//! when the thread has nothing else to do, or when the first has waited for company long enough. A batch
//! costs about the same however full it is, so that fewer than the break-even, which is measured for each
//! key, go back to OpenSSL.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
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

/// The operations of a thread.
#[derive(Default)]
struct Waiting {
    /// By the sizes of their keys, of which a batch has one.
    operations: BTreeMap<u32, VecDeque<Pending>>,
    /// Those that nobody has taken.
    answers: HashMap<Ticket, Answer>,
    /// Those that were not named as ready.
    ready: Vec<Ticket>,
}

thread_local! {
    static WAITING: RefCell<Waiting> = RefCell::default();
}

impl MultiBuffer {
    pub(crate) fn new(library: CryptoMb, wait: Duration) -> Self {
        Self { library, wait }
    }

    /// The library's name and version.
    pub(crate) fn title(&self) -> &str {
        self.library.title()
    }

    /// Leaves an operation with the calling thread; `None` where the input is none for the key.
    pub(crate) fn submit(
        &self,
        key: &Arc<PrivateRsa>,
        input: Vec<u8>,
        purpose: Purpose,
    ) -> Option<Ticket> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let operation = RsaOperation::new(Arc::clone(&key.key), input)?;
        let ticket = Ticket(NEXT.fetch_add(1, Relaxed));
        let (key, since) = (Arc::clone(key), Instant::now());
        let pending = Pending { ticket, since, key, operation };
        let in_flight = WAITING.with_borrow_mut(|waiting| {
            waiting.operations.entry(pending.key.key.bits()).or_default().push_back(pending);
            waiting.in_flight()
        });
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
        WAITING.with_borrow_mut(|waiting| {
            let Waiting { operations, answers, ready } = waiting;
            for queue in operations.values_mut() {
                let is_late = queue.front().is_some_and(|one| one.since.elapsed() >= self.wait);
                if queue.len() >= LANES || ((is_idle || is_late) && !queue.is_empty()) {
                    let batch = queue.drain(..queue.len().min(LANES));
                    for (ticket, answer) in self.run(batch.collect()) {
                        answers.insert(ticket, answer);
                        ready.push(ticket);
                    }
                }
            }
            mem::take(ready)
        })
    }

    /// Does all operations of the calling thread now.
    pub(crate) fn finish(&self) {
        while WAITING.with_borrow(|waiting| waiting.operations.values().any(|one| !one.is_empty()))
        {
            // Who waits in a call of its own asks for nothing that is ready.
            let named = self.ready(true);
            WAITING.with_borrow_mut(|waiting| waiting.ready.extend(named));
        }
    }

    /// Whether operations of the calling thread wait.
    pub(crate) fn has_waiting(&self) -> bool {
        WAITING.with_borrow(|waiting| {
            !waiting.ready.is_empty() || waiting.operations.values().any(|one| !one.is_empty())
        })
    }

    /// The operations of the calling thread that nobody has taken.
    pub(crate) fn in_flight(&self) -> usize {
        WAITING.with_borrow(Waiting::in_flight)
    }

    /// The answer to an operation of the calling thread, once, if it is over.
    pub(crate) fn take(&self, ticket: Ticket) -> Option<Answer> {
        WAITING.with_borrow_mut(|waiting| waiting.answers.remove(&ticket))
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

impl Waiting {
    fn in_flight(&self) -> usize {
        self.answers.len() + self.operations.values().map(VecDeque::len).sum::<usize>()
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
    /// runs of each in turn, at the first batch with this key. It must not be asked in a job of OpenSSL, whose
    /// stack is small.
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
        let submit = |byte| device.submit(key, input(byte), Purpose::RsaSign).unwrap();
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
        device.submit(&large, long, Purpose::RsaDecrypt).unwrap();
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
        device.finish();
        for (lane, ticket) in tickets.iter().enumerate() {
            assert_eq!(device.take(*ticket).unwrap().is_none(), lane == 2);
        }
        // Those of others are named as ready all the same.
        assert_eq!(device.ready(false), tickets);
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
