//! Variables of a server's environment, and the folder that its TLS library comes from.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// The word for no variable.
const NONE: &str = "none";
/// The word for the library that the system gives a server.
const SYSTEM: &str = "system";
/// Where the dynamic linker looks first.
pub(crate) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Variables that a server gets beside those of toll: `OPENSSL_ia32cap=~0x200000200000000`. Written
/// one after another with blanks between them, or `none`; so no value holds a blank.
#[derive(Debug, Clone, Default, PartialEq, Eq, SerializeDisplay)]
pub struct Environment(Vec<(String, String)>);

impl Environment {
    /// The variables, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether a variable of this name is given.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }
}

impl<'de> Deserialize<'de> for Environment {
    /// From a text, or from a list of variables.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Variables;
        impl<'de> Visitor<'de> for Variables {
            type Value = Environment;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("variables such as \"A=1\", or a list of them")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Environment, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Environment, A::Error> {
                let mut words: Vec<String> = Vec::new();
                while let Some(word) = list.next_element::<String>()? {
                    if word.is_empty() || word.contains(char::is_whitespace) {
                        let why = format!("`{word}` is empty or holds a blank, which it cannot");
                        return Err(A::Error::custom(why));
                    }
                    words.push(word);
                }
                self.visit_str(&words.join(" "))
            }
        }
        deserializer.deserialize_any(Variables)
    }
}

impl FromStr for Environment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut variables = Self::default();
        if text == NONE {
            return Ok(variables);
        }
        for entry in text.split_whitespace() {
            let (name, value) = entry.split_once('=').unwrap_or_default();
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(fits) {
                return Err(format!(
                    "`{entry}` sets no variable; write NAME=value, without blanks in the value"
                ));
            }
            if name == LIBRARY_PATH {
                return Err(format!("{LIBRARY_PATH} is set by library-path; write that instead"));
            }
            if value.contains('\0') {
                return Err(format!("{name} holds a zero byte, which no variable can"));
            }
            if variables.has(name) {
                return Err(format!("{name} is given twice; leave one out"));
            }
            variables.0.push((name.to_owned(), value.to_owned()));
        }
        Ok(variables)
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(NONE);
        }
        let entries: Vec<_> = self.iter().map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&entries.join(" "))
    }
}

/// Where a server's TLS library comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub enum LibraryPath {
    /// Where the dynamic linker finds it by itself.
    #[default]
    System,
    /// This folder, an absolute path, which holds another build of the same ABI.
    Folder(PathBuf),
}

impl LibraryPath {
    pub fn folder(&self) -> Option<&PathBuf> {
        match self {
            Self::System => None,
            Self::Folder(folder) => Some(folder),
        }
    }
}

impl FromStr for LibraryPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The linker takes both signs for the end of a path, and `$` for a variable.
        let is_one = !text.contains([':', ';', '$']) && !text.contains(char::is_control);
        match text {
            SYSTEM => Ok(Self::System),
            _ if text.starts_with('/') && is_one => Ok(Self::Folder(text.into())),
            _ => Err(format!(
                "`{text}` is not an absolute path of one folder; write one such as \
                 /opt/openssl/lib, or {SYSTEM}; for the OpenSSL of make openssl write target.library = \
                 openssl-built"
            )),
        }
    }
}

impl fmt::Display for LibraryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str(SYSTEM),
            Self::Folder(folder) => write!(f, "{}", folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_alike() {
        for text in ["none", "OPENSSL_ia32cap=~0x200000200000000", "A=1 B=x=y C="] {
            assert_eq!(text.parse::<Environment>().unwrap().to_string(), text);
        }
        for text in ["system", "/opt/openssl 4/lib"] {
            assert_eq!(text.parse::<LibraryPath>().unwrap().to_string(), text);
        }
        assert_eq!("".parse(), Ok(Environment::default()));
    }

    #[test]
    fn what_cannot_be_set_is_refused() {
        let refused = ["A", "=1", "A=1 b c=2", "A=1 A=2", "LD_LIBRARY_PATH=/x"];
        let refused = refused.map(|text| (text, text.parse::<Environment>().unwrap_err()));
        let paths = ["lib", "", "/a:/b", "/a;/b", "/a/$ORIGIN"];
        let paths = paths.map(|text| (text, text.parse::<LibraryPath>().unwrap_err()));
        support::assert_golden!(refused.into_iter().chain(paths));
    }
}
