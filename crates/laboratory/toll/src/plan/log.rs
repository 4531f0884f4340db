//! Reading an access log, and what a plan says of it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::load::Http;
use capacity::{AccessLog, Heads, LeftOut, LogUse, Protocol};
use units::{counted, thousands};

use super::arguments::Arguments;
use super::phrases::percent;
use crate::Failure;
use crate::progress::ProgressLine;

/// Reading that is over sooner shows nothing.
const QUIET: Duration = Duration::from_secs(2);

/// Reads the log; `None` where that was interrupted.
pub(super) fn read(
    arguments: &Arguments,
    path: &Path,
    interrupted: &AtomicBool,
) -> Result<Option<AccessLog>, Failure> {
    let progress = ProgressLine::new(!arguments.json, "{bar:24} {wide_msg}");
    let began = Instant::now();
    let read = capacity::read(path, arguments.log_format.as_ref(), &mut |so_far| {
        if interrupted.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if began.elapsed() > QUIET {
            progress.show(so_far.bytes, so_far.all_bytes.max(so_far.bytes), || {
                format!("{} of {}", counted(so_far.lines, "line"), path.display())
            });
        }
        ControlFlow::Continue(())
    });
    read.map_err(Failure::request)
}

/// What was read of a log and what of it was used.
pub(super) fn in_words(log: &LogUse, planned: Http) -> String {
    let mut sentences = vec![lines(log)];
    if let Some(connections) = &log.connections {
        let resumption = if connections.with_resumption > 0 { " and resumption" } else { "" };
        let requests = counted(connections.requests, "request");
        sentences.push(format!("Its requests per connection{resumption} are by {requests}."));
    }
    if log.not_numbered > 0 {
        let requests = counted(log.not_numbered, "request");
        sentences.push(format!(
            "{requests} of HTTP/2 or later count no connections: Apache numbers all of them 0."
        ));
    }
    sentences.extend(shares(log, planned));
    sentences.extend(heads(log.heads));
    sentences.join(" ")
}

fn lines(log: &LogUse) -> String {
    let format = log.format;
    let lines = counted(log.lines, "line");
    let LeftOut { plain, upgraded } = log.left_out;
    let damaged = match log.lines - log.requests - plain - upgraded {
        1 => "1 was no request".to_owned(),
        damaged => format!("{} were no requests", thousands(damaged)),
    };
    let damaged =
        log.damaged.as_ref().map(|of| format!("{damaged} (line {}: {})", of.line, of.why));
    let plain = (plain > 0).then(|| format!("{} not over TLS", thousands(plain)));
    let upgraded = (upgraded > 0).then(|| {
        format!("{} of connections that became WebSockets or tunnels", thousands(upgraded))
    });
    let out: Vec<String> = [plain, upgraded].into_iter().flatten().collect();
    let out = (!out.is_empty()).then(|| format!("left out: {}", out.join(", ")));
    let others: Vec<String> = [out, damaged].into_iter().flatten().collect();
    if others.is_empty() {
        return format!("Access log ({format}): {lines}, all of them requests.");
    }
    let requests = thousands(log.requests);
    format!("Access log ({format}): {requests} of {lines}; {}.", others.join("; "))
}

/// What lines say of protocols and upstreams. A plan has one protocol, which is compared.
fn shares(log: &LogUse, planned: Http) -> Option<String> {
    let share = |count: u64| count as f64 / log.requests as f64;
    let protocols = log.protocols.iter().map(|(name, count)| (name.to_string(), share(*count)));
    let tls = log.tls.iter().map(|(name, count)| (name.to_string(), share(*count)));
    let proxied = log.proxied.map(|share| ("passed to another server".to_owned(), share));
    let shares: Vec<String> = protocols
        .chain(tls)
        .chain(proxied)
        .map(|(name, share)| format!("{} {name}", percent(share)))
        .collect();
    if shares.is_empty() {
        return None;
    }
    let of = |version| share(log.protocols.get(&version).copied().unwrap_or(0));
    let shares_of = [(Http::V2, of(Protocol::V2)), (Http::V3, of(Protocol::V3))];
    let most = shares_of.iter().find(|(_, share)| *share > 0.5).map(|(version, _)| *version);
    let is_planned_half = shares_of.contains(&(planned, 0.5));
    let advice = match most {
        _ if log.protocols.is_empty() || most.unwrap_or(Http::V1) == planned || is_planned_half => {
            String::new()
        }
        Some(most) => {
            format!(". The plan is for HTTP/{planned}: give --http {most} for most of them")
        }
        None => {
            format!(". The plan is for HTTP/{planned}: leave out --http {planned} for most of them")
        }
    };
    Some(format!("Of its requests: {}{advice}.", shares.join(", ")))
}

fn heads(heads: Heads) -> Option<String> {
    match heads {
        Heads::NotCounted => None,
        Heads::Subtracted { bytes, lines } => Some(format!(
            "Its sizes count heads: {} are subtracted from each, the median of {} without a body.",
            counted(bytes, "byte"),
            counted(lines, "response"),
        )),
        Heads::Included => Some(
            "Its sizes count heads, which are still in them: no HEAD or 304 line shows how long heads are."
                .to_owned(),
        ),
        Heads::Unknown => Some(
            "Its sizes are taken to be those of bodies: no HEAD or 304 line shows whether heads are in them."
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn said(text: &str, planned: Http) -> String {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        log.write_all(text.as_bytes()).unwrap();
        let read = capacity::read(log.path(), None, &mut |_| ControlFlow::Continue(()));
        in_words(&read.unwrap().unwrap().used, planned)
    }

    fn line(request: &str, status: u32, size: u64, more: &str) -> String {
        format!(
            "192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] \"{request}\" {status} {size} \"-\" \"-\"{more}\n"
        )
    }

    #[test]
    fn each_line_is_a_request_or_counted_as_none() {
        let good = line("GET / HTTP/1.1", 304, 0, "");
        let said = |text: &[&str]| said(&text.concat(), Http::V1);
        let all = said(&[&good.repeat(2_000)]);
        assert_eq!(
            all,
            "Access log (combined): 2,000 lines, all of them requests. Of its requests: 100% HTTP/1.1."
        );
        let one = said(&[&good.repeat(1_999), "torn\n"]);
        let expected =
            "1,999 of 2,000 lines; 1 was no request (line 2000: it has another form). Of";
        assert!(one.contains(expected), "{one}");
        let bad = line("GET / HTTP/1.1", 20, 5, "");
        let upgraded = line("GET /ws HTTP/1.1", 101, 52_428_800, "");
        let plain = line("GET / HTTP/1.1", 200, 5, " 0 -");
        let left_out =
            said(&[&good.repeat(1_994), &upgraded.repeat(2), &plain.repeat(3), "torn\n"]);
        let expected = "1,994 of 2,000 lines; left out: 3 not over TLS, 2 of connections that became \
                        WebSockets or tunnels; 1 was no request (line 2000: it has another form). Of";
        assert!(left_out.contains(expected), "{left_out}");
        let several = said(&[&good, &bad.repeat(12), &good.repeat(1_187)]);
        let expected = "1,188 of 1,200 lines; 12 were no requests (line 2: it has no status). Of";
        assert!(several.contains(expected), "{several}");
    }

    #[test]
    fn what_connections_are_counted_from_is_said() {
        let of = |version: &str, fields: &str| line(&format!("GET / {version}"), 304, 0, fields);
        let nginx = said(&[of("HTTP/1.1", " 1 r"), of("HTTP/1.1", "")].concat(), Http::V1);
        assert!(
            nginx.contains("requests per connection and resumption are by 1 request."),
            "{nginx}"
        );
        let apache =
            [of("HTTP/1.1", " 0 Initial").repeat(2), of("HTTP/2.0", " 0 Initial").repeat(3)];
        let apache = said(&apache.concat(), Http::V2);
        assert!(apache.contains("are by 2 requests. 3 requests of HTTP/2"), "{apache}");
        let json = "{\"msec\":1791640536,\"status\":200,\"body_bytes_sent\":5,\"connection_requests\":1}\n";
        let json = said(json, Http::V1);
        assert!(json.contains("requests per connection are by 1 request."), "{json}");
        let none = said(&of("HTTP/1.1", ""), Http::V1);
        assert!(!none.contains("connection"), "{none}");
    }

    #[test]
    fn the_protocol_of_most_requests_is_compared_with_the_plan() {
        let of = |version: &str, count: usize| {
            line(&format!("GET / {version}"), 304, 0, "").repeat(count)
        };
        let most = [of("HTTP/1.1", 1), of("HTTP/2.0", 3)].concat();
        let least = [of("HTTP/1.1", 3), of("HTTP/2.0", 1)].concat();
        let newest = of("HTTP/3.0", 3);
        for (text, planned, about) in [
            (&newest, Http::V3, "100% HTTP/3."),
            (&newest, Http::V2, "100% HTTP/3. The plan is for HTTP/2: give --http 3"),
            (
                &least,
                Http::V3,
                "75% HTTP/1.1, 25% HTTP/2. The plan is for HTTP/3: leave out --http 3",
            ),
            (&most, Http::V1, "25% HTTP/1.1, 75% HTTP/2. The plan is for HTTP/1.1: give --http 2"),
            (&most, Http::V2, "25% HTTP/1.1, 75% HTTP/2."),
            (&least, Http::V1, "75% HTTP/1.1, 25% HTTP/2."),
            (&least, Http::V2, "75% HTTP/1.1, 25% HTTP/2. The plan is for HTTP/2: leave out"),
        ] {
            let said = said(text, planned);
            assert!(said.contains(about), "{said}");
            assert_eq!(said.contains("The plan"), about.contains("The plan"), "{said}");
        }
        let json = |tls: &str, upstream: &str| {
            format!(
                "{{\"msec\":1791640536,\"status\":200,\"size\":5,\"ssl_protocol\":\"{tls}\",\"upstream_addr\":\"{upstream}\"}}\n"
            )
        };
        let said = said(&[json("TLSv1.3", "-"), json("TLSv1.2", "[::1]:80")].concat(), Http::V1);
        assert!(
            said.contains("Of its requests: 50% TLS 1.2, 50% TLS 1.3, 50% passed to"),
            "{said}"
        );
    }

    #[test]
    fn how_sizes_were_got_is_said() {
        let body = line("GET / HTTP/1.1", 200, 5_000, "");
        let head = |size: u64| line("HEAD / HTTP/1.1", 200, size, "");
        for (text, about) in [
            (body.clone(), "no HEAD or 304 line shows whether heads are in them"),
            ([&*body, &head(0)].concat(), "all of them requests. Of its requests: 100% HTTP/1.1."),
            (
                [&*body, &head(312)].concat(),
                "312 bytes are subtracted from each, the median of 1 response",
            ),
            (
                "#Fields: date time sc-status sc-bytes\n2026-10-10 13:55:36 200 930\n".to_owned(),
                "which are still in them",
            ),
        ] {
            let said = said(&text, Http::V1);
            assert!(said.contains(about), "{said}");
            assert_eq!(said.contains("Its sizes"), !about.contains("all of them"), "{said}");
        }
    }
}
