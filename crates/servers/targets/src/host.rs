//! Another machine, by the name that ssh knows it by.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// What stands before the command in `ssh HOST COMMAND`: `server`, `me@server`, or a name of
/// `~/.ssh/config`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, DeserializeFromStr, SerializeDisplay)]
pub struct Host(String);

impl Host {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Host {
    type Err = String;

    /// A word that begins with `-` would be an option of ssh.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "@._-:[]%".contains(c);
        match !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "`{text}` is not a host; write it as for ssh, such as server or me@server"
            )),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_one_word_that_ssh_takes_for_no_option() {
        for good in ["server", "me@server", "me@10.1.1.1", "server-2.example.org", "::1"] {
            assert_eq!(good.parse::<Host>().unwrap().to_string(), good);
        }
        for bad in ["", "-oProxyCommand=x", "a b", "a;b", "a$(b)", "a\nb", "a/b"] {
            assert!(bad.parse::<Host>().is_err(), "{bad}");
        }
    }
}
