//! A server of a run, started or found, and what is asked of it.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent::RunningServer;
use cpus::CpuList;
use load::{Job, Plan, Progress, Trust, Url};
use observe::{Fact, ServerProcess};
use study::{Cell, files, mixed_objects, path};
use targets::{CryptoFacts, SendCounters, ServerCounts, ServerFacts};
use tls::{OrPlain, Suite};
use trial::{Machine, Moment, NotSteady, Orders, RunsOn, Sending, ServerReport, ThisMachine};

use super::found_server::FoundServer;
use super::warm_up::{self, warm_up};

/// How many users of the warm-up there are for each CPU of the server, most of the time.
const USERS_PER_CPU: usize = 2;

/// A server that can be loaded.
#[derive(Debug)]
pub struct ThisTarget {
    pub(super) life: Life,
    /// How its warm-up ended, for each suite that it was warmed up with.
    warmed_up: Vec<(Option<OrPlain<&'static Suite>>, Option<NotSteady>)>,
    /// What its cryptography runs on, once it was asked.
    crypto: Option<CryptoFacts>,
    /// Whether a load of this run has been on it.
    pub(super) was_loaded: bool,
}

#[derive(Debug)]
pub(super) enum Life {
    /// toll started it, and stops it.
    Started(Box<RunningServer>),
    /// It was there before.
    Found(Box<FoundServer>),
}

impl ThisTarget {
    pub(super) fn new(life: Life) -> Self {
        // What was there before has had loads that nobody knows.
        let was_loaded = matches!(life, Life::Found(_));
        Self { life, warmed_up: Vec::new(), crypto: None, was_loaded }
    }

    pub(super) fn running(server: RunningServer) -> Self {
        Self::new(Life::Started(Box::new(server)))
    }

    /// Warms it up with this cell's load where the study asks for it and the suite was not used
    /// before; where it did not become steady, with that, and with what was planned for it now.
    pub(super) fn warm_up(
        &mut self,
        cell: &Cell,
        seed: u64,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Moment),
    ) -> Result<(Option<NotSteady>, Duration), String> {
        let Some(how) = cell.target.warmup else { return Ok((None, Duration::ZERO)) };
        let suite = cell.load.suite;
        if let Some((_, ended)) = self.warmed_up.iter().find(|(known, _)| *known == suite) {
            return Ok((*ended, Duration::ZERO));
        }
        let job = job(cell, self, seed);
        let few = USERS_PER_CPU * cell.target.cpus.len();
        let spent = || self.started()?.cpu_time().map(Duration::from);
        let plan = warm_up::WarmUpPlan { how, few, most: cell.most_connections(), spent: &spent };
        let mut each = |prepared| {
            let (elapsed, window) = (Duration::ZERO, cell.load.duration.into());
            progress(Moment { prepared, elapsed, window, progress: Progress::default() });
        };
        let ended = self.spread(|| warm_up(&plan, job, interrupt, &mut each))??;
        self.warmed_up.push((suite, ended));
        Ok((ended, how.most().into()))
    }

    /// Does something while the server may use all CPUs that toll may use, if toll started it.
    pub(super) fn spread<T>(&self, what: impl FnOnce() -> T) -> Result<T, String> {
        let Some(running) = self.started() else { return Ok(what()) };
        running.spread()?;
        let done = what();
        running.pin()?;
        Ok(done)
    }

    /// Why it is no longer the server that it was.
    pub(super) fn check_alive(&mut self) -> Result<(), String> {
        match &mut self.life {
            Life::Started(running) => running.check_alive(),
            Life::Found(found) => found.check_alive(),
        }
    }

    /// Why a trial could not be measured: if the server has died meanwhile, that, rather than what
    /// failed because of it.
    pub(super) fn cause(&mut self, error: String) -> String {
        match &mut self.life {
            Life::Started(running) => running.death().unwrap_or(error),
            Life::Found(found) => found.check_alive().err().unwrap_or(error),
        }
    }

    /// The CPUs that it runs on, where that is known.
    pub(super) fn cpus(&self) -> Option<CpuList> {
        match &self.life {
            Life::Started(running) => Some(running.facts().cpus.clone()),
            Life::Found(found) => found.cpus.clone(),
        }
    }

    /// What it should run on and what it runs on, if toll started it.
    pub(super) fn runs_on(&self, cell: &Cell) -> Option<RunsOn> {
        let ServerFacts { system, quic_api, libraries, stack, .. } = self.facts()?.clone();
        Some(RunsOn { target: cell.target.clone(), system, quic_api, libraries, stack })
    }

    /// The server, where toll started it.
    pub(super) fn started(&self) -> Option<&RunningServer> {
        match &self.life {
            Life::Started(running) => Some(running),
            Life::Found(_) => None,
        }
    }

    /// What is known of it, where toll started it.
    pub(super) fn facts(&self) -> Option<&ServerFacts> {
        self.started().map(RunningServer::facts)
    }

    /// What it has counted, where toll started it.
    pub(super) fn counts(&self) -> Result<ServerCounts, String> {
        self.started().map_or(Ok(ServerCounts::default()), RunningServer::counts)
    }

    /// What it reports of a load before which it counted this, or why it is no longer the server that
    /// it was. It is asked about its cryptography after the first load only: a process keeps its
    /// providers and switches.
    pub(super) fn report(
        &mut self,
        cell: &Cell,
        before: &ServerCounts,
    ) -> Result<ServerReport, String> {
        self.check_alive()?;
        let after = self.counts()?;
        if self.crypto.is_none() {
            self.crypto = self.started().map_or(Ok(None), RunningServer::crypto)?;
        }
        let target = &cell.target;
        let since = |before: &Option<SendCounters>, after: Option<SendCounters>| {
            before.as_ref().zip(after).map(|(before, after)| after.since(before))
        };
        let orders = before.orders.zip(after.orders);
        let has_accelerator = target.accelerator().is_some() || target.batching().is_some();
        let accelerated = before.accelerated.as_ref().zip(after.accelerated);
        let accelerated = accelerated.filter(|_| has_accelerator);
        let lacks_sendfile = target
            .server
            .program()
            .zip(self.facts())
            .and_then(|(program, facts)| program.lacks_sendfile(&facts.version));
        let counted = since(&before.sent, after.sent);
        // Those of before are there still, unless the process that had them has ended.
        let foreign: BTreeSet<String> =
            before.foreign.iter().cloned().chain(after.foreign).collect();
        Ok(ServerReport {
            foreign: foreign.into_iter().collect(),
            orders: orders.map(|(before, after)| Orders { before, after }),
            crypto: self.crypto.clone().map(|found| ((target.crypto, target.aes), found)),
            backend: since(&before.backend, after.backend),
            accelerated: accelerated.map(|(before, after)| after.since(before)),
            sending: target.server.is_configured().then_some(Sending {
                asked: target.send,
                counted,
                lacks_sendfile,
            }),
        })
    }

    /// Its first process, where that is known and one of this machine.
    pub(super) fn pid(&self) -> Option<u32> {
        match &self.life {
            Life::Started(running) => running.process(),
            Life::Found(found) => found.pid(),
        }
    }

    /// The process of one that was there before, or why it is not known.
    pub(super) fn found_process(&self) -> Option<Fact<ServerProcess>> {
        match &self.life {
            Life::Started(_) => None,
            Life::Found(found) => Some(found.process.clone()),
        }
    }

    pub(super) fn machine(&self) -> Result<Box<dyn Machine>, String> {
        match &self.life {
            Life::Started(running) => running.machine(),
            Life::Found(found) => match found.pid() {
                Some(pid) => ThisMachine::with_server(pid)
                    .map(|machine| Box::new(machine) as Box<dyn Machine>)
                    .map_err(|error| error.to_string()),
                None => Ok(Box::new(ThisMachine::without_server())),
            },
        }
    }
}

pub(super) fn job(cell: &Cell, target: &ThisTarget, seed: u64) -> Job {
    let mut plan = Plan { cpus: cell.load.cpus.first(cell.load.connections), ..cell.load.clone() };
    let is_tls = !plan.is_plain();
    // Other programs, and a certificate of the study's, have files of their own.
    let has_own_client = plan.client == load::Client::Toll && plan.client_certificate.is_none();
    let (address, url, objects, known) = match &target.life {
        Life::Started(running) => {
            let facts = running.facts();
            let address = if is_tls { facts.https } else { facts.http };
            let url = Url::at(is_tls, address, path(&cell.target, &plan));
            let trust = Trust::File(facts.certificate.clone());
            if let Some(client) = facts.client.as_ref().filter(|_| is_tls && has_own_client) {
                plan.client_certificate = Some(client.certificate.clone());
                plan.client_key = Some(client.key.clone());
            }
            (address, url, mixed_objects(&cell.target, &plan), trust)
        }
        Life::Found(found) => (found.address, found.url.clone(), None, Trust::System),
    };
    let trust = plan.trust().unwrap_or(known);
    let files = files(&cell.target, &plan);
    let names = cell.target.names.into_iter().flat_map(objects::names).collect();
    Job { files, objects, names, trust, seed, ..Job::new(plan, url, address) }
}
