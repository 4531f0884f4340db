use crypto_mb::{Curve, OpenError, RsaKey, RsaOperation};
use openssl::bn::BigNumRef;
use openssl::pkey::Private;
use openssl::rsa::{Padding, Rsa};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use support::CryptoMbStandIn;

use super::*;

const LONG: Duration = Duration::from_secs(3_600);

/// Whose results are the input with the last bit changed, but for what is wrong with it.
fn device(stand_in: CryptoMbStandIn, wait: Duration) -> MultiBuffer {
    let folder = tempfile::tempdir().unwrap();
    stand_in.build(folder.path());
    MultiBuffer::new(CryptoMb::open_at(folder.path()).unwrap(), wait, Duration::ZERO)
}

/// Of 2,048 bits, with OpenSSL's own.
fn key() -> (Arc<RsaKey>, Rsa<Private>) {
    key_of(2048)
}

fn key_of(bits: u32) -> (Arc<RsaKey>, Rsa<Private>) {
    let rsa = Rsa::generate(bits).unwrap();
    let bytes = |number: Option<&BigNumRef>| number.unwrap().to_vec();
    let secrets = [rsa.p(), rsa.q(), rsa.dmp1(), rsa.dmq1(), rsa.iqmp()].map(bytes);
    let secrets = secrets.each_ref().map(Vec::as_slice);
    (Arc::new(RsaKey::new(&rsa.n().to_vec(), &rsa.e().to_vec(), secrets).unwrap()), rsa)
}

fn input(byte: usize) -> Vec<u8> {
    vec![byte as u8; 256]
}

fn work(key: &Arc<RsaKey>, input: Vec<u8>) -> Work {
    let operation = RsaOperation::new(Arc::clone(key), input).unwrap();
    Work::Rsa { of: KeyUse::RsaSign, operation }
}

/// Below the modulus, whose highest bit is set.
fn submit(device: &MultiBuffer, key: &(Arc<RsaKey>, Rsa<Private>), count: usize) -> Vec<Ticket> {
    (0..count).map(|byte| device.submit(work(&key.0, input(byte)), Wake::Poll)).collect()
}

fn answer(device: &MultiBuffer, ticket: Ticket) -> Option<Option<Vec<u8>>> {
    device.take(ticket).map(|answer| answer.map(|bytes| bytes.to_vec()))
}

#[test]
fn eight_do_not_wait_and_fewer_wait_for_company() {
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
    let tickets = submit(&device, &key, LANES + 3);
    assert_eq!(device.in_flight(), LANES + 3);
    assert_eq!(device.ready(false), tickets[..LANES]);
    assert_eq!(device.ready(false), []);
    assert!(device.has_waiting());
    assert_eq!(answer(&device, tickets[LANES]), None);
    assert_eq!(device.ready(true), tickets[LANES..]);
    assert!(!device.has_waiting());
    for (byte, ticket) in tickets.iter().enumerate() {
        let mut expected = input(byte);
        expected[255] ^= 1;
        assert_eq!(answer(&device, *ticket), Some(Some(expected)));
        assert_eq!(answer(&device, *ticket), None);
    }
    assert_eq!(device.in_flight(), 0);
}

#[test]
fn who_has_waited_long_enough_waits_no_longer() {
    let (device, key) = (device(CryptoMbStandIn::default(), Duration::ZERO), key());
    let tickets = submit(&device, &key, 1);
    assert_eq!(device.ready(false), tickets);
}

#[test]
fn keys_of_one_size_share_a_batch_and_others_do_not() {
    let device = device(CryptoMbStandIn::default(), LONG);
    let (small, large) = ([key(), key()], key_of(3072));
    for key in small.iter().cycle().take(LANES - 1) {
        submit(&device, key, 1);
    }
    let mut long = input(1);
    long.resize(384, 1);
    device.submit(work(&large.0, long), Wake::Poll);
    assert_eq!(device.ready(false), []);
    submit(&device, &small[0], 1);
    assert_eq!(device.ready(false).len(), LANES);
    assert_eq!(device.ready(true).len(), 1);
}

#[test]
fn a_result_that_is_wrong_goes_back() {
    let wrong = CryptoMbStandIn { wrong_lane: Some(2), ..CryptoMbStandIn::default() };
    let (device, key) = (device(wrong, LONG), key());
    let tickets = submit(&device, &key, 4);
    device.finish(tickets[3]);
    for (lane, ticket) in tickets.iter().enumerate() {
        assert_eq!(device.take(*ticket).unwrap().is_none(), lane == 2);
    }
    // Those of others are named as ready all the same; the caller has its own.
    assert_eq!(device.ready(false), tickets[..3]);
}

#[test]
fn an_operation_that_is_abandoned_leaves_its_place_to_another() {
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
    let tickets = submit(&device, &key, LANES);
    assert!(device.forget(tickets[1]) && !device.forget(tickets[1]));
    device.run_full();
    assert_eq!((device.in_flight(), device.ready(false)), (LANES - 1, vec![]));
    let last = submit(&device, &key, 1);
    device.run_full();
    let ready = device.ready(false);
    assert_eq!((ready.len(), ready[LANES - 1]), (LANES, last[0]));
    // One that is over is not abandoned: it was computed.
    assert!(!device.forget(last[0]) && device.take(last[0]).is_none());
}

#[test]
fn another_thread_may_finish_an_operation() {
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
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
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
    device.set_break_even(Class::Rsa(2048), 3);
    let tickets = submit(&device, &key, 2);
    assert_eq!(device.ready(true), tickets);
    assert!(tickets.iter().all(|ticket| answer(&device, *ticket) == Some(None)));
    let tickets = submit(&device, &key, 3);
    assert_eq!(device.ready(true), tickets);
    assert!(tickets.iter().all(|ticket| device.take(*ticket).unwrap().is_some()));
}

/// Intel's; `None`, with a line, where this machine has none that it can use.
fn library() -> Option<CryptoMb> {
    match CryptoMb::open() {
        Ok(library) => Some(library),
        Err(why @ (OpenError::Absent { .. } | OpenError::NoIfma)) => {
            eprintln!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn intels_library_does_what_openssl_does() {
    let Some(library) = library() else { return };
    let (device, key) = (MultiBuffer::new(library, LONG, Duration::ZERO), key());
    let tickets = submit(&device, &key, LANES);
    assert_eq!(device.ready(false), tickets);
    for (byte, ticket) in tickets.iter().enumerate() {
        let mut expected = vec![0; 256];
        key.1.private_decrypt(&input(byte), &mut expected, Padding::NONE).unwrap();
        assert_eq!(answer(&device, *ticket), Some(Some(expected)));
    }
}

/// An event for each of these operations.
fn events(device: &MultiBuffer, tickets: &[Ticket]) -> Vec<Arc<Event>> {
    let event = |ticket: &Ticket| {
        let event = Arc::new(Event::new(false).unwrap());
        assert!(device.wake_by(*ticket, Arc::clone(&event)));
        event
    };
    tickets.iter().map(event).collect()
}

fn are_set(events: &[Arc<Event>]) -> Vec<bool> {
    let is_set = |event: &Arc<Event>| {
        let mut of = [PollFd::new(&**event, PollFlags::IN)];
        poll(&mut of, Some(&Timespec::default())).unwrap() == 1
    };
    events.iter().map(is_set).collect()
}

#[test]
fn an_event_is_set_when_its_operation_is_over_and_the_callers_is_not() {
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
    let tickets = submit(&device, &key, LANES - 1);
    let events = events(&device, &tickets);
    assert_eq!(are_set(&events), [false; LANES - 1]);
    device.finish(tickets[3]);
    assert_eq!(are_set(&events), [true, true, true, false, true, true, true]);
    assert!(!device.wake_by(tickets[0], Arc::clone(&events[0])));
}

#[test]
fn the_next_one_looks_for_company_when_the_first_is_forgotten() {
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
    let tickets = submit(&device, &key, 4);
    let events = events(&device, &tickets);
    assert_eq!(
        tickets.iter().map(|it| device.company(*it)).collect::<Vec<_>>(),
        [Some((true, 4)), Some((false, 4)), Some((false, 4)), Some((false, 4))]
    );
    assert!(device.forget(tickets[1]));
    assert_eq!(are_set(&events), [false; 4]);
    assert!(device.forget(tickets[0]));
    assert_eq!(are_set(&events), [false, false, true, false]);
    assert_eq!((device.company(tickets[0]), device.company(tickets[2])), (None, Some((true, 2))));
}

#[test]
fn an_operation_that_another_thread_keeps_is_given_up() {
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
    let ticket = submit(&device, &key, 1)[0];
    // A thread that took it and is stopped.
    device.operations().threads.clear();
    let start = Instant::now();
    device.finish(ticket);
    assert!(start.elapsed() >= PATIENCE);
    assert_eq!((device.in_flight(), answer(&device, ticket)), (0, None));
}

#[test]
fn a_process_that_ends_forgets_what_waits() {
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
    submit(&device, &key, 3);
    device.ready(true);
    submit(&device, &key, 2);
    assert_eq!((device.forget_all(), device.in_flight()), (2, 0));
    assert_eq!(device.ready(true), []);
}

#[test]
fn keys_of_handshakes_are_made_eight_at_a_time_and_given_out_once() {
    let Some(library) = library() else { return };
    let device = MultiBuffer::new(library, LONG, Duration::ZERO);
    for class in [Class::X25519Key, Class::EcdhKey(Curve::P256), Class::EcdhKey(Curve::P384)] {
        let mut seen: Vec<_> = (0..LANES + 1)
            .map(|_| match device.key(class).unwrap() {
                KeyPair::X25519(_, public) => public.to_vec(),
                KeyPair::Nist(_, point) => point,
            })
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), LANES + 1, "{class:?}");
        device.set_break_even(class, LANES + 1);
        assert!(device.key(class).is_none());
    }
}

#[test]
fn keys_that_are_wrong_are_not_given_out() {
    // Its results of curves are zeros.
    let device = device(CryptoMbStandIn::default(), LONG);
    for class in [Class::X25519Key, Class::EcdhKey(Curve::P256)] {
        assert!(device.key(class).is_none());
    }
}

#[test]
fn an_operation_that_no_batch_is_worth_does_not_wait() {
    let (device, key) = (device(CryptoMbStandIn::default(), LONG), key());
    let work = work(&key.0, input(1));
    for (break_even, never) in [(1, false), (LANES, false), (LANES + 1, true)] {
        device.set_break_even(Class::Rsa(2048), break_even);
        assert_eq!(device.never_pays(&work), never);
    }
    assert_eq!(device.in_flight(), 0);
}
