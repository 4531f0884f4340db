//! ab (ApacheBench): its command line and its report.

use std::ffi::OsString;

use load::{ErrorKind, Http, Job, Operation};
use tls::Version;
use units::Nanos;

use crate::refusal::{refuse_without_option, whole_seconds};
use crate::report::{Report, failures, field, negotiated, number};
use crate::{Peer, PeerError};

/// ab ends after a number of requests and reserves 32 bytes for each. These are more than it can
/// make per second, and the most in all.
const REQUESTS_PER_SECOND: u64 = 200_000;
const MOST_REQUESTS: u64 = 50_000_000;

pub(crate) fn arguments(job: &Job, duration: Nanos) -> Result<Vec<OsString>, PeerError> {
    let plan = &job.plan;
    refuse_without_option(Peer::Ab, plan.group.map(|group| format!("--group {group}")))?;
    let version = plan.asked_version();
    let suite = match (plan.only_suite(), version) {
        // ab's option only has the suites up to TLS 1.2.
        (Some(suite), Some(Version::Tls13)) => {
            refuse_without_option(Peer::Ab, Some(format!("--suite {suite}")))?;
            None
        }
        (suite, _) => suite,
    };
    let seconds = duration.0 / 1_000_000_000;
    let requests = seconds.saturating_mul(REQUESTS_PER_SECOND).min(MOST_REQUESTS);
    let mut arguments: Vec<String> =
        ["-q", "-d", "-S", "-r"].into_iter().map(str::to_owned).collect();
    // The time limit sets a number of requests, which the next option replaces.
    for (option, value) in [
        ("-t", seconds),
        ("-n", requests.max(job.plan.connections as u64)),
        ("-c", job.plan.connections as u64),
        ("-s", whole_seconds(Peer::Ab, job.plan.timeout)?),
    ] {
        arguments.extend([option.to_owned(), value.to_string()]);
    }
    if job.plan.operation == Operation::Requests {
        arguments.push("-k".to_owned());
    }
    if let Some(version) = version {
        arguments.extend(["-f".to_owned(), format!("TLS{}", version.number())]);
    }
    if let Some(suite) = suite {
        arguments.extend(["-Z".to_owned(), suite.openssl_name.to_owned()]);
    }
    for source in &job.plan.source {
        arguments.extend(["-B".to_owned(), source.to_string()]);
    }
    for header in &job.plan.header {
        arguments.extend(["-H".to_owned(), header.to_string()]);
    }
    arguments.push(job.url.to_string());
    Ok(arguments.into_iter().map(OsString::from).collect())
}

pub(crate) fn read(text: &str) -> Result<Report, String> {
    let seconds: f64 = number(text, "Time taken for tests:")?;
    if !(0.0..1e9).contains(&seconds) {
        return Err(format!("says that its tests took {seconds} seconds"));
    }
    let claimed: u64 = number(text, "Complete requests:")?;
    let failed: u64 = number(text, "Failed requests:")?;
    let (transferred, body) =
        (number::<u64>(text, "Total transferred:")?, number::<u64>(text, "HTML transferred:")?);
    // These lines appear only where their count is not 0.
    let rare = |label| field(text, label).map_or(Ok(0), |_| number::<u64>(text, label));
    let (wrong_status, write) = (rare("Non-2xx responses:")?, rare("Write errors:")?);
    let mut kinds = [("Connect:", 0), ("Receive:", 0), ("Length:", 0), ("Exceptions:", 0)];
    if failed > 0 {
        let list = field(text, "(Connect:").ok_or("counts failures without their kinds")?;
        let list = format!("Connect: {}", list.trim_end_matches(')'));
        for (name, count) in &mut kinds {
            *count = count_after(&list, name)?;
        }
    }
    let [connect, receive, length, exceptions] = kinds.map(|(_, count)| count);
    // Its complete requests include responses of another length, those with a wrong status, and
    // connections that closed before a byte had come.
    let likely = claimed
        .saturating_sub(length)
        .saturating_sub(wrong_status)
        .saturating_sub(receive)
        .saturating_sub(exceptions);
    let length_of_first: u64 = number(text, "Document Length:")?;
    let possible = match (transferred, body.checked_div(length_of_first)) {
        (0, _) => 0,
        (_, Some(bodies)) if wrong_status == 0 => bodies,
        _ => u64::MAX,
    };
    let completed = likely.min(possible);
    Ok(Report {
        duration: Some(Nanos((seconds * 1e9).round() as u64)),
        completed,
        not_ended: None,
        failures: failures([
            (ErrorKind::Refused, connect, "ab: no connection"),
            (ErrorKind::Reset, receive, "ab: a response could not be read"),
            (ErrorKind::EarlyClose, exceptions, "ab: the connection broke"),
            (ErrorKind::EarlyClose, write, "ab: the request could not be written"),
            (ErrorKind::ShortBody, length, "ab: a body of another length than the first one"),
            (ErrorKind::Status, wrong_status, "ab: a status other than 2xx"),
            (ErrorKind::EarlyClose, likely - completed, "ab: `complete` without its bytes"),
        ]),
        body,
        http: Http::V1,
        negotiated: field(text, "SSL/TLS Protocol:").and_then(|value| {
            let mut parts = value.split(',');
            let key = field(text, "Server Temp Key:").unwrap_or_default();
            negotiated(parts.next()?, parts.next()?, key)
        }),
    })
}

/// The number after a name, as in `Connect: 0, Receive: 3`.
fn count_after(list: &str, name: &str) -> Result<u64, String> {
    list.split(',')
        .find_map(|part| part.trim().strip_prefix(name)?.trim().parse().ok())
        .ok_or_else(|| format!("says `{list}`, without the number of `{name}`"))
}
