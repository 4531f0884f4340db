//! A server of another machine.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use targets::{AcceleratorCounts, CryptoFacts, Facts, Host, SendCounters};
use trial::{Machine, ThisMachine};
use units::Nanos;

use crate::RunningServer;
use crate::connection::Connection;
use crate::logs::Logs;
use crate::request::{Question, Request};
use crate::two_machines::TwoMachines;

/// A server that an agent started.
#[derive(Debug)]
pub(crate) struct There {
    pub(crate) host: Host,
    pub(crate) connection: Rc<RefCell<Connection>>,
    /// Its number in requests.
    pub(crate) server: usize,
    pub(crate) facts: Facts,
    /// The addresses of those that load it, on their ways to it.
    pub(crate) clients: Vec<IpAddr>,
    pub(crate) logs: Rc<Logs>,
}

impl There {
    fn ask<T: DeserializeOwned>(&self, question: Question) -> Result<T, String> {
        let answer = self.connection.borrow_mut().ask(&Request::Ask(self.server, question));
        answer.map_err(|refusal| refusal.why)
    }

    /// What the agent says of its server, for this machine's journal. The reason that there is no agent
    /// names the host.
    fn named(&self, why: String) -> String {
        match self.is_lost() {
            true => why,
            false => format!("on {}: {}", self.host, self.logs.copied(why)),
        }
    }
}

impl RunningServer for There {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn process(&self) -> Option<u32> {
        None
    }

    fn number(&self) -> Option<usize> {
        Some(self.server)
    }

    fn is_lost(&self) -> bool {
        self.connection.borrow_mut().why_over().is_some()
    }

    fn check_alive(&mut self) -> Result<(), String> {
        self.ask(Question::IsAlive).map_err(|why| self.named(why))
    }

    /// The loss of its agent is its own.
    fn death(&mut self) -> Option<String> {
        self.ask(Question::Death).unwrap_or_else(Some).map(|why| self.named(why))
    }

    fn orders(&self) -> Result<Option<u64>, String> {
        self.ask(Question::Orders)
    }

    fn sent(&self) -> Result<Option<SendCounters>, String> {
        self.ask(Question::Sent)
    }

    fn accelerated(&self) -> Result<Option<AcceleratorCounts>, String> {
        self.ask(Question::Accelerated)
    }

    fn crypto(&self) -> Result<Option<CryptoFacts>, String> {
        self.ask(Question::Crypto)
    }

    fn spread(&self) -> Result<(), String> {
        self.ask(Question::Spread)
    }

    fn pin(&self) -> Result<(), String> {
        self.ask(Question::Pin)
    }

    fn cpu_time(&self) -> Option<Nanos> {
        self.ask(Question::CpuTime).ok().flatten()
    }

    fn machine(&self) -> Result<Box<dyn Machine>, String> {
        let watched = self.connection.borrow_mut().ask(&Request::Watch(self.server));
        let () = watched.map_err(|refusal| refusal.why)?;
        let here = ThisMachine::without_server();
        Ok(Box::new(TwoMachines::new(here, Rc::clone(&self.connection), self.clients.clone())))
    }
}
