use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantArray};

/// Whether a server asks its clients for a certificate (mutual TLS).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AskClient {
    /// It asks for none.
    #[default]
    None,
    /// It verifies one where the client has it.
    Ask,
    /// It serves no client without one.
    Require,
}

impl AskClient {
    pub const ALL: &[Self] = Self::VARIANTS;
}
