//! Where the handshakes of a load differ from what was asked.

use load::{Arrival, Job, KeyExchangeMode, Negotiated, Operation, Outcome, Percent, SessionsGiven};
use stats::share_interval;
use tls::{KeyExchange, Version};
use units::{percent, thousands};

use crate::facts::{Asked, EACH_FULL_HANDSHAKE, Obtained};
use crate::mismatch::Mismatch;
use crate::negotiated::{count_handshakes, handshakes_in_words};
use crate::refused_sessions::RefusedSessions;

/// How far the share of resumed handshakes may be from the one that was asked.
const RESUMPTION_TOLERANCE: f64 = 0.10;

/// The standard deviations of a normal distribution beyond which lies one value in a thousand.
const ONE_IN_A_THOUSAND: f64 = 3.29;

/// Names that are not the one that was asked for, each with its count, and handshakes without a
/// name: every handshake must have had the one that was asked for.
pub(crate) fn compare_names(
    outcome: &Outcome,
    asked: &Asked,
    obtained: &Obtained,
    mismatch: &mut Vec<Mismatch>,
) {
    let count = |is: fn(&Negotiated) -> bool| count_handshakes(outcome, is);
    let without_group = count(|kind| has_group(kind) && kind.group.is_none());
    // A resumed handshake has no certificate.
    let without_key = count(|kind| !kind.resumed && kind.certificate_key.is_none());
    for (what, asked, obtained, nameless) in [
        ("tls", &asked.tls, &obtained.tls, 0),
        ("suite", &asked.suite, &obtained.suite, 0),
        ("group", &asked.group, &obtained.group, without_group),
        ("certificate_key", &asked.certificate_key, &obtained.certificate_key, without_key),
    ] {
        let Some(asked) = asked else { continue };
        let mut differs = |name: &str, count: u64| {
            let obtained = format!("{name} in {}", handshakes_in_words(count));
            mismatch.push(Mismatch::new(what, asked, obtained));
        };
        for (name, count) in obtained.iter().filter(|(name, _)| *name != asked) {
            differs(name, *count);
        }
        if nameless > 0 {
            differs("none known to toll", nameless);
        }
    }
}

/// Whether there was a key exchange by group: not with static RSA, nor where TLS 1.2 resumes.
fn has_group(kind: &Negotiated) -> bool {
    kind.suite.key_exchange != KeyExchange::Rsa && !(kind.resumed && kind.version == Version::Tls12)
}

/// Kinds of handshakes, and how many there must have been.
pub(crate) fn compare_handshakes(job: &Job, outcome: &Outcome, mismatch: &mut Vec<Mismatch>) {
    let count = |is: fn(&Negotiated) -> bool| count_handshakes(outcome, is);
    let mut differs = |what: &str, asked: &str, obtained: String| {
        mismatch.push(Mismatch::new(what, asked, obtained));
    };
    let handshakes = count(|_| true);
    let asked_encrypt_then_mac = job.plan.encrypt_then_mac.unwrap_or(false);
    let with = count(|kind| kind.encrypt_then_mac);
    match asked_encrypt_then_mac {
        false if with > 0 => differs(
            "encrypt_then_mac",
            "off",
            format!("encrypt-then-MAC in {}", handshakes_in_words(with)),
        ),
        true if with < handshakes => differs(
            "encrypt_then_mac",
            "on",
            format!("MAC-then-encrypt in {}", handshakes_in_words(handshakes - with)),
        ),
        _ => {}
    }
    let resumed = count(|kind| kind.resumed);
    let wanted = job.plan.resumption;
    if wanted == Percent::default() && resumed > 0 {
        differs(
            "resumption_percent",
            "full handshakes",
            format!("{} resumed", handshakes_in_words(resumed)),
        );
    }
    if wanted != Percent::default() && is_other_share(job, outcome, handshakes, resumed) {
        let given = outcome.collected.map_or_else(String::new, |collected| {
            let SessionsGiven { tickets, ids } = collected.given;
            let ids = match ids {
                0 => String::new(),
                ids => {
                    format!(" and {} session ids, which need its session cache,", thousands(ids))
                }
            };
            let (tickets, connections) = (thousands(tickets), thousands(collected.connections));
            format!("; the server gave {tickets} tickets{ids} on {connections} connections")
        });
        let refused = RefusedSessions::of(outcome.sessions_offered, resumed);
        let refused = refused.map_or_else(String::new, |refused| format!("; it {refused}"));
        let share = match resumed {
            0 => "none".to_owned(),
            _ => percent(resumed as f64 / handshakes as f64),
        };
        differs(
            "resumption_percent",
            &wanted.to_string(),
            format!("{share} of {} resumed{given}{refused}", handshakes_in_words(handshakes)),
        );
    }
    let retried = outcome.hello_retry_requests;
    if job.plan.key_exchange() == KeyExchangeMode::Retried && retried < handshakes {
        differs(
            "key_exchange",
            "a HelloRetryRequest in each handshake",
            format!("{} in {}", thousands(retried), handshakes_in_words(handshakes)),
        );
    }
    let (requests, sent) = (outcome.certificate_requests, count(|kind| kind.client.is_some()));
    let full = handshakes - resumed;
    if job.plan.client_certificate.is_some() && sent < full {
        let of = |count| handshakes_in_words(count);
        let obtained = match requests {
            0 => format!("none in {}: the server never asked for it", of(full)),
            _ => format!(
                "{} of {}; the server asked for it in {requests}, and must accept a scheme of its key",
                thousands(sent),
                of(full)
            ),
        };
        differs("client_certificates", EACH_FULL_HANDSHAKE, obtained);
    }
    // Where there is a response, it shows that the server goes on without the certificate.
    if job.plan.operation == Operation::Handshakes
        && job.plan.client_certificate.is_none()
        && requests > 0
    {
        differs(
            "certificate_requests",
            "handshakes that need none",
            format!(
                "a server that asks for one in {}; of a client that has one they would cost it more",
                handshakes_in_words(requests)
            ),
        );
    }
    let needed = match (job.plan.operation, &job.plan.requests_per_connection) {
        (Operation::Requests, Some(asked)) => outcome.completed.div_ceil(asked.most().into()),
        (Operation::Requests | Operation::Session, _) => outcome.completed.min(1),
        (Operation::Handshakes | Operation::OneRequestPerConnection, _) => outcome.completed,
    };
    if handshakes < needed {
        differs(
            "operation",
            &format!("{} for each connection", handshakes_in_words(1)),
            format!("{} for {needed} connections", handshakes_in_words(handshakes)),
        );
    }
}

/// Whether clearly another share of the handshakes resumed than was asked for. The first one of each
/// connection can only be full, unless tickets were collected before.
fn is_other_share(job: &Job, outcome: &Outcome, handshakes: u64, resumed: u64) -> bool {
    let wanted = f64::from(job.plan.resumption.get()) / 100.0;
    // Where connections are kept, more handshakes do not come.
    if job.plan.keeps_connections() && resumed == 0 && handshakes as f64 * wanted >= 1.0 {
        return true;
    }
    let first = match outcome.collected {
        Some(_) => 0,
        None => handshakes.min(job.plan.connections as u64),
    };
    let (lowest, highest) = share_interval(resumed, handshakes - first, ONE_IN_A_THOUSAND);
    highest < wanted - RESUMPTION_TOLERANCE || lowest > wanted + RESUMPTION_TOLERANCE
}

/// Whether each connection of a closed loop had its turn within the window, well or not. If not, the count
/// is of the first ones only, whatever the server does with the others.
pub(crate) fn compare_turns(job: &Job, outcome: &Outcome, mismatch: &mut Vec<Mismatch>) {
    let are_connections =
        matches!(job.plan.operation, Operation::Handshakes | Operation::OneRequestPerConnection);
    let is_closed_loop = matches!(job.plan.arrival, Arrival::Closed { .. });
    let (completed, connections) = (outcome.completed, job.plan.connections as u64);
    let is_whole = job.operations.is_none() && !outcome.interrupted;
    let ended = completed + outcome.failures.total();
    if are_connections && is_closed_loop && is_whole && 0 < completed && ended < connections {
        mismatch.push(Mismatch::new(
            "connections",
            format!("{} at a time, each in its turn", thousands(connections)),
            format!(
                "{}: the window is too short for the others, or the server does not answer them",
                handshakes_in_words(completed)
            ),
        ));
    }
}
