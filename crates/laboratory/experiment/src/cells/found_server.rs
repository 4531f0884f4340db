//! A server that runs already, here or on another host.

use std::net::SocketAddr;

use cpus::CpuList;
use load::{AddressError, Url};

use targets::Target;
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
    pub(crate) pid: Option<u32>,
    /// Where it runs, if its process is known.
    pub(crate) cpus: Option<CpuList>,
}

impl FoundServer {
    /// Finds a server that may be loaded.
    ///
    /// # Errors
    /// Its name has no address, the address is not the user's to load, or there is no such process.
    pub(crate) fn find(target: &Target, number: usize) -> Result<Self, String> {
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
        let cpus = pid.map(server_cpus).transpose().map_err(|error| {
            format!(
                "target.pid: {error}; write the number of the server's process, or leave it out"
            )
        })?;
        let reached = load::reach(&addresses);
        let load::Reached { address, .. } = reached
            .map_err(|why| format!("{key}: no address of {host} takes a connection: {why}"))?;
        Ok(Self { number, url: url.clone(), addresses, address, pid: *pid, cpus })
    }

    pub(crate) fn name(&self) -> String {
        match self.number {
            1 => "address".to_owned(),
            number => format!("address-{number}"),
        }
    }

    /// Why its process is no longer there, where it is known.
    pub(crate) fn check_alive(&self) -> Result<(), String> {
        match self.pid {
            Some(pid) if server_cpus(pid).is_err() => {
                Err(format!("the server of {} has no process {pid} any more", self.url))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(url: &str, pid: Option<u32>, mine: bool) -> Result<FoundServer, String> {
        let url = url.parse().ok();
        let target = Target { url, pid, i_operate_this_host: mine, ..Target::default() };
        FoundServer::find(&target, 1)
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
            FoundServer::find(&target, 1)
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
        let found = find("https://127.0.0.1/", Some(process.id()), false).unwrap();
        assert!(found.cpus.is_some());
        found.check_alive().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(found.check_alive().is_err());
        assert!(find("https://127.0.0.1/", Some(1 << 23), false).is_err());
    }
}
