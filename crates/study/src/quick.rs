//! The study `quick`: the first run of a new user, a little of everything in under a minute.
//!
//! Each server (the embedded one, and nginx where it is installed) does full handshakes, and sends
//! objects of 1 MiB over plain HTTP and over TLS, which tells what a connection costs and what a
//! byte costs. Three short rounds show whether the figures stand; they are too few for more.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cpus::CpuList;
use load::{Engine, OneIn, Operation, Plan, Receive, Stop, TlsPlan, Trust, Url};
use targets::{Objects, Running, Settings, TargetError};
use tls::{CertificateKey, Group, Suite, Version};
use units::{Bytes, Nanos};

use crate::journal::{Journal, JournalError};
use crate::line::{Line, Place, Role};
use crate::machine::{ThisMachine, neighbours};
use crate::order::interleaved;
use crate::results::{Results, ResultsError};
use crate::trial::{Hooks, Moment, Trial};
use crate::warning::{Neighbours, Warning};

const SERVERS: [&str; 2] = ["embedded", "nginx"];
const SUITE: &str = "TLS_AES_128_GCM_SHA256";
const OBJECT: Bytes = Bytes(1 << 20);
const ROUNDS: u32 = 3;
/// Handshakes end in bursts as large as the number of connections, which a short window would show.
const HANDSHAKE_CONNECTIONS: usize = 16;
const OBJECT_CONNECTIONS: usize = 64;
const WARM_UP: Nanos = Nanos(200_000_000);
const WINDOW: Nanos = Nanos(1_500_000_000);
const TIMEOUT: Nanos = Nanos(10_000_000_000);
const VERIFY: NonZeroU32 = NonZeroU32::new(64).unwrap();
const CERTIFICATE_KEY: CertificateKey = CertificateKey::Rsa(2048);
const SEED: u64 = 7;

/// Where the study's server and client run.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The servers' CPUs.
    pub server: CpuList,
    /// The client's.
    pub client: CpuList,
}

impl Layout {
    fn all(&self) -> CpuList {
        let Self { server, client } = self;
        format!("{server},{client}").parse().unwrap_or_else(|_| server.clone())
    }
}

/// What a server is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Full handshakes without a request.
    Handshakes,
    /// Objects over plain HTTP.
    PlainObjects,
    /// Objects over TLS.
    TlsObjects,
}

/// One server doing one kind of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The server's kind.
    pub server: &'static str,
    /// What it does.
    pub work: Work,
}

/// What happens in a run, for whoever shows it.
#[derive(Debug)]
pub enum Event<'a> {
    /// A server is not installed; the sentence says how to get it.
    Skipped(&'a TargetError),
    /// The served objects are not in memory; the sentence says why, and where they are.
    ObjectsOnDisk(&'a str),
    /// A server answers.
    Started(&'a Running),
    /// A trial goes on.
    Progress {
        /// Of which cell.
        cell: &'a Cell,
        /// How many trials have ended.
        done: usize,
        /// How many there are.
        trials: usize,
        /// How far it is.
        moment: Moment,
    },
    /// A trial has ended; its line is on disk.
    Finished(&'a Line),
}

/// What a run measured.
#[derive(Debug)]
pub struct Measured {
    /// Each cell with its trials, in the order in which they ran.
    pub cells: Vec<(Cell, Vec<Line>)>,
    /// How many trials a whole run has.
    pub trials: usize,
    /// Whether it was interrupted; the trial under way then is not among the trials.
    pub interrupted: bool,
}

/// Why a run could not begin, or go on. Each trial that was done has been told of as
/// [`Event::Finished`].
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A server could not be started; nothing was measured.
    #[error("{0}")]
    Start(TargetError),
    /// A server cannot be loaded as the study wants; nothing was measured.
    #[error("{0}")]
    Probe(load::ProbeError),
    /// A server died between two trials.
    #[error("{0}")]
    Target(TargetError),
    /// A load could not start.
    #[error("{0}")]
    Load(load::EngineError),
    /// A server's processes could not be found.
    #[error("{0}")]
    Observe(#[from] observe::ObserveError),
    /// The journal could not be written.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// Another file of the results could not be written.
    #[error("{0}")]
    Results(#[from] ResultsError),
}

impl Work {
    const ALL: [Self; 3] = [Self::Handshakes, Self::PlainObjects, Self::TlsObjects];

    /// The name of the study's case.
    #[must_use]
    pub fn case(self) -> &'static str {
        match self {
            Self::Handshakes => "handshakes",
            Self::PlainObjects => "plain-objects",
            Self::TlsObjects => "tls-objects",
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handshakes => write!(f, "full handshakes, TLS 1.3, {CERTIFICATE_KEY}"),
            Self::PlainObjects => write!(f, "{OBJECT} objects, plain HTTP"),
            Self::TlsObjects => write!(f, "{OBJECT} objects, TLS 1.3, {SUITE}"),
        }
    }
}

impl Cell {
    /// The name in the journal.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}", self.work.case(), self.server)
    }

    fn plan(&self, server: &Running, client_cpus: &CpuList) -> Plan {
        let is_tls = self.work != Work::PlainObjects;
        let address = if is_tls { server.https() } else { server.http() };
        let tls = TlsPlan { trust: Trust::File(server.certificate().to_owned()), ..TlsPlan::any() };
        Plan {
            url: Url::at(is_tls, address, &objects::path(OBJECT)),
            address,
            tls: match is_tls {
                true => TlsPlan {
                    version: Some(Version::Tls13),
                    suite: Suite::parse(SUITE).ok(),
                    group: Some(Group::X25519),
                    ..tls
                },
                false => tls,
            },
            operation: match self.work {
                Work::Handshakes => Operation::Handshakes,
                Work::PlainObjects | Work::TlsObjects => Operation::Requests,
            },
            connections: match self.work {
                Work::Handshakes => HANDSHAKE_CONNECTIONS,
                Work::PlainObjects | Work::TlsObjects => OBJECT_CONNECTIONS,
            },
            cpus: client_cpus.clone(),
            stop: Stop::After { warmup: WARM_UP, duration: WINDOW },
            receive: Receive::Walk,
            verify: OneIn(VERIFY),
            timeout: TIMEOUT,
        }
    }

    fn params(&self, plan: &Plan, server: &Running) -> BTreeMap<String, String> {
        let mut params = BTreeMap::from([
            ("target.server".to_owned(), self.server.to_owned()),
            ("target.version".to_owned(), server.version().to_owned()),
            ("load.operation".to_owned(), plan.operation.to_string()),
            (
                "load.tls".to_owned(),
                plan.tls.version.map_or("none", |version| version.number()).to_owned(),
            ),
        ]);
        if let Some(suite) = plan.tls.suite {
            params.insert("load.suite".to_owned(), suite.name.to_owned());
        }
        if self.work != Work::Handshakes {
            params.insert("target.object".to_owned(), OBJECT.to_string());
        }
        params
    }
}

/// Runs the study into a result folder: servers started once, the trials of all cells interleaved.
/// Every server is stopped when this returns, however it returns.
///
/// # Errors
/// What kept it from beginning or from going on. The trials until then are in the journal.
pub fn run(
    layout: &Layout,
    results: &Results,
    interrupt: &AtomicBool,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Measured, RunError> {
    results.write_machine(&observe::Machine::read(&layout.all()))?;
    let neighbours = neighbours(&layout.server, &layout.client);
    let objects = Arc::new(Objects::make(&[OBJECT], results.folder()).map_err(RunError::Start)?);
    if let Some(note) = objects.note() {
        tell(Event::ObjectsOnDisk(note));
    }
    let mut servers = start(layout, &objects, results, tell)?;
    let mut cells = Vec::new();
    for (index, (name, server)) in servers.iter().enumerate() {
        for work in Work::ALL {
            let cell = Cell { server: name, work };
            let plan = cell.plan(server, &layout.client);
            load::probe(&plan).map_err(RunError::Probe)?;
            cells.push(Prepared { server: index, plan, cell, lines: Vec::new() });
        }
    }
    let mut run = Run {
        layout,
        neighbours,
        on_disk: objects.note().map(Warning::objects_on_disk),
        journal: results.journal()?,
        interrupt,
        tell,
        done: 0,
        trials: cells.len() * ROUNDS as usize,
    };
    let order = interleaved(cells.len(), ROUNDS, SEED);
    'rounds: for (round, order) in (0..).zip(order) {
        for index in order {
            if interrupt.load(Relaxed) {
                break 'rounds;
            }
            let cell = &mut cells[index];
            run.trial(cell, &mut servers[cell.server].1, round)?;
        }
    }
    Ok(Measured {
        cells: cells.into_iter().map(|prepared| (prepared.cell, prepared.lines)).collect(),
        trials: run.trials,
        interrupted: interrupt.load(Relaxed),
    })
}

fn start(
    layout: &Layout,
    objects: &Arc<Objects>,
    results: &Results,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<(&'static str, Running)>, RunError> {
    let settings = Settings {
        certificate_key: CERTIFICATE_KEY,
        tickets: false,
        session_cache: false,
        ..Settings::new(layout.server.clone(), Arc::clone(objects))
    };
    let mut servers = Vec::new();
    for name in SERVERS {
        let kind = name.parse().map_err(RunError::Start)?;
        match targets::start(&kind, &settings, results.folder()) {
            Ok(server) => {
                tell(Event::Started(&server));
                servers.push((name, server));
            }
            Err(missing @ TargetError::Missing { .. }) => tell(Event::Skipped(&missing)),
            Err(error) => return Err(RunError::Start(error)),
        }
    }
    Ok(servers)
}

/// A cell, ready to be measured.
struct Prepared {
    server: usize,
    plan: Plan,
    cell: Cell,
    lines: Vec<Line>,
}

/// What all trials of a run share.
struct Run<'a> {
    layout: &'a Layout,
    neighbours: Neighbours,
    on_disk: Option<Warning>,
    journal: Journal,
    interrupt: &'a AtomicBool,
    tell: &'a mut dyn FnMut(Event<'_>),
    done: usize,
    trials: usize,
}

impl Run<'_> {
    fn trial(
        &mut self,
        prepared: &mut Prepared,
        server: &mut Running,
        round: u32,
    ) -> Result<(), RunError> {
        server.check_alive().map_err(RunError::Target)?;
        let Prepared { plan, cell, lines, .. } = prepared;
        let trial = Trial {
            plan: plan.clone(),
            certificate_key: Some(CERTIFICATE_KEY),
            server_cpus: Some(self.layout.server.clone()),
            neighbours: self.neighbours,
        };
        let mut machine = ThisMachine::with_server(server.pid())?;
        let (done, trials) = (self.done, self.trials);
        let tell = &mut *self.tell;
        let mut hooks = Hooks {
            interrupt: self.interrupt,
            progress: &mut |moment| tell(Event::Progress { cell, done, trials, moment }),
            check_target: &mut || server.check_alive().map_err(|error| error.to_string()),
        };
        let mut line =
            trial.run(&mut machine, &mut hooks, Engine::start).map_err(RunError::Load)?;
        if line.interrupted {
            // Shorter than the others, it could not stand beside them.
            return Ok(());
        }
        let place = Place {
            case: cell.work.case().to_owned(),
            cell: cell.name(),
            params: cell.params(plan, server),
            role: Role::Measure,
            round,
            order: u32::try_from(self.done).unwrap_or(u32::MAX),
        };
        line.warnings.extend(self.on_disk.clone());
        let line = Line { place: Some(place), ..line };
        self.journal.append(&line)?;
        self.done += 1;
        (self.tell)(Event::Finished(&line));
        lines.push(line);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_one_that_toll_knows() {
        assert_eq!(Suite::parse(SUITE).unwrap().version(), Version::Tls13);
    }

    #[test]
    fn what_a_cell_does_is_told_with_its_units() {
        assert_eq!(
            Work::ALL.map(|work| work.to_string()),
            [
                "full handshakes, TLS 1.3, rsa:2048",
                "1MiB objects, plain HTTP",
                "1MiB objects, TLS 1.3, TLS_AES_128_GCM_SHA256",
            ]
        );
        let cell = Cell { server: "nginx", work: Work::TlsObjects };
        assert_eq!(cell.name(), "tls-objects-nginx");
    }
}
