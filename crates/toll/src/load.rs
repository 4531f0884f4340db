use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use ::load::{
    AddressError, Arrival, Close, Engine, KeyExchangeMode, Mix, OneIn, Operation, Percent, Plan,
    Receive, Stop, TlsPlan, Trust, Url,
};
use clap::ArgAction;
use clap::builder::BoolishValueParser;
use cpus::CpuList;
use peers::{Client, Offer, Peer};
use tls::{Group, Suite, Version};
use trial::{Hooks, Line, Neighbours, ThisMachine, Trial};
use units::Nanos;

use crate::live::LiveLine;
use crate::{Failure, interrupt, summary};

/// Load a server, and say what it did, what that cost, and what limited it.
///
/// Every connection asks as soon as its last answer is there. Bodies are not decrypted but walked:
/// the first and the last record are opened, which proves how many came between. One response in
/// 64 is decrypted whole and, where it is one of toll's generated objects (/bytes/SIZE), compared.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to ask for, such as https://127.0.0.1:8443/bytes/1MiB
    url: Url,

    /// Several objects to ask for in place of the URL's path, with their shares of the requests:
    /// '1KiB 90%, 1MiB 10%' (generated ones, /bytes/SIZE) or '/a.html 99.5%, /b.iso 0.5%'
    #[arg(long, value_name = "LIST")]
    object: Option<Mix>,

    /// Connections that are open at once
    #[arg(short, long, value_name = "N", default_value_t = 64)]
    connections: usize,

    /// How long to measure
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    duration: Nanos,

    /// How long to load before the measured window begins; must be 0s with --client
    /// [default: 1s; with --client 0s]
    #[arg(long, value_name = "TIME")]
    warmup: Option<Nanos>,

    /// How long the load grows before the warm-up, connection by connection (an open loop: in its
    /// rate), and shrinks again behind the window
    #[arg(long, value_name = "TIME", default_value = "0s")]
    ramp: Nanos,

    /// What to do: handshakes (without a request), one-request-per-connection, or requests (on
    /// kept connections)
    #[arg(long, value_name = "WHAT", default_value_t = Operation::Requests)]
    operation: Operation,

    /// When operations begin: closed (each connection as soon as its last answer is there),
    /// "closed, think 5ms" (that long after it), poisson 2000/s or uniform 2000/s (at that rate,
    /// whether or not answers come; latency counts from then), paced 4s (each connection every 4 s)
    #[arg(long, value_name = "WHEN", default_value_t = Arrival::CLOSED)]
    arrival: Arrival,

    /// The share of connections that resume a session, such as 70%. The server must give tickets,
    /// or in TLS 1.2 keep sessions
    #[arg(long, value_name = "PERCENT", default_value_t = Percent::default())]
    resumption: Percent,

    /// The only TLS version to offer, 1.2 or 1.3
    #[arg(long, value_name = "VERSION")]
    tls: Option<Version>,

    /// The only cipher suite to offer, by its IANA or OpenSSL name
    #[arg(long, value_name = "SUITE")]
    suite: Option<&'static Suite>,

    /// The only group to offer for the key exchange: x25519, secp256r1, secp384r1 or
    /// X25519MLKEM768 [default: one of the first three]
    #[arg(long, value_name = "GROUP")]
    group: Option<Group>,

    /// CPUs for the load, a thread pinned to each, such as 1 or 2-5
    /// [default: all allowed; not those of --server-pid]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,

    /// How to receive bodies over TLS: walk (drop the records between the first and the last in
    /// the kernel) or decrypt
    #[arg(long, value_name = "HOW", default_value_t = Receive::Walk)]
    receive: Receive,

    /// The share of responses to decrypt whole, and of signatures to verify
    #[arg(long, value_name = "1/K", default_value = "1/64")]
    verify: OneIn,

    /// The client's part in the key exchange: fixed (one share, with static RSA one premaster secret,
    /// for all handshakes, which spares the client work and leaves the server's as it is) or fresh
    /// [default: fixed; fresh with the ECDHE suites of CBC, which know no other]
    #[arg(long, value_name = "HOW")]
    key_exchange: Option<KeyExchangeMode>,

    /// Offer encrypt-then-MAC with a CBC suite [default: off]
    #[arg(long, value_name = "on|off", action = ArgAction::Set, value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    encrypt_then_mac: Option<bool>,

    /// Accept any certificate
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,

    /// Accept the certificates in this PEM file [default: the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// An operation that makes no progress for this long has failed
    #[arg(long, value_name = "TIME", default_value = "10s")]
    timeout: Nanos,

    /// How to end connections: fin, or rst (a reset, which leaves no TIME-WAIT at either side; with
    /// one-request-per-connection the server is not asked to close then)
    #[arg(long, value_name = "HOW", default_value_t = Close::Fin)]
    close: Close,

    /// What everything random follows from, such as the arrivals of poisson; loads with equal seeds
    /// are alike
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Have another program make the load: wrk, ab, h2load or s_time (openssl s_time -new, for
    /// handshakes). Both sides are accounted for as ever, but what the program counts is its own
    /// word: toll verifies nothing then, and has no latencies
    #[arg(long, value_name = "PROGRAM")]
    client: Option<Peer>,

    /// The server's process on this machine, so that its CPU time is counted too
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,

    /// Print the trial as one line of JSON, as in a journal
    #[arg(long)]
    json: bool,

    /// Show no live line
    #[arg(long)]
    quiet: bool,

    /// Load an address that is not this machine's loopback. Only for hosts that are yours to load
    #[arg(long)]
    i_operate_this_host: bool,
}

/// The warm-up of toll's own engine, where none is asked for.
const WARMUP: Nanos = Nanos(1_000_000_000);

const EXAMPLES: &str = "\
Examples:
  toll load https://127.0.0.1:8443/bytes/1MiB --ca cert.pem
      objects of 1 MiB over whatever TLS the server prefers
  toll load https://127.0.0.1:8443/ --insecure --operation handshakes --tls 1.3
      full handshakes a second
  toll load https://127.0.0.1:8443/bytes/1MiB --insecure --suite AES128-SHA --cpus 1 --server-pid 4711
      AES-CBC as published measurements have it, with the server's CPU time
  toll load https://127.0.0.1:8443/bytes/1MiB --insecure --client wrk --cpus 1 --server-pid 4711
      the same account of both sides, with wrk in place of toll's own client
  toll load https://127.0.0.1:8443/bytes/1KiB --insecure --arrival 'poisson 2000/s' -c 500
      how long users wait at 2,000 requests a second, those included who could not even ask yet";

pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let interrupted = interrupt::flag()?;
    let trial = arguments.trial()?;
    let peer = arguments
        .client
        .map(|peer| Client::prepare(peer, &trial.plan, Offer::Anything))
        .transpose();
    let peer = peer.map_err(Failure::request)?;
    ::load::probe(&trial.plan).map_err(Failure::request)?;
    let line = arguments.measure(&trial, peer.as_ref(), &interrupted)?;
    if arguments.json {
        let text = serde_json::to_string(&line).map_err(Failure::measurement)?;
        crate::print(&format!("{text}\n"));
    } else {
        crate::print(&summary::of_trial(&line));
    }
    Ok(match line {
        Line { interrupted: true, .. } => ExitCode::from(interrupt::EXIT),
        Line { valid: true, .. } => ExitCode::SUCCESS,
        Line { valid: false, .. } => ExitCode::from(Failure::MEASUREMENT),
    })
}

impl Arguments {
    /// The trial that is asked for, checked as far as that goes without sending anything.
    fn trial(&self) -> Result<Trial, Failure> {
        let server_cpus = self.server_pid.map(trial::server_cpus).transpose().map_err(|error| {
            Failure::request(format!("--server-pid: {error}; give a process that runs here"))
        })?;
        let plan = Plan {
            url: self.url.clone(),
            objects: self.object.clone(),
            address: self.address()?,
            tls: TlsPlan {
                version: self.tls,
                suite: self.suite,
                group: self.group,
                key_exchange: self.key_exchange,
                encrypt_then_mac: self.encrypt_then_mac,
                resumption: self.resumption,
                trust: match (&self.ca, self.insecure) {
                    (_, true) => Trust::Anyone,
                    (Some(file), false) => Trust::File(file.clone()),
                    (None, false) => Trust::System,
                },
            },
            operation: self.operation,
            arrival: self.arrival,
            connections: self.connections,
            // The load has no more threads than connections.
            cpus: self.client_cpus(server_cpus.as_ref())?.first(self.connections),
            stop: Stop::After { warmup: self.warmup(), duration: self.duration },
            receive: self.receive,
            verify: self.verify,
            timeout: self.timeout,
            ramp: self.ramp,
            close: self.close,
            seed: self.seed,
        };
        plan.check().map_err(Failure::request)?;
        self.check_listener(plan.address)?;
        let neighbours = server_cpus
            .as_ref()
            .map_or(Neighbours::Apart, |server| trial::neighbours(server, &plan.cpus));
        Ok(Trial { plan, certificate_key: None, server_cpus, backend_cpus: None, neighbours })
    }

    /// Another process's CPU time beside this server's work would be a wrong figure.
    fn check_listener(&self, address: SocketAddr) -> Result<(), Failure> {
        let Some(pid) = self.server_pid else { return Ok(()) };
        let tree = observe::ProcessTree::find(pid).map_err(Failure::request)?;
        if tree.pids().any(|process| process == std::process::id()) {
            return Err(Failure::request(format!(
                "--server-pid: process {pid} has toll among its descendants, whose CPU time would be \
                 counted as the server's; give the server's own process"
            )));
        }
        match observe::listens(tree.pids(), address) {
            observe::Listens::Yes | observe::Listens::Unknown => Ok(()),
            observe::Listens::No => Err(Failure::request(format!(
                "--server-pid: process {pid} does not listen at {address}; give the process that \
                 does, such as nginx's master (cat /run/nginx.pid)"
            ))),
        }
    }

    /// Where the server is, if it may be loaded.
    fn address(&self) -> Result<SocketAddr, Failure> {
        self.url.address(self.i_operate_this_host).map_err(|error| {
            Failure::request(match error {
                AddressError::Resolve(_) => {
                    format!("{}: {}: {error}", self.url, self.url.host())
                }
                AddressError::Foreign(_) => format!(
                    "{}: {error}; if it is yours to load, say so with --i-operate-this-host",
                    self.url
                ),
            })
        })
    }

    fn warmup(&self) -> Nanos {
        self.warmup.unwrap_or(match self.client {
            None => WARMUP,
            Some(_) => Nanos(0),
        })
    }

    fn client_cpus(&self, server: Option<&CpuList>) -> Result<CpuList, Failure> {
        if let Some(cpus) = &self.cpus {
            cpus.check_allowed().map_err(|why| Failure::request(format!("--cpus: {why}")))?;
            return Ok(cpus.clone());
        }
        let allowed = CpuList::allowed()
            .map_err(|error| Failure::request(format!("cannot read the CPU affinity: {error}")))?;
        let cpus = server.and_then(|server| allowed.without(server)).unwrap_or(allowed);
        Ok(cpus.first(self.client.map_or(usize::MAX, Peer::most_cpus)))
    }

    fn measure(
        &self,
        trial: &Trial,
        peer: Option<&Client>,
        interrupted: &AtomicBool,
    ) -> Result<Line, Failure> {
        let mut machine = match self.server_pid {
            Some(pid) => ThisMachine::with_server(pid).map_err(Failure::request)?,
            None => ThisMachine::without_server(),
        };
        // A peer tells nothing before its end.
        let mut live = LiveLine::new(!self.quiet && !self.json && peer.is_none());
        let mut hooks = Hooks {
            interrupt: interrupted,
            progress: &mut |moment| live.show("", &moment),
            check_target: &mut || match self.server_pid.map(ThisMachine::with_server) {
                Some(Err(error)) => Err(error.to_string()),
                _ => Ok(()),
            },
        };
        let measured = match peer {
            Some(peer) => {
                trial.run(&mut machine, &mut hooks, |_| peer.start()).map_err(Failure::request)
            }
            None => trial.run(&mut machine, &mut hooks, Engine::start).map_err(Failure::request),
        };
        measured.map(|measured| measured.line)
    }
}
