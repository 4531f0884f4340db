//! `toll watch`: the bill of a server that runs.

use std::io::{BufRead, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use observe::{ServerProcess, Transport};
use primitives::bench::BenchProgress;
use targets::ServerPid;
use units::Nanos;
use watch::{WatchError, Watched};

use crate::json::Versioned;
use crate::progress::{ProgressLine, in_minutes};
use crate::{Exit, Failure, OUTPUT, interrupt, json, screen};

/// Show how much of a running server's CPU is TLS, of what kind, and what would change it.
///
/// The server and its traffic are yours; toll loads nothing and changes nothing. It samples the stacks of all the
/// server's threads, 499 times per second of CPU time, and counts signatures, handshakes and connections where the
/// server's libssl and libcrypto have these functions. Libraries without symbols, as distributions ship them, are
/// enough: work is sorted by the nearest caller that the library exports. Before that toll makes one handshake of its
/// own with the server, on loopback, to see which certificate and group it prefers. It needs root, or a server of the
/// same user and kernel.perf_event_paranoid at 1 or less; then the kernel's own work has no names.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The server: its program's name, the PID of its first process, or its PID file
    #[arg(value_name = "SERVER", required_unless_present = "port", conflicts_with = "port")]
    server: Option<ServerPid>,

    /// The server that listens at this TCP port of this machine
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// How long to watch
    #[arg(short, long, value_name = "TIME", value_parser = Nanos::or_seconds, default_value_t = Nanos(30_000_000_000))]
    duration: Nanos,

    /// Measure what changes would save, without asking
    ///
    /// That takes some seconds of a CPU that the server does not use, after it was watched: toll bench measures the
    /// signatures of both certificates with the server's own libcrypto. On a terminal toll asks.
    #[arg(long)]
    measure: bool,

    /// Keep the bill (bill.json), the stacks (stacks.folded) and their flame graph (stacks.svg) in this new folder
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,

    /// Print one JSON object instead
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sudo toll watch nginx
      the bill of 30 seconds: shares of the CPU that add up to 100%, with what was counted
  sudo toll watch --port 443 --duration 2min --measure
      the server at a port, and what a certificate with a P-256 key would save
  sudo toll watch /run/haproxy.pid --out monday --json | jq .tls
      as JSON; monday/stacks.svg shows the functions

Read it like this: a share is of all the server's CPU time in the window, with its interval of 95%.
`not sorted` is in no other line; above 10% toll calls it no bill. A saving holds at the same
traffic. Ctrl-C ends it early, and prints what was seen. Nothing is left when toll ends, however it
ends: what the kernel samples and counts ends with the process.

Exit codes: 0 there is a bill; 2 the server cannot be found or watched; 3 it is no bill, and why is
in its first line; 130 interrupted.";

/// The longest window: what is kept of it is bounded, what changes within a day is not one bill.
const LONGEST: Nanos = Nanos(24 * 3_600_000_000_000);

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let duration = arguments.duration;
    if duration == Nanos(0) || duration > LONGEST {
        return Err(Failure::request(format!(
            "--duration: `{duration}` is not a window; give one up to {LONGEST}, such as 30s"
        )));
    }
    if let Some(folder) = &arguments.out {
        std::fs::create_dir(folder).map_err(|error| {
            Failure::request(format!("--out: {}: {error}; name a new folder", folder.display()))
        })?;
    }
    let line = ProgressLine::new(!arguments.json, "{bar:24} {wide_msg}");
    let server = arguments.find()?;
    let name = server.to_string();
    let mut progress = |done: std::time::Duration| {
        line.show(done.as_millis() as u64, duration.0 / 1_000_000, || {
            let left = std::time::Duration::from(duration).saturating_sub(done);
            format!("{} left  watching {name}; Ctrl-C prints what was seen", in_minutes(left))
        });
    };
    let watched = watch::watch(server, duration.into(), &interrupted, &mut progress);
    drop(line);
    let mut watched = watched.map_err(|error| match error {
        WatchError::Server(_) | WatchError::NotAllowed(_) | WatchError::Processor => {
            Failure::request(error)
        }
        WatchError::NoSamples(_) | WatchError::Own(_) => Failure::measurement(error),
    })?;
    if !interrupted.load(Ordering::Relaxed) {
        arguments.price(&mut watched, &interrupted);
    }
    let bill = &watched.bill;
    if let Some(folder) = &arguments.out {
        keep(folder, &watched)?;
    }
    match arguments.json {
        true => json::print(json::WATCH, bill)?,
        false => {
            let text = watch::in_words(bill);
            crate::print(&text.lines().map(wrapped).collect::<String>());
        }
    }
    Ok(match (interrupted.load(Ordering::Relaxed), bill.no_bill) {
        (true, _) => Exit::Interrupted,
        (false, Some(_)) => Exit::Failed,
        (false, None) => Exit::Done,
    })
}

impl Arguments {
    fn find(&self) -> Result<ServerProcess, Failure> {
        match (&self.server, self.port) {
            (_, Some(port)) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                let found = ServerProcess::at(Transport::Tcp, address).or_why();
                found.map_err(|why| Failure::request(format!("--port: {why}")))
            }
            (Some(server), None) => server.find().map_err(Failure::request),
            (None, None) => Err(Failure::request("name a server, or give its --port")),
        }
    }

    /// Measures what changes would save, where that is wanted and possible.
    fn price(&self, watched: &mut Watched, interrupted: &AtomicBool) {
        let not_measured = |watched: &mut Watched, why: String| {
            watched.bill.notes.push(format!("what a change would save is not measured: {why}"));
        };
        let can_ask =
            !self.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if watched.bill.no_bill.is_some() || !(self.measure || can_ask) {
            return;
        }
        let cpus = match watched.free_cpus() {
            Ok(cpus) => cpus,
            Err(why) if self.measure => return not_measured(watched, why),
            Err(_) => return,
        };
        if !self.measure {
            crate::print_beside(format_args!(
                "Measure what a P-256 certificate would save, some 10 s on CPU {}, which the server does not use? [y/N] ",
                cpus.first(1)
            ));
            let mut answer = String::new();
            let is_read = std::io::stdin().lock().read_line(&mut answer).is_ok();
            if !is_read || !matches!(answer.trim(), "y" | "Y" | "yes") {
                return;
            }
        }
        let line = ProgressLine::new(!self.json, "{bar:24} {wide_msg}");
        let mut progress = |stage| match stage {
            BenchProgress::Preparing { done, all } => {
                line.show(done as u64, all as u64, || "making keys".to_owned());
            }
            BenchProgress::Sampling { done, all } => line.show(done as u64, all as u64, || {
                format!("measuring signatures on CPU {}", cpus.first(1))
            }),
        };
        if let Err(why) = watched.measure(&cpus, interrupted, &mut progress) {
            not_measured(watched, why);
        }
    }
}

/// A line as it fits the terminal, with its indentation.
fn wrapped(line: &str) -> String {
    let words = line.trim_start();
    let (indent, _) = line.split_at(line.len() - words.len());
    report::wrapped(indent, words, screen::width()).join("\n") + "\n"
}

/// Writes what was seen to a folder.
fn keep(folder: &Path, watched: &Watched) -> Result<(), Failure> {
    let bill = Versioned { schema: json::WATCH, of: &watched.bill };
    let bill = serde_json::to_string_pretty(&bill).map_err(Failure::measurement)?;
    let title = watched.bill.server.to_string();
    let graph = profile::flame_graph(&watched.folded, &title).unwrap_or_default();
    let files = [("bill.json", &bill), ("stacks.folded", &watched.folded), ("stacks.svg", &graph)];
    for (name, content) in files.into_iter().filter(|(_, content)| !content.is_empty()) {
        let path = folder.join(name);
        std::fs::write(&path, content)
            .map_err(|error| Failure::measurement(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}
