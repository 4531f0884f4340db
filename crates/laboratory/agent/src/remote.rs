//! A machine that toll's agent runs on.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cpus::CpuList;
use load::Source;
use objects::Files;
use targets::{
    ClientFiles, ClientPem, Host, ServerFacts, Settings, Shell, Silence, Target, shortened,
};
use units::Bytes;

use crate::connection::Connection;
use crate::logs::{Logs, stays_within};
use crate::request::{AgentRequest, Greeting, ServerStarted};
use crate::{Refusal, RemoteServer, RunningServer};

/// Checks from other machines whether these addresses answer a number; the error says which does not.
/// Returns the addresses from which they looked.
type Others<'a> = dyn Fn(&[SocketAddr], &str) -> Result<Vec<IpAddr>, String> + 'a;

/// The machines that will load a server, and check first that its addresses are its machine's.
pub struct Clients<'a> {
    /// Where connections of this machine come from; `None` where the kernel chooses.
    pub sources: &'a [Option<Source>],
    pub others: &'a Others<'a>,
}

/// Another machine, on which servers can be started. It ends its agent when it and its servers are
/// dropped.
#[derive(Debug)]
pub struct RemoteHost {
    host: Host,
    connection: Rc<RefCell<Connection>>,
    /// Where ssh reached it.
    address: Option<IpAddr>,
    /// The result folder.
    folder: PathBuf,
    logs: Rc<Logs>,
    /// Why its objects are not in memory, where they are not.
    note: Option<String>,
}

impl RemoteHost {
    /// Starts the agent there, and makes the objects that its servers will serve. `folder` is the
    /// result folder, which gets certificates and logs.
    ///
    /// # Errors
    /// In one line, with what to do.
    pub fn open(
        shell: &Shell,
        silence: Silence,
        host: &Host,
        (sizes, files): (Vec<Bytes>, Vec<Files>),
        folder: &Path,
    ) -> Result<Self, Refusal> {
        let (connection, Greeting { address, logs, .. }) =
            Connection::open(shell, silence, host).map_err(Refusal::of)?;
        let connection = Rc::new(RefCell::new(connection));
        let (host_name, folder) = (host.clone(), folder.to_owned());
        let logs = Rc::new(Logs::new(Rc::clone(&connection), logs, &folder, host));
        let mut this = Self { host: host_name, connection, address, folder, logs, note: None };
        if !sizes.is_empty() {
            let request = AgentRequest::Objects { sizes, files };
            this.note = this.connection.borrow_mut().ask(&request).map_err(|why| why.on(host))?;
        }
        Ok(this)
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Why the objects are not in memory there, where they are not.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Whether it can no longer be asked.
    pub fn is_lost(&self) -> bool {
        self.connection.borrow_mut().why_over().is_some()
    }

    /// What the machine is; see [`observe::Machine::read`].
    ///
    /// # Errors
    /// It lacks one of the CPUs; the agent is lost.
    pub fn machine(&self, cpus: &CpuList) -> Result<observe::Machine, Refusal> {
        self.ask(&AgentRequest::Machine { cpus: cpus.clone() })
    }

    /// What disturbs it now, a clause each; watched for 1 s.
    ///
    /// # Errors
    /// The agent is lost.
    pub fn noise(&self) -> Result<Vec<String>, Refusal> {
        self.ask(&AgentRequest::Noise)
    }

    /// Starts a server there, once its addresses have proved to be that machine's to all clients.
    ///
    /// # Errors
    /// In one line.
    pub fn start(
        &self,
        settings: Settings,
        clients: &Clients<'_>,
    ) -> Result<RunningServer, Refusal> {
        self.begin(settings, clients, AgentRequest::Start)
    }

    /// Ends a server and starts another process of it; also a server that was lost with its agent.
    ///
    /// # Errors
    /// In one line. Nothing is left running.
    pub fn restart(
        &self,
        before: &RunningServer,
        settings: Settings,
        clients: &Clients<'_>,
    ) -> Result<RunningServer, Refusal> {
        match before {
            RunningServer::Remote(server) if !server.is_lost() => {
                self.begin(settings, clients, |new| AgentRequest::Restart(server.number, new))
            }
            _ => self.start(settings, clients),
        }
    }

    fn begin(
        &self,
        mut settings: Settings,
        clients: &Clients<'_>,
        request: impl FnOnce(Box<Settings>) -> AgentRequest,
    ) -> Result<RunningServer, Refusal> {
        let Self { host, address, .. } = self;
        if settings.target.listen.is_empty() {
            let lacks = || {
                let why = "it is not known at which address to load it; write target.listen, such as \
                           listen = [\"10.1.1.1\"]";
                Refusal::of(why).on(host)
            };
            settings.target.listen = vec![address.ok_or_else(lacks)?];
        }
        let (proven, clients) = self.prove(&settings.target, clients)?;
        let begun = self
            .ask(&request(Box::new(settings)))
            .map_err(|refusal: Refusal| Refusal { why: self.logs.copied(refusal.why), ..refusal });
        let ServerStarted { server: number, facts, certificate, client } = begun?;
        for address in [facts.https, facts.http] {
            if !proven.contains(&address) {
                let why = format!("{} listens at {address}, which was not proven", facts.name);
                return Err(Refusal::of(why).on(host));
            }
        }
        if !stays_within(Path::new(&facts.name)) {
            let why = format!("`{}` is not a valid name for a server", shortened(&facts.name));
            return Err(Refusal::of(why).on(host));
        }
        let name = format!("{}-{host}", facts.name);
        let folder = self.folder.join("targets").join(&name);
        let path = folder.join("server.crt");
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&path, certificate))
            .map_err(|error| Refusal::of(format!("{}: {error}", path.display())))?;
        let mut client_files = Vec::new();
        let mut write = |text: &str| {
            let (path, file) = targets::unnamed(text)
                .map_err(|error| Refusal::of(format!("the client certificate: {error}")))?;
            client_files.push(file);
            Ok::<_, Refusal>(path)
        };
        let client = client.map(|ClientPem { certificate, key }| {
            Ok::<_, Refusal>(ClientFiles {
                certificate: write(&certificate)?,
                key: write(key.pem())?,
            })
        });
        let client = client.transpose()?;
        let facts = ServerFacts { name, certificate: path, client, ..facts };
        let connection = Rc::clone(&self.connection);
        let (host, logs) = (host.clone(), Rc::clone(&self.logs));
        Ok(RunningServer::Remote(RemoteServer {
            host,
            connection,
            number,
            facts,
            client_files,
            clients,
            logs,
        }))
    }

    /// The addresses of a server to be started, and of the machines that will load it.
    fn prove(
        &self,
        target: &Target,
        clients: &Clients<'_>,
    ) -> Result<(Vec<SocketAddr>, Vec<IpAddr>), Refusal> {
        let nonce = proof::nonce().map_err(Refusal::of)?;
        let (listen, datagrams) = (target.listen.clone(), target.quic);
        let request = AgentRequest::Reserve { listen, nonce: nonce.clone(), datagrams };
        let addresses: Vec<SocketAddr> = self.ask(&request)?;
        let mut own = None;
        for source in clients.sources {
            let reaches = |ip| source.as_ref().is_none_or(|source| source.reaches(ip));
            let bind = |socket: &_| source.as_ref().map_or(Ok(()), |source| source.bind(socket));
            for address in addresses.iter().filter(|address| reaches(address.ip())) {
                let from = proof::check(*address, &nonce, bind).map_err(Refusal::of)?;
                own = own.or(Some(from));
            }
        }
        let others = (clients.others)(&addresses, &nonce).map_err(Refusal::of)?;
        let lacks = "load.source and target.listen are of different versions of IP; change one";
        let own = own.ok_or_else(|| Refusal::of(lacks))?;
        // Where others load it, toll does not.
        let clients = if others.is_empty() { vec![own] } else { others };
        Ok((addresses, clients))
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, request: &AgentRequest) -> Result<T, Refusal> {
        let answer = self.connection.borrow_mut().ask(request);
        let is_lost = self.is_lost();
        // Of a connection that is over, the reason names the host.
        answer.map_err(|why| if is_lost { why } else { why.on(&self.host) })
    }
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        if !self.is_lost() {
            self.logs.copy();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixStream;

    use proof::Prover;
    use serde_json::{Value, json};
    use targets::{Ports, Target};
    use tempfile::TempDir;

    /// A host whose agent calls its server by this name and has logs of these; `ALL`
    /// stands for the folder that is returned, in which `run` is the result folder.
    fn host(server: &'static str, logs: &[&str]) -> (RemoteHost, TempDir) {
        let all = tempfile::tempdir().unwrap();
        let absolute = all.path().display().to_string();
        let logs = logs.iter().map(|name| (name.replace("ALL", &absolute), "log"));
        let logs: Vec<(String, &str)> = logs.collect();
        let (here, there) = UnixStream::pair().unwrap();
        let mut output = there.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut reserved = None;
            let mut addresses = Vec::new();
            let requests = BufReader::new(there).lines().map_while(Result::ok);
            for request in requests.filter(|line| !line.is_empty()) {
                let done = match serde_json::from_str(&request).unwrap() {
                    AgentRequest::Reserve { listen, nonce, datagrams } => {
                        let ports = Ports::reserve(&listen).unwrap();
                        addresses = [ports.https(), ports.http()].concat();
                        reserved =
                            Some((Prover::start(&addresses, &nonce, datagrams).unwrap(), ports));
                        json!(addresses)
                    }
                    AgentRequest::Start(_) => {
                        drop(reserved.take());
                        begun(server, &addresses)
                    }
                    AgentRequest::Logs => json!(logs),
                    other => panic!("{other:?}"),
                };
                writeln!(output, "{}", json!({ "done": done })).unwrap();
            }
        });
        let host: Host = "server".parse().unwrap();
        let connection = Connection::over(
            &host,
            here.try_clone().unwrap(),
            here,
            Silence::default().sign_of_life(),
        );
        let connection = Rc::new(RefCell::new(connection));
        let folder = all.path().join("run");
        let logs = Rc::new(Logs::new(Rc::clone(&connection), "/there".into(), &folder, &host));
        (RemoteHost { host, connection, address: None, folder, logs, note: None }, all)
    }

    fn begun(name: &str, addresses: &[SocketAddr]) -> Value {
        let client = json!({ "certificate": "PEM", "key": "SECRET" });
        json!({ "server": 0, "certificate": "PEM", "client": client, "facts": {
            "name": name, "version": "1", "https": addresses[0], "http": addresses[1],
            "certificate": "/there/server.crt", "stack": null, "libraries": [], "cpus": "0",
            "backend_cpus": null,
        } })
    }

    fn start(host: &RemoteHost) -> Result<(), String> {
        let target = Target { listen: vec![[127, 0, 0, 1].into()], ..Target::default() };
        let clients = Clients { sources: &[None], others: &|_, _| Ok(Vec::new()) };
        host.start(Settings::of(target), &clients).map(drop).map_err(|refusal| refusal.why)
    }

    /// The files below a folder, by their paths in it.
    fn files(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            match entry.path().is_dir() {
                true => found.extend(files(&entry.path()).iter().map(|f| format!("{name}/{f}"))),
                false => found.push(name),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_server_whose_name_leads_out_of_the_result_folder_is_refused() {
        for name in ["../../evil", "/tmp/toll-evil", "a/../../../evil", "."] {
            let (host, all) = host(name, &[]);
            let why = start(&host).unwrap_err();
            assert!(why.contains(&format!("`{name}`")), "{why}");
            assert_eq!(files(all.path()), [] as [&str; 0]);
        }
        let (host, all) = host("nginx", &[]);
        start(&host).unwrap();
        assert_eq!(files(all.path()), ["run/targets/nginx-server/server.crt"]);
    }

    /// Files of the result folder would stay there.
    #[test]
    fn a_clients_key_is_in_a_file_without_a_name() {
        let (host, all) = host("nginx", &[]);
        let target = Target { listen: vec![[127, 0, 0, 1].into()], ..Target::default() };
        let clients = Clients { sources: &[None], others: &|_, _| Ok(Vec::new()) };
        let server =
            host.start(Settings::of(target), &clients).map_err(|refusal| refusal.why).unwrap();
        let client = server.facts().client.clone().unwrap();
        assert_eq!(std::fs::read_to_string(&client.key).unwrap(), "SECRET");
        let metadata = std::fs::metadata(&client.key).unwrap();
        assert_eq!((metadata.nlink(), metadata.mode() & 0o777), (0, 0o600));
        assert_eq!(files(all.path()), ["run/targets/nginx-server/server.crt"]);
        drop(server);
        assert!(std::fs::read(&client.key).map_or(true, |bytes| bytes != b"SECRET"));
    }

    #[test]
    fn logs_are_written_into_the_result_folder_only() {
        let logs = ["../../../evil", "ALL/evil", "x/../../../../evil", "nginx/error.log"];
        let (host, all) = host("nginx", &logs);
        drop(host);
        assert_eq!(files(all.path()), ["run/logs/server/nginx/error.log"]);
    }

    #[test]
    fn what_names_a_log_there_names_its_copy_where_there_is_one() {
        let (host, all) = host("nginx", &["nginx/error.log"]);
        let copy = all.path().join("run/logs/server/nginx/error.log").display().to_string();
        let died = "nginx died; /there/nginx/error.log ends with: bind() failed";
        let named = host.logs.copied(died.to_owned());
        assert_eq!(named, died.replace("/there/nginx/error.log", &copy));
        assert!(Path::new(&copy).is_file());
        // What could not be written there is none of this machine's.
        let full = "/there/nginx: No space left on device (os error 28)";
        assert_eq!(host.logs.copied(full.to_owned()), full);
    }
}
