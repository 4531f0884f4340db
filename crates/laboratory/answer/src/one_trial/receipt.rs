//! What was negotiated and verified, against what was asked.

use std::collections::BTreeMap;

use observe::Fact;
use tls::{CertificateKey, KeyExchange, Mac, Suite};
use trial::{ReceiptRow, TrialRecord};
use units::{Bytes, counted};

/// What was negotiated, and how many operations failed.
pub(super) fn in_one_line(line: &TrialRecord) -> String {
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
    parts.extend(all(&got.http, &|how| format!("HTTP/{}", how.split(' ').next().unwrap_or(how))));
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
    parts.extend(got.names.map(|names| counted(names as u64, "name")));
    parts.extend(got.certificates.map(|shown| counted(shown as u64, "certificate")));
    if by_kernel(line).is_some() {
        parts.push("kernel TLS".to_owned());
    }
    parts.push(counted(line.failed(), "error"));
    parts.join(" · ")
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
fn by_kernel(line: &TrialRecord) -> Option<u64> {
    let counted = line.receipt.obtained.kernel_tls.as_ref().and_then(Fact::known)?;
    Some(counted.sent()).filter(|taken| *taken > 0)
}

/// All that was asked for.
pub(super) fn asked(line: &TrialRecord) -> String {
    listed(line, |row| &row.asked).join(", ")
}

/// All that was got, with the bytes that came.
pub(super) fn got(line: &TrialRecord) -> String {
    let mut parts = listed(line, |row| &row.obtained);
    if line.bytes.body > 0 {
        parts.push(match &line.receipt.obtained.client {
            None => format!("{} of bodies proven", size(line.bytes.body)),
            Some(client) => format!("{} of bodies according to {client}", size(line.bytes.body)),
        });
    }
    if line.bytes.unproven > 0 {
        parts.push(format!("{} not proven and not counted", size(line.bytes.unproven)));
    }
    parts.join(", ")
}

/// One side of the receipt, each value after its label.
fn listed(line: &TrialRecord, side: fn(&ReceiptRow) -> &String) -> Vec<String> {
    let rows = line.receipt.rows();
    let filled = rows.iter().filter(|row| !side(row).is_empty());
    filled.map(|row| format!("{} {}", row.what, side(row))).collect()
}

/// Of what was counted, in a unit that a person reads; sizes that were asked for print themselves.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => Bytes(bytes).to_string(),
        1_048_576..10_737_418_240 => format!("{:.1}MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1}GiB", bytes as f64 / 1_073_741_824.0),
    }
}
