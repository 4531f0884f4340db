//! The description of a server under test. What `[target]` of a study says is read into one struct,
//! [`Target`]; a new option is a field of it.

use cpus::CpuList;
use keys::{Conflict, Force, WrongValue};
use objects::{Mix, Url};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use tls::CertificateKey;
use units::Bytes;

use crate::servers::Embedded;
use crate::{Aes, CommandLine, Crypto, Environment, LibraryPath, Server};

/// A server under test. What is `None` is left open.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Target {
    /// Which program.
    #[serde(with = "by_name")]
    pub server: &'static dyn Server,
    /// What to do where it is not installed.
    pub if_missing: IfMissing,
    /// One worker is pinned to each.
    pub cpus: CpuList,
    /// How many CPUs it has: the first ones of `cpus`, as they are written there.
    pub cores: Option<usize>,
    /// The kind of key of its certificate.
    pub certificate_key: CertificateKey,
    /// The generated objects that are asked for.
    #[serde(deserialize_with = "generated")]
    pub object: Mix,
    /// Whether it gives session tickets.
    pub tickets: bool,
    /// Whether it keeps sessions of TLS 1.2.
    pub session_cache: bool,
    /// Whether it agrees to encrypt-then-MAC (RFC 7366).
    pub encrypt_then_mac: bool,
    /// Where its TLS library comes from.
    pub library_path: LibraryPath,
    /// Variables of its environment.
    pub environment: Environment,
    /// What the cryptography of a Java server runs on.
    pub crypto: Crypto,
    /// Whether that may use the CPU's AES instructions.
    pub aes: Aes,
    /// How a server of the user's own is started.
    pub command: Option<CommandLine>,
    /// What to ask for, of a server that runs already.
    pub url: Option<Url>,
    /// The process of a server that runs already, where it is one of this machine.
    pub pid: Option<u32>,
    /// Whether a server that runs already may be loaded though it is not at a loopback address.
    pub i_operate_this_host: bool,
}

/// What to do where a server is not installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IfMissing {
    /// Leave its cells out, and say so.
    Skip,
    /// Measure nothing.
    Fail,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            server: &Embedded,
            if_missing: IfMissing::Skip,
            cpus: CpuList::from(0),
            cores: None,
            certificate_key: CertificateKey::Rsa(2048),
            object: Mix::of_size(Bytes(1 << 20)),
            tickets: false,
            session_cache: false,
            encrypt_then_mac: false,
            library_path: LibraryPath::System,
            environment: Environment::default(),
            crypto: Crypto::Jdk,
            aes: Aes::On,
            command: None,
            url: None,
            pid: None,
            i_operate_this_host: false,
        }
    }
}

impl Target {
    /// The keys that its server has no use for, whatever their values are.
    #[must_use]
    pub fn conflicts(&self) -> Vec<Conflict> {
        let useless = keys::names::<Self>().iter().filter(|key| !self.server.uses(key));
        let conflict = |key: &&'static str| Conflict {
            cause: "server",
            why: "has no use for that key".to_owned(),
            key,
            force: Force::Opposite,
        };
        useless.map(conflict).collect()
    }

    /// # Errors
    /// What its server lacks.
    pub fn check(&self) -> Result<(), WrongValue> {
        let server = self.server;
        let needed = [("command", self.command.is_some()), ("url", self.url.is_some())];
        match needed.iter().find(|(key, is_said)| server.own_keys().contains(key) && !is_said) {
            None => Ok(()),
            Some((key, _)) => Err(WrongValue {
                key: "server",
                why: format!("target.server = {server} lacks target.{key}; write it too"),
            }),
        }
    }

    /// The CPUs that the server is pinned to, where toll does that.
    #[must_use]
    pub fn pinned_to(&self) -> Option<&CpuList> {
        self.server.program().is_some().then_some(&self.cpus)
    }
}

/// A server by its name in study files.
mod by_name {
    use std::sync::LazyLock;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::{SERVERS, Server};

    static NAMES: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| SERVERS.iter().map(|server| server.name()).collect());

    pub(super) fn serialize<S: Serializer>(
        server: &&'static dyn Server,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(server.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static dyn Server, D::Error> {
        let name = String::deserialize(deserializer)?;
        crate::by_name(&name).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

/// Objects that a server which toll starts has.
fn generated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mix, D::Error> {
    let mix = Mix::deserialize(deserializer)?;
    match mix.sizes() {
        Some(_) => Ok(mix),
        None => Err(D::Error::custom(format!(
            "`{mix}` names a path, where a study has sizes such as 1MiB"
        ))),
    }
}
