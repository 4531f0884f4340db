//! What servers of another machine log, copied into the result folder.

use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use targets::Host;

use crate::Refusal;
use crate::connection::Connection;
use crate::request::AgentRequest;

/// The logs of an agent's servers.
#[derive(Debug)]
pub(crate) struct Logs {
    connection: Rc<RefCell<Connection>>,
    /// Where they are until the agent ends.
    there: PathBuf,
    /// Where their copies go.
    here: PathBuf,
}

impl Logs {
    /// Of a host, copied into a result folder.
    pub(crate) fn new(
        connection: Rc<RefCell<Connection>>,
        there: PathBuf,
        folder: &Path,
        host: &Host,
    ) -> Self {
        Self { connection, there, here: folder.join("logs").join(host.as_str()) }
    }

    /// Copies them, as far as they can be had.
    pub(crate) fn copy(&self) {
        let logs: Result<Vec<(PathBuf, String)>, Refusal> =
            self.connection.borrow_mut().ask(&AgentRequest::Logs);
        for (name, text) in logs.unwrap_or_default() {
            if !stays_within(&name) {
                continue;
            }
            let path = self.here.join(name);
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            // A disk that is full says so when the journal is written.
            let _ = made.and_then(|()| std::fs::write(&path, text));
        }
    }

    /// A text that may name a log there, with the copy of that in its place.
    pub(crate) fn copied(&self, text: String) -> String {
        let there = format!("{}/", self.there.display());
        let Some((before, rest)) = text.split_once(&there) else { return text };
        self.copy();
        let end = rest.find([' ', ':', ';', ',']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let copy = self.here.join(name);
        match stays_within(Path::new(name)) && copy.is_file() {
            true => format!("{before}{}{after}", copy.display()),
            false => text,
        }
    }
}

/// Whether the path that an agent names stays in the folder that it is joined to: the other machine must
/// not choose which files of this one are written.
pub(crate) fn stays_within(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}
