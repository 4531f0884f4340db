//! Studies and journals made by hand, for tests to change.

use std::collections::BTreeMap;

use clap::ValueEnum;
use load::{Client, Operation};
use observe::Fact;
use profile::{Class, Event, Profile};
use tls::{OrPlain, Suite};
use units::Bytes;

use journal::primitive::RowLine;
use journal::testing::example;
use journal::{Entries, Place, Role, TargetRecord, TrialLine};
use strum::VariantArray;
use study::testing::{cell, server};
use study::{AnswerRule, Cell, Metric, Show, Study};
use trial::{ByteCounts, CpuTimes, Limit, Operations, TrialRecord};

use crate::analysis::{Analysis, Answer, Derived, Point, RowFigure};
use crate::compare::ComparedRun;
use crate::wording::list_of;

pub(crate) const RSA: &str = "rsa:2048";
pub(crate) const ECDSA: &str = "ecdsa:p256";
pub(crate) const GCM: &str = "TLS_AES_128_GCM_SHA256";
pub(crate) const CHACHA: &str = "TLS_CHACHA20_POLY1305_SHA256";
pub(crate) const CBC: &str = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA";

/// Seven factors around 1 whose median is 1 and whose range is 0.97 to 1.03.
pub(crate) const SPREAD: [f64; 7] = [1.0, 0.97, 1.01, 0.99, 1.03, 0.98, 1.02];

/// The same in eight rounds, which can decide six comparisons.
pub(crate) const EIGHT: [f64; 8] = [1.0, 0.97, 1.01, 0.99, 1.03, 0.98, 1.02, 1.0];

/// A study with what was measured.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) study: Study,
    pub(crate) lines: Vec<TrialLine>,
    pub(crate) primitives: Vec<RowLine>,
    pub(crate) targets: Vec<TargetRecord>,
    pub(crate) machine: Option<observe::Machine>,
    pub(crate) hosts: BTreeMap<String, observe::Machine>,
}

/// All caveats of an answer.
pub(crate) fn all_caveats(answer: &Answer) -> String {
    answer.caveats.iter().map(|of| &*of.text).collect::<Vec<_>>().join(" ")
}

impl Scene {
    /// Counts the instructions of each trial, by this source, instead of timing it: a million per operation, and a
    /// hundred for each millisecond of the server's CPU time.
    pub(crate) fn count_instructions(&mut self, source: &str) {
        let counter = load::Count::Instructions(load::Counter::Callgrind);
        self.study.cells.iter_mut().for_each(|cell| cell.load.count = Some(counter));
        for line in self.lines.iter_mut().map(|trial| &mut trial.line) {
            let own = line.cpu_ns.server.unwrap_or_default() as f64 / 1e4;
            let block = |more: u32| 1e6 + own + f64::from(more);
            line.counted = Some(trial::CountedInstructions {
                source: source.to_owned(),
                operations: 160,
                instructions: 160_000_000,
                body_bytes: 0,
                per_operation: block(5),
                per_kib: None,
                blocks: (0..10).map(block).collect(),
                spread: 1e-5,
                cipher_code: observe::Fact::Known(Vec::new()),
                lacking: None,
            });
            (line.verdict, line.rate_per_s, line.goodput_bps) = (None, None, None);
        }
    }

    /// Of one case, its cells swept by one key within each server.
    pub(crate) fn new(
        case: &str,
        servers: &[&'static targets::Server],
        compare: &str,
        values: &[&str],
    ) -> Self {
        let mut cells = Vec::new();
        for server in servers {
            for value in values {
                let mut cell = cell(case, cells.len() + 1, server);
                set(&mut cell, compare, value);
                cells.push(cell);
            }
        }
        let study = Study {
            name: "quick".to_owned(),
            question: "What does TLS cost here?".to_owned(),
            seed: 7,
            trials: 7,
            until: None,
            restart: None,
            profile: None,
            hosts: study::Hosts::default(),
            ranks: Vec::new(),
            cells,
            answers: Vec::new(),
            primitives: study::primitive::Primitives::default(),
            claims: Vec::new(),
            include: Vec::new(),
            reference: None,
            cut: Vec::new(),
        };
        Self {
            study,
            lines: Vec::new(),
            primitives: Vec::new(),
            targets: Vec::new(),
            machine: None,
            hosts: BTreeMap::new(),
        }
    }

    /// nginx with certificates of both kinds, measured in seven rounds: 1,640 handshakes per
    /// CPU-second with RSA-2048, 4,200 with ECDSA P-256.
    pub(crate) fn handshakes() -> Self {
        let mut scene = Self::keys(&[RSA, ECDSA]).answer(
            Metric::RatePerServerCpu,
            "target.certificate-key",
            RSA,
        );
        scene.measure(0, 1_640.0, &SPREAD);
        scene.measure(1, 4_200.0, &[1.0, 0.98, 1.0, 1.01, 1.02, 0.99, 1.0]);
        scene
    }

    /// Handshakes of nginx with these certificate keys, not measured yet.
    pub(crate) fn keys(keys: &[&str]) -> Self {
        let mut scene = Self::new("keys", &[server("nginx")], "target.certificate-key", keys);
        for cell in &mut scene.study.cells {
            cell.load.operation = Operation::Handshakes;
        }
        scene
    }

    /// Objects of 1 MiB from these servers with these suites, not measured yet.
    pub(crate) fn suites(servers: &[&'static targets::Server], suites: &[&str]) -> Self {
        Self::new("bulk", servers, "load.suite", suites)
    }

    /// Objects of 1 MiB from nginx, asked for by these clients, not measured yet.
    pub(super) fn clients(clients: &[&str]) -> Self {
        Self::new("bulk", &[server("nginx")], "load.client", clients)
    }

    pub(crate) fn answer(mut self, metric: Metric, compare: &str, baseline: &str) -> Self {
        let case = self.study.cells[0].case.clone();
        self.study.answers.push(AnswerRule {
            // What does not fit an answer gives nothing.
            show: Show::VARIANTS.iter().copied().filter(|of| *of != Show::Crossover).collect(),
            ..AnswerRule::new(&case, metric, compare, baseline)
        });
        self
    }

    /// Adds a trial of a cell for each factor: `figure` times the factor per CPU-second of the
    /// server, of operations or, where there are bodies, bits.
    pub(crate) fn measure(&mut self, cell: usize, figure: f64, factors: &[f64]) {
        for (round, factor) in (0..).zip(factors) {
            let line = self.line(cell, round, figure * factor);
            self.lines.push(line);
        }
    }

    /// Adds a trial in which the server's CPU time was sampled: so many samples of each class.
    pub(crate) fn sample(&mut self, cell: usize, classes: &[(Class, u64)]) {
        let mut trial = self.line(cell, 0, 1e9);
        trial.place.role = Role::Profile;
        trial.line.profile = Some(Profile {
            event: Event::CpuClock,
            frequency_hz: profile::FREQUENCY,
            server: classes.iter().copied().collect(),
            kernel_threads: BTreeMap::new(),
            idle: 0,
            foreign: 0,
            lost: 0,
            lacks_frame_pointers: false,
            futexes: Fact::unknown("not here"),
        });
        self.lines.push(trial);
    }

    /// A trial of a second in which the server used all of its CPU.
    fn line(&self, index: usize, round: u32, figure: f64) -> TrialLine {
        let cell = &self.study.cells[index];
        let Bytes(object) = cell.target.object.sizes().unwrap()[0];
        let (completed, body) = match cell.load.operation {
            Operation::Handshakes => (figure as u64, 0),
            _ => ((figure / 8.0 / object as f64) as u64, (figure / 8.0) as u64),
        };
        let place = Place {
            target: None,
            case: cell.case.clone(),
            cell: cell.name.clone(),
            params: cell.params.clone(),
            role: Role::Measure,
            find: None,
            round,
            again: false,
            process: Some(round),
            order: round * self.study.cells.len() as u32 + index as u32,
        };
        let mut line = TrialRecord {
            window_ns: 1_000_000_000,
            operations: Operations { completed, ..Operations::default() },
            bytes: ByteCounts { body, ..ByteCounts::default() },
            rate_per_s: Some(completed as f64),
            goodput_bps: Some(body * 8),
            cpu_ns: CpuTimes {
                server: Some(1_000_000_000),
                client: Some(100_000_000),
                ..CpuTimes::default()
            },
            ..example().line
        };
        line.verdict_mut().limit = Limit::ServerCpu;
        TrialLine { place, line }
    }

    /// The trial of a cell in a round.
    pub(crate) fn trial(&mut self, cell: usize, round: u32) -> &mut TrialRecord {
        let name = self.study.cells[cell].name.clone();
        let is_it = |trial: &&mut TrialLine| trial.place.cell == name && trial.place.round == round;
        &mut self.lines.iter_mut().find(is_it).unwrap().line
    }

    /// Leaves only what is as `keep` wants it, by cell and round.
    pub(crate) fn keep(&mut self, keep: impl Fn(usize, u32) -> bool) {
        let cells = &self.study.cells;
        self.lines.retain(|TrialLine { place, .. }| {
            keep(cells.iter().position(|cell| cell.name == place.cell).unwrap(), place.round)
        });
    }

    /// Makes a trial one that the server failed in.
    pub(crate) fn fail(&mut self, cell: usize, round: u32) {
        let line = self.trial(cell, round);
        (line.valid, line.target_error) = (false, Some("nginx died".to_owned()));
    }

    /// Leaves out the target of a server.
    pub(crate) fn skip(&mut self, server: &'static targets::Server) {
        let of_server = |cell: &&Cell| cell.target.server == server;
        let cells = self.study.cells.iter().filter(of_server);
        self.targets.push(TargetRecord {
            name: server.to_string(),
            server: server.to_string(),
            settings: "rsa:2048 certificate".to_owned(),
            version: None,
            skipped: Some(format!("{server} is not installed")),
            not_sampled: None,
            cells: cells.map(|cell| cell.name.clone()).collect(),
        });
    }

    pub(crate) fn analysis(&self) -> Analysis {
        Analysis::of(&self.study, &self.entries(), &self.targets, self.machine.as_ref())
    }

    /// It as one of two that are compared.
    pub(crate) fn run(&self) -> ComparedRun {
        ComparedRun {
            study: Some(self.study.clone()),
            analysis: self.analysis(),
            machine: self.machine.clone(),
            hosts: self.hosts.clone(),
            targets: self.targets.clone(),
        }
    }

    pub(crate) fn entries(&self) -> Entries {
        Entries {
            trials: self.lines.clone(),
            primitives: self.primitives.clone(),
            ..Entries::default()
        }
    }

    /// The first answer.
    pub(crate) fn first(&self) -> Answer {
        self.analysis().answers.remove(0)
    }
}

impl Answer {
    /// Its figures, along a key with their points in their labels.
    pub(crate) fn bars(&self) -> Vec<RowFigure> {
        let of_point = |point: &Point| {
            let place = point.value_along();
            let named = |of: &RowFigure| {
                let label = list_of(place.iter().chain([&of.label]));
                RowFigure { label, ..of.clone() }
            };
            point.shown().map(named).collect::<Vec<_>>()
        };
        self.points.iter().flat_map(of_point).collect()
    }

    /// What follows under this name: of which cell, and the figure.
    pub(super) fn following(&self, name: &str) -> Vec<(&str, &Derived)> {
        let named = self.derived.iter().filter(|of| of.name.contains(name));
        named.map(|of| (of.of.as_str(), of)).collect()
    }

    pub(super) fn bar(&self, label: &str) -> RowFigure {
        self.bars().into_iter().find(|bar| bar.label.contains(label)).unwrap()
    }
}

/// Sets a swept key. Of the cell itself only what the answers look at.
fn set(cell: &mut Cell, key: &str, value: &str) {
    cell.params.set(key, value);
    if let Ok(suite) = Suite::parse(value) {
        let version = Some(OrPlain::Tls(suite.version()));
        (cell.load.tls, cell.load.suite) = (version, Some(OrPlain::Tls(suite)));
    }
    if key == "load.client" {
        cell.load.client = Client::from_str(value, false).unwrap();
    }
    if value == "none" {
        cell.load.tls = Some(OrPlain::Plain);
    }
}
