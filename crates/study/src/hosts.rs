//! `[hosts]`: how toll reaches the other machines of a study.

use serde::{Deserialize, Serialize};
use targets::Shell;

/// How toll reaches other machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// The network of what ranks say to each other, such as `10.0.0.0/24` [default: any].
    pub control: Option<String>,
    /// What runs commands there.
    pub shell: Shell,
}
