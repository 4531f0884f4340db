//! `target.program`: a build of a server, in place of the installed one.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

const INSTALLED: &str = "installed";

/// Which file the program of a server is.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub enum ProgramPath {
    /// That of its name in the usual folders.
    #[default]
    Installed,
    /// This one, an absolute path.
    File(PathBuf),
}

impl ProgramPath {
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::Installed => None,
            Self::File(path) => Some(path),
        }
    }
}

impl FromStr for ProgramPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            INSTALLED => Ok(Self::Installed),
            _ if text.starts_with('/') && !text.contains(char::is_control) => {
                Ok(Self::File(text.into()))
            }
            _ => Err(format!(
                "`{text}` is not an absolute path of a program; write one such as /opt/nginx/sbin/nginx, or {INSTALLED}"
            )),
        }
    }
}

impl fmt::Display for ProgramPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installed => f.write_str(INSTALLED),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}
