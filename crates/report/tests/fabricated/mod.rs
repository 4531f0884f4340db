//! A run that nobody made: the cells of a first study with figures such as a small machine gives, a
//! client that was the limit, a trial that is invalid, a server that is not installed, and texts of
//! a server that means harm.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;

use observe::Machine;
use report::Run;
use serde_json::{Value, json};
use stats::Estimate;
use study::analysis::{
    Analysis, Answer, Bar, CellSummary, Figure, Invalid, Mark, Repeated, TrialCounts,
};
use study::{Limit, Line, Metric, TargetRecord, Warning, WarningKind};

/// What a server could answer to become part of the page, or to be obeyed by a terminal.
pub const HOSTILE: &str =
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }} \u{1b}[31mred\u{202e}";

pub const ROUNDS: usize = 7;

/// All that a [`Run`] borrows.
pub struct Fabricated {
    pub analysis: Analysis,
    pub lines: Vec<Line>,
    pub machine: Option<Machine>,
    pub targets: Vec<TargetRecord>,
}

impl Fabricated {
    pub fn run(&self) -> Run<'_> {
        Run {
            analysis: &self.analysis,
            lines: &self.lines,
            machine: self.machine.as_ref(),
            targets: &self.targets,
        }
    }

    /// The cell whose label is so.
    pub fn cell_mut(&mut self, label: &str) -> &mut CellSummary {
        self.analysis.cells.iter_mut().find(|cell| cell.label == label).unwrap()
    }
}

/// What is measured in a cell: per CPU-second of the server, and the client's CPU time for it.
struct Spec {
    case: &'static str,
    server: &'static str,
    /// The swept value, and its words.
    value: (&'static str, &'static str),
    /// Operations a second of one core, or bits.
    of_one_core: f64,
    /// Nanoseconds an operation, or seconds a GB.
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

    fn label(&self) -> String {
        format!("{}, {}", self.server, self.value.1)
    }

    fn key(&self) -> &'static str {
        if self.is_handshakes() { "target.certificate-key" } else { "load.suite" }
    }

    fn params(&self) -> BTreeMap<String, String> {
        let params = [("target.server", self.server), (self.key(), self.value.0)];
        params.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    /// The figure of one core in a round: the same in each run of the test, and never twice.
    fn of_round(&self, round: usize) -> f64 {
        const DRIFT: [f64; ROUNDS] = [1.0, 0.985, 1.012, 0.994, 1.021, 0.971, 1.006];
        self.of_one_core * DRIFT[(round + self.value.0.len()) % ROUNDS]
    }
}

/// A whole run of both servers, with one mark and one invalid trial.
pub fn whole() -> Fabricated {
    let lines: Vec<Line> = (0..ROUNDS)
        .flat_map(|round| SPECS.iter().enumerate().map(move |(i, spec)| (round, i, spec)))
        .map(|(round, i, spec)| line(spec, round, round * SPECS.len() + i))
        .collect();
    let cells: Vec<CellSummary> = SPECS.iter().map(|spec| cell(spec, &lines)).collect();
    let valid = lines.iter().filter(|line| line.valid).count();
    let analysis = Analysis {
        study: "quick".to_owned(),
        question: "What does TLS cost on this machine, and what limits it?".to_owned(),
        trials: TrialCounts { planned: lines.len(), done: lines.len(), valid },
        answers: answers(&cells),
        cells,
        warnings: vec![Repeated { warning: siblings(), trials: lines.len() }],
        invalid: vec![Invalid {
            cell: "handshakes-0001".to_owned(),
            order: INVALID as u32,
            why: format!("suite: asked TLS_AES_128_GCM_SHA256, got {HOSTILE} in 3 handshakes"),
        }],
    };
    Fabricated { analysis, lines, machine: Some(machine()), targets: targets() }
}

/// The place of the trial that is invalid: of the second cell, in the third round.
pub const INVALID: usize = 2 * SPECS.len() + 1;

/// The same where nginx is not installed.
pub fn without_nginx() -> Fabricated {
    let mut run = whole();
    let is_nginx = |params: &BTreeMap<String, String>| params["target.server"] == "nginx";
    run.lines.retain(|line| !is_nginx(&line.place.as_ref().unwrap().params));
    run.analysis.trials.done = run.lines.len();
    run.analysis.trials.planned = run.lines.len();
    run.analysis.trials.valid = run.lines.iter().filter(|line| line.valid).count();
    run.analysis.answers.retain(|answer| answer.common["target.server"] != "nginx");
    for cell in run.analysis.cells.iter_mut().filter(|cell| is_nginx(&cell.params)) {
        empty(cell);
        cell.trials = TrialCounts::default();
    }
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
    analysis.warnings.clear();
    analysis.invalid.clear();
    for cell in &mut analysis.cells {
        empty(cell);
        cell.trials = TrialCounts { planned: ROUNDS, done: 0, valid: 0 };
    }
    run
}

/// A run in which nothing can be believed.
pub fn all_invalid() -> Fabricated {
    let mut run = whole();
    for line in &mut run.lines {
        line.valid = false;
    }
    let analysis = &mut run.analysis;
    analysis.trials.valid = 0;
    for cell in &mut analysis.cells {
        empty(cell);
        cell.trials = TrialCounts { planned: ROUNDS, done: ROUNDS, valid: 0 };
    }
    for bar in analysis.answers.iter_mut().flat_map(|answer| &mut answer.bars) {
        (bar.figure, bar.ratio, bar.mark) = (None, None, Some(Mark::NotMeasured));
    }
    let invalid = run.lines.iter().map(|line| {
        let place = line.place.as_ref().unwrap();
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
    run.lines.last_mut().unwrap().interrupted = true;
    let cells: Vec<CellSummary> = SPECS.iter().map(|spec| cell(spec, &run.lines)).collect();
    run.analysis.answers = answers(&cells);
    run.analysis.cells = cells;
    run.analysis.trials.done = run.lines.len();
    run.analysis.trials.valid = run.lines.len();
    run.analysis.invalid.clear();
    run
}

fn empty(cell: &mut CellSummary) {
    let CellSummary { cell: name, case, label, params, trials, .. } = cell;
    *cell = CellSummary {
        cell: name.clone(),
        case: case.clone(),
        label: label.clone(),
        params: params.clone(),
        trials: *trials,
        rate_per_s: None,
        goodput_bps: None,
        rate_per_server_cpu: None,
        goodput_per_server_cpu: None,
        server_ns_per_operation: None,
        client_ns_per_operation: None,
        server_s_per_gb: None,
        client_s_per_gb: None,
        server_busy: None,
        client_busy: None,
        p50_ns: None,
        p99_ns: None,
        limits: BTreeMap::new(),
        mark: Some(Mark::NotMeasured),
    };
}

pub fn figure(samples: Vec<f64>) -> Option<Figure> {
    Estimate::of(&samples).ok().map(|estimate| Figure { estimate, samples })
}

fn cell(spec: &Spec, lines: &[Line]) -> CellSummary {
    let all: Vec<&Line> = lines
        .iter()
        .filter(|line| line.place.as_ref().is_some_and(|place| place.cell == spec.name()))
        .collect();
    let valid: Vec<&Line> = all.iter().copied().filter(|line| line.valid).collect();
    let of = |figure: &dyn Fn(&Line) -> Option<f64>| {
        self::figure(valid.iter().filter_map(|line| figure(line)).collect())
    };
    let server = |line: &Line| line.cpu_ns.server.unwrap() as f64 / 1e9;
    let goodput = |line: &Line| (line.goodput_bps > 0).then_some(line.goodput_bps as f64);
    let mut limits = BTreeMap::new();
    for line in &valid {
        *limits.entry(line.verdict.limit).or_insert(0) += 1;
    }
    let mark = match () {
        () if valid.is_empty() => Some(Mark::NotMeasured),
        () if limits.contains_key(&Limit::ClientCpu) => Some(Mark::ClientBound),
        () if valid.len() < all.len() => Some(Mark::SomeInvalid),
        () if all.len() < ROUNDS => Some(Mark::Incomplete),
        () => None,
    };
    CellSummary {
        cell: spec.name(),
        case: spec.case.to_owned(),
        label: spec.label(),
        params: spec.params(),
        trials: TrialCounts { planned: ROUNDS, done: all.len(), valid: valid.len() },
        rate_per_s: of(&|line| Some(line.rate_per_s)),
        goodput_bps: of(&goodput),
        rate_per_server_cpu: of(&|line| Some(line.operations.completed as f64 / server(line))),
        goodput_per_server_cpu: of(&|line| Some(goodput(line)? * 0.6 / server(line))),
        server_ns_per_operation: of(&|line| line.per_operation(line.cpu_ns.server?)),
        client_ns_per_operation: of(&|line| line.per_operation(line.cpu_ns.client?)),
        server_s_per_gb: of(&|line| line.per_gigabyte(line.cpu_ns.server?)),
        client_s_per_gb: of(&|line| line.per_gigabyte(line.cpu_ns.client?)),
        server_busy: of(&|line| line.verdict.evidence.server_busy),
        client_busy: of(&|line| line.verdict.evidence.client_busy),
        p50_ns: of(&|line| line.latency_ns.p50.map(|ns| ns as f64)),
        p99_ns: of(&|line| line.latency_ns.p99.map(|ns| ns as f64)),
        limits,
        mark,
    }
}

fn answers(cells: &[CellSummary]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for server in ["embedded", "nginx"] {
        answers.push(answer(
            cells,
            "handshakes",
            server,
            Metric::RatePerServerCpu,
            &format!(
                "One core of this machine makes 1,100 [1,070, 1,120] full TLS 1.3 handshakes a second \
                 with RSA-2048 and 1,600 [1,560, 1,640] with ECDSA P-256 in {server}: an ECDSA \
                 certificate saves 31% [30, 33] of the server's handshake CPU."
            ),
            Some("give this server an ECDSA P-256 certificate"),
        ));
        answers.push(answer(
            cells,
            "objects",
            server,
            Metric::GoodputPerServerCpu,
            &format!(
                "One core of {server} sends 38.0 Gb/s [37.0, 38.8] in plain, 7.20 Gb/s [7.00, 7.34] with \
                 AES-128-GCM and 2.90 Gb/s [2.82, 2.96] with AES-128-CBC-SHA."
            ),
            None,
        ));
    }
    answers.push(answer(
        cells,
        "objects",
        "embedded",
        Metric::TlsTax,
        "TLS with AES-128-GCM takes 81% [80, 82] of what a core could send in plain; AES-128-CBC-SHA \
         takes 92% [92, 93].",
        Some("use AES-128-GCM; OpenSSL 3.0.22 does it without the wide vectors that this processor has"),
    ));
    answers
}

fn answer(
    cells: &[CellSummary],
    case: &str,
    server: &str,
    metric: Metric,
    sentence: &str,
    remedy: Option<&str>,
) -> Answer {
    let cells: Vec<&CellSummary> = cells
        .iter()
        .filter(|cell| cell.case == case && cell.params["target.server"] == server)
        .collect();
    let of = |cell: &CellSummary| match metric {
        Metric::RatePerServerCpu => cell.rate_per_server_cpu.clone(),
        _ => cell.goodput_per_server_cpu.clone(),
    };
    let baseline = of(cells[0]).map_or(1.0, |figure| figure.estimate.median);
    let bar = |(i, cell): (usize, &&CellSummary)| Bar {
        label: cell.label.split_once(", ").unwrap().1.to_owned(),
        cell: cell.cell.clone(),
        is_baseline: i == 0,
        figure: of(cell).and_then(|found| match metric {
            Metric::TlsTax if i == 0 => None,
            Metric::TlsTax => figure(found.samples.iter().map(|x| 1.0 - x / baseline).collect()),
            _ => Some(found),
        }),
        ratio: None,
        mark: cell.mark,
    };
    let is_marked = cells.iter().any(|cell| cell.mark == Some(Mark::ClientBound));
    Answer {
        sentence: sentence.to_owned(),
        remedy: remedy.map(str::to_owned),
        caveats: is_marked
            .then(|| {
                "in plain HTTP the client was the limit: the server can do more than is said here"
                    .to_owned()
            })
            .into_iter()
            .collect(),
        case: case.to_owned(),
        metric,
        compare: if case == "handshakes" { "target.certificate-key" } else { "load.suite" }
            .to_owned(),
        common: BTreeMap::from([("target.server".to_owned(), server.to_owned())]),
        bars: cells
            .iter()
            .enumerate()
            .filter(|(i, _)| metric != Metric::TlsTax || *i > 0)
            .map(|(i, cell)| bar((i, cell)))
            .collect(),
    }
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

const WINDOW_NS: f64 = 600e6;

fn line(spec: &Spec, round: usize, order: usize) -> Line {
    let server_busy = if spec.limit == Limit::ClientCpu { 0.62 } else { 0.986 };
    let server_ns = WINDOW_NS * server_busy;
    let of_one_core = spec.of_round(round);
    let is_valid = order != INVALID;
    let (completed, body, client_ns) = if spec.is_handshakes() {
        let completed = (of_one_core * server_ns / 1e9) as u64;
        (completed, 0, completed as f64 * spec.client)
    } else {
        let body = of_one_core * server_ns / 1e9 / 8.0;
        ((body / 1_048_576.0) as u64, body as u64, body * spec.client)
    };
    let client_busy = if spec.limit == Limit::ClientCpu { 0.934 } else { client_ns / WINDOW_NS };
    let latency = 64.0 * WINDOW_NS / completed as f64;
    let steps = |share: f64| json!([share, share, (share * 0.97), share, (share * 0.99), share]);
    let core = |cpu: usize, user: f64, system: f64, idle: f64| {
        json!({"cpu": cpu, "step_ns": [100_416_459, 100_416_459, 100_416_459, 100_416_459, 100_416_459, 97_917_705],
            "user": steps(user), "system": steps(system), "softirq": steps(0.06), "steal": steps(0.0), "idle": steps(idle)})
    };
    let is_tls = spec.value != PLAIN;
    let suite = if spec.is_handshakes() { GCM128.0 } else { spec.value.0 };
    let mut receipt = match is_tls {
        true => json!({
            "asked": {"tls": "1.3", "suite": suite, "group": "x25519", "certificate_key": "rsa:2048",
                "encrypt_then_mac": false, "resumption_percent": 0, "key_exchange": "fixed",
                "operation": "requests", "url": "https://127.0.0.1:48531/bytes/1MiB", "connections": 64,
                "receive": "walk", "verify": "1/64", "client_cpus": "1"},
            "obtained": {"tls": {"1.3": 64}, "suite": {suite: 64}, "group": {"x25519": 64},
                "signature_scheme": {"rsa_pss_rsae_sha256": 64}, "certificate_key": {"rsa:2048": 64},
                "encrypt_then_mac": false, "full": 64, "resumed": 0, "requests_per_connection": 5.203,
                "signatures_verified": 1, "bodies_walked": 327, "bodies_authenticated": 6, "bodies_compared": 6},
            "mismatch": []}),
        false => json!({
            "asked": {"tls": "none", "operation": "requests", "url": "http://127.0.0.1:42469/bytes/1MiB",
                "connections": 64, "verify": "1/64", "client_cpus": "1"},
            "obtained": {"bodies_compared": 41}, "mismatch": []}),
    };
    let mut errors = json!({});
    let mut first_errors = json!({});
    if !is_valid {
        receipt["mismatch"] = json!([{"what": "suite", "asked": suite, "obtained": format!("{HOSTILE} in 3 handshakes")}]);
        errors = json!({"alert": 3});
        first_errors = json!({"alert": HOSTILE});
    }
    let warnings: Value = serde_json::to_value([siblings()]).unwrap();
    serde_json::from_value(json!({
        "schema": 1, "case": spec.case, "cell": spec.name(), "params": spec.params(), "role": "measure",
        "round": round, "order": order, "valid": is_valid, "interrupted": false,
        "started_unix_ms": 1_795_296_801_103_u64 + 900 * order as u64, "window_ns": WINDOW_NS as u64,
        "operations": {"completed": completed, "in_flight": 64, "errors": errors, "first_errors": first_errors},
        "bytes": {"body": body, "decrypted": body / 64, "unproven": 0},
        "rate_per_s": completed as f64 / 0.6, "goodput_bps": (body as f64 * 8.0 / 0.6) as u64,
        "cpu_ns": {"server": server_ns as u64, "client": client_ns as u64,
            "server_run_queue_wait": 7_184_341, "client_run_queue_wait": 8_891_605},
        "core_hz": {"before": 2_277_943_667_u64, "after": 2_260_929_949_u64},
        "latency_ns": {"connect_p50": 309_247, "p50": latency as u64, "p90": (latency * 1.1) as u64,
            "p99": (latency * 1.4) as u64, "max": (latency * 1.6) as u64},
        "cpu_share": [core(0, 0.3, 0.62, 1.0 - server_busy), core(1, 0.1, 0.2, 1.0 - client_busy)],
        "receipt": receipt,
        "verdict": {"limit": spec.limit.name(), "evidence": {"completed": completed, "failed": 0,
            "failed_share": 0.0, "listen_overflows": 0, "accept_queue_loss": 0.0, "client_busy": client_busy,
            "client_waiting": 0.0148, "server_busy": server_busy, "server_waiting": 0.012,
            "server_cpus_idle": 0.004, "steal": 0.0, "foreign": -0.0039}},
        "warnings": warnings
    }))
    .unwrap()
}

fn machine() -> Machine {
    let cpu = |cpu: usize| json!({"cpu": cpu, "core_hz": 2_293_525_378.0_f64});
    serde_json::from_value(json!({
        "processor": {
            "architecture": "x86_64", "model": "Intel(R) Xeon(R) Processor", "vendor": "GenuineIntel",
            "flags": ["ssse3", "aes", "pclmulqdq", "avx", "avx2", "bmi2", "adx", "sha_ni", "gfni", "vaes",
                "vpclmulqdq", "avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512ifma"],
            "hypervisor": "KVMKVMKVM", "online_cpus": 2, "kernel_siblings": ["0", "1"],
            "measured_siblings": [{"cpus": [0, 1], "throughput_ratio": 0.52, "share_a_core": true}],
            "caches": [{"name": "L1d", "bytes": 49152, "shared_by_cpus": "0"},
                {"name": "L2", "bytes": 2097152, "shared_by_cpus": "0"}],
            "frequency_governor": {"not_available_here": "cannot read /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: No such file or directory (os error 2)"},
            "frequencies": [cpu(0), cpu(1)], "tsc_hz": 2_000_014_810.0_f64
        },
        "memory": {"total_bytes": 25_276_502_016_u64, "numa_nodes": [{"node": 0, "cpus": "0-1"}]},
        "system": {"kernel_release": "6.18.44", "distribution": "Debian GNU/Linux 12 (bookworm)",
            "descriptors": {"soft": 20000, "hard": 20000}, "descriptors_of_root": 1_048_576},
        "network": {"tcp_congestion_control": "bbr", "tcp_rmem_bytes": [4096, 131_072, 33_554_432],
            "tcp_wmem_bytes": [4096, 16384, 4_194_304], "rmem_max_bytes": 4_194_304, "wmem_max_bytes": 4_194_304,
            "local_port_range": [32768, 60999], "somaxconn": 4096, "tcp_max_syn_backlog": 2048},
        "openssl": "OpenSSL 3.0.22 25 Aug 2026",
        "kernel_tls": "not available here: the kernel has no TLS layer (CONFIG_TLS), or its module `tls` is not loaded",
        "hardware_counters": "not available here: perf_event_open of cycles: No such file or directory (os error 2)"
    }))
    .unwrap()
}
