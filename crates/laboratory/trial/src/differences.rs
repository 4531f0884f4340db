//! Where what was got differs from what was asked.
//!
//! Verification is sampled, so its absence is a mismatch only after enough operations that chance
//! cannot explain it.

use load::{Arrival, EndedConnections, Http, Job, Operation, Outcome, PeerClient, Receive};
use units::{Nanos, percent, thousands};

use crate::facts::{Asked, Obtained};
use crate::handshakes::{compare_handshakes, compare_names, compare_turns};
use crate::limit::ERRORS;
use crate::mismatch::{CONNECTIONS_UP, Mismatch};
use crate::negotiated::{count_handshakes, handshakes_in_words};

/// With a share of one in K, after 16 K events a sample that is none has a probability of
/// (1 - 1/K)^(16 K), less than e^-16: about one in ten million trials.
const SAMPLES_EXPECTED: u64 = 16;

/// All differences from what was asked.
pub(crate) fn mismatches(
    job: &Job,
    outcome: &Outcome,
    asked: &Asked,
    obtained: &Obtained,
) -> Vec<Mismatch> {
    let mut mismatch = Vec::new();
    if job.url.is_tls() {
        compare_names(outcome, asked, obtained, &mut mismatch);
        compare_handshakes(job, outcome, &mut mismatch);
        compare_turns(job, outcome, &mut mismatch);
    }
    compare_presence(job, outcome, &mut mismatch);
    compare_multiplexed(job, outcome, &mut mismatch);
    compare_datagrams(outcome, asked, &mut mismatch);
    compare_closes(outcome, obtained, &mut mismatch);
    compare_ends(job, outcome, asked, &mut mismatch);
    compare_certificates(job, obtained, &mut mismatch);
    compare_objects(job, outcome, &mut mismatch);
    compare_verification(job, outcome, &mut mismatch);
    mismatch
}

/// The part of its time that another program must have loaded.
const WHOLE: f64 = 0.95;

/// Whether another program loaded for as long as it was told to, and accounts for all that it began.
pub(crate) fn compare_peer(
    job: &Job,
    peer: &PeerClient,
    outcome: &Outcome,
    mismatch: &mut Vec<Mismatch>,
) {
    if outcome.interrupted || !outcome.lost.is_empty() {
        return;
    }
    let (asked, window) = (job.plan.duration, outcome.window);
    let shorter = peer.ran.min(window);
    if (shorter.0 as f64) < WHOLE * asked.0 as f64 {
        let obtained = format!("{} ended after {shorter}", peer.name);
        mismatch.push(Mismatch::new("duration", asked.to_string(), obtained));
    } else if peer.ran > Nanos(asked.0.saturating_add(peer.slack.0)) {
        let obtained = format!("{} ended after {}", peer.name, peer.ran);
        mismatch.push(Mismatch::new("duration", asked.to_string(), obtained));
    }
    let is_other = outcome.streams.connections == 0 && outcome.completed > 0;
    if let Some(version) = job.plan.http.filter(|_| job.plan.has_streams() && is_other) {
        let obtained = format!("{} reports another protocol, or none", peer.name);
        mismatch.push(Mismatch::new("http", version.to_string(), obtained));
    }
    if let Some(lost @ 1..) = peer.unaccounted {
        mismatch.push(Mismatch::new(
            "operation",
            "an end for each that began",
            format!(
                "{} that {} began, that did not end, and that had no open connection left",
                thousands(lost),
                peer.name
            ),
        ));
    }
}

/// The part of a window in which connections may be missing from a closed loop that keeps them.
const MISSING: f64 = 0.1;

/// Whether the connections that a closed loop keeps were up: those that are not do not load the server,
/// and the figures are those of the others. A server that closes connections has them opened again and again, of which
/// there is a warning.
fn compare_presence(job: &Job, outcome: &Outcome, mismatch: &mut Vec<Mismatch>) {
    let is_judged = job.needs_all_up()
        && outcome.latencies.connect.len() <= job.plan.connections as u64
        && outcome.completed > 0;
    let Some(up) = outcome.up.filter(|_| is_judged) else { return };
    if up.short.0 as f64 > MISSING * outcome.window.0 as f64 {
        let connections = thousands(job.plan.connections as u64);
        mismatch.push(Mismatch::new(
            CONNECTIONS_UP,
            format!("{connections} kept open"),
            format!(
                "fewer than 95% of them up for {} of the window ({} when it began, {} when it ended){}",
                percent(up.short.0 as f64 / outcome.window.0 as f64),
                thousands(up.at_begin as u64),
                thousands(up.at_end as u64),
                match up.awaited {
                    Nanos(0) => String::new(),
                    awaited => format!("; it had waited {awaited} for them (raise --warmup)"),
                }
            ),
        ));
    }
}

/// The part of their time for which operations may wait for a stream, of a server that allows fewer than were asked for.
const NO_STREAM: f64 = 0.05;

/// The same of one that is not known to: over HTTP/3 it allows others for those that have ended, and may do that for half
/// of them at a time, for which a quarter waits on average.
const LATE_STREAMS: f64 = 0.3;

/// Whether all connections spoke the version of HTTP that was asked for, where it has streams, and had as many of
/// them open as were asked for.
fn compare_multiplexed(job: &Job, outcome: &Outcome, mismatch: &mut Vec<Mismatch>) {
    let plan = &job.plan;
    let used = &outcome.streams;
    let version = plan.http.filter(|_| plan.has_streams() && outcome.completed > 0);
    let Some(version) = version else { return };
    let handshakes: u64 = outcome.negotiated.iter().map(|(_, count)| count).sum();
    let is_right = used.connections > 0 && used.by_alpn == handshakes;
    if !is_right {
        let of = thousands(handshakes.max(used.connections));
        let spoke = thousands(used.connections);
        let obtained = format!("HTTP/{version} on {spoke} of {of} connections");
        mismatch.push(Mismatch::new("http", version.to_string(), obtained));
    }
    // Other loads, and those that have just begun, need not have all streams open at any time; handshakes open none.
    let is_full = plan.arrival == Arrival::CLOSED
        && plan.operation != Operation::Handshakes
        && job.operations.is_none()
        && outcome.completed >= plan.most_open() as u64;
    let (streams, most) = (plan.streams() as u64, used.most);
    let carried = plan.requests_per_connection.as_ref().map_or(u32::MAX, |of| of.most());
    // Of the few requests of a connection that ends soon the first may be answered before the last is sent: half
    // of them at once show that they overlap.
    let carried = u64::from(carried);
    let asked = if carried <= streams { carried.div_ceil(2) } else { streams };
    let allowed = used.allowed.filter(|allowed| *allowed < asked);
    // The most streams may have been open in the warm-up only, or for a moment.
    let of_all = used.open_for.seconds() + used.no_stream_for.seconds();
    let most_waiting = if allowed.is_some() { NO_STREAM } else { LATE_STREAMS };
    let is_held_up = used.no_stream_for.seconds() > of_all * most_waiting;
    if is_held_up || is_full && most < asked {
        let connection_time = outcome.window.seconds() * plan.connections as f64;
        let on_average = used.open_for.seconds() / connection_time;
        let held_up = match is_held_up {
            true => format!(" and {on_average:.1} on average in the window"),
            false => String::new(),
        };
        let allowed = used.allowed.map_or_else(String::new, |allowed| match version {
            Http::V3 => format!("; the server allows {} at first", thousands(allowed)),
            _ => format!("; the server allows {}", thousands(allowed)),
        });
        mismatch.push(Mismatch::new(
            "streams",
            thousands(asked),
            format!("{} open at most on one connection{held_up}{allowed}", thousands(most)),
        ));
    }
}

/// Whether the client's datagrams were as long as was asked for. Of the server's, a warning counts those that are longer.
fn compare_datagrams(outcome: &Outcome, asked: &Asked, mismatch: &mut Vec<Mismatch>) {
    let Some(most) = asked.max_udp_payload else { return };
    let quic = &outcome.quic;
    let mut differs = |obtained| {
        let asked = format!("{} bytes at most in a datagram (--max-udp-payload)", thousands(most));
        mismatch.push(Mismatch::new("max_udp_payload", asked, obtained));
    };
    if quic.longest_sent > most {
        differs(format!("one of {} that was sent", thousands(quic.longest_sent)));
    }
    if let Some(carried) = quic.path_payload.filter(|carried| *carried < most) {
        differs(format!("a path that carries only those of {}", thousands(carried)));
    }
}

/// Whether the server closed connections after their last request. The client waits for its close instead
/// of connecting again; one that keeps them would answer another request where it was asked to close.
fn compare_closes(outcome: &Outcome, obtained: &Obtained, mismatch: &mut Vec<Mismatch>) {
    let kept = obtained.kept_open.unwrap_or_default();
    if kept > 0 && kept as f64 >= ERRORS * outcome.completed as f64 {
        mismatch.push(Mismatch::new(
            "close",
            "the server's close after the last request",
            format!(
                "{} connections that it kept open, for {} responses",
                thousands(kept),
                thousands(outcome.completed)
            ),
        ));
    }
}

/// Whether a server that was given a certificate for each name showed it.
fn compare_certificates(job: &Job, obtained: &Obtained, mismatch: &mut Vec<Mismatch>) {
    // A handshake that resumes a session shows no certificate.
    let names = obtained.names_certified.or(obtained.names);
    let (Some(names), Some(certificates)) = (names, obtained.certificates) else { return };
    if !job.names.is_empty() && job.plan.names.is_none() && certificates != names {
        mismatch.push(Mismatch::new(
            "certificates",
            format!("one for each of {} names", thousands(names as u64)),
            thousands(certificates as u64),
        ));
    }
}

/// Whether connections carried as many requests as planned. A server that closes them before makes more
/// handshakes, and where none has ended, the rate of handshakes is chance.
fn compare_ends(job: &Job, outcome: &Outcome, asked: &Asked, mismatch: &mut Vec<Mismatch>) {
    let Some(asked) = &asked.requests_per_connection else { return };
    let EndedConnections { by_requests, rests, by_server } = &outcome.ended;
    let all = by_requests.iter().map(|(_, count)| count).sum::<u64>() + rests + by_server;
    let obtained = if *by_server > 0 && *by_server as f64 >= ERRORS * all as f64 {
        format!(
            "{} of {} connections that the server closed before (nginx: keepalive_requests, \
             keepalive_timeout)",
            thousands(*by_server),
            thousands(all)
        )
    } else if all == 0 && outcome.completed > 0 && !job.ends_by_itself() && !outcome.interrupted {
        format!(
            "no connection that ended in {}; give a longer --duration or a smaller number",
            outcome.window
        )
    } else {
        return;
    };
    mismatch.push(Mismatch::new("requests_per_connection", asked.clone(), obtained));
}

/// Whether each object had its share. Draws are independent, so a count is binomial: beyond six
/// standard deviations is one trial in 500 million. The window cuts off what is under way at either
/// end, where large objects are more often found than small ones: a connection's worth each.
fn compare_objects(job: &Job, outcome: &Outcome, mismatch: &mut Vec<Mismatch>) {
    const STANDARD_DEVIATIONS: f64 = 6.0;
    let Some(mix) = &job.objects else { return };
    let all = outcome.objects.iter().sum::<u64>() as f64;
    for (i, portion) in mix.portions().iter().enumerate() {
        let (share, count) = (portion.share(), outcome.objects.get(i).copied().unwrap_or(0));
        let room = STANDARD_DEVIATIONS * (all * share * (1.0 - share)).sqrt();
        if (count as f64 - all * share).abs() > room + job.plan.most_open() as f64 {
            mismatch.push(Mismatch::new(
                "objects",
                format!("{} of {}", percent(share), portion.path),
                format!("{} of {all} responses", percent(count as f64 / all)),
            ));
        }
    }
}

/// What must have been verified, given how much was done.
fn compare_verification(job: &Job, outcome: &Outcome, mismatch: &mut Vec<Mismatch>) {
    let Outcome { completed, verified, .. } = outcome;
    let (is_tls, has_requests) = (job.url.is_tls(), job.plan.operation != Operation::Handshakes);
    let is_enough = |events: u64| events >= SAMPLES_EXPECTED * u64::from(job.plan.verify().0.get());
    let sample_expected = is_enough(*completed);
    let mut differs = |what: &str, asked: String, obtained: String| {
        mismatch.push(Mismatch::new(what, asked, obtained));
    };
    // With static RSA the server signs nothing: it proves its key by decrypting.
    let signed = count_handshakes(outcome, |kind| kind.signature_scheme.is_some());
    if is_tls
        && !job.plan.keeps_connections()
        && is_enough(signed.min(*completed))
        && verified.signatures == 0
    {
        differs(
            "verify",
            format!("{} of the signatures", job.plan.verify()),
            format!("none verified in {}", handshakes_in_words(signed)),
        );
    }
    if is_tls && has_requests {
        let proven = verified.walked + verified.opened;
        if *completed > 0 && proven == 0 {
            differs(
                "receive",
                "authenticated records".to_owned(),
                format!("no record opened in {completed} responses"),
            );
        } else if sample_expected && verified.opened == 0 {
            differs(
                "verify",
                format!("{} of the bodies", job.plan.verify()),
                format!("none opened whole in {completed} responses"),
            );
        }
        if job.plan.receive() == Receive::Decrypt && verified.walked > 0 {
            differs(
                "receive",
                "decrypt".to_owned(),
                format!("{} responses walked", verified.walked),
            );
        }
    }
    let is_generated =
        job.plan.expects_objects() && job.paths().all(|path| objects::size_of(path).is_some());
    if has_requests && is_generated && sample_expected && verified.compared == 0 {
        differs(
            "verify",
            format!("{} of the bodies compared with the object", job.plan.verify()),
            format!("none compared in {completed} responses"),
        );
    }
}

#[cfg(test)]
mod tests;
