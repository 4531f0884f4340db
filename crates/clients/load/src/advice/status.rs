//! What to do about a response that is not the one that was asked for.

use wire::reception::{GRPC_STATUS, HTTP2_FRAME, TLS_RECORD};

use crate::Job;

/// What to do about a server that speaks HTTP/2 alone.
pub(super) const NO_HTTP11: &str = "toll spoke HTTP/1.1, which this server does not answer: load it over HTTP/2 with \
                                    --http 2";

/// `seen` begins with a status, or no readable response came.
pub(super) fn on_status(seen: &str, job: &Job) -> &'static str {
    if seen == TLS_RECORD {
        return "this port speaks TLS; try an https:// URL";
    }
    if seen == HTTP2_FRAME {
        return NO_HTTP11;
    }
    if seen.starts_with(GRPC_STATUS) {
        return "the server has answered a call of gRPC with this error; does its log say why?";
    }
    match seen.get(..3).unwrap_or_default() {
        "304" => {
            "it answers a condition: leave If-None-Match and If-Modified-Since out (-H), or find out \
             why the server sends it unasked"
        }
        "400" if job.url.is_tls() => {
            "the server does not accept the request as it is: does it want another header (-H), or a \
             client certificate?"
        }
        "400" => {
            "the server does not accept the request as it is: does this port speak TLS (an https:// \
             URL), or want another header (-H)?"
        }
        "401" => "the server asks for a login: give it, such as -H 'Authorization: Bearer TOKEN'",
        "403" => "the server forbids this; its log or configuration says to whom, and why",
        "404" | "410" => "give the path of an object that the server has",
        "405" => "what is at this path does not take this method; curl -i shows which it allows",
        "421" => {
            "the server has no site of the URL's name, or another one than the name in the handshake \
             says; give one that it serves in the URL, and the server's address with --connect-to"
        }
        "429" => {
            "the server limits how often one client may ask; lift that limit for the measurement \
             (nginx: limit_req; HAProxy: stick-table rates)"
        }
        "500" | "501" | "502" | "503" | "504" => "does the server's log say why?",
        status if is_of(status, b'3') => {
            "give the address to which the server redirects (curl -i shows it)"
        }
        status if is_of(status, b'4') || is_of(status, b'5') => {
            "curl -i shows what else the server says; its log may say why"
        }
        status if is_of(status, b'2') && seen.contains("before all") => {
            "the server answers without reading the body; does its log say why?"
        }
        status if is_of(status, b'2') => {
            "give the status that a right answer has with --expect (curl -i shows it)"
        }
        _ => "a response must be HTTP/1.1 with status 200; look at it with curl -i",
    }
}

fn is_of(status: &str, class: u8) -> bool {
    matches!(status.as_bytes(), [first, b'0'..=b'9', b'0'..=b'9'] if *first == class)
}
