//! What some or all peers cannot do: a plan that asks for it is refused, not silently changed.

use load::{Job, Operation, Plan};
use tls::OrPlain;
use units::Nanos;

use crate::{Peer, PeerError};

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// Checks the settings that do not depend on TLS; returns how long the peer is to run.
pub(crate) fn check(peer: Peer, job: &Job) -> Result<Nanos, PeerError> {
    let refuse = |why: String| Err(PeerError::Refused(why));
    let plan = Plan { client: peer.into(), ..job.plan.clone() };
    let job = Job { plan, ..job.clone() };
    if let Err(error) = job.check() {
        return refuse(error.to_string());
    }
    if job.operations.is_some() {
        return refuse(format!(
            "{peer} can run for a time, not for a number of operations; give --duration"
        ));
    }
    match (peer, job.plan.operation) {
        (Peer::STime, Operation::Handshakes) => {}
        (Peer::STime, operation) => {
            return refuse(format!(
                "s_time makes handshakes only, not {operation}; add --operation handshakes"
            ));
        }
        (_, Operation::Handshakes) => {
            return refuse(format!(
                "{peer} cannot make handshakes without a request; use --client s_time, or \
                 --operation one-request-per-connection"
            ));
        }
        (Peer::H2load, Operation::OneRequestPerConnection) => {
            return refuse(
                "h2load does not go on after a connection's end; use --client wrk or ab for \
                 one-request-per-connection"
                    .into(),
            );
        }
        _ => {}
    }
    if job.plan.cpus.len() > peer.most_cpus() {
        return refuse(format!(
            "{peer} has one thread and cannot use {} CPUs; give one with --cpus",
            job.plan.cpus.len()
        ));
    }
    if job.files.is_some() {
        return refuse(format!(
            "{peer} requests a single object; leave target.files and target.storage out"
        ));
    }
    if let Some(objects) = &job.objects {
        return refuse(format!("{peer} requests a single object; leave --object {objects} out"));
    }
    let duration = job.plan.duration;
    let step = if matches!(peer, Peer::H2load | Peer::Shb) { MILLISECOND } else { SECOND };
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

/// Refuses each TLS setting of a plan, for programs without options for any.
pub(crate) fn refuse_tls_options(peer: Peer, plan: &Plan) -> Result<(), PeerError> {
    let version = plan.tls.and_then(OrPlain::tls);
    let flags = [
        plan.only_suite().map(|suite| format!("--suite {suite}")),
        version.map(|version| format!("--tls {}", version.number())),
        plan.group.map(|group| format!("--group {group}")),
    ];
    flags.into_iter().try_for_each(|flag| refuse_without_option(peer, flag))
}

/// A time as programs take it that have limits of milliseconds.
pub(crate) fn milliseconds(time: Nanos) -> String {
    format!("{}ms", time.0.div_ceil(MILLISECOND))
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
