//! What was negotiated and verified, against what was asked.

use std::collections::BTreeMap;

use observe::Fact;
use tls::{CertificateKey, KeyExchange, Mac, Suite};
use trial::{Line, Obtained};
use units::{Bytes, Nanos, thousands};

/// What was negotiated, and how many operations failed.
pub(super) fn in_one_line(line: &Line, is_utf8: bool) -> String {
    let got = &line.receipt.obtained;
    let mut parts: Vec<String> =
        got.client.iter().map(|client| format!("by {client}, not verified")).collect();
    if line.receipt.asked.tls.as_deref() == Some("none") {
        parts.push("plain HTTP".to_owned());
    }
    let suite = |name: &str| Suite::parse(name).map_or_else(|_| name.to_owned(), cipher);
    let is_static =
        |name: &str| Suite::parse(name).is_ok_and(|suite| suite.key_exchange == KeyExchange::Rsa);
    let all = |counts: &BTreeMap<String, u64>, short: &dyn Fn(&str) -> String| {
        let mut names: Vec<String> = counts.keys().map(|name| short(name)).collect();
        names.dedup();
        Some(names.join(" and ")).filter(|text| !text.is_empty())
    };
    parts.extend(all(&got.tls, &|number| format!("TLS {number}")));
    parts.extend(all(&got.suite, &suite));
    parts.extend(all(&got.group, &str::to_owned));
    if got.suite.keys().any(|name| is_static(name)) {
        parts.push("static RSA".to_owned());
    }
    let key = |name: &str| name.parse().map_or_else(|_| name.to_owned(), CertificateKey::words);
    parts.extend(all(&got.certificate_key, &key));
    if let (Some(full), Some(resumed @ 1..)) = (got.full, got.resumed) {
        parts.push(format!("{:.0}% resumed", resumed as f64 / (full + resumed) as f64 * 100.0));
    }
    if by_kernel(line).is_some() {
        parts.push("kernel TLS".to_owned());
    }
    parts.push(match line.failed() {
        1 => "1 error".to_owned(),
        failed => format!("{} errors", thousands(failed)),
    });
    parts.join(if is_utf8 { " · " } else { ", " })
}

/// What encrypts records, without what else a suite's name says.
fn cipher(suite: &Suite) -> String {
    let mac = match suite.mac {
        Mac::Aead => "",
        Mac::Sha1 => " with HMAC-SHA1",
        Mac::Sha256 => " with HMAC-SHA256",
        Mac::Sha384 => " with HMAC-SHA384",
    };
    format!("{}{mac}", suite.cipher.words())
}

/// How many connections the kernel's TLS took over to send.
fn by_kernel(line: &Line) -> Option<u64> {
    let counted = line.receipt.obtained.kernel_tls.as_ref().and_then(Fact::known)?;
    Some(counted.sent()).filter(|taken| *taken > 0)
}

/// All that was asked for.
pub(super) fn asked(line: &Line) -> String {
    let asked = &line.receipt.asked;
    let mut parts = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!("{name}{value}")));
    };
    add("", asked.operation.clone());
    add("session ", asked.session.clone());
    add("pages of ", asked.page_bytes.map(|bytes| Bytes(bytes).to_string()));
    add("walks ", asked.walks.map(|walks| walks.to_string()));
    add("", asked.url.clone());
    add("", asked.objects.clone());
    let headers = (!asked.headers.is_empty()).then(|| asked.headers.join(", "));
    add("header ", headers);
    add("", asked.count.map(|count| format!("{} operations", thousands(count.get().into()))));
    let noun = if asked.session.is_some() { "users" } else { "connections" };
    add("", asked.connections.map(|count| format!("{count} {noun}")));
    add("CPU ", asked.client_cpus.clone());
    add("", asked.tls.as_deref().map(version));
    add("", asked.suite.clone());
    add("", asked.group.clone());
    add("", asked.certificate_key.clone());
    let is_on = |on| if on { "on" } else { "off" }.to_owned();
    add("encrypt-then-MAC ", asked.encrypt_then_mac.map(is_on));
    let resumption = asked.resumption_percent.filter(|percent| *percent > 0);
    add("resumption ", resumption.map(|percent| format!("{percent}%")));
    add("arrival ", asked.arrival.clone().filter(|arrival| arrival != "closed"));
    add("ramp ", asked.ramp_ns.map(|ramp| Nanos(ramp).to_string()));
    add("close ", asked.close.clone().filter(|close| close != "fin"));
    add("seed ", asked.seed.map(|seed| seed.to_string()));
    add("coalescing ", asked.coalesce.map(is_on));
    add("server's congestion control ", asked.server_congestion.clone());
    add("client's congestion control ", asked.client_congestion.clone());
    add("key exchange ", asked.key_exchange.clone());
    add("receive ", asked.receive.clone());
    add("verify ", asked.verify.clone());
    parts.join(", ")
}

fn version(number: &str) -> String {
    if number == "none" { "plain HTTP".to_owned() } else { format!("TLS {number}") }
}

/// All that was got.
pub(super) fn got(line: &Line) -> String {
    let Obtained { full, resumed, .. } = line.receipt.obtained;
    let got = &line.receipt.obtained;
    let mut parts: Vec<String> =
        got.client.iter().map(|client| format!("a load by {client}, not verified")).collect();
    for (prefix, counts) in [
        ("TLS ", &got.tls),
        ("", &got.suite),
        ("", &got.group),
        ("", &got.certificate_key),
        ("", &got.signature_scheme),
        ("", &got.objects),
        ("server's congestion control ", &got.server_congestion),
        ("client's congestion control ", &got.client_congestion),
    ] {
        parts.extend((!counts.is_empty()).then(|| names(prefix, counts)));
    }
    let mut count = |number: Option<u64>, what: &str| {
        parts.extend(number.map(|number| format!("{} {what}", thousands(number))));
    };
    count(full, "full handshakes");
    count(resumed, "resumed");
    count(by_kernel(line), "encrypted by the kernel's TLS");
    count(got.signatures_verified, "signatures verified");
    count(got.bodies_walked, "bodies walked");
    count(got.bodies_authenticated, "opened whole");
    count(got.bodies_compared, "compared");
    if got.encrypt_then_mac == Some(true) {
        parts.push("encrypt-then-MAC".to_owned());
    }
    if line.bytes.body > 0 {
        parts.push(match &got.client {
            None => format!("{} of bodies proven", size(line.bytes.body)),
            Some(client) => format!("{} of bodies according to {client}", size(line.bytes.body)),
        });
    }
    if line.bytes.unproven > 0 {
        parts.push(format!("{} not proven and not counted", size(line.bytes.unproven)));
    }
    parts.join(", ")
}

/// One name alone, several with their counts.
fn names(prefix: &str, counts: &BTreeMap<String, u64>) -> String {
    let many = counts.len() > 1;
    let one = |(name, count): (&String, &u64)| match many {
        true => format!("{prefix}{name} ({})", thousands(*count)),
        false => format!("{prefix}{name}"),
    };
    counts.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// Of what was counted, in a unit that a person reads; sizes that were asked for print themselves.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => Bytes(bytes).to_string(),
        1_048_576..10_737_418_240 => format!("{:.1}MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1}GiB", bytes as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
mod tests {
    use super::in_one_line;
    use crate::summary::testing::{line, verbose};

    #[test]
    fn one_line_says_what_was_negotiated() {
        let of = |change: fn(&mut serde_json::Value)| in_one_line(&line(change).line, true);
        assert_eq!(of(|_| {}), "TLS 1.3 · AES-128-GCM · x25519 · RSA-2048 · 0 errors");
        let legacy = of(|v| {
            v["receipt"]["obtained"] = serde_json::json!({
                "tls": {"1.2": 9}, "suite": {"TLS_RSA_WITH_AES_256_CBC_SHA": 9},
                "certificate_key": {"rsa:4096": 9}, "full": 3, "resumed": 7
            });
            v["operations"]["errors"] = serde_json::json!({"reset": 1200, "alert": 34});
        });
        assert_eq!(
            legacy,
            "TLS 1.2 · AES-256-CBC with HMAC-SHA1 · static RSA · RSA-4096 · 70% resumed · \
             1,234 errors"
        );
        let several = of(|v| {
            v["receipt"]["obtained"]["group"] = serde_json::json!({"secp256r1": 1, "x25519": 2});
            v["receipt"]["obtained"]["certificate_key"] = serde_json::json!({"ecdsa:p256": 3});
            v["operations"]["errors"] = serde_json::json!({"reset": 1});
        });
        assert_eq!(several, "TLS 1.3 · AES-128-GCM · secp256r1 and x25519 · ECDSA P-256 · 1 error");
        let plain = of(|v| {
            v["receipt"]["asked"]["tls"] = "none".into();
            v["receipt"]["obtained"] = serde_json::json!({"client": "wrk 4.1.0"});
        });
        assert_eq!(plain, "by wrk 4.1.0, not verified · plain HTTP · 0 errors");
        let ascii = in_one_line(&line(|_| {}).line, false);
        assert_eq!(ascii, "TLS 1.3, AES-128-GCM, x25519, RSA-2048, 0 errors");
    }

    #[test]
    fn the_whole_receipt_has_its_counts() {
        let text = verbose(line(|_| {}));
        let expected = "got           TLS 1.3, TLS_AES_128_GCM_SHA256, x25519, rsa:2048, 64 full \
                        handshakes, 0 resumed, 600.0MiB of bodies proven\n";
        assert!(text.contains(expected), "{text}");
    }
}
