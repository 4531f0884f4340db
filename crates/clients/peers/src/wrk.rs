//! wrk: its command line and its report.
//!
//! wrk's own report rounds to three digits. A script's `done` function gets the exact counts when
//! the load is over, so it costs nothing during the load. Functions that wrk would call for each
//! request are left undefined.

use std::ffi::OsString;
use std::path::Path;

use load::{ErrorKind, Http, Job, Operation};
use units::{Bytes, Nanos};

use crate::refusal::{refuse_tls_options, whole_seconds};
use crate::report::{Report, failures, field};
use crate::{Peer, PeerError};

/// Prints [`LABEL`] and the counts.
pub(crate) const SCRIPT: &str = r#"
function done(summary)
  local e = summary.errors
  io.write(string.format("\ntoll: microseconds=%.0f requests=%.0f bytes=%.0f connect=%.0f " ..
    "read=%.0f write=%.0f timeout=%.0f status=%.0f\n", summary.duration, summary.requests,
    summary.bytes, e.connect, e.read, e.write, e.timeout, e.status))
end
"#;

const LABEL: &str = "toll:";

pub(crate) fn arguments(
    job: &Job,
    duration: Nanos,
    script: &Path,
) -> Result<Vec<OsString>, PeerError> {
    refuse_tls_options(Peer::Wrk, &job.plan)?;
    let timeout = whole_seconds(Peer::Wrk, job.plan.timeout)?;
    let mut arguments: Vec<OsString> = vec![
        format!("-t{}", job.plan.cpus.len()).into(),
        format!("-c{}", job.plan.connections).into(),
        format!("-d{}s", duration.seconds()).into(),
        "--timeout".into(),
        format!("{timeout}s").into(),
        "-s".into(),
        script.into(),
    ];
    if job.plan.operation == Operation::OneRequestPerConnection {
        arguments.extend(["-H".into(), "Connection: close".into()]);
    }
    for header in &job.plan.header {
        arguments.extend(["-H".into(), header.to_string().into()]);
    }
    arguments.push(job.url.to_string().into());
    Ok(arguments)
}

pub(crate) fn read(text: &str, job: &Job) -> Result<Report, String> {
    let line = field(text, LABEL).ok_or("has no line from toll's script")?;
    let value = |name: &str| -> Result<u64, String> {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
            .ok_or_else(|| format!("says `{line}`, without {name}"))
    };
    let (requests, bytes) = (value("requests")?, value("bytes")?);
    let (status, timeout) = (value("status")?, value("timeout")?);
    // Responses with a wrong status and those that took too long are among its requests.
    let completed = requests.saturating_sub(status).saturating_sub(timeout);
    Ok(Report {
        duration: Some(Nanos(value("microseconds")?.saturating_mul(1_000))),
        completed,
        not_ended: None,
        failures: failures([
            (ErrorKind::Refused, value("connect")?, "wrk: no connection, or no TLS"),
            (ErrorKind::Reset, value("read")?, "wrk: reset, or closed within a response"),
            (ErrorKind::EarlyClose, value("write")?, "wrk: the request could not be written"),
            (ErrorKind::Stall, timeout, "wrk: a response took longer than the time limit"),
            (ErrorKind::Status, status, "wrk: a status of 400 or more"),
        ]),
        body: body(bytes, requests, job),
        http: Http::V1,
        negotiated: None,
    })
}

/// Of bytes that include the heads of the responses. Where the size of a generated object is known, at
/// most that counts for each response that ended and each that may have been under way.
pub(crate) fn body(bytes: u64, requests: u64, job: &Job) -> u64 {
    match objects::size_of(job.url.path()) {
        Some(Bytes(size)) => {
            bytes.min(requests.saturating_add(job.plan.connections as u64).saturating_mul(size))
        }
        None => bytes,
    }
}
