//! h2load of nghttp2, speaking HTTP/1.1, HTTP/2 or HTTP/3: its command line and its report.

use std::ffi::OsString;
use std::path::Path;

use load::{ErrorKind, Http, Job};
use memchr::memmem;
use tls::Version;
use units::Nanos;

use crate::PeerError;
use crate::refusal::milliseconds;
use crate::report::{Report, count_before, failures, field, negotiated};

/// # Errors
/// None: where h2load has no option for a TLS setting, its report shows what was negotiated.
pub(crate) fn arguments(job: &Job, duration: Nanos) -> Result<Vec<OsString>, PeerError> {
    // The name of ALPN's list before 1.58, which later versions know too.
    let streams = || format!("--max-concurrent-streams={}", job.plan.streams());
    let mut arguments = match job.plan.http {
        Some(Http::V2) => vec!["--npn-list=h2".to_owned(), streams()],
        Some(Http::V3) => vec!["--npn-list=h3".to_owned(), streams()],
        Some(Http::V1) | None => vec!["--h1".to_owned()],
    };
    arguments.extend([
        format!("--threads={}", job.plan.cpus.len()),
        format!("--clients={}", job.plan.connections),
        format!("--duration={}", milliseconds(duration)),
        format!("--connection-inactivity-timeout={}", milliseconds(job.plan.timeout)),
        format!("--connect-to={}", job.address),
    ]);
    if let Some(suite) = job.plan.only_suite() {
        let option = match suite.version() {
            Version::Tls12 => "--ciphers",
            Version::Tls13 => "--tls13-ciphers",
        };
        arguments.push(format!("{option}={}", suite.openssl_name));
    }
    if let Some(group) = job.plan.group {
        arguments.push(format!("--groups={}", group.openssl_name()));
    }
    for header in &job.plan.header {
        arguments.extend(["-H".to_owned(), header.to_string()]);
    }
    arguments.push(job.url.to_string());
    Ok(arguments.into_iter().map(OsString::from).collect())
}

/// Whether the program at this path was built with HTTP/3: then it is linked with the library ngtcp2, which it names.
/// Others have its options, and fail at every request.
pub(crate) fn has_http3(program: &Path) -> bool {
    std::fs::read(program).is_ok_and(|bytes| memmem::find(&bytes, b"ngtcp2").is_some())
}

pub(crate) fn read(text: &str) -> Result<Report, String> {
    let line = |label: &str| field(text, label).ok_or_else(|| format!("has no line `{label}`"));
    let finished = line("finished in ")?;
    let time = finished.split(',').next().unwrap_or_default();
    let duration: Nanos =
        time.parse().map_err(|_| format!("says `finished in {finished}`, which is not a time"))?;
    let requests = line("requests:")?;
    let statuses = line("status codes:")?;
    let of_status = |class: &str| count_before(statuses, class);
    let wrong_status = [of_status("3xx")?, of_status("4xx")?, of_status("5xx")?]
        .into_iter()
        .fold(0, u64::saturating_add);
    Ok(Report {
        duration: Some(duration),
        completed: of_status("2xx")?.min(count_before(requests, "succeeded")?),
        // One for each connection at its end, in good health. A connection that is reset is not opened
        // again, and its request neither done nor failed.
        not_ended: Some(
            count_before(requests, "started")?.saturating_sub(count_before(requests, "done")?),
        ),
        failures: failures([
            (ErrorKind::Reset, count_before(requests, "errored")?, "h2load: errored"),
            (ErrorKind::Stall, count_before(requests, "timeout")?, "h2load: timeout"),
            (ErrorKind::Status, wrong_status, "h2load: a status other than 2xx"),
        ]),
        body: body(line("traffic:")?)?,
        // Without TLS it prints h2c.
        http: match field(text, "Application protocol:") {
            Some("h3") => Http::V3,
            Some(of) if of.starts_with("h2") => Http::V2,
            _ => Http::V1,
        },
        negotiated: field(text, "TLS Protocol:").and_then(|version| {
            // Of groups that are not curves alone only the newer line is printed.
            let key = field(text, "Negotiated Group:").or_else(|| field(text, "Server Temp Key:"));
            let key = key.unwrap_or_default();
            negotiated(version, field(text, "Cipher:")?, key)
        }),
    })
}

/// Its "data" includes bytes from before and after its window. Its "total" does not, but includes
/// the heads. The result is the lesser of the two.
fn body(traffic: &str) -> Result<u64, String> {
    let without_heads = exact(traffic, "total")?.saturating_sub(exact(traffic, "headers")?);
    Ok(exact(traffic, "data")?.min(without_heads))
}

/// The exact number in `75.81MB (79495168) data`.
fn exact(traffic: &str, what: &str) -> Result<u64, String> {
    traffic
        .split(',')
        .find_map(|part| {
            let (_, rest) = part.trim().split_once('(')?;
            let (number, name) = rest.split_once(')')?;
            (name.split_whitespace().next() == Some(what)).then(|| number.parse().ok())?
        })
        .ok_or_else(|| format!("says `traffic: {traffic}`, without the bytes of {what}"))
}
