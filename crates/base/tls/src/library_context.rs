use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantArray};

/// What a server's threads have of OpenSSL's library contexts (OSSL_LIB_CTX(3)), whose tables of algorithms they look
/// things up in under locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum LibraryContext {
    /// All have one, as programs usually do.
    #[default]
    Shared,
    /// Each has its own.
    PerThread,
}

impl LibraryContext {
    pub const ALL: &[Self] = Self::VARIANTS;
}
