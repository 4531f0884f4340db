use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantArray};

/// How a server encrypts and sends what it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum SendMode {
    /// The server's TLS library encrypts, and its records are written to the socket.
    #[default]
    User,
    /// Plaintext is written to the socket, and the kernel encrypts.
    KtlsWrite,
    /// The kernel encrypts what `sendfile` takes from a file, which the server never sees.
    KtlsSendfile,
}

impl SendMode {
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Whether the kernel encrypts.
    pub fn is_kernels(self) -> bool {
        self != Self::User
    }

    /// In a sentence: `kTLS sendfile`.
    pub fn words(self) -> &'static str {
        match self {
            Self::User => "user TLS",
            Self::KtlsWrite => "kTLS write",
            Self::KtlsSendfile => "kTLS sendfile",
        }
    }
}
