//! `toll watch`: the bill of a server that runs.

use std::ffi::OsString;
use std::io::{BufRead, ErrorKind, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cpus::CpuList;
use observe::{Machine, ServerProcess, Transport};
use primitives::Row;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use targets::{Captured, NotEnded, ServerPid};
use units::Nanos;
use watch::{Bill, Costs, ToMeasure, WatchError, Watched};

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

    /// The name that toll's own handshake asks for, where the server wants one
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,

    /// How long to watch
    #[arg(short, long, value_name = "TIME", value_parser = Nanos::or_seconds, default_value_t = Nanos(30_000_000_000))]
    duration: Nanos,

    /// Measure what changes would save, without asking
    ///
    /// That takes about 20 seconds of a CPU that the server does not use, after it was watched, and as long again for
    /// each of the systems of make systems: toll bench measures signatures, key exchanges, records and handshakes with
    /// the server's own OpenSSL and with theirs. On a terminal toll asks.
    #[arg(long)]
    measure: bool,

    /// Keep the bill, the stacks, a page with their flame graph and the machine in this new folder
    ///
    /// bill.json, stacks.folded, watch.html and machine.json. toll report prints it again, toll compare two of them.
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
      the server at a port, and what other certificates, groups and suites would save
  sudo toll watch /run/haproxy.pid --out monday --json | jq .tls
      as JSON; monday/watch.html shows the functions
  toll compare monday tuesday
      two bills, before and after a change

Read it like this: a share is of all the server's CPU time in the window, with its interval of 95%.
`not sorted` is in no other line; above 10% toll calls it no bill. A saving holds at the same
traffic. Ctrl-C ends it early, and prints what was seen. Nothing is left when toll ends, however it
ends: what the kernel samples and counts ends with the process.

Exit codes: 0 there is a bill; 2 the server cannot be found or watched; 3 it is no bill, and why is
in its first line; 130 interrupted.";

/// Quiet samples of each cost, about how long all of them take, and how long they may take.
const SAMPLES: &str = "60";
const USUAL_BENCH: Duration = Duration::from_secs(20);
const LONGEST_BENCH: Duration = Duration::from_secs(180);
/// The longest window: what is kept of it is bounded, what changes within a day is not one bill.
const LONGEST: Nanos = Nanos(24 * 3_600_000_000_000);

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let mut watched = arguments.watch(&interrupted)?;
    arguments.keep(&watched)?;
    if arguments.json {
        // One object has the savings too.
        arguments.price(&mut watched, &interrupted)?;
    }
    let exit = report(&watched.bill, arguments.json)?;
    if !arguments.json && arguments.price(&mut watched, &interrupted)? {
        print(&watch::changes_in_words(&watched.bill));
    }
    Ok(if interrupted.load(Ordering::Relaxed) { Exit::Interrupted } else { exit })
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

    fn watch(&self, interrupted: &AtomicBool) -> Result<Watched, Failure> {
        let duration = self.duration;
        if duration == Nanos(0) || duration > LONGEST {
            return Err(Failure::request(format!(
                "--duration: `{duration}` is not a window; give one up to {LONGEST}, such as 30s"
            )));
        }
        let server = self.find()?;
        if let Some(folder) = &self.out {
            std::fs::create_dir(folder).map_err(|error| {
                Failure::request(format!("--out: {}: {error}; name a new folder", folder.display()))
            })?;
        }
        let line = ProgressLine::new(!self.json, "{bar:24} {wide_msg}");
        let name = server.to_string();
        let mut progress = |done: Duration| {
            line.show(done.as_millis() as u64, duration.0 / 1_000_000, || {
                let left = Duration::from(duration).saturating_sub(done);
                format!("{} left  watching {name}; Ctrl-C prints what was seen", in_minutes(left))
            });
        };
        let asked_name = self.server_name.clone();
        watch::watch(server, asked_name, duration.into(), interrupted, &mut progress).map_err(
            |error| match error {
                WatchError::Server(_) | WatchError::NotAllowed(_) | WatchError::Processor => {
                    Failure::request(error)
                }
                WatchError::NoSamples(_) | WatchError::Own(_) => Failure::measurement(error),
            },
        )
    }

    /// Writes what was seen to the folder of `--out`.
    fn keep(&self, watched: &Watched) -> Result<(), Failure> {
        let Some(folder) = &self.out else { return Ok(()) };
        let Watched { bill, folded, .. } = watched;
        let json = serde_json::to_string_pretty(&Versioned { schema: json::WATCH, of: bill });
        let machine = serde_json::to_string_pretty(&Machine::read(&crate::allowed_cpus()?));
        let page = report::bill_html(&bill.server.to_string(), &watch::in_words(bill), folded);
        let files = [
            (BILL, json.map_err(Failure::measurement)?),
            ("stacks.folded", folded.clone()),
            ("watch.html", page.map_err(Failure::measurement)?),
            ("machine.json", machine.map_err(Failure::measurement)?),
        ];
        for (name, content) in files {
            let path = folder.join(name);
            std::fs::write(&path, content)
                .map_err(|error| Failure::measurement(format!("{}: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Measures what changes would save, where that is wanted and possible, and keeps it; whether there is more to
    /// print now.
    fn price(&self, watched: &mut Watched, interrupted: &AtomicBool) -> Result<bool, Failure> {
        let can_ask =
            !self.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let is_over = watched.bill.no_bill.is_some() || interrupted.load(Ordering::Relaxed);
        if is_over || !(self.measure || can_ask) {
            return Ok(false);
        }
        let systems = targets::systems();
        let wants =
            |cpu: &CpuList| self.measure || is_wanted(&question(cpu, &systems), interrupted);
        let priced = match watched.to_measure() {
            Ok(wanted) if wants(&wanted.cpu) => self.measure(&wanted, &systems, interrupted),
            Err(why) if self.measure => Err(why),
            Ok(_) | Err(_) => return Ok(false),
        };
        let priced = priced.and_then(|(own, others)| watched.price(&own, &others));
        watched.bill.not_measured.extend(priced.err());
        self.keep(watched)?;
        Ok(true)
    }

    /// What operations of TLS cost with the server's library, and in these systems, by name.
    fn measure(
        &self,
        wanted: &ToMeasure,
        systems: &[String],
        interrupted: &AtomicBool,
    ) -> Result<(Costs, Vec<(String, Costs)>), String> {
        let line = ProgressLine::new(!self.json, "{bar:24} {wide_msg}");
        let show = |done: usize| {
            line.show(done as u64, 1 + systems.len() as u64, || {
                format!("measuring operations of TLS on CPU {}", wanted.cpu)
            });
        };
        show(0);
        let own = bench(wanted, WhichOpenSsl::Library(&wanted.library), interrupted)?;
        let mut others = Vec::new();
        for (place, system) in systems.iter().enumerate() {
            if interrupted.load(Ordering::Relaxed) {
                break;
            }
            show(place + 1);
            // A system that does not run here has no lever.
            if let Ok(costs) = bench(wanted, WhichOpenSsl::System(system), interrupted) {
                others.push((system.clone(), costs));
            }
        }
        Ok((own, others))
    }
}

/// Whether to measure, with about how long that takes: the server's OpenSSL, and that of each system.
fn question(cpu: &CpuList, systems: &[String]) -> String {
    let takes = USUAL_BENCH.as_secs() * (1 + systems.len() as u64);
    let others = match systems {
        [] => String::new(),
        systems => format!(" and those of {}", systems.join(", ")),
    };
    format!(
        "\nMeasure what changes would save? That takes about {takes} s on CPU {cpu}, which the server does not use, for \
         its OpenSSL{others}. [y/N] "
    )
}

/// Asks on the terminal. Ctrl-C, like the end of the input, is a no at once: a read alone would wait for the next line.
fn is_wanted(question: &str, interrupted: &AtomicBool) -> bool {
    crate::print_beside(question);
    let input = std::io::stdin();
    while !interrupted.load(Ordering::Relaxed) {
        let mut waiting = [PollFd::new(&input, PollFlags::IN)];
        let a_while = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        if poll(&mut waiting, Some(&a_while)).is_ok_and(|ready| ready > 0) {
            let mut answer = String::new();
            let is_read = input.lock().read_line(&mut answer).is_ok();
            return is_read && matches!(answer.trim(), "y" | "Y" | "yes");
        }
    }
    crate::print_beside("\n");
    false
}

/// Whose operations are measured.
enum WhichOpenSsl<'a> {
    /// This libcrypto, with its libssl beside it.
    Library(&'a Path),
    /// The OpenSSL of this system.
    System(&'a str),
}

/// What `toll bench` prints, as far as it is read.
#[derive(serde::Deserialize)]
struct Benched {
    rows: Vec<Row>,
}

/// Measures in a process of its own, whose only OpenSSL is that library: two of one name are not told apart.
fn bench(
    wanted: &ToMeasure,
    of: WhichOpenSsl<'_>,
    interrupted: &AtomicBool,
) -> Result<Costs, String> {
    let text = |error: std::io::Error| error.to_string();
    let mut arguments: Vec<OsString> = Vec::new();
    if let WhichOpenSsl::Library(path) = of {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(name.replace("crypto", "ssl"));
        arguments.push(format!("LD_PRELOAD={}:{}", path.display(), beside.display()).into());
    }
    arguments.extend([std::env::current_exe().map_err(text)?.into(), "bench".into()]);
    arguments.extend(wanted.algorithms.iter().map(|of| of.name().into()));
    let size = units::Bytes(watch::RECORD_BYTES).to_string();
    let options = ["--json", "--library", "openssl", "--samples", SAMPLES, "--size", &size];
    arguments.extend(options.map(OsString::from));
    if let WhichOpenSsl::System(name) = of {
        arguments.extend(["--system", name].map(OsString::from));
    }
    let child = Captured::start(Path::new("env"), arguments, &[], &wanted.cpu);
    let mut child = child.map_err(|(program, error)| format!("{}: {error}", program.display()))?;
    let status = child.ended(LONGEST_BENCH, interrupted, &mut |_| ()).map_err(|why| match why {
        NotEnded::Interrupted => "the measurement was interrupted".to_owned(),
        NotEnded::TooLong => format!("toll bench took longer than {} s", LONGEST_BENCH.as_secs()),
    })?;
    let [printed, said] = child.written().map_err(text)?;
    let Ok(Benched { rows }) = serde_json::from_str(&printed) else {
        let why = said.lines().last().unwrap_or("it says nothing");
        return Err(format!("toll bench ended with {status}: {why}"));
    };
    let title = rows.first().map_or("", |row| &row.library_title);
    if let WhichOpenSsl::Library(path) = of {
        // The loader goes on without what it cannot load.
        let bytes = std::fs::read(path).map_err(text)?;
        if !bytes.windows(title.len().max(1)).any(|part| part == title.as_bytes()) {
            return Err(format!(
                "{} cannot be loaded here; {title} came in its place",
                path.display()
            ));
        }
    }
    Ok(Costs { rows, cpu: wanted.cpu.as_slice()[0] })
}

/// Each line as it fits the terminal.
fn print(text: &str) {
    crate::print(&text.lines().map(|line| screen::wrapped(line) + "\n").collect::<String>());
}

/// The file of a bill in its folder.
const BILL: &str = "bill.json";

/// The bill of a folder that `--out` has made; `None` of another folder.
pub(crate) fn bill(folder: &Path) -> Result<Option<Bill>, Failure> {
    let path = folder.join(BILL);
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::request(format!(
            "{}: {why}; it is no bill of this version of toll",
            path.display()
        ))
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| wrong(&error)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(wrong(&error)),
    }
}

/// Prints a bill; the exit code says whether it is one.
pub(crate) fn report(bill: &Bill, is_json: bool) -> Result<Exit, Failure> {
    match is_json {
        true => json::print(json::WATCH, bill)?,
        false => print(&watch::in_words(bill)),
    }
    Ok(if bill.no_bill.is_some() { Exit::Failed } else { Exit::Done })
}

/// `toll compare` of two such folders.
pub(crate) fn compare(a: &Bill, b: &Bill) -> Result<Exit, Failure> {
    print(&watch::compared(a, b).map_err(Failure::request)?);
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_has_the_time_of_every_system() {
        let cpu = CpuList::allowed().unwrap().first(1);
        let two = vec!["debian-12".to_owned(), "debian-13".to_owned()];
        for (systems, takes) in [(Vec::new(), " 20 s "), (two, " 60 s ")] {
            let question = question(&cpu, &systems);
            assert!(question.contains(takes), "{question}");
            assert!(systems.iter().all(|name| question.contains(name)), "{question}");
        }
    }
}
