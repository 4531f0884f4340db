use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};
use tls::CertificateKey;
use units::Nanos;

/// Operations per second of an engine by RSA key, written `rsa:2048 40000/s, rsa:4096 4130/s`.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct Rates(Vec<(CertificateKey, NonZeroU32)>);

impl Rates {
    /// Operations per second with such a key, where that is said.
    pub fn of(&self, key: CertificateKey) -> Option<NonZeroU32> {
        self.0.iter().find(|(own, _)| *own == key).map(|(_, rate)| *rate)
    }

    /// The time between two operations with a key of `bits` bits.
    pub(crate) fn interval(&self, bits: u32) -> Option<Nanos> {
        let rate = self.of(CertificateKey::Rsa(bits))?;
        Some(Nanos(1_000_000_000 / u64::from(rate.get())))
    }
}

/// The nominal rate of Intel's QuickAssist 8955 with RSA-2048, and the rate that it reached with RSA-4096,
/// where no nominal one is published.
impl Default for Rates {
    fn default() -> Self {
        let rsa = CertificateKey::Rsa;
        let rates = const { [NonZeroU32::new(40_000).unwrap(), NonZeroU32::new(4_130).unwrap()] };
        Self(vec![(rsa(2048), rates[0]), (rsa(4096), rates[1])])
    }
}

impl FromStr for Rates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write rates such as rsa:2048 40000/s, rsa:4096 4130/s";
        let mut rates = Self(Vec::new());
        for entry in text.split(',').map(str::trim) {
            let wrong = |why: &str| format!("`{entry}` {why}; {FORM}");
            let (key, rate) =
                entry.split_once(' ').ok_or_else(|| wrong("is not a key with its rate"))?;
            let key: CertificateKey = key.parse().map_err(|_| wrong("names no key"))?;
            if !matches!(key, CertificateKey::Rsa(_)) {
                return Err(wrong("is no RSA key, and others only sign"));
            }
            let rate = rate.trim().strip_suffix("/s").and_then(|rate| rate.parse().ok());
            let rate = rate.ok_or_else(|| wrong("has no whole number of operations per second"))?;
            if rates.of(key).is_some() {
                return Err(wrong("is a second rate of that key"));
            }
            rates.0.push((key, rate));
        }
        Ok(rates)
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (key, rate)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{key} {rate}/s")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_as_they_are_read() {
        let text = "rsa:2048 40000/s, rsa:4096 4130/s";
        assert_eq!(text.parse(), Ok(Rates::default()));
        assert_eq!(Rates::default().to_string(), text);
        assert_eq!(Rates::default().interval(2048), Some(Nanos(25_000)));
        assert_eq!(Rates::default().interval(3072), None);
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        let refusal = |text: &str| text.parse::<Rates>().unwrap_err();
        for (text, why) in [
            ("", "`` is not a key with its rate"),
            ("rsa:2048", "`rsa:2048` is not a key with its rate"),
            ("dsa 1/s", "`dsa 1/s` names no key"),
            ("ecdsa:p256 1/s", "`ecdsa:p256 1/s` is no RSA key"),
            ("rsa:2048 0/s", "`rsa:2048 0/s` has no whole number"),
            ("rsa:2048 40000", "`rsa:2048 40000` has no whole number"),
            ("rsa:2048 1/s, rsa:2048 2/s", "`rsa:2048 2/s` is a second rate"),
        ] {
            assert!(refusal(text).starts_with(why), "{text}: {}", refusal(text));
        }
    }
}
