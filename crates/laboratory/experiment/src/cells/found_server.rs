//! A server that runs already, here or on another host.

use std::net::SocketAddr;

use cpus::CpuList;
use load::{AddressError, Url};
use observe::{Fact, ServerProcess, Transport};
use targets::{ServerPid, Target};
use trial::server_cpus;

/// A server that toll did not start and does not stop.
#[derive(Debug, derive_more::Display)]
#[display("the server at {url}")]
pub(crate) struct FoundServer {
    /// Counted from 1 in a run.
    number: usize,
    pub(crate) url: Url,
    /// Those that the URL's host resolves to, or the one to connect to instead; at least one.
    pub(crate) addresses: Vec<SocketAddr>,
    /// The one of them that is loaded.
    pub(crate) address: SocketAddr,
    transport: Transport,
    /// How the study names its process, where it does.
    named: Option<ServerPid>,
    pub(crate) process: Fact<ServerProcess>,
    /// Where it runs, if its process is known.
    pub(crate) cpus: Option<CpuList>,
}

impl FoundServer {
    /// Finds a server that may be loaded, and its process.
    ///
    /// # Errors
    /// Its name has no address, the address is not the user's to load, or there is no such process as the study names.
    pub(crate) fn find(
        target: &Target,
        transport: Transport,
        number: usize,
    ) -> Result<Self, String> {
        let Target { url: Some(url), connect_to, pid, i_operate_this_host, .. } = target else {
            return Err("target.url is not given; write it".to_owned());
        };
        // What is connected to is what must be the user's to load.
        let (key, host, addresses) = match connect_to {
            Some(to) => {
                let key = format!("target.connect-to = {to}");
                (key, to.host(), to.addresses(*i_operate_this_host))
            }
            None => {
                (format!("target.url = {url}"), url.host(), url.addresses(*i_operate_this_host))
            }
        };
        let addresses = addresses.map_err(|error| match error {
            AddressError::Resolve(_) => format!("{key}: {host}: {error}"),
            AddressError::Foreign(_) => format!(
                "{key}: {error}; if it is yours to load, write target.i-operate-this-host = true"
            ),
        })?;
        let reached = load::reach(&addresses);
        let load::Reached { address, .. } = reached
            .map_err(|why| format!("{key}: no address of {host} takes a connection: {why}"))?;
        let named = pid.clone();
        let process = match &named {
            Some(named) => named.find().map(Fact::Known),
            None => Ok(ServerProcess::at(transport, address)),
        };
        let process = process
            .map_err(|why| format!("target.pid: {why}; or leave it out: toll looks who listens"))?;
        let cpus = cpus_of(&process);
        let url = url.clone();
        Ok(Self { number, url, addresses, address, transport, named, process, cpus })
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.known().map(|process| process.pid)
    }

    /// Which process it is, or why that is not known.
    pub(crate) fn process_in_words(&self) -> String {
        match self.process.clone().or_why() {
            Ok(process) => process.to_string(),
            Err(why) => format!("its process is not known: {why}"),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self.number {
            1 => "address".to_owned(),
            number => format!("address-{number}"),
        }
    }

    /// Why the process that the study names is no longer there. One that nobody named is looked up again, as that of
    /// a server that was started again.
    pub(crate) fn check_alive(&mut self) -> Result<(), String> {
        let Some(pid) = self.pid().filter(|pid| server_cpus(*pid).is_err()) else { return Ok(()) };
        if self.named.is_some() {
            return Err(format!("the server of {} has no process {pid} any more", self.url));
        }
        self.process = ServerProcess::at(self.transport, self.address);
        self.cpus = cpus_of(&self.process);
        Ok(())
    }
}

fn cpus_of(process: &Fact<ServerProcess>) -> Option<CpuList> {
    process.known().and_then(|process| server_cpus(process.pid).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(url: &str, pid: Option<u32>, mine: bool) -> Result<FoundServer, String> {
        let (url, pid) = (url.parse().ok(), pid.map(ServerPid::Number));
        let target = Target { url, pid, i_operate_this_host: mine, ..Target::default() };
        FoundServer::find(&target, Transport::Tcp, 1)
    }

    #[test]
    fn another_host_is_loaded_only_by_its_operator() {
        let message = find("https://192.0.2.1/", None, false).unwrap_err();
        assert!(message.contains("target.i-operate-this-host"), "{message}");
        assert_eq!(find("https://192.0.2.1/", None, true).unwrap().address.port(), 443);
        // Where the connections go counts, not what the URL says.
        let elsewhere = |url: &str, to: &str, mine| {
            let (url, connect_to) = (url.parse().ok(), to.parse().ok());
            let target = Target { url, connect_to, i_operate_this_host: mine, ..Target::default() };
            FoundServer::find(&target, Transport::Tcp, 1)
        };
        let found = elsewhere("https://www.example.com/", "127.0.0.1:8443", false).unwrap();
        assert_eq!((found.address.port(), found.url.host()), (8443, "www.example.com"));
        let message = elsewhere("https://127.0.0.1/", "192.0.2.1:443", false).unwrap_err();
        assert!(
            message.contains("target.connect-to = 192.0.2.1:443: it is at 192.0.2.1"),
            "{message}"
        );
        assert!(elsewhere("https://127.0.0.1/", "192.0.2.1:443", true).is_ok());
        let here = find("http://127.0.0.1:8080/x", None, false).unwrap();
        assert_eq!((here.name().as_str(), here.cpus), ("address", None));
    }

    #[test]
    fn its_process_tells_its_cpus_and_its_end() {
        let mut process = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let mut found = find("https://127.0.0.1/", Some(process.id()), false).unwrap();
        assert!(found.cpus.is_some());
        found.check_alive().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(found.check_alive().is_err());
        assert!(find("https://127.0.0.1/", Some(1 << 23), false).is_err());
    }

    #[test]
    fn a_process_that_nobody_named_is_found_where_it_listens_and_found_again_after_it_ended() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", socket.local_addr().unwrap());
        let serve = || {
            let copy = std::os::fd::OwnedFd::from(socket.try_clone().unwrap());
            std::process::Command::new("sleep").arg("1000").stdin(copy).spawn().unwrap()
        };
        let mut process = serve();
        let mut found = find(&url, None, false).unwrap();
        assert_eq!(found.pid(), Some(process.id()));
        assert!(found.cpus.is_some());
        process.kill().unwrap();
        process.wait().unwrap();
        let mut next = serve();
        found.check_alive().unwrap();
        assert_eq!(found.pid(), Some(next.id()));
        next.kill().unwrap();
        next.wait().unwrap();
        // This process has the socket still, and is no server of its own load.
        found.check_alive().unwrap();
        assert_eq!((found.pid(), found.cpus.is_some()), (None, false));
    }
}
