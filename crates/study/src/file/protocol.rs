//! What is spoken in a cell: TLS keys that fit together, or plain HTTP.
//!
//! A study may say once, for all its cells, a group or a kind of key exchange, and sweep suites that
//! have no use for it, `none` among them. Such a key is left out of those cells. The rule is the
//! same everywhere: what a nearer word makes useless is left out, and so are a group, a key
//! exchange and encrypt-then-MAC that stand under `[load]`; what contradicts a word that is as near
//! or farther is an error.

use std::fmt;

use load::{KeyExchangeMode, Percent, TlsPlan};
use tls::{Cipher, KeyExchange, Suite, Version};

use super::draft::{Draft, Origin, Reach, Said};
use super::error::Flaw;
use super::words::Secured;
use crate::study::Protocol;

/// What the draft's TLS keys say together.
pub(super) fn of(draft: &Draft) -> Result<Protocol, Flaw> {
    let plain = [plain(&draft.tls, "load.tls"), plain(&draft.suite, "load.suite")];
    match plain.into_iter().flatten().max_by_key(|cause| cause.origin.reach) {
        Some(cause) => check_plain(draft, &cause).map(|()| Protocol::Plain),
        None => tls(draft),
    }
}

/// What makes other keys useless: `load.suite = none`.
pub(super) struct Cause<'a> {
    pub(super) words: String,
    /// What to say of the keys.
    pub(super) because: &'a str,
    pub(super) origin: Origin,
}

fn plain<T>(said: &Option<Said<Secured<T>>>, name: &str) -> Option<Cause<'static>> {
    let said = said.as_ref()?;
    matches!(said.value, Secured::Plain).then(|| Cause {
        words: format!("{name} = none"),
        because: "is plain HTTP",
        origin: said.origin,
    })
}

fn check_plain(draft: &Draft, cause: &Cause<'_>) -> Result<(), Flaw> {
    let with = |origin: Origin| origin.reach < cause.origin.reach;
    if let Some(Said { value: version @ Secured::With(_), origin }) = &draft.tls
        && !with(*origin)
    {
        return Err(cause.contradicted("load.tls", version, *origin));
    }
    if let Some(Said { value: suite @ Secured::With(_), origin }) = &draft.suite
        && !with(*origin)
    {
        return Err(cause.contradicted("load.suite", suite, *origin));
    }
    cause.useful(&draft.group, "load.group", |_| false)?;
    cause.useful(&draft.encrypt_then_mac, "load.encrypt-then-mac", |_| false)?;
    cause.useful(&draft.key_exchange, "load.key-exchange", |_| false)?;
    cause.useful(&draft.resumption, "load.resumption", |share| share == Percent::default())?;
    Ok(())
}

fn tls(draft: &Draft) -> Result<Protocol, Flaw> {
    let said = draft.suite.as_ref();
    let suite = said.and_then(|said| said.value.tls());
    let cause = |because| Cause {
        words: match suite {
            Some(suite) => format!("load.suite = {suite}"),
            None => "a load whose suite is left open".to_owned(),
        },
        because,
        origin: said.map_or(Origin::UNSAID, |said| said.origin),
    };
    let is_static_rsa = suite.is_some_and(|suite| suite.key_exchange == KeyExchange::Rsa);
    let no_group = match is_static_rsa {
        true => "has no key exchange by group",
        false => "is of TLS 1.2, which has no such group",
    };
    let is_tls12 = suite.is_some_and(|suite| suite.version() == Version::Tls12);
    let is_cbc = suite.is_some_and(is_cbc);
    Ok(Protocol::Tls {
        version: version(draft, suite)?,
        suite,
        group: cause(no_group).useful(&draft.group, "load.group", |group| {
            !(is_static_rsa || is_tls12 && group.is_of_tls13_only())
        })?,
        encrypt_then_mac: cause("has no encrypt-then-MAC (only CBC suites have)").useful(
            &draft.encrypt_then_mac,
            "load.encrypt-then-mac",
            |wanted| is_cbc || !wanted,
        )?,
        key_exchange: cause("goes through OpenSSL, whose key exchange is always fresh").useful(
            &draft.key_exchange,
            "load.key-exchange",
            |mode| mode == KeyExchangeMode::Fresh || can_be_fixed(suite),
        )?,
        resumption: draft.resumption.as_ref().map_or_else(Percent::default, |said| said.value),
    })
}

/// The version that was asked for, or that of the suite.
fn version(draft: &Draft, suite: Option<&'static Suite>) -> Result<Option<Version>, Flaw> {
    let asked = draft.tls.as_ref().and_then(|said| Some((said.value.tls()?, said.origin)));
    match (asked, suite) {
        (Some((version, origin)), Some(suite)) if version != suite.version() => {
            let nearer = draft.suite.as_ref().map_or(origin, |said| said.origin.nearer(origin));
            Err(nearer.flaw(format!(
                "load.tls = {} asks for another version than load.suite = {suite}, which is one of \
                 {}; leave load.tls out, for it follows from the suite",
                version.number(),
                suite.version()
            )))
        }
        (Some((version, _)), _) => Ok(Some(version)),
        (None, suite) => Ok(suite.map(Suite::version)),
    }
}

fn is_cbc(suite: &Suite) -> bool {
    matches!(suite.cipher, Cipher::Aes128Cbc | Cipher::Aes256Cbc)
}

/// Whether the client library of this suite can make fixed key exchanges.
fn can_be_fixed(suite: Option<&'static Suite>) -> bool {
    let plan = TlsPlan { suite, ..TlsPlan::any() };
    plan.effective_key_exchange() == KeyExchangeMode::Fixed
}

impl Cause<'_> {
    /// The key's value, or nothing where the cell has no use for a value that was said from afar.
    pub(super) fn useful<T: Copy + fmt::Display>(
        &self,
        said: &Option<Said<T>>,
        name: &str,
        is_useful: impl Fn(T) -> bool,
    ) -> Result<Option<T>, Flaw> {
        let Some(Said { value, origin }) = said else { return Ok(None) };
        if is_useful(*value) {
            return Ok(Some(*value));
        }
        if origin.reach == Reach::File || origin.reach < self.origin.reach {
            return Ok(None);
        }
        Err(self.contradicted(name, value, *origin))
    }

    fn contradicted(&self, name: &str, value: &dyn fmt::Display, origin: Origin) -> Flaw {
        let Self { words, because, .. } = self;
        origin
            .nearer(self.origin)
            .flaw(format!("{words} {because}, which contradicts {name} = {value}; leave one out"))
    }
}

impl Origin {
    /// The nearer of two; of two that are as near, the later one in the file.
    fn nearer(self, other: Self) -> Self {
        if (other.reach, other.line) > (self.reach, self.line) { other } else { self }
    }
}

impl<T: Copy> Secured<T> {
    fn tls(self) -> Option<T> {
        match self {
            Self::Plain => None,
            Self::With(value) => Some(value),
        }
    }
}
