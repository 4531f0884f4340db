use serde::{Deserialize, Serialize};

/// A server of a run, as `targets.json` in the result folder describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// Its name, as in `logs/`: the program's, with a number from the second of its kind on.
    pub name: String,
    /// The program: `embedded`, `nginx`; a client, such as `wrk`, where that was left out.
    pub server: String,
    /// How it differs from others of its program, in words: `rsa:2048 certificate`.
    pub settings: String,
    /// Server and TLS library, where it was started.
    pub version: Option<String>,
    /// Why it was left out, where it was.
    pub skipped: Option<String>,
    pub cells: Vec<String>,
}
