//! What to do about a failure. The advice names only flags that can help: it knows which are set.

mod certificate;
mod handshake;
mod status;

use crate::{Job, Operation, Receive};
use wire::{ErrorKind, Failure};

/// What to do where one operation was tried and failed. `seen` is what was seen, in words;
/// `asks_certificate` where the server asked for a certificate of the client.
pub(crate) fn on_failure(kind: ErrorKind, seen: &str, asks_certificate: bool, job: &Job) -> String {
    if let Some(advice) = certificate::on_long_chain(kind, &job.plan) {
        return advice;
    }
    if is_about_client_certificate(kind, seen, asks_certificate) {
        return match job.plan.client_certificate {
            None => {
                "the server wants a certificate of the client; give it with --client-certificate FILE \
                 --client-key FILE"
            }
            Some(_) => {
                "the server does not accept the client's certificate; is it valid today, and does the \
                 server trust who issued it (nginx: ssl_client_certificate)?"
            }
        }
        .to_owned();
    }
    let advice = match kind {
        ErrorKind::Refused | ErrorKind::ConnectTimeout => {
            "is the server running, and is this its port?"
        }
        ErrorKind::QuicVersion | ErrorKind::Quic => {
            "does this port speak QUIC version 1 (RFC 9000), and does the server's log say more?"
        }
        ErrorKind::NoH3 | ErrorKind::Http3 => {
            "does the server speak HTTP/3 at this port, and does its log say more? Without --http 3 toll speaks \
             HTTP/1.1"
        }
        ErrorKind::Unreachable => "is the address right, and is there a route to it?",
        ErrorKind::Kernel if seen.contains("--max-udp-payload") => {
            "give less, such as 1200, which each path has to carry, or leave it out"
        }
        ErrorKind::Kernel => {
            "does a firewall or a limit of this machine forbid it (nft list ruleset, dmesg)?"
        }
        ErrorKind::TimedOut => "are the server's machine and the network to it up?",
        ErrorKind::Ports => {
            "wait until connections of an earlier load have left TIME-WAIT, or give another source \
             address (--source)"
        }
        ErrorKind::Descriptors => "raise that limit",
        ErrorKind::Alert | ErrorKind::Handshake => return handshake::on_handshake(seen, &job.plan),
        ErrorKind::NotTls => "this port speaks no TLS; try an http:// URL",
        ErrorKind::Authentication => certificate::on_certificate(seen, &job.trust),
        ErrorKind::Reset | ErrorKind::EarlyClose if !job.url.is_tls() => {
            "does this port speak what the URL says? A port of TLS wants an https:// URL, and one behind a balancer \
             may want the PROXY protocol, which toll does not speak: load it through the balancer"
        }
        ErrorKind::Reset | ErrorKind::EarlyClose => {
            "does this port speak what the URL says? One behind a balancer may want the PROXY protocol, which toll \
             does not speak: load it through the balancer"
        }
        ErrorKind::Status | ErrorKind::Content | ErrorKind::Redirect
            if job.plan.operation == Operation::Session =>
        {
            "does this server have the pages of the session file? curl -i shows what it answers"
        }
        ErrorKind::Status | ErrorKind::Redirect => status::on_status(seen, job),
        ErrorKind::LongHead => {
            "toll's client takes no longer heads; does the server send them to every client (curl -i), and \
             which of its settings makes them so long?"
        }
        ErrorKind::LongBody if seen.starts_with(&Failure::unrequested().seen) => {
            "the server speaks first, or says more than it promises: is this the port of an HTTP server?"
        }
        ErrorKind::ShortBody | ErrorKind::LongBody | ErrorKind::Content => {
            "what the server sends is not what it promises, or not the generated object that a path \
             below /bytes/ stands for"
        }
        ErrorKind::OperationTimeout => {
            "is the server so slow? give an operation longer (--operation-timeout), or ask for less"
        }
        ErrorKind::Stall => "is the server busy, or is this not the right port?",
        ErrorKind::NoH2 => {
            "has the server HTTP/2 switched on (nginx: http2 on; HAProxy: alpn h2; Apache: Protocols h2)? \
             otherwise leave --http 2 out"
        }
        ErrorKind::AnsweredHttp1 => {
            "this port speaks no HTTP/2 without TLS; try an https:// URL, or leave --http 2 out"
        }
        ErrorKind::StreamReset => "does the server's log say why it reset the stream?",
        ErrorKind::RefusedStream | ErrorKind::NoStream => {
            "give fewer --streams, or let the server take more (nginx: http2_max_concurrent_streams)"
        }
        ErrorKind::Goaway => {
            "does the server's log say why it ends connections? it may limit their requests (nginx: \
             keepalive_requests)"
        }
        ErrorKind::Http2 => {
            "the server broke the rules of HTTP/2; does another client (nghttp -v) get an answer?"
        }
        ErrorKind::FlowControl => {
            "does the server read the bodies of requests? it opens no window for them (RFC 9113, section \
             5.2); send shorter ones (--body)"
        }
        ErrorKind::UnverifiableRecord => match job.plan.receive() {
            Receive::Walk => "try --receive decrypt",
            Receive::Decrypt => {
                "the server's records are wrong, or something between changes them; does another \
                 client, such as curl, read them?"
            }
        },
    };
    advice.to_owned()
}

/// Whether the server refuses the client for its certificate, or for having none: by an alert of TLS, or
/// where it asked for one, by 400 (nginx) or 403.
fn is_about_client_certificate(kind: ErrorKind, seen: &str, asks_certificate: bool) -> bool {
    const ALERTS: [&str; 7] = [
        "certificate_required",
        "bad_certificate",
        "unsupported_certificate",
        "certificate_revoked",
        "certificate_expired",
        "certificate_unknown",
        "unknown_ca",
    ];
    match kind {
        ErrorKind::Alert => {
            ALERTS.iter().any(|alert| seen.contains(alert))
                || seen.contains("client certificate")
                // rustls, where an authority of the same name has signed it.
                || asks_certificate && seen.contains("decrypt_error")
        }
        ErrorKind::Status => {
            asks_certificate && (seen.starts_with("400") || seen.starts_with("403"))
        }
        _ => false,
    }
}

/// What to do where `most` connections fit, and a limit of `needed` descriptors would be enough.
pub(crate) fn on_descriptors(most: u64, needed: u64) -> String {
    let raise = format!("raise the limit, e.g. ulimit -n {needed}");
    match most {
        0 => raise,
        _ => format!(
            "give at most {most}, give the load more CPUs, load from several processes, or {raise}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::tests::job;
    use crate::{Plan, Trust};

    fn advice(kind: ErrorKind, seen: &str, change: impl FnOnce(&mut Job)) -> String {
        let mut job = job("https://localhost/", Plan::default());
        change(&mut job);
        on_failure(kind, seen, false, &job)
    }

    #[test]
    fn no_flag_is_advised_that_is_set() {
        let records = |receive| {
            advice(ErrorKind::UnverifiableRecord, "", |job| job.plan.receive = Some(receive))
        };
        assert!(records(Receive::Walk).contains("--receive decrypt"));
        assert!(!records(Receive::Decrypt).contains("--receive"));
        let trusting =
            |trust| advice(ErrorKind::Authentication, "a Finished", |job| job.trust = trust);
        assert!(trusting(Trust::System).contains("--insecure"));
        assert!(trusting(Trust::File("x.pem".into())).contains("--insecure"));
        assert!(!trusting(Trust::Anyone).contains("--"));
    }

    #[test]
    fn a_client_certificate_is_advised_where_the_server_wants_one() {
        let advice = |kind, seen, asks, has: bool| {
            let mut job = job("https://localhost/", Plan::default());
            job.plan.client_certificate = has.then(|| "client.crt".into());
            let advice = on_failure(kind, seen, asks, &job);
            (advice.contains("--client-certificate"), advice.contains("trust who issued it"))
        };
        let required = "certificate_required (116)";
        let late = "handshake_failure (40) after the request for a client certificate";
        for (kind, seen, asks) in [
            (ErrorKind::Alert, required, false),
            (ErrorKind::Alert, "unknown_ca (48)", true),
            (ErrorKind::Alert, late, false),
            (ErrorKind::Alert, "decrypt_error (51)", true),
            (ErrorKind::Status, "400 Bad Request", true),
            (ErrorKind::Status, "403 Forbidden", true),
        ] {
            assert_eq!(advice(kind, seen, asks, false), (true, false), "{seen}");
            assert_eq!(advice(kind, seen, asks, true), (false, true), "{seen}");
        }
        for (kind, seen, asks) in [
            (ErrorKind::Status, "400 Bad Request", false),
            (ErrorKind::Status, "404 Not Found", true),
            (ErrorKind::Alert, "handshake_failure (40)", false),
            (ErrorKind::Alert, "decrypt_error (51)", false),
        ] {
            assert_eq!(advice(kind, seen, asks, false), (false, false), "{seen}");
        }
    }

    #[test]
    fn a_path_is_advised_only_where_one_is_missing() {
        let on = |seen| advice(ErrorKind::Status, seen, |_| {});
        let missing = on("404 Not Found");
        for seen in [
            "206 Partial Content",
            "302 Found",
            "304 Not Modified",
            "400 Bad Request",
            "401 Unauthorized",
            "403 Forbidden",
            "405 Method Not Allowed",
            "421 Misdirected Request",
            "429 Too Many Requests",
            "418",
            "500 Oops",
            "a head of more than 64 KiB",
            "",
        ] {
            assert_ne!(on(seen), missing, "{seen}");
        }
        assert_ne!(on("304 Not Modified"), on("302 Found"));
    }

    #[test]
    fn a_name_that_the_server_lacks_leads_to_the_flags_for_names() {
        let on = |sni: Option<&str>| {
            advice(ErrorKind::Alert, "unrecognized_name (112)", |job| {
                job.plan.sni = sni.map(|name| name.parse().unwrap());
            })
        };
        assert!(on(None).contains("--sni") && on(None).contains("--connect-to"));
        assert!(on(Some("a.example")).contains("--sni"));
    }

    #[test]
    fn a_server_of_another_protocol_is_named() {
        let on = |seen| advice(ErrorKind::Status, seen, |_| {});
        assert!(on(wire::reception::TLS_RECORD).contains("https://"));
        assert!(on(wire::reception::HTTP2_FRAME).contains("HTTP/2"));
    }

    #[test]
    fn fewer_connections_are_advised_only_where_some_have_room() {
        assert!(on_descriptors(0, 564).contains("ulimit -n 564"));
        assert!(on_descriptors(100, 564).contains("100"));
    }
}
