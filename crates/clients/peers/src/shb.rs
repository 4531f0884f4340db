//! shb, a client on io_uring (<https://crates.io/crates/shb>): its command line and its report.
//!
//! It takes any certificate, has no options for TLS, and by itself waits for several answers at once before it goes
//! on (`--batch-linger`), as toll's client does with `wakeups = "coalesced"`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use load::{ErrorKind, Http, Job, Operation};
use serde::Deserialize;
use units::Nanos;

use crate::refusal::{milliseconds, refuse_tls_options};
use crate::report::{Report, failures};
use crate::{Peer, PeerError, wrk};

/// What it reports, as far as toll reads it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    duration_seconds: f64,
    /// Plaintext, heads included.
    bytes_received: u64,
    protocol: String,
    requests: Requests,
    status_codes: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Requests {
    /// Those of `errors` that found no connection.
    connect_errors: u64,
    errors: u64,
}

pub(crate) fn arguments(job: &Job, duration: Nanos) -> Result<Vec<OsString>, PeerError> {
    let plan = &job.plan;
    refuse_tls_options(Peer::Shb, plan)?;
    let mut arguments = vec![
        "--json".to_owned(),
        format!("--threads={}", plan.cpus.len()),
        format!("--connections={}", plan.connections),
        format!("--duration={}", milliseconds(duration)),
        format!("--timeout={}", milliseconds(plan.timeout)),
    ];
    let version = match plan.http {
        Some(Http::V2) => Some("--http2"),
        Some(Http::V3) => Some("--http3"),
        Some(Http::V1) | None => None,
    };
    if let Some(version) = version {
        arguments.extend([version.to_owned(), format!("--parallel={}", plan.streams())]);
    }
    if plan.operation == Operation::OneRequestPerConnection {
        arguments.push("--disable-keepalive".to_owned());
    }
    for header in &plan.header {
        arguments.push(format!("--header={header}"));
    }
    arguments.push(job.url.to_string());
    Ok(arguments.into_iter().map(OsString::from).collect())
}

pub(crate) fn read(text: &str, job: &Job) -> Result<Report, String> {
    let Json { duration_seconds, bytes_received, protocol, requests, status_codes } =
        serde_json::from_str(text).map_err(|error| format!("prints another report: {error}"))?;
    let of = |is_right: bool| -> u64 {
        let codes = status_codes.iter().filter(|(code, _)| code.starts_with('2') == is_right);
        codes.map(|(_, count)| count).sum()
    };
    let (completed, wrong) = (of(true), of(false));
    Ok(Report {
        duration: Some(Nanos((duration_seconds * 1e9) as u64)),
        completed,
        not_ended: None,
        failures: failures([
            (ErrorKind::Refused, requests.connect_errors, "shb: no connection, or no TLS"),
            (
                ErrorKind::Reset,
                requests.errors.saturating_sub(requests.connect_errors),
                "shb: an answer that did not come whole, or in time",
            ),
            (ErrorKind::Status, wrong, "shb: a status other than 2xx"),
        ]),
        body: wrk::body(bytes_received, completed, job),
        http: match &*protocol {
            "HTTP/2" => Http::V2,
            "HTTP/3" => Http::V3,
            _ => Http::V1,
        },
        negotiated: None,
    })
}

/// The version of the program at this path, which does not print one: what cargo wrote where it installed it.
pub(crate) fn version(program: &Path) -> Option<String> {
    let root = program.canonicalize().ok()?.parent()?.parent()?.to_owned();
    let installed = std::fs::read_to_string(root.join(".crates.toml")).ok()?;
    version_in(&installed).map(str::to_owned)
}

/// Of a line `"shb 0.6.0 (registry+https://...)" = ["shb"]`.
fn version_in(installed: &str) -> Option<&str> {
    let line = installed.lines().find_map(|line| line.strip_prefix("\"shb "))?;
    line.split(' ').next().filter(|version| version.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_version_is_the_one_that_cargo_installed() {
        let text = "[v1]\n\"cargo-nextest 0.9.91 (registry+a)\" = [\"cargo-nextest\"]\n\
                    \"shb 0.6.0 (registry+https://b)\" = [\"shb\"]\n";
        assert_eq!(version_in(text), Some("0.6.0"));
        assert_eq!(version_in("[v1]\n"), None);
        assert_eq!(version(Path::new("/nowhere/bin/shb")), None);
    }
}
