use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::{NameError, Suite, Version};

/// A version or a suite of TLS, or `none`, which is plain HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub enum OrPlain<T> {
    /// HTTP without TLS.
    Plain,
    /// This and nothing else.
    Tls(T),
}

const PLAIN: &str = "none";

impl<T: Copy> OrPlain<T> {
    /// What is asked of TLS.
    pub fn tls(self) -> Option<T> {
        match self {
            Self::Plain => None,
            Self::Tls(value) => Some(value),
        }
    }
}

impl FromStr for OrPlain<Version> {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text {
            PLAIN => Ok(Self::Plain),
            _ => text
                .parse()
                .map(Self::Tls)
                .map_err(|error| NameError(format!("{error}, or none for plain HTTP"))),
        }
    }
}

impl FromStr for OrPlain<&'static Suite> {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text {
            PLAIN => Ok(Self::Plain),
            _ => Suite::parse(text).map(Self::Tls),
        }
    }
}

impl fmt::Display for OrPlain<Version> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => PLAIN,
            Self::Tls(version) => version.number(),
        })
    }
}

impl fmt::Display for OrPlain<&'static Suite> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => PLAIN,
            Self::Tls(suite) => suite.name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_plain_http_and_all_else_is_as_ever() {
        for text in ["none", "1.2", "1.3"] {
            assert_eq!(text.parse::<OrPlain<Version>>().unwrap().to_string(), text);
        }
        let suite: OrPlain<&'static Suite> = "AES128-SHA".parse().unwrap();
        assert_eq!(suite.to_string(), "TLS_RSA_WITH_AES_128_CBC_SHA");
        assert_eq!("none".parse(), Ok(OrPlain::<&'static Suite>::Plain));
        let message = "1.4".parse::<OrPlain<Version>>().unwrap_err().to_string();
        assert!(message.ends_with("write 1.2 or 1.3, or none for plain HTTP"), "{message}");
    }
}
