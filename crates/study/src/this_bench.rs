//! The world of a run as it is: servers on this machine, loaded by the engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cpus::CpuList;
use load::{Engine, Plan, Stop, TlsPlan, Trust, Url};
use targets::{Kind, Objects, Running, Settings, TargetError};
use tls::Version;
use units::Bytes;

use crate::machine::{ThisMachine, neighbours};
use crate::run::{Bench, StartError, by_target};
use crate::study::{Cell, Protocol, Server, Study, TargetSpec};
use crate::trial::{Hooks, Measured, Moment, Trial};
use crate::warning::{Neighbours, Warning};

/// Servers on this machine, and the load engine.
pub struct ThisBench {
    /// The result folder.
    folder: PathBuf,
    objects: Arc<Objects>,
    /// What was found of pairs of server and client CPUs.
    neighbours: Vec<(CpuList, CpuList, Neighbours)>,
}

impl ThisBench {
    /// Makes the objects of the study, in memory where there is room, else in `folder`, the result
    /// folder.
    ///
    /// # Errors
    /// There is no room for them, or the system refuses.
    pub fn new(study: &Study, folder: PathBuf) -> Result<Self, TargetError> {
        let sizes: Vec<Bytes> = study.cells.iter().map(|cell| cell.load.object).collect();
        let objects = Arc::new(Objects::make(&sizes, &folder)?);
        Ok(Self { folder, objects, neighbours: Vec::new() })
    }

    /// Why the objects are not in memory, where they are not.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.objects.note()
    }

    /// Measured once for each pair of lists, while the servers idle.
    fn neighbours(&mut self, server: &CpuList, client: &CpuList) -> Neighbours {
        let known = self.neighbours.iter().find(|(s, c, _)| (s, c) == (server, client));
        if let Some((_, _, found)) = known {
            return *found;
        }
        let found = neighbours(server, client);
        self.neighbours.push((server.clone(), client.clone(), found));
        found
    }
}

impl Bench for ThisBench {
    type Target = Running;

    fn start(&mut self, spec: &TargetSpec) -> Result<Running, StartError> {
        let (kind, settings) = (kind(spec.server), settings(spec));
        targets::start(&kind, &settings, &self.objects, &self.folder).map_err(|error| match error {
            TargetError::Missing { .. } => StartError::Missing(error.to_string()),
            _ => StartError::Failed(error.to_string()),
        })
    }

    fn name(&self, target: &Running) -> String {
        target.name().to_owned()
    }

    fn version(&self, target: &Running) -> String {
        target.version().to_owned()
    }

    fn probe(&mut self, target: &Running, cell: &Cell) -> Result<(), String> {
        load::probe(&plan(cell, target)).map(|_| ()).map_err(|error| error.to_string())
    }

    fn trial(
        &mut self,
        target: &mut Running,
        cell: &Cell,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Moment),
    ) -> Result<Measured, String> {
        target.check_alive().map_err(|error| error.to_string())?;
        let trial = Trial {
            plan: plan(cell, target),
            certificate_key: Some(cell.target.certificate_key),
            server_cpus: Some(cell.target.cpus.clone()),
            neighbours: self.neighbours(&cell.target.cpus, &cell.load.cpus),
        };
        let mut machine = ThisMachine::with_server(target.pid())
            .map_err(|error| cause(target, error.to_string()))?;
        let mut hooks = Hooks {
            interrupt,
            progress,
            check_target: &mut || target.check_alive().map_err(|error| error.to_string()),
        };
        let mut measured = trial
            .run(&mut machine, &mut hooks, Engine::start)
            .map_err(|error| cause(target, error.to_string()))?;
        measured.line.warnings.extend(self.objects.note().map(Warning::objects_on_disk));
        Ok(measured)
    }
}

/// What kept a trial from being measured: where the server has died meanwhile, that, rather than
/// what failed for it.
fn cause(target: &mut Running, error: String) -> String {
    target.death().map_or(error, |death| death.to_string())
}

/// The commands that would be started for the study's servers, in the order of starting, with the
/// places that they would have in the result folder; `objects` stands for the folder of the objects.
/// Where a server is not installed, that is said instead.
#[must_use]
pub fn commands(study: &Study, objects: &str, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut command = |spec: &TargetSpec| {
        let kind = kind(spec.server);
        let number = names.iter().filter(|name| *name == kind.name()).count() + 1;
        names.push(kind.name().to_owned());
        let name = match number {
            1 => kind.name().to_owned(),
            _ => format!("{}-{number}", kind.name()),
        };
        match targets::find(&kind) {
            Some(_) => {
                targets::command(&kind, &settings(spec), objects.as_ref(), folder.as_ref(), &name)
            }
            None => format!("{kind}: not installed"),
        }
    };
    by_target(study).into_iter().map(|(spec, _)| command(spec)).collect()
}

fn kind(server: Server) -> Kind {
    match server {
        Server::Embedded => Kind::Embedded(targets::Embedded::default()),
        Server::Nginx => Kind::Nginx(targets::Nginx::default()),
    }
}

/// All versions, suites and groups of the server's own choice: what a cell wants, its client asks
/// for.
fn settings(spec: &TargetSpec) -> Settings {
    Settings {
        versions: vec![Version::Tls12, Version::Tls13],
        certificate_key: spec.certificate_key,
        tickets: spec.tickets,
        session_cache: spec.session_cache,
        encrypt_then_mac: spec.encrypt_then_mac,
        ..Settings::new(spec.cpus.clone())
    }
}

fn plan(cell: &Cell, server: &Running) -> Plan {
    let load = &cell.load;
    let address = if load.protocol.is_tls() { server.https() } else { server.http() };
    let trust = Trust::File(server.certificate().to_owned());
    let tls = match &load.protocol {
        Protocol::Plain => TlsPlan { trust, ..TlsPlan::any() },
        Protocol::Tls { version, suite, group, encrypt_then_mac, key_exchange, resumption } => {
            TlsPlan {
                version: *version,
                suite: *suite,
                group: *group,
                key_exchange: *key_exchange,
                encrypt_then_mac: *encrypt_then_mac,
                resumption: *resumption,
                trust,
            }
        }
    };
    Plan {
        url: Url::at(load.protocol.is_tls(), address, &objects::path(load.object)),
        address,
        tls,
        operation: load.operation,
        arrival: load.arrival,
        connections: load.connections,
        cpus: load.cpus.first(load.connections),
        stop: Stop::After { warmup: load.warmup, duration: load.duration },
        receive: load.receive,
        verify: load.verify,
        timeout: load.timeout,
    }
}
