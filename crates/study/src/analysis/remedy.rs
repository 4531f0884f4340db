//! What to change, where the figures of the run show that it helps.
//!
//! More is asked here than of a comparison: the ratio's interval must have its full coverage, and
//! a rate must be one that the server's CPU limited.

use tls::{CertificateKey, Cipher, Mac, Suite};

use super::compared::{Compared, Entry};
use super::wording::{list, times};
use super::{Figure, Mark};

/// A sentence that says what to change and what that brings, if anything was shown to help.
pub(super) fn remedy(compared: &Compared<'_>) -> Option<String> {
    match compared.rule.compare.as_str() {
        "target.certificate-key" => certificate(compared),
        "load.suite" => suite(compared),
        _ => None,
    }
}

fn certificate(compared: &Compared<'_>) -> Option<String> {
    let key = |entry: &Entry<'_>| entry.value.parse::<CertificateKey>().ok();
    let rsa = best(compared, |entry| matches!(key(entry), Some(CertificateKey::Rsa(_))))?;
    let ecdsa = best(compared, |entry| {
        matches!(key(entry), Some(CertificateKey::EcdsaP256 | CertificateKey::EcdsaP384))
    })?;
    let gain = gain(compared, ecdsa, rsa)?;
    let what = if compared.is_of_bodies() { "goodput" } else { "rate" };
    let where_ = if compared.is_per_cpu() { "the same CPU gives" } else { "the server gives" };
    let (ecdsa, rsa) = (compared.name(ecdsa), compared.name(rsa));
    Some(format!(
        "Use an {ecdsa} certificate: {where_} {} the {what} of {rsa}; keep {rsa} beside it only for \
         clients that cannot verify ECDSA.",
        times(&gain)
    ))
}

fn suite(compared: &Compared<'_>) -> Option<String> {
    let suite = |entry: &Entry<'_>| Suite::parse(entry.value).ok();
    let is_aead = |entry: &Entry<'_>| suite(entry).is_some_and(|suite| suite.mac == Mac::Aead);
    let best = best(compared, is_aead)?;
    // Chance alone decides between suites that give the same; the baseline stays the baseline.
    let is_as_good = |entry: &&Entry<'_>| is_aead(entry) && gain(compared, best, entry).is_none();
    let preferred = compared.baseline().filter(is_as_good).unwrap_or(best);
    let of_preferred = suite(preferred)?;
    let is_chacha = |suite: &Suite| suite.cipher == Cipher::ChaCha20Poly1305;
    let mut gains = Vec::new();
    let mut beats_chacha = None;
    for entry in &compared.entries {
        let Some(other) = suite(entry) else { continue };
        // AES-128-GCM and AES-256-GCM are not the same strength: which to take is not a matter of
        // speed alone.
        if other.mac == Mac::Aead && is_chacha(other) == is_chacha(of_preferred) {
            continue;
        }
        let Some(gain) = gain(compared, preferred, entry) else { continue };
        let name = compared.name(entry);
        gains.push(format!("{} what {name} does", times(&gain)));
        if is_chacha(other) {
            beats_chacha = Some(name);
        }
    }
    if gains.is_empty() {
        return None;
    }
    let where_ = if compared.is_per_cpu() { "on the same CPU it sends" } else { "it sends" };
    let rest = beats_chacha.map_or_else(String::new, |chacha| {
        format!("; leave {chacha} to clients without AES instructions")
    });
    Some(format!("Prefer {}: {where_} {}{rest}.", compared.name(preferred), list(&gains)))
}

/// Of the cells that are meant, the one that gives most.
fn best<'a, 'b>(
    compared: &'b Compared<'a>,
    is_meant: impl Fn(&Entry<'_>) -> bool,
) -> Option<&'b Entry<'a>> {
    let median = |entry: &Entry<'_>| {
        let figure = Figure::of_cell(entry.trials, compared.rule.metric);
        figure.map(|figure| figure.estimate.median)
    };
    let meant = compared.entries.iter().filter(|entry| is_meant(entry));
    let measured = meant.filter_map(|entry| Some((entry, median(entry)?)));
    measured.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(entry, _)| entry)
}

/// How much more the one cell gives than the other, where that is shown.
fn gain(compared: &Compared<'_>, one: &Entry<'_>, other: &Entry<'_>) -> Option<Figure> {
    let is_maximum = |entry: &Entry<'_>| {
        !matches!(entry.trials.mark(), Some(Mark::ClientBound | Mark::NotServerBound))
    };
    let is_of_servers = compared.is_per_cpu() || (is_maximum(one) && is_maximum(other));
    let ratio = Figure::ratio(one.trials, other.trials, compared.rule.metric)?;
    (is_of_servers && ratio.is_above(1.0) && ratio.is_sure()).then_some(ratio)
}
