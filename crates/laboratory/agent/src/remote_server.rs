//! A server of another machine.

use std::cell::RefCell;
use std::fs::File;
use std::net::IpAddr;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use targets::{Host, ServerFacts};
use trial::{Machine, ThisMachine};

use crate::connection::Connection;
use crate::logs::Logs;
use crate::remote_machine::RemoteMachine;
use crate::request::{AgentRequest, ServerQuery};

/// A server that an agent started.
#[derive(Debug)]
pub struct RemoteServer {
    pub(crate) host: Host,
    pub(crate) connection: Rc<RefCell<Connection>>,
    /// Its number in requests.
    pub(crate) number: usize,
    pub(crate) facts: ServerFacts,
    /// Those of [`Facts::client`], which have no names: they are there as long as these are open.
    #[expect(dead_code, reason = "kept open")]
    pub(crate) client_files: Vec<File>,
    /// The addresses of those that load it, on their ways to it.
    pub(crate) clients: Vec<IpAddr>,
    pub(crate) logs: Rc<Logs>,
}

impl RemoteServer {
    pub(crate) fn is_lost(&self) -> bool {
        self.connection.borrow_mut().why_over().is_some()
    }

    pub(crate) fn ask<T: DeserializeOwned>(&self, query: ServerQuery) -> Result<T, String> {
        let answer = self.connection.borrow_mut().ask(&AgentRequest::Server(self.number, query));
        answer.map_err(|refusal| match self.is_lost() {
            // The reason that there is no agent names the host.
            true => refusal.why,
            false => format!("on {}: {}", self.host, self.logs.copied(refusal.why)),
        })
    }

    pub(crate) fn machine(&self) -> Result<Box<dyn Machine>, String> {
        let watched = self.connection.borrow_mut().ask(&AgentRequest::Watch(self.number));
        let () = watched.map_err(|refusal| refusal.why)?;
        let here = ThisMachine::without_server();
        Ok(Box::new(RemoteMachine::new(here, Rc::clone(&self.connection), self.clients.clone())))
    }
}
