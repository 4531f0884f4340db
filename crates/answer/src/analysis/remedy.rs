//! What to change, where the figures of the run show that it helps.
//!
//! More is asked here than of a comparison: where one cell is chosen among several, it must be ahead by
//! that is [decided](stats::Decision), and a rate must be one that the server's CPU limited.

use study::metric::Kind;
use tls::{CertificateKey, Cipher, Mac, Suite};

use super::compared::{Compared, Entry};
use crate::figure::Decided;
use crate::mark::Mark;
use crate::wording::{list, times};

/// What to change, and what that gains.
pub(super) struct Remedy {
    /// What to take instead.
    preferred: String,
    /// How many times as much it gives, at least.
    least: f64,
    /// What to do, in a clause: `Use an ECDSA P-256 certificate`.
    what: String,
    /// What that gains, with intervals.
    gains: String,
    /// What the other is still good for; may be empty.
    keep: String,
}

impl Remedy {
    /// Without its full stop.
    fn sentence(&self) -> String {
        format!("{}: {}{}", self.what, self.gains, self.kept())
    }

    fn kept(&self) -> String {
        if self.keep.is_empty() { String::new() } else { format!("; keep {}", self.keep) }
    }
}

/// A sentence that says what to change and what that gains, if anything was shown to help.
pub(super) fn remedy(compared: &Compared<'_>) -> Option<String> {
    found(compared).map(|remedy| remedy.sentence() + ".")
}

/// The same without what it gains.
pub(super) fn advice(compared: &Compared<'_>) -> Option<String> {
    found(compared).map(|remedy| format!("{}{}.", remedy.what, remedy.kept()))
}

/// The same for several comparisons along a key, with what each is of: where all prefer the same,
/// that is said once, with the least that it gains.
pub(super) fn remedies<'a>(
    points: impl Iterator<Item = (String, &'a Compared<'a>)>,
) -> Vec<String> {
    let found: Vec<(String, Option<Remedy>)> =
        points.map(|(place, compared)| (place, found(compared))).collect();
    let all: Vec<(&String, &Remedy)> =
        found.iter().filter_map(|(place, remedy)| Some((place, remedy.as_ref()?))).collect();
    let is_same = all.len() == found.len()
        && all.windows(2).all(|pair| pair[0].1.preferred == pair[1].1.preferred);
    let least = all.iter().min_by(|a, b| a.1.least.total_cmp(&b.1.least));
    match least {
        Some((place, remedy)) if is_same && all.len() > 1 => {
            vec![format!("{} ({place}, where it helps least).", remedy.sentence())]
        }
        _ => {
            all.iter().map(|(place, remedy)| format!("{} ({place}).", remedy.sentence())).collect()
        }
    }
}

fn found(compared: &Compared<'_>) -> Option<Remedy> {
    match compared.rule.compare.as_str() {
        _ if compared.kind() == Kind::Cost => None,
        "target.certificate-key" => certificate(compared),
        "load.suite" => suite(compared),
        _ => None,
    }
}

/// Of the study's first keys of both kinds, which are chosen before anything is measured.
fn certificate(compared: &Compared<'_>) -> Option<Remedy> {
    let key = |entry: &Entry<'_>| entry.value.parse::<CertificateKey>().ok();
    let first = |is_meant: fn(CertificateKey) -> bool| {
        let is_meant =
            |entry: &&Entry<'_>| key(entry).is_some_and(is_meant) && entry.figure.is_some();
        compared.entries.iter().find(is_meant)
    };
    let rsa = first(|key| matches!(key, CertificateKey::Rsa(_)))?;
    let ecdsa = first(|key| matches!(key, CertificateKey::EcdsaP256 | CertificateKey::EcdsaP384))?;
    let gain = gain(compared, ecdsa, rsa)?;
    let what = if compared.is_of_bodies() { "goodput" } else { "rate" };
    let where_ = if compared.is_per_cpu() { "the same CPU gives" } else { "the server gives" };
    let (ecdsa, rsa) = (compared.name(ecdsa), compared.name(rsa));
    Some(Remedy {
        what: format!("Use an {ecdsa} certificate"),
        gains: format!("{where_} {} the {what} of {rsa}", times(&gain)),
        keep: format!("{rsa} only for clients that cannot verify ECDSA"),
        least: gain.median(),
        preferred: ecdsa,
    })
}

fn suite(compared: &Compared<'_>) -> Option<Remedy> {
    let suite = |entry: &Entry<'_>| Suite::parse(entry.value).ok();
    let is_aead = |entry: &Entry<'_>| suite(entry).is_some_and(|suite| suite.mac == Mac::Aead);
    let best = best(compared, is_aead)?;
    // Between suites that give the same, the greater figure is chance: the baseline stays the
    // baseline, and otherwise the study's first is taken, so that all answers say the same.
    let is_as_good = |entry: &&Entry<'_>| is_aead(entry) && gain(compared, best, entry).is_none();
    let mut in_order = compared.baseline().into_iter().chain(&compared.entries);
    let preferred = in_order.find(is_as_good).unwrap_or(best);
    let of_preferred = suite(preferred)?;
    let is_chacha = |suite: &Suite| suite.cipher == Cipher::ChaCha20Poly1305;
    let mut gains = Vec::new();
    let mut least = f64::INFINITY;
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
        least = least.min(gain.median());
        if is_chacha(other) {
            beats_chacha = Some(name);
        }
    }
    if gains.is_empty() {
        return None;
    }
    let where_ = if compared.is_per_cpu() { "on the same CPU it sends" } else { "it sends" };
    let preferred = compared.name(preferred);
    Some(Remedy {
        what: format!("Prefer {preferred}"),
        gains: format!("{where_} {}", list(&gains)),
        keep: beats_chacha.map_or_else(String::new, |chacha| {
            format!("{chacha} for clients without AES instructions")
        }),
        least,
        preferred,
    })
}

/// How many times as much one gives as another, where it is shown to give more, and both at the most that
/// the server can.
fn gain(compared: &Compared<'_>, one: &Entry<'_>, other: &Entry<'_>) -> Option<Decided> {
    let is_maximum = |entry: &Entry<'_>| {
        compared.is_per_cpu()
            || !matches!(entry.trials.mark(), Some(Mark::ClientBound | Mark::NotServerBound))
    };
    compared.gain(one, other).filter(|_| is_maximum(one) && is_maximum(other))
}

/// Of the cells that are meant, the one that gives most.
fn best<'a, 'b>(
    compared: &'b Compared<'a>,
    is_meant: impl Fn(&Entry<'_>) -> bool,
) -> Option<&'b Entry<'a>> {
    let median =
        |entry: &Entry<'_>| entry.trials.figure(compared.rule.metric).map(|of| of.median());
    let meant = compared.entries.iter().filter(|entry| is_meant(entry));
    let measured = meant.filter_map(|entry| Some((entry, median(entry)?)));
    measured.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(entry, _)| entry)
}
