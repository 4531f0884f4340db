use std::fmt;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString};
use tls::CertificateKey;
use units::Nanos;

use crate::Rates;

/// Where private keys are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// On the server's CPU.
    #[default]
    None,
    /// On a modelled device.
    Model,
    /// On the CPU by Intel's multi-buffer library, in batches of eight.
    MultiBuffer,
}

/// How a server waits for the accelerator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Way {
    /// It serves other connections meanwhile.
    #[default]
    Asynchronous,
    /// Its thread does nothing else.
    Synchronous,
    /// Not at all: the answer is there at once, without a device. This is the bound of an accelerator
    /// that costs nothing.
    Inline,
}

/// How a server that waits asynchronously learns of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CompletedBy {
    /// It asks the accelerator, at the time when the next answer is due.
    #[default]
    Poll,
    /// Each paused job has a descriptor that becomes readable, as interrupts of a card would have it. Any
    /// server that knows jobs of OpenSSL can wait for that.
    Event,
}

/// A modelled accelerator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// How it is waited for.
    pub way: Way,
    /// How its answers are learned of, where that is asynchronous.
    pub completed_by: CompletedBy,
    /// How many operations each engine begins per second, by key.
    pub rates: Rates,
    /// From the beginning of an operation to its answer.
    pub latency: Nanos,
    /// How many operations the device holds at once.
    pub queue: NonZeroUsize,
    /// How many engines work side by side.
    pub engines: NonZeroUsize,
}

/// How Intel's multi-buffer library is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// How it is waited for; never [`Way::Inline`].
    pub way: Way,
    /// The longest time that an operation waits for company.
    pub wait: Nanos,
}

impl Batching {
    /// How long an operation waits for company, unless something else is said.
    pub const WAIT: Nanos = Nanos(100_000);

    /// Refuses a key that the library has no code for.
    ///
    /// # Errors
    /// Which keys it has code for.
    pub fn check_key(self, key: CertificateKey) -> Result<(), String> {
        match key {
            CertificateKey::Rsa(2048 | 3072 | 4096) => Ok(()),
            CertificateKey::EcdsaP256 | CertificateKey::EcdsaP384 => Ok(()),
            _ => Err(format!(
                "does rsa:2048, rsa:3072, rsa:4096, ecdsa:p256 and ecdsa:p384, not {key}"
            )),
        }
    }
}

/// In words: `multi-buffer, asynchronous, batch-wait 100us`.
impl fmt::Display for Batching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, batch-wait {}", Kind::MultiBuffer, self.way, self.wait.exact())
    }
}

impl Description {
    /// From the beginning of an operation to its answer, unless something else is said.
    pub const LATENCY: Nanos = Nanos(100_000);
    /// How many operations are held at once, unless something else is said.
    pub const QUEUE: NonZeroUsize = NonZeroUsize::new(256).unwrap();
}

impl Default for Description {
    fn default() -> Self {
        Self {
            way: Way::default(),
            completed_by: CompletedBy::default(),
            rates: Rates::default(),
            latency: Self::LATENCY,
            queue: Self::QUEUE,
            engines: NonZeroUsize::MIN,
        }
    }
}

/// In words: `model, asynchronous, rsa:2048 500/s, 100us, queue 256, 1 engine`.
impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { way, completed_by, rates, latency, queue, engines } = self;
        write!(f, "{}, {way}", Kind::Model)?;
        match (way, completed_by) {
            (Way::Inline, _) => return Ok(()),
            (Way::Asynchronous, CompletedBy::Event) => f.write_str(" by events")?,
            _ => {}
        }
        let engines = match engines.get() {
            1 => "1 engine".to_owned(),
            more => format!("{more} engines"),
        };
        let latency = latency.exact();
        write!(f, ", {rates}, {latency}, queue {queue}, {engines}")
    }
}

impl Description {
    /// Refuses a key with which the device does nothing.
    ///
    /// # Errors
    /// Why it does nothing, and what to do.
    pub fn check_key(&self, key: CertificateKey) -> Result<(), String> {
        match key {
            CertificateKey::Rsa(_) if self.way == Way::Inline => Ok(()),
            CertificateKey::Rsa(_) if self.rates.of(key).is_some() => Ok(()),
            CertificateKey::Rsa(_) => {
                Err(format!("has no rate for {key}; add one, such as {key} 40000/s"))
            }
            _ => Err(format!("decrypts with RSA keys, and {key} only signs; use rsa:2048")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_says_how_its_answers_are_learned_of() {
        let of = |way, completed_by| {
            Description { way, completed_by, ..Description::default() }.to_string()
        };
        let device = "rsa:2048 40000/s, rsa:4096 4130/s, 100us, queue 256, 1 engine";
        let (poll, event) = (CompletedBy::Poll, CompletedBy::Event);
        assert_eq!(of(Way::Asynchronous, poll), format!("model, asynchronous, {device}"));
        assert_eq!(
            of(Way::Asynchronous, event),
            format!("model, asynchronous by events, {device}")
        );
        assert_eq!(of(Way::Synchronous, event), format!("model, synchronous, {device}"));
        assert_eq!(of(Way::Inline, event), "model, inline");
    }

    #[test]
    fn a_device_works_with_keys_that_have_a_rate() {
        let of = |way| Description { way, ..Description::default() };
        let refusal = |way, key| of(way).check_key(key).err().unwrap_or_default();
        assert_eq!(refusal(Way::Asynchronous, CertificateKey::Rsa(4096)), "");
        assert_eq!(refusal(Way::Inline, CertificateKey::Rsa(3072)), "");
        let none = refusal(Way::Synchronous, CertificateKey::Rsa(3072));
        assert_eq!(none, "has no rate for rsa:3072; add one, such as rsa:3072 40000/s");
        let signs = refusal(Way::Inline, CertificateKey::EcdsaP256);
        assert_eq!(signs, "decrypts with RSA keys, and ecdsa:p256 only signs; use rsa:2048");
    }
}
