//! What a server under test is: a name in study files, and for those that toll starts, a program.

use std::fmt;

use offload::CompletedBy;
use serde::{Deserialize, Serialize};
use tls::{SendMode, Stack};

use crate::Backend;

/// A kind of server that a study can measure. Each is described in [`SERVERS`](crate::SERVERS), and what toll starts
/// has a program in `servers/`.
pub struct Server {
    /// Its name in study files, and of its folders in the results.
    pub(crate) name: &'static str,
    /// Whether toll starts it; otherwise it runs already.
    pub(crate) is_started: bool,
    /// Whether toll configures what it negotiates; otherwise it has settings of its own.
    pub(crate) is_configured: bool,
    /// When a run starts it again, unless the study says so itself.
    pub(crate) restart: Restart,
    /// Whether it can listen at other addresses than loopback.
    pub(crate) listens_anywhere: bool,
    /// How toll can have it send.
    pub(crate) sends: &'static [SendMode],
    /// How it can learn that a paused handshake can continue, the usual way first; empty where it pauses
    /// none.
    pub(crate) completions: &'static [CompletedBy],
    /// What it can run on; empty where toll has no choice.
    pub(crate) stacks: &'static [Stack],
    /// How requests go to its backend unless the study says so; `None` where it has files.
    pub(crate) backend: Option<Backend>,
    /// Whether it runs in callgrind, which a virtual machine or a runtime of its own may not.
    pub(crate) runs_in_callgrind: bool,
    /// The keys of a target that only this server has a use for, or few others; in groups.
    pub(crate) own_keys: &'static [&'static [&'static str]],
}

/// When a run ends a server and starts it again. Processes of one program differ in speed, for
/// example by where their memory lies; a run with one process of each server cannot see that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Before each round but the first.
    Round,
    /// Before each trial but the first.
    Trial,
    /// One process serves all trials.
    Never,
}

impl Server {
    /// As most are.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self {
            name,
            is_started: true,
            is_configured: true,
            restart: Restart::Round,
            listens_anywhere: true,
            sends: &[SendMode::User],
            completions: &[],
            stacks: &[Stack::OpenSsl],
            backend: None,
            runs_in_callgrind: true,
            own_keys: &[],
        }
    }

    /// Its name in study files, and of its folders in the results.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether toll starts it; otherwise it runs already.
    pub fn is_started(&self) -> bool {
        self.is_started
    }

    /// Whether toll configures what it negotiates; otherwise it has settings of its own.
    pub fn is_configured(&self) -> bool {
        self.is_configured
    }

    /// Whether it runs in callgrind.
    pub fn runs_in_callgrind(&self) -> bool {
        self.runs_in_callgrind
    }

    /// When a run starts it again, unless the study says so itself.
    pub fn restart(&self) -> Restart {
        self.restart
    }
}

impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Server {}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
