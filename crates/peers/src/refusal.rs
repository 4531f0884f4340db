//! What some or all peers cannot do: a plan that asks for it is refused, not silently changed.

use load::{Arrival, Close, KeyExchangeMode, Operation, Percent, Plan, Stop};
use units::Nanos;

use crate::{Peer, PeerError};

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// Checks the settings that do not depend on TLS; returns how long the peer is to run.
///
/// # Errors
/// The first thing that it cannot do.
pub(crate) fn check(peer: Peer, plan: &Plan) -> Result<Nanos, PeerError> {
    let refuse = |why: String| Err(PeerError::Refused(why));
    if let Err(error) = plan.check() {
        return refuse(error.to_string());
    }
    let Stop::After { warmup, duration } = plan.stop else {
        return refuse(format!(
            "{peer} can run for a time, not for a number of operations; give --duration"
        ));
    };
    if warmup != Nanos(0) {
        return refuse(format!(
            "{peer} counts from its start and has no warm-up; leave --warmup {warmup} out"
        ));
    }
    if plan.arrival != Arrival::CLOSED {
        return refuse(format!(
            "{peer} sends the next request as soon as it has its answer; leave the arrival out"
        ));
    }
    match (peer, plan.operation) {
        (Peer::STime, Operation::Handshakes) => {}
        (Peer::STime, operation) => {
            return refuse(format!(
                "s_time makes handshakes only, not {operation}; add --operation handshakes"
            ));
        }
        (_, Operation::Handshakes) => {
            return refuse(format!(
                "{peer} cannot make handshakes without a request; take --client s_time, or \
                 --operation one-request-per-connection"
            ));
        }
        (Peer::H2load, Operation::OneRequestPerConnection) => {
            return refuse(
                "h2load does not go on after a connection's end; take --client wrk or ab for \
                 one-request-per-connection"
                    .into(),
            );
        }
        _ => {}
    }
    if plan.cpus.len() > peer.most_cpus() {
        return refuse(format!(
            "{peer} has one thread and cannot use {} CPUs; give one with --cpus",
            plan.cpus.len()
        ));
    }
    if plan.ramp != Nanos(0) {
        return refuse(format!("{peer} opens all its connections at once; leave the ramp out"));
    }
    if let Some(objects) = &plan.objects {
        return refuse(format!("{peer} requests a single object; leave --object {objects} out"));
    }
    if plan.close != Close::Fin {
        return refuse(format!("{peer} closes in its own way; leave --close {} out", plan.close));
    }
    if plan.tls.key_exchange == Some(KeyExchangeMode::Fixed) {
        return refuse(format!("{peer} always makes fresh keys; leave --key-exchange fixed out"));
    }
    if plan.tls.resumption != Percent::default() {
        return refuse(format!(
            "{peer} resumes sessions where the server lets it, and knows no share of them; leave \
             --resumption out"
        ));
    }
    if plan.tls.encrypt_then_mac.is_some() {
        return refuse(format!(
            "{peer} always offers encrypt-then-MAC; leave --encrypt-then-mac out, and decide at the \
             server"
        ));
    }
    let step = if peer == Peer::H2load { MILLISECOND } else { SECOND };
    if !duration.0.is_multiple_of(step) {
        return refuse(format!(
            "{peer} runs for whole {}, not for {duration}; change --duration",
            if step == SECOND { "seconds" } else { "milliseconds" }
        ));
    }
    Ok(duration)
}

/// A time limit in whole seconds, for programs that have no others.
pub(crate) fn whole_seconds(peer: Peer, timeout: Nanos) -> Result<u64, PeerError> {
    match timeout.0.is_multiple_of(SECOND) {
        true => Ok(timeout.0 / SECOND),
        false => Err(PeerError::Refused(format!(
            "{peer} has time limits of whole seconds, not of {timeout}; change --timeout"
        ))),
    }
}

/// Refuses a TLS setting for which a program has no option; `what` is the flag with its value,
/// where given.
pub(crate) fn refuse_without_option(peer: Peer, what: Option<String>) -> Result<(), PeerError> {
    match what {
        None => Ok(()),
        Some(flag) => Err(PeerError::Refused(format!(
            "{peer} has no option for {flag}; leave it out and restrict the server instead \
             (toll serve --tls, --suites, --groups)"
        ))),
    }
}
