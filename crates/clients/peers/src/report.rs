//! A peer's report, parsed from its output. A missing figure is an error, not zero.

use std::str::FromStr;

use load::{ErrorKind, Http, Negotiated};
use tls::{Group, Suite, Version};
use units::Nanos;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// How long it counted; `None` where it does not report that exactly.
    pub(crate) duration: Option<Nanos>,
    pub(crate) completed: u64,
    /// Operations that it began and that did not end, where it counts what it begins.
    pub(crate) not_ended: Option<u64>,
    /// Operations that failed: kind, number, description. None with the number 0.
    pub(crate) failures: Vec<(ErrorKind, u64, String)>,
    /// Bytes of bodies that arrived.
    pub(crate) body: u64,
    /// What it reports to have spoken.
    pub(crate) http: Http,
    /// What one of its connections negotiated, where it reports that.
    pub(crate) negotiated: Option<Negotiated>,
}

pub(crate) fn failures<const N: usize>(
    all: [(ErrorKind, u64, &str); N],
) -> Vec<(ErrorKind, u64, String)> {
    let some = all.into_iter().filter(|(_, count, _)| *count > 0);
    some.map(|(kind, count, words)| (kind, count, words.to_owned())).collect()
}

/// The text after `label` on the first line that begins with it.
pub(crate) fn field<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim)
}

pub(crate) fn number<T: FromStr>(text: &str, label: &str) -> Result<T, String> {
    let value = field(text, label).ok_or_else(|| format!("has no line `{label}`"))?;
    let word = value.split_whitespace().next().unwrap_or_default();
    word.parse().map_err(|_| format!("says `{label} {value}`, which is not a number"))
}

/// The number right before `what`, as in `12 succeeded, 3 failed`.
pub(crate) fn count_before(list: &str, what: &str) -> Result<u64, String> {
    list.split(',')
        .find_map(|part| part.trim().strip_suffix(what)?.trim().parse().ok())
        .ok_or_else(|| format!("says `{list}`, without the number `{what}`"))
}

/// What was negotiated, by OpenSSL's names; `None` where toll does not know one.
pub(crate) fn negotiated(version: &str, suite: &str, temporary_key: &str) -> Option<Negotiated> {
    let version: Version = version.strip_prefix("TLSv")?.parse().ok()?;
    let suite = Suite::parse(suite).ok()?;
    let group = temporary_key
        .split([' ', ','])
        .find_map(|word| word.parse::<Group>().ok())
        .filter(|_| suite.key_exchange != tls::KeyExchange::Rsa);
    Some(Negotiated {
        version,
        suite,
        group,
        signature_scheme: None,
        certificate_key: None,
        encrypt_then_mac: false,
        resumed: false,
        client: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_or_named() {
        let text = "Complete requests:      155\nOther: many\n";
        assert_eq!(number::<u64>(text, "Complete requests:"), Ok(155));
        assert_eq!(number::<u64>(text, "Failed:").unwrap_err(), "has no line `Failed:`");
        let error = number::<u64>(text, "Other:").unwrap_err();
        assert_eq!(error, "says `Other: many`, which is not a number");
        assert_eq!(count_before("3 total, 2 done", "done"), Ok(2));
        assert!(count_before("3 total", "done").is_err());
    }

    #[test]
    fn openssls_names_are_known() {
        let found =
            negotiated("TLSv1.3", "TLS_AES_128_GCM_SHA256", "ECDH prime256v1 256 bits").unwrap();
        assert_eq!((found.version, found.group), (Version::Tls13, Some(Group::Secp256r1)));
        assert_eq!(negotiated("TLSv1.2", "AES128-SHA", "").unwrap().group, None);
        assert_eq!(negotiated("TLSv1.1", "AES128-SHA", ""), None);
        assert_eq!(negotiated("TLSv1.2", "DHE-RSA-AES128-SHA", ""), None);
    }
}
