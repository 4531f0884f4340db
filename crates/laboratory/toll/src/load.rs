//! The command `load`.

mod kept;

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use ::load::{
    AddressError, Counter, Engine, HostPort, Job, Mix, Plan, ProbeError, Reached, Url, reach,
};
use answer::TrialDocument;
use clap::ValueHint;
use cpus::CpuList;
use observe::{Fact, Holder, Listens, ServerProcess, Transport};
use peers::{Client, Offer, Peer};
use targets::ServerPid;
use trial::{
    Hooks, Measured, Moment, Neighbours, Reports, ServerReport, ThisMachine, Trial, TrialRecord,
};
use units::Nanos;

use kept::{Asked, KeptLoad};

use crate::exit::Ending;
use crate::progress::ProgressLine;
use crate::{Exit, Failure, LOAD, OUTPUT, TARGET, interrupt, json, run, screen};

/// Load a server, and show its rates, what they cost in CPU time, and what limited them.
///
/// Each connection sends its next request when the last response is complete. Bodies are not
/// decrypted but walked: the head is read and the last record opened, which proves how many
/// came before. One response in 64 is decrypted whole and, if it is one of toll's generated objects
/// (/bytes/SIZE), compared.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES, after_help = crate::MORE)]
pub(crate) struct Arguments {
    /// What to request, such as https://127.0.0.1:8443/bytes/1MiB
    #[arg(help_heading = TARGET, value_hint = ValueHint::Url)]
    url: Url,

    /// Connect to this address instead of the URL's, such as 10.0.0.1:8443
    ///
    /// The URL's name stays in the ClientHello (SNI), in Host, and in the check of the certificate.
    #[arg(long, value_name = "HOST:PORT", help_heading = TARGET)]
    connect_to: Option<HostPort>,

    /// Several objects with their shares: '1KiB 90%, 1MiB 10%'
    ///
    /// They are requested instead of the URL's path: generated ones (/bytes/SIZE), or
    /// '/a.html 99.5%, /b.iso 0.5%'.
    #[arg(long, value_name = "LIST", help_heading = TARGET)]
    object: Option<Mix>,

    /// The server's process: its PID, its PID file, or its program's name
    ///
    /// Its CPU time is measured, with that of its descendants: give the master, such as /run/nginx.pid or nginx
    /// [default: the one that listens at the address, if it is one of this machine]
    #[arg(long, value_name = "PROCESS", help_heading = TARGET)]
    server_pid: Option<ServerPid>,

    /// Load an address that is not this machine's loopback
    ///
    /// Only for hosts that are yours to load.
    #[arg(long, help_heading = TARGET)]
    i_operate_this_host: bool,

    #[command(flatten)]
    plan: Plan,

    /// CPUs for the load, a thread pinned to each, such as 1 or 2-5
    ///
    /// [default: all allowed; not those that the server is pinned to]
    #[arg(long, value_name = "LIST", help_heading = LOAD)]
    cpus: Option<CpuList>,

    #[command(flatten)]
    kept: KeptLoad,

    /// Seed of all that is random, such as the arrivals of poisson
    ///
    /// Loads with equal seeds are alike.
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true, help_heading = LOAD)]
    seed: u64,

    /// Print the trial as one line of JSON, as in a journal
    #[arg(long, help_heading = OUTPUT)]
    json: bool,

    /// Also print what was asked for, and what was negotiated and verified; --json has all of the receipt
    #[arg(short, long, help_heading = OUTPUT)]
    verbose: bool,

    /// Show no progress
    #[arg(long, help_heading = OUTPUT)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  toll load https://127.0.0.1:8443/bytes/1MiB --ca cert.pem
      objects of 1 MiB over whatever TLS the server prefers
  toll load https://127.0.0.1:8443/ --insecure --operation handshakes --tls 1.3
      full handshakes per second
  toll load https://127.0.0.1:8443/bytes/1MiB --insecure --suite AES128-SHA --cpus 1
      AES-CBC as in published measurements
  toll load https://127.0.0.1:8443/bytes/1MiB --insecure --client wrk --cpus 1
      the CPU time of both sides, with wrk instead of toll's own client
  toll load http://127.0.0.1:8080/index.html -n 10000 -H 'X-Tenant: 7'
      ten thousand requests, each with a header
  toll load https://127.0.0.1:8443/bytes/1KiB --insecure --requests-per-connection '1 20%, 8 60%, 100 20%'
      connections that end as those of real clients do; requests and handshakes have a rate each
  toll load https://www.example.com/health --connect-to 127.0.0.1:8443 --method HEAD --expect 204
      health checks of a site under its own name, at this address
  toll load https://127.0.0.1:8443/bytes/1KiB --insecure --arrival 'poisson 2000/s' -c 500
      how long users wait at 2,000 requests per second, waiting for a connection included
  toll load https://127.0.0.1:8443/ --insecure --operation session --session shop.toml -c 50
      50 users who walk the pages of a web application over and over";

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.kept.is_wanted() {
        return arguments.keep();
    }
    let interrupted = interrupt::flag()?;
    let trial = arguments.trial()?;
    let peer = Peer::of(trial.job.plan.client)
        .map(|peer| Client::prepare(peer, &trial.job, Offer::Anything))
        .transpose()
        .map_err(Failure::request)?;
    match ::load::probe(&trial.job, &interrupted) {
        Err(ProbeError::Interrupted) => return Ok(Exit::Interrupted),
        probed => probed.map_err(Failure::request)?,
    };
    let measured = arguments.measure(&trial, peer.as_ref(), &interrupted)?;
    if arguments.json {
        json::print_line(&measured.line)?;
    } else {
        let document = TrialDocument::of(&measured, arguments.verbose);
        let text = report::one_trial(&document, screen::width(), screen::style());
        crate::print(&screen::in_its_characters(text));
    }
    let TrialRecord { interrupted: is_interrupted, valid: is_valid, .. } = measured.line;
    Ok(Ending { is_interrupted, is_whole: true, is_valid, missed: None }.exit())
}

/// The variable by which other clients would go through a proxy.
fn proxy_variable(is_tls: bool) -> Option<&'static str> {
    let names = match is_tls {
        true => ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        false => ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
    };
    names.into_iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

impl Arguments {
    /// Measures it as a run.
    fn keep(&self) -> Result<Exit, Failure> {
        if self.object.is_some() {
            return Err(Failure::request(
                "--object: a load that is kept asks for its URL alone; give an object's URL, or leave out --trials, \
                 --out, --against, --name, --gate and the files for CI",
            ));
        }
        let asked = Asked {
            url: &self.url,
            connect_to: self.connect_to.as_ref(),
            server_pid: self.server_pid.as_ref(),
            i_operate_this_host: self.i_operate_this_host,
            seed: self.seed,
            plan: self.trial()?.job.plan,
        };
        let Self { json, quiet, verbose, .. } = *self;
        let run = run::Arguments { json, quiet, verbose, ..run::Arguments::default() };
        kept::main(&self.kept, asked, run)
    }

    /// The trial that is asked for, checked as far as that goes without sending anything.
    fn trial(&self) -> Result<Trial, Failure> {
        let address = self.address()?;
        let process = self.process(address)?;
        let server_cpus = process.known().and_then(|process| trial::server_cpus(process.pid).ok());
        let plan = Plan {
            // The load has no more threads than connections.
            cpus: self.client_cpus(server_cpus.as_ref())?.first(self.plan.connections),
            ..self.plan.clone()
        };
        let job = Job {
            objects: self.object.clone(),
            seed: self.seed,
            ..Job::new(plan, self.url.clone(), address)
        };
        if let (Some(peer), Some(to)) = (Peer::of(job.plan.client), &self.connect_to) {
            return Err(Failure::request(format!(
                "--client {peer} connects to the host of the URL, which contradicts --connect-to {to}; \
                 leave one out"
            )));
        }
        job.check().map_err(Failure::request)?;
        let neighbours = server_cpus
            .as_ref()
            .map_or(Neighbours::Apart, |server| trial::neighbours(server, &job.plan.cpus));
        Ok(Trial { process: Some(process), ..Trial::new(job, server_cpus, neighbours) })
    }

    /// The server's process, or why it is not known.
    fn process(&self, address: SocketAddr) -> Result<Fact<ServerProcess>, Failure> {
        let transport = Transport::of_http3(self.plan.is_http3());
        let Some(named) = &self.server_pid else {
            return Ok(ServerProcess::at(transport, address));
        };
        let found = named.find();
        let found = found.map_err(|why| Failure::request(format!("--server-pid: {why}")))?;
        check_listener(found.pid, transport, address)?;
        Ok(Fact::Known(found))
    }

    /// Where the server is, if it may be loaded.
    fn address(&self) -> Result<SocketAddr, Failure> {
        let is_mine = self.i_operate_this_host;
        let (asked, host, addresses) = match &self.connect_to {
            Some(to) => (format!("--connect-to {to}"), to.host(), to.addresses(is_mine)),
            None => (self.url.to_string(), self.url.host(), self.url.addresses(is_mine)),
        };
        let addresses = addresses.map_err(|error| {
            Failure::request(match error {
                AddressError::Resolve(_) => format!("{asked}: {host}: {error}"),
                AddressError::Foreign(_) => format!(
                    "{asked}: {error}; if it is yours to load, confirm that with \
                     --i-operate-this-host"
                ),
            })
        })?;
        let Reached { address, refused } = reach(&addresses).map_err(|refused| {
            Failure::request(format!("{asked}: no address of {host} takes a connection: {refused}"))
        })?;
        if !address.ip().to_canonical().is_loopback()
            && let Some(name) = proxy_variable(self.url.is_tls())
        {
            crate::note(format_args!(
                "{name} is set and not used: the load goes to {address} itself; to measure the proxy, load its \
                 own address"
            ));
        }
        for refused in refused {
            crate::note(format_args!(
                "{host} is loaded at {address}, since it is not reached at {refused}"
            ));
        }
        Ok(address)
    }

    fn client_cpus(&self, server: Option<&CpuList>) -> Result<CpuList, Failure> {
        if let Some(cpus) = &self.cpus {
            cpus.check_allowed().map_err(|why| Failure::request(format!("--cpus: {why}")))?;
            return Ok(cpus.clone());
        }
        let allowed = crate::allowed_cpus()?;
        let cpus = server.and_then(|server| allowed.without(server)).unwrap_or(allowed);
        Ok(cpus.first(Peer::of(self.plan.client).map_or(usize::MAX, Peer::most_cpus)))
    }

    fn progress_line(&self, is_possible: bool) -> ProgressLine {
        let is_wanted = is_possible && !self.quiet && !self.json;
        ProgressLine::new(is_wanted, "{bar:24} {wide_msg}")
    }

    /// What the server's process reports, where it is known: whether it is still there.
    fn reports(server_pid: Option<u32>) -> Reports {
        let server = match server_pid.map(ThisMachine::with_server) {
            Some(Err(error)) => Err(error.to_string()),
            _ => Ok(ServerReport::default()),
        };
        Reports { server, ranks: None }
    }

    /// Counts the server's instructions.
    fn count(
        &self,
        of: &Trial,
        counter: Counter,
        interrupted: &AtomicBool,
    ) -> Result<Measured, Failure> {
        let process = of.process.clone().map_or_else(|| Err(String::new()), Fact::or_why);
        let process = process.map_err(|why| {
            Failure::request(format!(
                "--count {counter} counts what the server's process runs: {why}"
            ))
        })?;
        let pid = Some(process.pid);
        let mut meter = trial::instruction_meter(counter, process.pid)
            .map_err(|error| Failure::request(format!("{process}: {error}")))?;
        let line = self.progress_line(true);
        let mut show = |moment: Moment| {
            let completed = moment.progress.completed;
            line.show(completed, of.operations_in_all(), || moment.to_string());
        };
        let mut hooks = Hooks {
            interrupt: interrupted,
            progress: &mut show,
            reports: &mut || Self::reports(pid),
        };
        let start = |job, begins: &mut dyn FnMut()| Engine::start_after(job, interrupted, begins);
        of.count(&mut meter, &mut hooks, start).map_err(Failure::request)
    }

    fn measure(
        &self,
        trial: &Trial,
        peer: Option<&Client>,
        interrupted: &AtomicBool,
    ) -> Result<Measured, Failure> {
        if let Some(counter) = trial.job.plan.counter() {
            return self.count(trial, counter, interrupted);
        }
        let pid = trial.found_pid();
        let mut machine = match pid {
            Some(pid) => ThisMachine::with_server(pid).map_err(Failure::request)?,
            None => ThisMachine::without_server(),
        };
        // Another client reports nothing before its end.
        let line = self.progress_line(peer.is_none());
        let mut show = |moment: Moment| {
            let Moment { elapsed, window, .. } = moment;
            line.show(elapsed.as_millis() as u64, window.as_millis() as u64, || {
                match (trial.job.plan.walks, trial.job.plan.operations()) {
                    (Some(walks), _) => format!("{walks} walks of each user  {moment}"),
                    (None, Some(count)) => format!("of {count} operations  {moment}"),
                    (None, None) => format!("of {}  {moment}", Nanos(window.as_nanos() as u64)),
                }
            });
        };
        let mut hooks = Hooks {
            interrupt: interrupted,
            progress: &mut show,
            reports: &mut || Self::reports(pid),
        };
        match peer {
            Some(peer) => {
                trial.run(&mut machine, &mut hooks, |_, _| peer.start()).map_err(Failure::request)
            }
            None => trial
                .run(&mut machine, &mut hooks, |job, begins| {
                    Engine::start_after(job, interrupted, begins)
                })
                .map_err(Failure::request),
        }
    }
}

/// Another process's CPU time beside this server's work would be a wrong figure.
fn check_listener(pid: u32, transport: Transport, address: SocketAddr) -> Result<(), Failure> {
    let tree = observe::ProcessTree::find(pid).map_err(Failure::request)?;
    if tree.pids().any(|process| process == std::process::id()) {
        return Err(Failure::request(format!(
            "--server-pid: process {pid} has toll among its descendants, whose CPU time would be \
             counted as the server's; give the server's own process"
        )));
    }
    let is_apart = observe::is_in_other_namespace(pid);
    // Where it listens, if not here.
    let elsewhere = || {
        let own = observe::listening(tree.pids());
        let is_here = own.iter().any(|at| observe::is_reached_at(*at, address));
        if own.is_empty() || is_apart && is_here {
            return None;
        }
        let place = if is_apart { "in a network namespace of its own at" } else { "at" };
        let own: Vec<String> = own.iter().map(ToString::to_string).collect();
        let own = own.join(", ");
        Some(format!("process {pid} does not listen at {address}, but {place} {own}"))
    };
    match observe::listens(tree.pids(), transport, address) {
        Listens::Yes => Ok(()),
        Listens::Unknown => {
            if let Some(elsewhere) = elsewhere().filter(|_| is_apart) {
                crate::note(format_args!(
                    "{elsewhere}; what passes connections on to it is in the figures, and not in its CPU \
                     time: load it there"
                ));
            }
            Ok(())
        }
        Listens::No => {
            let why = match elsewhere().zip(observe::listener(transport, address)) {
                Some((elsewhere, Holder { name, pid: Some(relay) })) => format!(
                    "{elsewhere}; {name} (process {relay}) listens here and may pass connections on, as \
                     docker-proxy and socat do: load the server where it listens, or give --server-pid {relay} \
                     to measure what passes them on"
                ),
                _ => format!(
                    "process {pid} does not listen at {address}; give the process that does, or leave the option \
                     out: toll finds the one that listens"
                ),
            };
            Err(Failure::request(format!("--server-pid: {why}")))
        }
    }
}
