use serde::{Deserialize, Serialize};
use targets::Shell;

/// How a study reaches other machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// What runs commands there.
    pub shell: Shell,
}
