//! An invented run: the cells of a first study with figures such as a small machine gives, a
//! client that was the limit, a trial that is invalid, a server that is not installed, and texts of
//! a server that means harm.

mod answers;
mod line;
mod machine;
pub mod samples;

use std::collections::BTreeMap;
use std::sync::Arc;

use answer::analysis::{Analysis, Answer, Figure, Invalid, Remeasured, Repeated, Row, RowFigure};
use answer::claims::{ClaimResult, JudgedClaim};
use answer::compare::ComparedRun;
use answer::costs::Costs;
use answer::findings::{Findings, Quality};
use answer::{Mark, MeasuredRow, TrialCounts};
use journal::{TargetRecord, TrialLine};
use load::Operation;
use observe::Machine;
use report::{Run, Style};
use study::{Cut, Metric, Param, Params};
use trial::{LatencyNs, Limit, Warning, WarningKind};

use answers::answers;
use line::line;
use machine::machine;

/// What a server could answer to become part of the page, or to be obeyed by a terminal.
pub const HOSTILE: &str =
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }} \u{1b}[31mred\u{202e}";

pub const ROUNDS: usize = 7;

/// All that a [`Run`] borrows.
pub struct Fabricated {
    pub analysis: Analysis,
    /// What was cut from its study.
    pub cut: Vec<Cut>,
    pub lines: Vec<TrialLine>,
    /// The stacks that were sampled, by cell.
    pub stacks: Vec<(String, String)>,
    pub machine: Option<Machine>,
    pub hosts: BTreeMap<String, Machine>,
    pub targets: Vec<TargetRecord>,
}

impl Fabricated {
    /// It as one of two that are compared, of which the studies are not known.
    pub fn side(&self) -> ComparedRun {
        ComparedRun {
            study: None,
            analysis: self.analysis.clone(),
            machine: self.machine.clone(),
            hosts: self.hosts.clone(),
            targets: self.targets.clone(),
        }
    }

    /// What a report shows of it.
    pub fn findings(&self) -> Findings {
        self.analysis.findings()
    }

    pub fn run<'a>(&'a self, findings: &'a Findings) -> Run<'a> {
        Run {
            study: &self.analysis.study,
            question: &self.analysis.question,
            cut: &self.cut,
            findings,
            lines: &self.lines,
            stacks: &self.stacks,
            machine: self.machine.as_ref(),
            hosts: &self.hosts,
            targets: &self.targets,
        }
    }

    /// The report as a page.
    pub fn html(&self) -> String {
        report::html(&self.run(&self.findings())).unwrap()
    }

    /// The report on a terminal.
    pub fn terminal(&self, width: usize, style: Style) -> String {
        report::terminal(&self.run(&self.findings()), width, style)
    }

    pub fn openmetrics(&self) -> String {
        report::openmetrics(&self.run(&self.findings()), &self.analysis)
    }

    /// The cell whose label is so.
    pub fn cell_mut(&mut self, label: &str) -> &mut Row {
        let cell = self.analysis.cells.iter_mut().find(|cell| cell.label == label);
        Arc::make_mut(cell.unwrap())
    }

    /// Changes all cells, those of its answers too.
    pub fn change_cells(&mut self, change: impl Fn(&mut Row)) {
        let Analysis { cells, answers, .. } = &mut self.analysis;
        cells.iter_mut().for_each(|cell| change(Arc::make_mut(cell)));
        for figure in answers.iter_mut().flat_map(figures_mut) {
            figure.row = cells.iter().find(|cell| cell.name == figure.row.name).unwrap().clone();
        }
    }
}

pub fn figures_mut(answer: &mut Answer) -> impl Iterator<Item = &mut RowFigure> {
    answer.points.iter_mut().flat_map(|point| &mut point.figures)
}

/// What is measured in a cell: per CPU-second of the server, and the client's CPU time for it.
struct Spec {
    case: &'static str,
    server: &'static str,
    /// The swept value, and its words.
    value: (&'static str, &'static str),
    /// Operations per second of one core, or bits.
    of_one_core: f64,
    /// Nanoseconds per operation, or seconds per GB.
    client: f64,
    limit: Limit,
}

const fn handshakes(
    server: &'static str,
    value: (&'static str, &'static str),
    of_one_core: f64,
    limit: Limit,
) -> Spec {
    Spec { case: "handshakes", server, value, of_one_core, client: 70_000.0, limit }
}

const fn objects(
    server: &'static str,
    value: (&'static str, &'static str),
    of_one_core: f64,
    client: f64,
    limit: Limit,
) -> Spec {
    Spec { case: "objects", server, value, of_one_core, client, limit }
}

const RSA: (&str, &str) = ("rsa:2048", "RSA-2048");
const P256: (&str, &str) = ("ecdsa:p256", "ECDSA P-256");
const PLAIN: (&str, &str) = ("none", "plain HTTP");
const GCM128: (&str, &str) = ("TLS_AES_128_GCM_SHA256", "AES-128-GCM");
const GCM256: (&str, &str) = ("TLS_AES_256_GCM_SHA384", "AES-256-GCM");
const CHACHA: (&str, &str) = ("TLS_CHACHA20_POLY1305_SHA256", "ChaCha20-Poly1305");
const CBC: (&str, &str) = ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "AES-128-CBC-SHA");

const SPECS: [Spec; 14] = [
    handshakes("embedded", RSA, 1_100.0, Limit::ServerCpu),
    handshakes("embedded", P256, 1_600.0, Limit::ServerCpu),
    handshakes("nginx", RSA, 1_040.0, Limit::ServerCpu),
    handshakes("nginx", P256, 1_480.0, Limit::ServerCpu),
    objects("embedded", PLAIN, 38.0e9, 0.072, Limit::ClientCpu),
    objects("embedded", GCM128, 7.2e9, 0.078, Limit::ServerCpu),
    objects("embedded", GCM256, 6.5e9, 0.078, Limit::ServerCpu),
    objects("embedded", CHACHA, 4.4e9, 0.081, Limit::ServerCpu),
    objects("embedded", CBC, 2.9e9, 0.093, Limit::ServerCpu),
    objects("nginx", PLAIN, 34.0e9, 0.075, Limit::ServerCpu),
    objects("nginx", GCM128, 6.3e9, 0.080, Limit::ServerCpu),
    objects("nginx", GCM256, 5.7e9, 0.080, Limit::ServerCpu),
    objects("nginx", CHACHA, 4.0e9, 0.083, Limit::ServerCpu),
    objects("nginx", CBC, 2.7e9, 0.095, Limit::ServerCpu),
];

impl Spec {
    fn is_handshakes(&self) -> bool {
        self.case == "handshakes"
    }

    fn name(&self) -> String {
        let number = SPECS.iter().filter(|spec| spec.case == self.case);
        let at =
            number.clone().position(|spec| (spec.server, spec.value) == (self.server, self.value));
        format!("{}-{:04}", self.case, at.unwrap())
    }

    fn key(&self) -> &'static str {
        if self.is_handshakes() { "target.certificate-key" } else { "load.suite" }
    }

    fn params(&self) -> Params {
        let params = [("target.server", self.server), (self.key(), self.value.0)];
        params.map(|(key, value)| (key.to_owned(), Param::of(key, value))).into_iter().collect()
    }

    /// The figure of one core in a round: the same in each run of the test, and never twice.
    fn of_round(&self, round: usize) -> f64 {
        const DRIFT: [f64; ROUNDS] = [1.0, 0.985, 1.012, 0.994, 1.021, 0.971, 1.006];
        self.of_one_core * DRIFT[(round + self.value.0.len()) % ROUNDS]
    }
}

/// A whole run of both servers, with one mark and one invalid trial.
pub fn whole() -> Fabricated {
    let lines: Vec<TrialLine> = (0..ROUNDS)
        .flat_map(|round| SPECS.iter().enumerate().map(move |(i, spec)| (round, i, spec)))
        .map(|(round, i, spec)| line(spec, round, round * SPECS.len() + i))
        .collect();
    let cells: Vec<Arc<Row>> = SPECS.iter().map(|spec| cell(spec, &lines).into()).collect();
    let valid = lines.iter().filter(|trial| trial.line.valid).count();
    let analysis = Analysis {
        projections: Vec::new(),
        cross_checks: vec![answers::cross_check()],
        study: "quick".to_owned(),
        question: "What does TLS cost on this machine, and what limits it?".to_owned(),
        trials: TrialCounts { planned: lines.len(), done: lines.len(), valid },
        remeasured: Remeasured::default(),
        answers: answers(&cells),
        quality: Some(Quality { is_good: true, sentence: "Good: intervals within 4%.".to_owned() }),
        servers: Vec::new(),
        profile_changes: Vec::new(),
        cells,
        warnings: vec![Repeated { warning: siblings(), trials: lines.len() }],
        cut: Vec::new(),
        costs: Costs::default(),
        claims: claims(),
        source: "Intel, AES-GCM on Xeon E5 v3".to_owned(),
        started_unix_ms: lines.first().map(|trial| trial.line.started_unix_ms),
        decisions: Arc::default(),
        gates: Vec::new(),
        invalid: vec![Invalid {
            cell: "handshakes-0001".to_owned(),
            order: INVALID as u32,
            why: format!("suite: asked TLS_AES_128_GCM_SHA256, got {HOSTILE} in 3 handshakes"),
        }],
    };
    Fabricated {
        analysis,
        cut: Vec::new(),
        lines,
        stacks: Vec::new(),
        machine: Some(machine()),
        hosts: BTreeMap::new(),
        targets: targets(),
    }
}

/// The place of the trial that is invalid: of the second cell, in the third round.
pub const INVALID: usize = 2 * SPECS.len() + 1;

/// The same where nginx is not installed.
pub fn without_nginx() -> Fabricated {
    let mut run = whole();
    let is_nginx = |params: &Params| params["target.server"].to_string() == "nginx";
    run.lines.retain(|line| !is_nginx(&line.place.params));
    run.analysis.trials.done = run.lines.len();
    run.analysis.trials.planned = run.lines.len();
    run.analysis.trials.valid = run.lines.iter().filter(|trial| trial.line.valid).count();
    run.analysis.answers.retain(|answer| !is_nginx(&answer.points[0].common));
    run.change_cells(|cell| {
        if is_nginx(&cell.params) {
            empty(cell, TrialCounts::default());
        }
    });
    let nginx = &mut run.targets[1];
    nginx.version = None;
    nginx.skipped = Some(format!("nginx is not installed: {HOSTILE}"));
    run
}

/// A run that was ended before its first trial.
pub fn of_nothing() -> Fabricated {
    let mut run = whole();
    run.lines.clear();
    run.machine = None;
    run.targets.clear();
    let analysis = &mut run.analysis;
    analysis.trials = TrialCounts { planned: analysis.trials.planned, done: 0, valid: 0 };
    analysis.answers.clear();
    analysis.quality = None;
    analysis.warnings.clear();
    analysis.started_unix_ms = None;
    analysis.invalid.clear();
    run.change_cells(|cell| empty(cell, TrialCounts { planned: ROUNDS, done: 0, valid: 0 }));
    run
}

/// A run in which nothing can be believed.
pub fn all_invalid() -> Fabricated {
    let mut run = whole();
    for line in &mut run.lines {
        line.line.valid = false;
    }
    run.change_cells(|cell| empty(cell, TrialCounts { planned: ROUNDS, done: ROUNDS, valid: 0 }));
    let analysis = &mut run.analysis;
    analysis.trials.valid = 0;
    for of in analysis.answers.iter_mut().flat_map(figures_mut) {
        (of.figure, of.ratio, of.mark) = (None, None, Some(Mark::NotMeasured));
    }
    let invalid = run.lines.iter().map(|line| {
        let place = &line.place;
        Invalid {
            cell: place.cell.clone(),
            order: place.order,
            why: "100% of the operations failed".into(),
        }
    });
    analysis.invalid = invalid.collect();
    run
}

/// A run that was interrupted in its second round.
pub fn interrupted() -> Fabricated {
    let mut run = whole();
    run.lines.truncate(SPECS.len() + 3);
    run.lines.last_mut().unwrap().line.interrupted = true;
    let cells: Vec<Arc<Row>> = SPECS.iter().map(|spec| cell(spec, &run.lines).into()).collect();
    run.analysis.answers = answers(&cells);
    run.analysis.cells = cells;
    run.analysis.trials.done = run.lines.len();
    run.analysis.trials.valid = run.lines.len();
    run.analysis.invalid.clear();
    run
}

fn empty(cell: &mut Row, trials: TrialCounts) {
    let MeasuredRow { name, case, label, params, .. } = cell.measured.clone();
    cell.measured = MeasuredRow {
        name,
        case,
        label,
        params,
        trials,
        mark: Some(Mark::NotMeasured),
        ..MeasuredRow::default()
    };
    (cell.search, cell.lines, cell.profiles) = (None, Vec::new(), Vec::new());
}

pub fn figure(samples: Vec<f64>) -> Option<Figure> {
    Figure::of(samples)
}

fn cell(spec: &Spec, lines: &[TrialLine]) -> Row {
    let mut cell = study::testing::cell(spec.case, 1, study::testing::server(spec.server));
    (cell.name, cell.params) = (spec.name(), spec.params());
    if spec.is_handshakes() {
        cell.load.operation = Operation::Handshakes;
    }
    let own = lines.iter().filter(|trial| trial.place.cell == spec.name());
    Row::of_cell(cell, ROUNDS, own.cloned().collect(), Row::default())
}

/// One that holds, and one of which the reason is a server's.
fn claims() -> Vec<JudgedClaim> {
    let claim = |what: &str, published: &str, here: &str, result, why: Option<&str>| JudgedClaim {
        claim: "nginx".to_owned(),
        what: what.to_owned(),
        published: published.to_owned(),
        figure: None,
        here: here.to_owned(),
        result,
        why: why.map(str::to_owned),
    };
    vec![
        claim(
            "GCM over CBC, large files",
            "2 to 2.4x",
            "2.21x [2.15, 2.27]",
            ClaimResult::Holds,
            None,
        ),
        claim("CPU use on 16 cores", "50 to 70%", "", ClaimResult::NotMeasurable, Some(HOSTILE)),
    ]
}

fn siblings() -> Warning {
    Warning {
        kind: WarningKind::SiblingCpus,
        seen: "work on the client's CPU slows the server's CPU".into(),
        likely_cause: "they are hyperthreads of one core".into(),
        remedy: "give the client CPUs of another core, if there is one".into(),
    }
}

fn targets() -> Vec<TargetRecord> {
    let target = |name: &str, server: &str, version: &str, settings: &str| TargetRecord {
        name: name.to_owned(),
        server: server.to_owned(),
        settings: settings.to_owned(),
        version: Some(version.to_owned()),
        skipped: None,
        not_sampled: None,
        cells: SPECS.iter().filter(|spec| spec.server == server).map(Spec::name).collect(),
    };
    vec![
        target(
            "embedded",
            "embedded",
            "toll 0.1.0, OpenSSL 3.0.22 25 Aug 2026",
            "rsa:2048 certificate",
        ),
        target(
            "nginx",
            "nginx",
            "nginx/1.22.1, OpenSSL 3.0.22 25 Aug 2026",
            "rsa:2048 certificate",
        ),
        target("nginx-2", "nginx", HOSTILE, "ecdsa:p256 certificate"),
    ]
}

/// A study of its user's own, which asks for no answer; one cell was not timed.
pub fn without_answers() -> Fabricated {
    let mut run = whole();
    run.analysis.answers.clear();
    run.analysis.servers.clear();
    let cell = run.cell_mut("nginx, AES-128-GCM");
    cell.lines.iter_mut().for_each(|trial| trial.line.latency_ns = LatencyNs::default());
    let samples = &mut cell.measured.samples;
    assert!([Metric::P50, Metric::P99].iter().all(|metric| samples.remove(metric).is_some()));
    run
}

/// The same cells later: each does twice as much, and one has another key.
pub fn later() -> Fabricated {
    let mut run = whole();
    run.change_cells(|cell| {
        let samples = cell.measured.samples.values_mut().flatten();
        samples.for_each(|(_, sample)| *sample *= 2.0);
    });
    run
}
