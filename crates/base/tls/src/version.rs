use std::fmt;
use std::str::FromStr;

use crate::NameError;

/// A version of TLS that toll measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(serde::Serialize, serde::Deserialize)]
pub enum Version {
    /// RFC 5246.
    #[serde(rename = "1.2")]
    Tls12,
    /// RFC 8446.
    #[serde(rename = "1.3")]
    Tls13,
}

impl Version {
    /// The number as users write it: `1.2` or `1.3`.
    pub fn number(self) -> &'static str {
        match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TLS {}", self.number())
    }
}

impl FromStr for Version {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text {
            "1.2" => Ok(Self::Tls12),
            "1.3" => Ok(Self::Tls13),
            _ => Err(NameError(format!(
                "`{text}` is not a TLS version that toll knows; write 1.2 or 1.3"
            ))),
        }
    }
}
