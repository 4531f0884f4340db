//! The agent: it starts servers on its machine, and answers what toll asks of them and of the machine.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use observe::ObserveError;
use proof::Prover;
use serde::Serialize;
use serde_json::Value;
use targets::{ClientPem, Objects, Ports, TargetError};
use tempfile::TempDir;
use trial::Machine;

use crate::request::{AgentRequest, Answer, Greeting, MachineQuery, ServerStarted};
use crate::{LocalServer, Refusal};

/// The folder of logs in that of results.
const LOGS: &str = "logs";

/// How much of a log toll is sent.
const LONGEST_LOG: u64 = 1 << 20;

/// Greets, and answers each line of `input` with a line, until that ends. Servers are stopped then.
///
/// # Errors
/// The system has no room for a temporary folder; nobody reads the answers.
pub fn serve(input: impl Iterator<Item = String>, mut output: impl Write) -> io::Result<()> {
    let mut agent = Agent::new()?;
    let mut say = |line: &str| writeln!(output, "{line}").and_then(|()| output.flush());
    let logs = agent.folder.path().join(LOGS);
    let greeting = Greeting { toll: build_identity::own().to_owned(), address: called_at(), logs };
    say(&serde_json::to_string(&greeting)?)?;
    for line in input {
        let answer = match serde_json::from_str(&line) {
            Ok(request) => agent.answer(request),
            Err(error) => Err(Refusal::of(format!("this is no request: {error}"))),
        };
        let answer = answer.map_or_else(Answer::Refused, Answer::Done);
        say(&serde_json::to_string(&answer)?)?;
    }
    Ok(())
}

/// Where ssh's server was reached (ssh(1), `SSH_CONNECTION`: the client's address and port, the
/// server's address and port).
fn called_at() -> Option<IpAddr> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split(' ').nth(2)?.parse().ok()
}

/// What the agent has begun. Servers go before their objects and files.
struct Agent {
    servers: Vec<Option<LocalServer>>,
    reserved: Option<(Ports, Prover)>,
    watched: Option<Box<dyn Machine>>,
    objects: Option<Arc<Objects>>,
    /// Instead of a result folder.
    folder: TempDir,
}

impl Agent {
    fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("toll-agent-").tempdir()?;
        Ok(Self { servers: Vec::new(), reserved: None, watched: None, objects: None, folder })
    }

    fn answer(&mut self, request: AgentRequest) -> Result<Value, Refusal> {
        match request {
            AgentRequest::Machine { cpus } => {
                cpus.check_allowed().map_err(Refusal::of)?;
                value(observe::Machine::read(&cpus))
            }
            AgentRequest::Noise => {
                let noise = check::noise();
                value(noise.into_iter().map(|item| item.seen).collect::<Vec<_>>())
            }
            AgentRequest::Objects { sizes, files } => {
                let folder = self.folder.path();
                let made = Objects::make(&sizes, folder)?.with_files(&files, folder)?;
                let note = made.note().map(str::to_owned);
                self.objects = Some(Arc::new(made));
                value(note)
            }
            AgentRequest::Reserve { listen, nonce, datagrams } => {
                let ports = Ports::reserve(&listen)?;
                let addresses: Vec<SocketAddr> = [ports.https(), ports.http()].concat();
                let prover = Prover::start(&addresses, &nonce, datagrams).map_err(Refusal::of)?;
                self.reserved = Some((ports, prover));
                value(addresses)
            }
            AgentRequest::Start(settings) => {
                let ports = Some(self.proven()?);
                let objects = self.objects.as_ref().ok_or_else(|| no("objects"))?;
                let server = LocalServer::start(*settings, objects, self.folder.path(), ports)?;
                self.servers.push(Some(server));
                self.started(self.servers.len() - 1)
            }
            AgentRequest::Restart(number, settings) => {
                let ports = Some(self.proven()?);
                self.watched = None;
                let before = self.servers.get_mut(number).and_then(Option::take);
                let server = before.ok_or_else(|| no("server"))?.restart(*settings, ports)?;
                self.servers[number] = Some(server);
                self.started(number)
            }
            AgentRequest::Logs => value(logs(&self.folder.path().join(LOGS))),
            AgentRequest::Server(number, query) => {
                self.server(number)?.answer(query).map_err(Refusal::of)
            }
            AgentRequest::Watch(number) => {
                self.watched = Some(self.server(number)?.machine().map_err(Refusal::of)?);
                value(())
            }
            AgentRequest::Watched(query) => {
                let machine = self.watched.as_deref_mut().ok_or_else(|| no("trial"))?;
                answer(machine, query)
            }
        }
    }

    /// The reserved ports, at which no program listens any more.
    fn proven(&mut self) -> Result<Ports, Refusal> {
        let (ports, prover) = self.reserved.take().ok_or_else(|| no("ports"))?;
        drop(prover);
        Ok(ports)
    }

    fn server(&self, number: usize) -> Result<&LocalServer, Refusal> {
        self.servers.get(number).and_then(Option::as_ref).ok_or_else(|| no("server"))
    }

    fn started(&self, number: usize) -> Result<Value, Refusal> {
        let facts = self.server(number)?.facts.clone();
        let certificate = std::fs::read_to_string(&facts.certificate)
            .map_err(|source| TargetError::File { path: facts.certificate.clone(), source })?;
        let client = facts.client.as_ref();
        let client = client.map(|files| ClientPem::read(&files.certificate, &files.key));
        let client = client.transpose().map_err(Refusal::of)?;
        value(ServerStarted { server: number, facts, certificate, client })
    }
}

/// The ends of all logs, by their paths in the folder; what cannot be read is left out.
fn logs(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut logs = Vec::new();
    for file in entries(folder).flat_map(|server| entries(&server.path())) {
        let path = file.path();
        let end = File::open(&path).and_then(|log| targets::end_of(&log, LONGEST_LOG));
        let (Ok(end), Ok(name)) = (end, path.strip_prefix(folder)) else { continue };
        logs.push((name.to_owned(), end));
    }
    logs
}

/// Of a request that comes too early.
fn no(what: &str) -> Refusal {
    Refusal::of(format!("the agent has no such {what}"))
}

fn value(answer: impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(answer).map_err(Refusal::of)
}

fn answer(machine: &mut dyn Machine, query: MachineQuery) -> Result<Value, Refusal> {
    use MachineQuery as Query;
    match query {
        Query::FindServer => machine.find_server(),
        Query::FindListeners(address) => machine.find_listeners(address),
        Query::NotePrograms => machine.note_programs(),
        Query::StartSeries(interval) => machine.start_series(interval),
        Query::FindLinks(clients) => {
            machine.find_links(&clients, &[]);
            return value(machine.interfaces());
        }
        Query::CoreHz(cpu) => return value(machine.core_hz(cpu)),
        Query::ServerChange => return value(machine.server_change()),
        Query::ServerThreads => return value(machine.server_threads()),
        Query::Sharers(transport, address) => return value(machine.sharers(transport, address)),
        Query::ServerDescriptors => return value(machine.server_descriptors()),
        Query::KernelTls => {
            return value(match machine.kernel_tls() {
                Err(ObserveError::NoKernelTls) => None,
                counters => Some(counters.map_err(|error| error.to_string())),
            });
        }
        Query::Connections(address) => return value(machine.connections(address)),
        Query::SiblingCpus(cpus) => return value(machine.sibling_cpus(&cpus)),
        Query::Read => return value(machine.read(&[])),
        Query::OtherPrograms => return value(machine.other_programs(&[])),
        Query::TakeSeries => {
            return value(machine.take_series().map_err(|error| error.to_string()));
        }
    }
    value(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};

    #[test]
    fn of_a_log_its_end_is_read_however_long_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let server = folder.path().join("nginx");
        std::fs::create_dir(&server).unwrap();
        std::fs::write(server.join("short.log"), "one\n").unwrap();
        // More than any memory has; on the disk it is a few bytes.
        let mut long = File::create(server.join("long.log")).unwrap();
        long.seek(SeekFrom::Start(4 << 40)).unwrap();
        long.write_all(b"the end\n").unwrap();
        let mut logs = logs(folder.path());
        logs.sort();
        let names: Vec<String> = logs.iter().map(|(name, _)| name.display().to_string()).collect();
        assert_eq!(names, ["nginx/long.log", "nginx/short.log"]);
        assert_eq!(logs[0].1.len() as u64, LONGEST_LOG);
        assert!(logs[0].1.ends_with("\0the end\n"));
        assert_eq!(logs[1].1, "one\n");
    }
}
