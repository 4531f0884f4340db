//! What a study is once its file is read: cells to measure, and the answers that they are to give.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cpus::CpuList;
use load::{Client, Files, Mix, Operation, Percent, Plan, Rank, Wakeups};
use peers::Offer;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::{DisplayFromStr, serde_as};
use targets::{Host, Restart, Server, Shell, Silence, Target};
use tls::{Group, Suite, Version};
use units::Nanos;

use crate::claim::Claim;
use crate::cpu_order::CpuOrder;
use crate::find::Find;
use crate::metric::{Kind, Metric};
use crate::primitive::{AlgorithmTable, Primitives};
use crate::{AnswerRule, Params};

/// A question, the cells that answer it, and how often each is measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Its name, as in `toll run NAME`.
    pub name: String,
    /// What it asks, one sentence.
    pub question: String,
    /// What the order of the trials follows from, and what is random within them.
    pub seed: u64,
    /// How often each cell is measured, at least once; the fewest times where there is an `until`.
    pub trials: u32,
    /// When enough was measured, where the number of trials does not say so.
    #[serde(default)]
    pub until: Option<Until>,
    /// When servers are started again, where the study says so.
    #[serde(default)]
    pub restart: Option<Restart>,
    /// Whether and how to sample where the servers' CPU time goes.
    #[serde(default)]
    pub profile: Option<Profiling>,
    /// How other machines are reached.
    #[serde(default)]
    pub hosts: Hosts,
    /// Where the load is made; empty where that is here.
    #[serde(default)]
    pub ranks: Vec<Rank>,
    /// In the order of the file: case by case, the last swept key changing fastest.
    pub cells: Vec<Cell>,
    /// In the order of the file.
    pub answers: Vec<AnswerRule>,
    /// What the published measurement claims, in the order of the file.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// The studies that this one consists of, each measured by itself; then it has no cells of its own.
    #[serde(default)]
    pub include: Vec<String>,
    /// What is measured without a server.
    pub primitives: Primitives,
    /// The name of the published measurement that it repeats.
    pub reference: Option<String>,
    /// What was cut from the study as its author wrote it: by a scale, by `--only`, or because this machine has
    /// fewer CPUs.
    pub cut: Vec<Cut>,
}

/// Something that a study measures in rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRow<'a> {
    /// Its case, or its table.
    pub case: &'a str,
    /// Unique in the study.
    pub name: String,
    /// What tells it from the others of its case.
    pub params: Params,
    /// Those that it can have.
    pub metrics: Vec<Metric>,
    /// How many it is planned to have; `None` where that is seen as it runs.
    pub trials: Option<u32>,
}

/// Something that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Of which kind, in words: `shorter windows`, `fewer cores`.
    pub kind: String,
    /// In a clause.
    pub what: String,
    /// The scale that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// Which rows the study lost by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostRows>,
}

const FEWER_TRIALS: &str = "fewer trials";

/// Rows that a study lost because it was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostRows {
    /// Of these cases and tables.
    Of(Vec<String>),
    /// With values of this key, in one case or in all.
    ByKey { key: String, case: Option<String> },
}

impl Cut {
    pub fn new(kind: &str, what: String) -> Self {
        Self { kind: kind.to_owned(), what, scale: None, lost: None }
    }

    #[must_use]
    pub fn losing(self, lost: LostRows) -> Self {
        Self { lost: Some(lost), ..self }
    }

    /// Whether it is why a case or table lacks rows: all of them, or those with a value of a key.
    pub fn explains(&self, case: &str, key: Option<&str>) -> bool {
        match &self.lost {
            None => false,
            Some(LostRows::Of(cases)) => cases.iter().any(|of| of == case),
            Some(LostRows::ByKey { key: own, case: of }) => {
                key == Some(own) && of.as_ref().is_none_or(|of| of == case)
            }
        }
    }

    /// Whether it has other trials than its file.
    pub fn is_of_trials(&self) -> bool {
        self.kind == FEWER_TRIALS
    }

    /// That a key of a target, a load, a search or a table has another value.
    pub fn of_key(key: &str, what: String) -> Self {
        let kind = match key {
            "warmup" | "duration" | "ramp" | "step" | "hold" => "shorter windows",
            "trials" | "rounds" => FEWER_TRIALS,
            "samples" => "fewer samples",
            "sizes" => "fewer sizes",
            _ => "other settings",
        };
        Self::new(kind, what)
    }
}

/// `until = { interval = "5%", at-most = "3min" }`: rounds are added until either holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Until {
    /// No interval of the answers reaches farther from its median than this share of it.
    #[serde(deserialize_with = "above_zero")]
    pub interval: Percent,
    /// The trials, with all that is done for them, take this long.
    pub at_most: Nanos,
}

/// An interval of no width is never reached.
fn above_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Percent, D::Error> {
    match Percent::deserialize(deserializer)? {
        share if share.get() == 0 => Err(D::Error::custom("0% is never reached; write 1% or more")),
        share => Ok(share),
    }
}

/// `[hosts]`: how toll reaches the other machines of a study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// The network on which ranks talk to each other, such as `10.0.0.0/24`. [default: any]
    pub control: Option<String>,
    /// What runs commands there, with its options: `ssh -F my-config`, or a program of your own, which is
    /// called with the host and the command ([how](remote-server.md#can-i-use-something-else-than-ssh)).
    pub shell: Shell,
    /// How long toll's programs there hear nothing of toll until they end, with their servers and loads; toll
    /// gives five signs of life in that time. A time of 1 s or more.
    pub silence: Silence,
}

/// How samples of CPU time are sorted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profiling {
    /// A file of rules that come before toll's own.
    pub rules: Option<PathBuf>,
}

/// One combination of a case's sweep: a server, and what it is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The case's name.
    pub case: String,
    /// Unique in the study: the case's name and a number, `bulk-0003`.
    pub name: String,
    /// The swept keys with the values that they have here.
    pub params: Params,
    /// The server.
    pub target: Target,
    /// What it is not to choose itself.
    pub only: Only,
    /// What it is asked to do. Where a search finds the load, the smallest that is tried.
    pub load: Plan,
    /// What is searched for, where the load is not given.
    pub find: Option<Find>,
    /// Where the server was given a number of cores: all CPUs that it could have had, in the order in
    /// which they are taken.
    pub pool: Option<CpuOrder>,
}

/// What a load asks of its server: the one version, suite and group of TLS that it offers, where what is `None` it
/// chooses, and in what it runs.
#[serde_as]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Only {
    /// The version.
    pub version: Option<Version>,
    /// The suite.
    #[serde_as(as = "Option<DisplayFromStr>")]
    pub suite: Option<&'static Suite>,
    /// The group.
    pub group: Option<Group>,
    /// Whether it runs in callgrind, which counts its instructions.
    #[serde(default)]
    pub in_callgrind: bool,
}

impl Study {
    /// The names of its cells.
    pub fn cell_names(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(|cell| cell.name.as_str())
    }

    /// The different servers, each with the indices of its cells.
    pub fn servers(&self) -> Vec<((Target, Only), Vec<usize>)> {
        let mut servers: Vec<((Target, Only), Vec<usize>)> = Vec::new();
        for (index, cell) in self.cells.iter().enumerate() {
            let setup = cell.setup();
            match servers.iter_mut().find(|(known, _)| *known == setup) {
                Some((_, cells)) => cells.push(index),
                None => servers.push((setup, vec![index])),
            }
        }
        servers
    }

    /// The machines that servers run on, but for this one, each with all CPUs of its servers.
    pub fn remote_cpus(&self) -> BTreeMap<Host, CpuList> {
        let mut cpus: BTreeMap<Host, CpuList> = BTreeMap::new();
        for Target { host, cpus: own, .. } in self.cells.iter().map(|cell| &cell.target) {
            let Some(host) = host else { continue };
            let known = cpus.entry(host.clone()).or_insert_with(|| own.clone());
            *known = known.with(own);
        }
        cpus
    }

    /// When the server of these cells is started again. What a search finds holds for the process in
    /// which it searched, so such a server keeps it; one that toll did not start it cannot restart.
    pub fn restart(&self, cells: &[usize]) -> Restart {
        let mut cells = cells.iter().map(|cell| &self.cells[*cell]);
        let keeps = |cell: &Cell| cell.find.is_some() || !cell.target.server.is_started();
        match cells.clone().any(keeps) {
            true => Restart::Never,
            false => self
                .restart
                .or_else(|| cells.next().map(|cell| cell.target.server.restart()))
                .unwrap_or(Restart::Never),
        }
    }

    /// Measures each cell and each table of primitives this many times, no more and no less; what
    /// changes is listed in [`cut`](Self::cut).
    pub fn set_trials(&mut self, times: u32) {
        if self.until.take().is_some() && !self.cells.is_empty() {
            self.cut.push(Cut::of_key("trials", "without until".to_owned()));
        }
        if self.trials != times && !self.cells.is_empty() {
            let what = format!("trials = {times} instead of {}", self.trials);
            self.cut.push(Cut::of_key("trials", what));
        }
        self.trials = times;
        for table in self.primitives.tables.iter_mut().filter(|table| table.rounds != times) {
            let AlgorithmTable { name, rounds, .. } = table;
            let what = format!("rounds = {times} instead of {rounds} (primitives {name})");
            self.cut.push(Cut::of_key("rounds", what));
            table.rounds = times;
        }
    }

    /// Numbers the cells of each case anew, as they are numbered where the study is read again.
    pub fn renumber(&mut self) {
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for cell in &mut self.cells {
            let number = numbers.entry(cell.case.clone()).or_default();
            *number += 1;
            cell.name = format!("{}-{number:04}", cell.case);
        }
    }

    /// All that it measures: the cells, then the rows of tables.
    pub fn rows(&self) -> Vec<StudyRow<'_>> {
        let cells = self.cells.iter().map(|cell| StudyRow {
            case: &cell.case,
            name: cell.name.clone(),
            params: cell.params.clone(),
            metrics: Metric::of_cells().filter(|metric| metric.is_of(cell)).collect(),
            trials: Some(self.trials).filter(|_| self.until.is_none()),
        });
        let tables = self.primitives.tables.iter();
        let tables = tables.flat_map(|table| {
            table.all_rows().into_iter().map(|row| StudyRow {
                case: &table.name,
                name: row.name,
                params: row.params,
                metrics: Metric::of_algorithm(row.key.algorithm.unit()).into(),
                trials: Some(table.rounds),
            })
        });
        cells.chain(tables).collect()
    }

    /// The metrics in which its answers read a case or a table, but for taxes, which a row has none of by itself; a case
    /// without any is read by what its cells are usually compared by.
    pub fn metrics_of(&self, case: &str) -> Vec<Metric> {
        let own = self.answers.iter().filter(|rule| rule.case == case).map(|rule| rule.metric);
        let mut metrics: Vec<Metric> = Vec::new();
        for metric in own.filter(|metric| metric.row().kind != Kind::Tax) {
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        }
        if metrics.is_empty() {
            let cell = self.cells.iter().find(|cell| cell.case == case);
            metrics.extend(cell.map(Metric::usual));
        }
        metrics
    }

    /// What tells the rows of a case or a table from each other.
    pub fn params(&self, case: &str) -> Vec<Params> {
        let own = self.rows().into_iter().filter(|row| row.case == case);
        own.map(|row| row.params).collect()
    }

    /// Leaves out answers that have no row with their baseline.
    pub fn drop_answers(&mut self) {
        let before = self.answers.len();
        let mut answers = std::mem::take(&mut self.answers);
        answers.retain(|rule| {
            let baseline = rule.baseline();
            let is_baseline = |params: &Params| params.get(&rule.compare) == Some(&baseline);
            let params = self.params(&rule.case);
            params.iter().any(|params| rule.is_about(&rule.case, params) && is_baseline(params))
        });
        self.answers = answers;
        let dropped = before - self.answers.len();
        if dropped > 0 {
            let what = format!("{dropped} of {before} answers, whose baselines are not measured");
            self.cut.push(Cut::new("fewer answers", what));
        }
    }
}

impl Cell {
    /// Its latencies are what is asked for: load threads wake up for each socket, unless its file says otherwise or
    /// another program makes the load.
    pub fn wake_for_each(&mut self) {
        if self.load.client == Client::Toll {
            self.load.wakeups.get_or_insert(Wakeups::Each);
        }
    }

    /// Every key of the cell's server and load with its value, as a study file has them; without those
    /// that are left open, and those that server and client have no use for.
    pub fn settings(&self) -> Vec<(String, String)> {
        let Self { target, load, find, pool, .. } = self;
        let mut target: Vec<_> = keys::values(target);
        target.retain(|(key, _)| self.target.server.uses(key));
        if let Some(pool) = pool {
            // What the server may have is what a study says; its share follows.
            for (_, cpus) in target.iter_mut().filter(|(key, _)| key == "cpus") {
                *cpus = pool.to_string();
            }
            target.push(("cores".to_owned(), self.target.cpus.len().to_string()));
        }
        let searched = find.map_or("", |find| find.over.key());
        let target = target.into_iter().map(|(key, value)| (format!("target.{key}"), value));
        let load = keys::values(load).into_iter();
        let load = load.map(|(key, value)| (format!("load.{key}"), value));
        target.chain(load.filter(|(key, _)| key != searched)).collect()
    }

    /// The server with all that decides whether another cell has the same one.
    pub fn setup(&self) -> (Target, Only) {
        let Target { object, storage, files, .. } = Target::default();
        (Target { object, storage, files, ..self.target.clone() }, self.only)
    }
}

/// What a server leaves to clients of which the study asks for a version, a suite or a group.
pub fn offer(server: &Server) -> Offer {
    if server.is_configured() { Offer::AsPlanned } else { Offer::Anything }
}

/// The objects, where a load asks for more than one.
pub fn mixed_objects(target: &Target, plan: &Plan) -> Option<Mix> {
    (asks_for_objects(plan) && target.object.only().is_none()).then(|| target.object.clone())
}

/// The files, where a load asks for different ones.
pub fn files(target: &Target, plan: &Plan) -> Option<Files> {
    target.files().filter(|_| asks_for_objects(plan) && target.server.uses("files"))
}

fn asks_for_objects(plan: &Plan) -> bool {
    !matches!(plan.operation, Operation::Handshakes | Operation::Session)
}

/// The path of a load's URL: that of the only object, and `/` where there are several, files or
/// pages.
pub fn path<'a>(target: &'a Target, plan: &Plan) -> &'a str {
    let is_alone = plan.operation != Operation::Session && files(target, plan).is_none();
    let object = target.object.only().filter(|_| is_alone);
    object.unwrap_or("/")
}

impl Only {
    /// Nothing else than what a load asks for, where toll can tell the server so.
    pub fn of(target: &Target, plan: &Plan) -> Self {
        match target.server.is_configured() {
            true => Self {
                version: plan.asked_version(),
                suite: plan.only_suite(),
                group: plan.group,
                in_callgrind: false,
            },
            false => Self::default(),
        }
    }
}
