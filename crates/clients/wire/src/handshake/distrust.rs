//! Why a server's certificate is not accepted, in words that a person can act on.

use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use openssl::nid::Nid;
use openssl::x509::{X509, X509NameRef};
use rustls::pki_types::UnixTime;
use rustls::{CertificateError, Error, InvalidMessage, OtherError};
use strum::VariantArray;

/// What can be done about a certificate that is not accepted depends on why. The descriptions of such
/// failures begin with the words of one of these, or with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::AsRefStr, strum::VariantArray)]
pub enum Distrust {
    #[strum(serialize = "the certificate expired on")]
    Expired,
    #[strum(serialize = "the certificate is not valid before")]
    NotYetValid,
    /// It names other servers.
    #[strum(serialize = "the certificate is of another name")]
    OtherName,
    /// It has no subjectAltName, which is the only place where a client looks for names (RFC 9110,
    /// section 4.3.4).
    #[strum(serialize = "the certificate has no subjectAltName")]
    NoName,
    #[strum(serialize = "the certificate is self-signed")]
    SelfSigned,
    #[strum(serialize = "the certificate's issuer is not among those that are trusted")]
    UnknownIssuer,
}

impl Distrust {
    /// The one that this description begins with.
    pub fn of(seen: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|distrust| seen.starts_with(distrust.as_ref()))
    }
}

/// A reason in words, as rustls carries it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Reason(String);

/// The same error about this certificate of the server at `host`, in words.
pub(super) fn explained(error: Error, leaf: &[u8], host: &str) -> Error {
    match error {
        Error::InvalidCertificate(error) => {
            let reason = Reason(describe(&error, leaf, host));
            CertificateError::Other(OtherError(Arc::new(reason))).into()
        }
        other => other,
    }
}

/// What went wrong in a handshake of rustls.
pub(super) fn in_words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::Other(reason)) => reason.0.to_string(),
        // 64 KiB, where a chain of certificates can be longer.
        Error::InvalidMessage(InvalidMessage::HandshakePayloadTooLarge) => {
            "a message of the handshake that is longer than 64 KiB".to_owned()
        }
        error => uncamel(&error.to_string()),
    }
}

fn describe(error: &CertificateError, leaf: &[u8], host: &str) -> String {
    let leaf = X509::from_der(leaf).ok();
    let of = |name: fn(&X509) -> Option<String>| leaf.as_ref().and_then(name).unwrap_or_default();
    let (distrust, detail) = match error {
        CertificateError::ExpiredContext { not_after, .. } => (Distrust::Expired, date(*not_after)),
        CertificateError::NotValidYetContext { not_before, .. } => {
            (Distrust::NotYetValid, date(*not_before))
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            match of(names) {
                names if names.is_empty() => (Distrust::NoName, of(subject)),
                names => (Distrust::OtherName, format!(" than {host}: {names}")),
            }
        }
        _ if is_issuer_unknown(error) => {
            match of(|leaf| subject(leaf).filter(|_| is_self_signed(leaf))) {
                subject if subject.is_empty() => (Distrust::UnknownIssuer, of(issuer)),
                subject => (Distrust::SelfSigned, subject),
            }
        }
        CertificateError::Other(other) => return not_accepted(&other.to_string()),
        other => return not_accepted(&other.to_string()),
    };
    format!("{}{detail}", distrust.as_ref())
}

fn not_accepted(why: &str) -> String {
    format!("the certificate is not accepted: {}", uncamel(why))
}

fn is_issuer_unknown(error: &CertificateError) -> bool {
    match error {
        // The second where another certificate of the issuer's name is trusted.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => true,
        // Where a certificate is its own issuer, as `openssl req -x509` makes them.
        CertificateError::Other(other) => other.to_string().contains("CaUsedAsEndEntity"),
        _ => false,
    }
}

fn is_self_signed(leaf: &X509) -> bool {
    let is_same = leaf.subject_name().try_cmp(leaf.issuer_name());
    is_same.is_ok_and(|order| order.is_eq())
}

/// The day, in ISO form.
fn date(time: UnixTime) -> String {
    let second = i64::try_from(time.as_secs()).ok();
    let time = second.and_then(|second| Timestamp::from_second(second).ok());
    let time = time.map(|time| time.to_string()).unwrap_or_default();
    format!(" {}", time.split('T').next().unwrap_or_default())
}

/// The first names of a certificate that a client looks at.
fn names(leaf: &X509) -> Option<String> {
    const MOST: usize = 3;
    let names = leaf.subject_alt_names()?;
    let mut words: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let dns = name.dnsname().map(str::to_owned);
            dns.or_else(|| name.ipaddress().and_then(address))
        })
        .collect();
    if words.len() > MOST {
        let more = words.len() - MOST;
        words.truncate(MOST);
        words.push(format!("{more} more"));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

fn address(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let v6 = <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    v4.or(v6).ok().map(|address| address.to_string())
}

fn subject(leaf: &X509) -> Option<String> {
    common_name(leaf.subject_name())
}

fn issuer(leaf: &X509) -> Option<String> {
    common_name(leaf.issuer_name())
}

fn common_name(name: &X509NameRef) -> Option<String> {
    let text = name.entries_by_nid(Nid::COMMONNAME).next()?.data().to_string().ok()?;
    Some(format!(" (CN={text})"))
}

/// A text without the names that errors of rustls and WebPKI have in their code: `UnsupportedCertVersion`
/// is `unsupported cert version`. What such a name holds is left out.
fn uncamel(text: &str) -> String {
    let is_name = |word: &str| word.chars().filter(char::is_ascii_uppercase).count() > 1;
    let end = text.find(['{', '[']).unwrap_or(text.len());
    let words = text[..end].split_whitespace().map(|word| {
        let (name, _) = word.split_once('(').unwrap_or((word, ""));
        if is_name(name) && name.contains(char::is_lowercase) {
            spaced(name)
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn spaced(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::asn1::Asn1Time;
    use openssl::bn::BigNum;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::hash::MessageDigest;
    use openssl::pkey::PKey;
    use openssl::x509::X509NameBuilder;
    use openssl::x509::extension::SubjectAlternativeName;
    use std::time::Duration;

    fn certificate(names: &[&str], issuer: &str) -> Vec<u8> {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let name = |text: &str| {
            let mut name = X509NameBuilder::new().unwrap();
            name.append_entry_by_nid(Nid::COMMONNAME, text).unwrap();
            name.build()
        };
        let mut builder = X509::builder().unwrap();
        builder.set_version(2).unwrap();
        builder
            .set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap())
            .unwrap();
        builder.set_subject_name(&name("here")).unwrap();
        builder.set_issuer_name(&name(issuer)).unwrap();
        builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
        builder.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
        builder.set_pubkey(&key).unwrap();
        if !names.is_empty() {
            let mut alternative = SubjectAlternativeName::new();
            names.iter().for_each(|name| match name.parse::<std::net::IpAddr>() {
                Ok(_) => drop(alternative.ip(name)),
                Err(_) => drop(alternative.dns(name)),
            });
            let extension = alternative.build(&builder.x509v3_context(None, None)).unwrap();
            builder.append_extension(extension).unwrap();
        }
        builder.sign(&key, MessageDigest::sha256()).unwrap();
        builder.build().to_der().unwrap()
    }

    #[track_caller]
    fn assert_seen(error: CertificateError, leaf: &[u8], distrust: Option<Distrust>, words: &str) {
        let seen = in_words(&explained(error.into(), leaf, "localhost"));
        assert!(Distrust::of(&seen) == distrust && seen.ends_with(words), "{seen}");
        assert!(!seen.contains(['(', '{']) || seen.contains("(CN="), "{seen}");
    }

    #[test]
    fn each_reason_has_its_words_and_dates_are_iso() {
        let own = certificate(&["a.example", "127.0.0.1", "::1", "b.example"], "here");
        let bare = certificate(&[], "authority");
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let time = at(1_800_000_000);
        let expired = CertificateError::ExpiredContext { time, not_after: at(1_700_000_000) };
        assert_seen(expired, &own, Some(Distrust::Expired), " 2023-11-14");
        let early = CertificateError::NotValidYetContext { time, not_before: at(1_900_000_000) };
        assert_seen(early, &own, Some(Distrust::NotYetValid), " 2030-03-17");
        let other = CertificateError::NotValidForName;
        let names = " than localhost: a.example, 127.0.0.1, ::1, 1 more";
        assert_seen(other.clone(), &own, Some(Distrust::OtherName), names);
        assert_seen(other, &bare, Some(Distrust::NoName), " (CN=here)");
        let unknown = CertificateError::UnknownIssuer;
        assert_seen(unknown.clone(), &own, Some(Distrust::SelfSigned), " (CN=here)");
        assert_seen(unknown, &bare, Some(Distrust::UnknownIssuer), " (CN=authority)");
    }

    #[test]
    fn no_name_of_the_code_is_shown() {
        let webpki =
            |name: &str| CertificateError::Other(OtherError(Arc::new(Reason(name.to_owned()))));
        let own = certificate(&["localhost"], "here");
        assert_seen(webpki("CaUsedAsEndEntity"), &own, Some(Distrust::SelfSigned), " (CN=here)");
        assert_seen(webpki("UnsupportedCertVersion"), &own, None, ": unsupported cert version");
        assert_seen(webpki("TrailingData(Certificate)"), &own, None, ": trailing data");
        assert_seen(CertificateError::BadEncoding, b"", None, ": bad encoding");
        assert_seen(CertificateError::UnknownIssuer, b"", Some(Distrust::UnknownIssuer), "");
        let misbehaved = Error::PeerMisbehaved(rustls::PeerMisbehaved::SelectedUnofferedKxGroup);
        assert_eq!(in_words(&misbehaved), "peer misbehaved: selected unoffered kx group");
    }
}
