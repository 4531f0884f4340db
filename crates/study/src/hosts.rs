//! `[hosts]`: how toll reaches the other machines of a study.

use serde::{Deserialize, Serialize};

/// How toll reaches other machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// The network of what ranks say to each other, such as `10.0.0.0/24` [default: any].
    pub control: Option<String>,
    /// The command that runs another on a host, as `ssh HOST COMMAND` does.
    pub shell: String,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { control: None, shell: "ssh".to_owned() }
    }
}
