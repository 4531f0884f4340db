use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::*;
use crate::neighbours::Neighbours;
use crate::reports::{Reports, ServerReport};
use crate::testing::{job, outcome};
use crate::warning::WarningKind;
use instructions::Function;
use load::{Count, ErrorKind, Plan};
use tls::{CertificateKey, OrPlain, Suite};

/// A server that runs a million instructions for a handshake, and some for a response.
const HANDSHAKE: u64 = 1_000_000;
const RESPONSE: u64 = 30_000;

/// What the server ran since it was last asked.
#[derive(Clone, Default)]
struct Server {
    ran: Rc<Cell<u64>>,
    /// After how many reads the meter does not answer.
    reads: Rc<Cell<Option<u32>>>,
}

impl InstructionMeter for Server {
    fn source(&self) -> String {
        "callgrind 3.19.0".to_owned()
    }

    fn begin(&mut self) -> Result<(), CountError> {
        self.ran.set(0);
        Ok(())
    }

    fn end(&mut self) -> Result<Instructions, CountError> {
        match self.reads.get() {
            Some(0) => return Err(CountError::ProcessesChanged),
            Some(left) => self.reads.set(Some(left - 1)),
            None => {}
        }
        let total = self.ran.take();
        let function = Function {
            name: "aesni_gcm_encrypt".to_owned(),
            object: String::new(),
            instructions: total / 2,
        };
        Ok(Instructions { total, functions: vec![function] })
    }

    fn lacking(&self) -> Option<Vec<&'static str>> {
        Some(vec!["sha_ni"])
    }
}

/// A load that has ended.
struct Ended(Outcome);

impl Load for Ended {
    fn window(&self) -> (Instant, Instant) {
        (Instant::now(), Instant::now())
    }

    fn thread_ids(&self) -> Vec<i32> {
        Vec::new()
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }

    fn is_finished(&self) -> bool {
        true
    }

    fn stop(&self) {}

    fn join(self) -> Outcome {
        self.0
    }
}

/// Of one connection to a server of 1 MiB objects.
fn trial(operation: Operation) -> Trial {
    let job = job("https://localhost/bytes/1MiB");
    let plan = Plan {
        operation,
        connections: 1,
        count: Some(Count::Instructions(load::Counter::Callgrind)),
        ..job.plan.clone()
    };
    let trial = Trial::new(Job { plan, ..job }, None, Neighbours::Apart);
    Trial { certificate_key: Some(CertificateKey::EcdsaP256), ..trial }
}

/// Loads that are as `change` makes them.
fn count(
    trial: &Trial,
    server: &Server,
    change: impl Fn(&mut Outcome),
    died: Option<&str>,
) -> TrialRecord {
    let interrupt = AtomicBool::new(false);
    let mut hooks = Hooks {
        interrupt: &interrupt,
        progress: &mut |_| {},
        reports: &mut || Reports {
            server: died.map_or(Ok(ServerReport::default()), |why| Err(why.to_owned())),
            ranks: None,
        },
    };
    let keeps = trial.job.plan.keeps_connections();
    let start = |job: Job, begins: &mut dyn FnMut()| {
        // Whatever comes before it begins is not counted, as the sessions that are collected.
        server.ran.set(77);
        begins();
        let operations = u64::from(job.plan.operations().unwrap().get());
        let handshakes = if keeps { 1 } else { operations };
        let bodies = if keeps { operations } else { 0 };
        server.ran.set(server.ran.get() + HANDSHAKE * handshakes + RESPONSE * bodies);
        let usual = outcome(operations);
        let mut outcome = Outcome {
            negotiated: vec![(usual.negotiated[0].0, handshakes)],
            connections: handshakes,
            in_flight: 0,
            most_open: 1,
            ..usual
        };
        outcome.bytes.body = bodies << 20;
        change(&mut outcome);
        Ok::<_, String>(Ended(outcome))
    };
    trial.count(&mut server.clone(), &mut hooks, start).unwrap().line
}

#[test]
fn handshakes_are_counted_in_blocks_and_have_neither_times_nor_a_verdict() {
    let line = count(&trial(Operation::Handshakes), &Server::default(), |_| {}, None);
    let counted = line.counted.as_ref().unwrap();
    assert_eq!(line.why_invalid(), None);
    assert_eq!((counted.per_operation, counted.spread), (HANDSHAKE as f64, 0.0));
    assert_eq!((counted.operations, counted.per_kib), (HANDSHAKES * BLOCKS as u64, None));
    assert_eq!(counted.blocks, [HANDSHAKE as f64; BLOCKS]);
    assert_eq!(line.warnings[0].kind, WarningKind::OtherCode);
    let json = serde_json::to_value(&line).unwrap();
    for absent in ["rate_per_s", "goodput_bps", "connections_per_s", "verdict", "littles_law"] {
        assert_eq!(json.get(absent), None, "{absent}");
    }
    assert_eq!(json["latency_ns"], serde_json::json!({}));
    // As a journal is read.
    assert_eq!(serde_json::from_value::<TrialRecord>(json).unwrap().with_rates(), line);
}

#[test]
fn a_block_with_an_rsa_key_has_one_blinding() {
    let mut trial = trial(Operation::Handshakes);
    for (key, operations) in [
        (Some(CertificateKey::EcdsaP256), HANDSHAKES),
        (Some(CertificateKey::Rsa(2048)), RSA_HANDSHAKES),
        (None, RSA_HANDSHAKES),
    ] {
        trial.certificate_key = key;
        assert_eq!(trial.operations_of_block(), operations, "{key:?}");
        assert_eq!(trial.operations_in_all(), operations * (BLOCKS as u64 + 1));
    }
}

#[test]
fn the_opening_of_kept_connections_is_not_in_a_request() {
    let line = count(&trial(Operation::Requests), &Server::default(), |_| {}, None);
    let counted = line.counted.as_ref().unwrap();
    assert_eq!(line.why_invalid(), None);
    assert_eq!(counted.per_operation, RESPONSE as f64);
    assert_eq!(counted.per_kib, Some(RESPONSE as f64 / 1024.0));
    // At least four, of whatever size.
    assert_eq!(counted.operations, 4 * BLOCKS as u64);
}

#[test]
fn connections_that_were_opened_again_make_a_count_of_requests_invalid() {
    let opened = |outcome: &mut Outcome| outcome.connections = 2;
    let line = count(&trial(Operation::Requests), &Server::default(), opened, None);
    assert!(line.why_invalid().unwrap().contains("asked 5 kept ones, got 10"), "{line:?}");
}

#[test]
fn what_failed_or_was_of_another_kind_makes_a_count_invalid() {
    let trial = trial(Operation::Handshakes);
    let fails = |outcome: &mut Outcome| outcome.failures.add_all(ErrorKind::Reset, 1, "reset");
    let line = count(&trial, &Server::default(), fails, None);
    assert_eq!(line.why_invalid().unwrap(), "1 of 9 operations failed: reset");
    assert_eq!(line.counted, None);

    let mut other = trial.clone();
    other.job.plan.suite = Some(OrPlain::Tls(Suite::parse("TLS_AES_256_GCM_SHA384").unwrap()));
    let line = count(&other, &Server::default(), |_| {}, None);
    assert!(line.why_invalid().unwrap().starts_with("suite: asked TLS_AES_256"), "{line:?}");

    let mut resumed = trial.clone();
    resumed.job.plan.resumption = "100%".parse().unwrap();
    let one_is_full = |outcome: &mut Outcome| {
        let (kind, count) = outcome.negotiated[0];
        let of_session = load::Negotiated { resumed: true, ..kind };
        outcome.negotiated = vec![(of_session, count - 1), (kind, 1)];
        outcome.collected = Some(load::Collected::default());
        outcome.sessions_offered = count;
    };
    let line = count(&resumed, &Server::default(), one_is_full, None);
    assert!(line.why_invalid().unwrap().contains("got 3 full ones"), "{line:?}");

    let resumes = |outcome: &mut Outcome| outcome.negotiated[0].0.resumed = true;
    let line = count(&trial, &Server::default(), resumes, None);
    assert!(line.why_invalid().unwrap().contains("resumed"), "{line:?}");
}

#[test]
fn a_server_that_died_or_is_not_read_any_more_makes_a_count_invalid() {
    let trial = trial(Operation::Handshakes);
    let line = count(&trial, &Server::default(), |_| {}, Some("nginx died"));
    assert_eq!(line.why_invalid().unwrap(), "nginx died");
    let unread = Server { reads: Rc::new(Cell::new(Some(1))), ..Server::default() };
    let line = count(&trial, &unread, |_| {}, None);
    assert!(line.why_invalid().unwrap().contains("processes changed"), "{line:?}");
    assert_eq!(line.counted, None);
}

#[test]
fn a_block_that_does_not_end_in_time_makes_a_count_invalid() {
    let fewer = |outcome: &mut Outcome| outcome.completed -= 1;
    let line = count(&trial(Operation::Handshakes), &Server::default(), fewer, None);
    assert!(line.why_invalid().unwrap().starts_with("7 of 8 operations of a block"), "{line:?}");
    assert_eq!(line.counted, None);
}

#[test]
fn an_interrupt_ends_a_count_without_a_figure() {
    let interrupt = AtomicBool::new(false);
    let mut hooks = Hooks {
        interrupt: &interrupt,
        progress: &mut |_| {},
        reports: &mut || Reports { server: Ok(ServerReport::default()), ranks: None },
    };
    let start = |job: Job, begins: &mut dyn FnMut()| {
        begins();
        interrupt.store(true, SeqCst);
        Ok::<_, String>(Ended(outcome(u64::from(job.plan.operations().unwrap().get()))))
    };
    let trial = trial(Operation::Handshakes);
    let line = trial.count(&mut Server::default(), &mut hooks, start).unwrap().line;
    assert!(line.interrupted && line.counted.is_none());
}
