//! A machine that toll's agent runs on.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::rc::Rc;

use cpus::CpuList;
use objects::Files;
use targets::{Facts, Host, Shell};
use units::Bytes;

use crate::connection::Connection;
use crate::request::{Begun, Greeting, Request};
use crate::there::There;
use crate::{Refusal, RunningServer, Wanted, proof};

/// Another machine, on which servers can be started. It ends its agent when it and its servers are
/// dropped.
#[derive(Debug)]
pub struct RemoteHost {
    host: Host,
    connection: Rc<RefCell<Connection>>,
    /// Where ssh reached it.
    address: Option<IpAddr>,
    /// Why its objects are not in memory, where they are not.
    note: Option<String>,
}

impl RemoteHost {
    /// Starts the agent there, and makes the objects that its servers are to serve.
    ///
    /// # Errors
    /// In one line, with what to do.
    pub fn open(
        shell: &Shell,
        host: &Host,
        (sizes, files): (Vec<Bytes>, Vec<Files>),
    ) -> Result<Self, Refusal> {
        let (connection, greeting) = Connection::open(shell, host).map_err(Refusal::of)?;
        let mut this = Self::over(host, connection, &greeting);
        if !sizes.is_empty() {
            let request = Request::Objects { sizes, files };
            this.note = this.connection.borrow_mut().ask(&request).map_err(|why| why.on(host))?;
        }
        Ok(this)
    }

    pub(crate) fn over(host: &Host, connection: Connection, greeting: &Greeting) -> Self {
        let connection = Rc::new(RefCell::new(connection));
        Self { host: host.clone(), connection, address: greeting.address, note: None }
    }

    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Why the objects are not in memory there, where they are not.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Whether it can no longer be asked.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.connection.borrow_mut().why_over().is_some()
    }

    /// What the machine is; see [`observe::Machine::read`].
    ///
    /// # Errors
    /// It lacks one of the CPUs; the agent is lost.
    pub fn machine(&self, cpus: &CpuList) -> Result<observe::Machine, Refusal> {
        self.ask(&Request::Machine { cpus: cpus.clone() })
    }

    /// What disturbs it now, a clause each; watched for 1 s.
    ///
    /// # Errors
    /// The agent is lost.
    pub fn noise(&self) -> Result<Vec<String>, Refusal> {
        self.ask(&Request::Noise)
    }

    /// Starts a server there, once its addresses have proved to be that machine's. `folder` is the
    /// result folder, which keeps its certificate.
    ///
    /// # Errors
    /// In one line.
    pub fn start(&self, wanted: Wanted, folder: &Path) -> Result<Box<dyn RunningServer>, Refusal> {
        self.begin(wanted, folder, |wanted| Request::Start(Box::new(wanted)))
    }

    /// Ends a server and starts another process of it. One that was lost with its agent is started anew.
    ///
    /// # Errors
    /// In one line. Nothing is left running.
    pub fn restart(
        &self,
        before: Box<dyn RunningServer>,
        wanted: Wanted,
        folder: &Path,
    ) -> Result<Box<dyn RunningServer>, Refusal> {
        match before.number().filter(|_| !before.is_lost()) {
            Some(number) => self
                .begin(wanted, folder, |wanted| Request::Restart(number, Box::new(wanted))),
            None => self.start(wanted, folder),
        }
    }

    fn begin(
        &self,
        mut wanted: Wanted,
        folder: &Path,
        request: impl FnOnce(Wanted) -> Request,
    ) -> Result<Box<dyn RunningServer>, Refusal> {
        let Self { host, address, .. } = self;
        if wanted.target.listen.is_empty() {
            let lacks = || {
                let why = "it is not known at which address to load it; write target.listen, such as \
                           listen = [\"10.1.1.1\"]";
                Refusal::of(why).on(host)
            };
            wanted.target.listen = vec![address.ok_or_else(lacks)?];
        }
        let (proven, client) = self.prove(&wanted.target.listen)?;
        let Begun { server, facts, certificate } = self.ask(&request(wanted))?;
        for address in [facts.https, facts.http] {
            if !proven.contains(&address) {
                let why = format!("{} listens at {address}, which was not proven", facts.name);
                return Err(Refusal::of(why).on(host));
            }
        }
        let name = format!("{}-{host}", facts.name);
        let folder = folder.join("targets").join(&name);
        let path = folder.join("server.crt");
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&path, certificate))
            .map_err(|error| Refusal::of(format!("{}: {error}", path.display())))?;
        let facts = Facts { name, certificate: path, ..facts };
        let connection = Rc::clone(&self.connection);
        Ok(Box::new(There { connection, server, facts, client }))
    }

    /// The addresses of a server that is to be started, and the client's own on the way to the first.
    fn prove(&self, listen: &[IpAddr]) -> Result<(Vec<SocketAddr>, IpAddr), Refusal> {
        let nonce = proof::nonce().map_err(Refusal::of)?;
        let request = Request::Reserve { listen: listen.to_vec(), nonce: nonce.clone() };
        let addresses: Vec<SocketAddr> = self.ask(&request)?;
        let mut clients = Vec::new();
        for address in &addresses {
            clients.push(proof::check(*address, &nonce).map_err(Refusal::of)?);
        }
        let client = clients.first().copied();
        Ok((addresses, client.ok_or_else(|| Refusal::of("the agent reserves nothing"))?))
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, request: &Request) -> Result<T, Refusal> {
        let answer = self.connection.borrow_mut().ask(request);
        let is_lost = self.is_lost();
        // Of a connection that is over, the reason names the host.
        answer.map_err(|why| if is_lost { why } else { why.on(&self.host) })
    }
}
