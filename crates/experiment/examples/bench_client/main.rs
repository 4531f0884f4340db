//! toll's engine beside the field's programs: the same plan, the same nginx, in turn.
//!
//! `bench_client [ROUNDS [SECONDS]]`, 5 rounds of 3 s by default, which takes about 10 minutes. No
//! client has a warm-up, for wrk and ab have none: each pays for its 64 handshakes, and toll for
//! learning what a server's responses are like, within its window. In one of 1 s that is much of
//! what is measured of 16 MiB objects and of slow suites.
//!
//! The server runs on the first CPU, the client on the second. Each round measures every row with every
//! client that can make it, one after the other, so that what drifts touches all alike. The table is
//! printed at the end, and after Ctrl-C with what there is by then; behind it, a line for everything
//! that toll is to reach says whether it did.

mod goals;
mod rows;
mod table;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cpus::CpuList;
use load::Engine;
use peers::{Client, Offer, PeerError};
use signal_hook::consts::{SIGINT, SIGTERM};
use targets::{Objects, Running};
use trial::{Hooks, Line, Neighbours, ThisMachine, Trial};
use units::Nanos;

use rows::{Maker, Row};

type Failure = Box<dyn std::error::Error>;

/// One trial: its row and client, by their places, its round, and what came of it.
struct Sample {
    row: usize,
    maker: Maker,
    round: u32,
    line: Line,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| -> Result<u32, Failure> {
        let given = arguments.next().map(|word| word.parse()).transpose();
        given.ok().map(|n| n.unwrap_or(default)).filter(|n| (1..=1000).contains(n)).ok_or_else(
            || "usage: bench_client [ROUNDS [SECONDS]], each a number from 1 to 1000".into(),
        )
    };
    let (rounds, seconds) = (number(5)?, number(3)?);
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupt))?;
    }

    let allowed = CpuList::allowed()?;
    let [server, client, ..] = *allowed.as_slice() else {
        return Err("server and client need a CPU each, and there is one; give two".into());
    };
    let bench = Bench::start(CpuList::from(server), CpuList::from(client))?;
    let duration = Nanos(u64::from(seconds) * 1_000_000_000);
    let samples = bench.measure(rounds, duration, &interrupt)?;
    print!("{}", table::of(&bench.rows, &samples));
    print!("{}", goals::of(&bench.rows, &samples));
    Ok(())
}

/// The servers, all of which idle but the one that is measured.
struct Bench {
    rows: Vec<Row>,
    /// One for each kind that the rows need, as in [`rows::Kind::ALL`].
    servers: Vec<Running>,
    client_cpus: CpuList,
    neighbours: Neighbours,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn start(server_cpus: CpuList, client_cpus: CpuList) -> Result<Self, Failure> {
        let rows = rows::all();
        let folder = tempfile::tempdir()?;
        let sizes: Vec<_> = rows.iter().map(|row| row.object).collect();
        let objects = Arc::new(Objects::make(&sizes, folder.path())?);
        let neighbours = trial::neighbours(&server_cpus, &client_cpus);
        let nginx = targets::by_name("nginx").ok_or("nginx is no server of toll")?;
        let start = |kind: rows::Kind| {
            targets::start(nginx, &kind.settings(server_cpus.clone()), &objects, folder.path())
        };
        let servers = rows::Kind::ALL.into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { rows, servers, client_cpus, neighbours, _folder: folder })
    }

    fn measure(
        &self,
        rounds: u32,
        duration: Nanos,
        interrupt: &AtomicBool,
    ) -> Result<Vec<Sample>, Failure> {
        let mut samples = Vec::new();
        let mut missing = Vec::new();
        for (round, row, maker) in self.order(rounds) {
            if missing.contains(&maker) {
                continue;
            }
            let title = &self.rows[row].title;
            eprint!("\r\x1b[Kround {} of {rounds}: {title}, {maker}", round + 1);
            let trial = self.trial(&self.rows[row], maker, duration);
            let outcome = run(&trial, maker, self.server(&self.rows[row]), interrupt);
            if interrupt.load(Relaxed) {
                eprintln!("\r\x1b[Kinterrupted in round {} of {rounds}", round + 1);
                return Ok(samples);
            }
            match outcome {
                Ok(line) => samples.push(Sample { row, maker, round, line }),
                Err(Unmade::Missing(why)) => {
                    eprintln!("\r\x1b[K{why}");
                    missing.push(maker);
                }
                Err(Unmade::Failed(why)) => return Err(why),
            }
        }
        eprint!("\r\x1b[K");
        Ok(samples)
    }

    /// Round by round, row by row, client by client.
    fn order(&self, rounds: u32) -> impl Iterator<Item = (u32, usize, Maker)> {
        (0..rounds).flat_map(move |round| {
            let rows = self.rows.iter().enumerate();
            rows.flat_map(move |(row, of)| of.makers.iter().map(move |maker| (round, row, *maker)))
        })
    }

    fn server(&self, row: &Row) -> &Running {
        &self.servers[row.kind as usize]
    }

    fn trial(&self, row: &Row, maker: Maker, duration: Nanos) -> Trial {
        let server = self.server(row);
        let certificate: &Path = server.certificate();
        let job = row.job(maker, server.https(), certificate, &self.client_cpus, duration);
        Trial::new(job, Some(server.cpus().clone()), self.neighbours)
    }
}

/// Why there is no line.
enum Unmade {
    /// The program is not installed.
    Missing(String),
    /// Anything else.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Unmade {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn run(
    trial: &Trial,
    maker: Maker,
    server: &Running,
    interrupt: &AtomicBool,
) -> Result<Line, Unmade> {
    let mut machine = ThisMachine::with_server(server.pid())?;
    let mut hooks = Hooks { interrupt, progress: &mut |_| {}, check_target: &mut || Ok(()) };
    let measured = match maker {
        Maker::Toll => trial.run(&mut machine, &mut hooks, Engine::start)?,
        Maker::Peer(peer) => {
            let client =
                Client::prepare(peer, &trial.job, Offer::Anything).map_err(
                    |error| match error {
                        PeerError::Missing { .. } => Unmade::Missing(error.to_string()),
                        _ => error.into(),
                    },
                )?;
            trial.run(&mut machine, &mut hooks, |_| client.start())?
        }
    };
    Ok(measured.line)
}
