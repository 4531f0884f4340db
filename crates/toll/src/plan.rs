//! `toll plan`: how many cores traffic needs, checked by the traffic itself.

mod cells;
mod document;
mod energy;
mod latency;
mod memory;
mod page;
mod rounds;
mod scaling;
mod words;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use ::load::{Http, Mix, Percent};
use capacity::{Plan, Traffic};
use clap::ValueHint;
use experiment::{Ended, Event};
use journal::{Results, TrialLine};
use observe::KernelTlsCounters;
use serde::Serialize;
use stats::Estimate;
use study::Study;
use tls::{CertificateKey, Group, Suite};
use units::{BitsPerSecond, PerSecond};

use crate::json::Versioned;
use crate::outputs::Found;
use crate::progress::RunProgress;
use crate::{Failure, interrupt, json};
use cells::{CORRECTIONS, Cells, Window};
use latency::Kept;
use memory::Memory;

/// Say how many cores a server needs for some traffic, and check that by loading it with this traffic.
///
/// Full and resumed handshakes, requests and bytes are measured apart, each as often as keeps a core
/// so busy as is planned. What they cost together is compared with what the traffic itself costs,
/// which is loaded in proportion: as much as keeps one core so busy, and a quarter of a core. It
/// takes two to three minutes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A file that has all of it: schema = 1 and a table [plan], whose keys are the flags below
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = [
        "new_connections", "goodput", "access_log", "requests_per_connection", "resumed", "object", "server",
        "certificate_key", "suite", "group", "http", "streams", "busy", "latency", "open_connections", "price", "trials",
    ])]
    file: Option<PathBuf>,

    /// Connections that are opened in a second, resumed ones included
    #[arg(long, value_name = "RATE", required_unless_present_any = ["goodput", "access_log", "file"], conflicts_with_all = ["goodput", "access_log"], help_heading = TRAFFIC)]
    new_connections: Option<PerSecond>,

    /// Data rate of all responses' bodies, such as 20Gb/s, instead of --new-connections
    #[arg(long, value_name = "RATE", conflicts_with = "access_log", help_heading = TRAFFIC)]
    goodput: Option<BitsPerSecond>,

    /// An access log of nginx or Apache (combined format, plain or .gz): its sizes and its busiest minute
    ///
    /// Lines may end with `$connection_requests $ssl_session_reused` (nginx) or `%k
    /// %{SSL_SESSION_RESUMED}x` (Apache): requests per connection and resumption are read from them. Only
    /// counts of it are kept.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "object", help_heading = TRAFFIC)]
    access_log: Option<PathBuf>,

    /// Requests on each connection
    #[arg(long, value_name = "N", default_value = "1", help_heading = TRAFFIC)]
    requests_per_connection: NonZeroU32,

    /// The share of connections that resume a session
    #[arg(long, value_name = "PERCENT", default_value = "0%", help_heading = TRAFFIC)]
    resumed: Percent,

    /// What is asked for: a size, or several with their shares: '4KiB 70%, 64KiB 25%, 4MiB 5%'
    #[arg(long, value_name = "LIST", default_value = "16KiB", help_heading = TRAFFIC)]
    object: Mix,

    /// The server: nginx, embedded, haproxy or apache
    #[arg(long, value_name = "SERVER", default_value = "nginx", help_heading = TARGET)]
    server: String,

    /// The key of its certificate
    #[arg(long, value_name = "KEY", default_value = "rsa:2048", help_heading = TARGET)]
    certificate_key: CertificateKey,

    /// The cipher suite
    #[arg(long, value_name = "SUITE", default_value = "TLS_AES_128_GCM_SHA256", help_heading = TARGET)]
    suite: &'static Suite,

    /// The only group of the key exchange [default: what the server prefers]
    #[arg(long, value_name = "GROUP", help_heading = TARGET)]
    group: Option<Group>,

    /// The version of HTTP
    #[arg(long, value_name = "VERSION", default_value = "1.1", help_heading = TARGET)]
    http: Http,

    /// With --http 2: how many requests each connection carries at once [default: 1]
    #[arg(long, value_name = "N", help_heading = TARGET)]
    streams: Option<NonZeroU32>,

    /// How busy cores may be
    #[arg(long, value_name = "PERCENT", default_value = "60%", help_heading = PLAN)]
    busy: Percent,

    /// A limit of the traffic's latency, such as p99<=50ms: p50, p99 or response-time
    ///
    /// It is checked with one core as busy as is planned, not modelled.
    #[arg(long, value_name = "LIMIT", help_heading = PLAN)]
    latency: Option<latency::Limit>,

    /// How many connections are open at a time: says what memory they take
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = PLAN)]
    open_connections: Option<u32>,

    /// What a core costs in an hour, in any currency, such as 0.043/h
    #[arg(long, value_name = "PRICE", value_parser = price, help_heading = PLAN)]
    price: Option<f64>,

    /// How many times to measure each part
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(2..=1_000), help_heading = PLAN)]
    trials: u32,

    /// Where to make the folder of the results
    #[arg(long, value_name = "DIR", default_value = "results", help_heading = OUTPUT)]
    out: PathBuf,

    /// Print one JSON object instead
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

const TRAFFIC: &str = "Traffic";
const TARGET: &str = "Server";
const PLAN: &str = "Plan";
const OUTPUT: &str = "Output";

const EXAMPLES: &str = "\
Examples:
  toll plan --new-connections 3000/s --resumed 60% --requests-per-connection 8 \\
      --object '4KiB 70%, 64KiB 25%, 4MiB 5%' --certificate-key ecdsa:p256
  toll plan --goodput 20Gb/s --object 4MiB --requests-per-connection 20 --busy 50%
  toll plan --access-log /var/log/nginx/access.log.1.gz --price 0.043/h

Exit codes: 0 done; 1 the latency is not kept; 2 the request was wrong; 3 the check failed: the costs do not explain what the
traffic costs, or something other than the server limited it.";

fn price(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/h").and_then(|number| number.parse::<f64>().ok());
    number
        .filter(|price| price.is_finite() && *price >= 0.0)
        .ok_or_else(|| format!("`{text}` is not a price of an hour; write 0.043/h"))
}

/// The traffic to plan for, and the load that is like it.
#[derive(Debug, Clone, Serialize)]
struct PlannedTraffic {
    #[serde(flatten)]
    traffic: Traffic,
    object: Mix,
    /// Whole ones, as the load has them.
    #[serde(skip)]
    requests_per_connection: NonZeroU32,
    #[serde(skip)]
    resumed: Percent,
    /// The busiest minute of the log, as the log writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    minute: Option<String>,
}

/// What came of it, as it is printed with --json and kept in `plan.json`.
#[derive(Debug, Serialize)]
struct PlanOutcome {
    server: String,
    certificate_key: CertificateKey,
    http: Http,
    traffic: PlannedTraffic,
    #[serde(flatten)]
    plan: Plan,
    /// What several cores take for the same work, which is in the plan where it needs several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scaling: Vec<scaling::Scaling>,
    /// With as much of the traffic as keeps a core as busy as is planned.
    check: Check,
    /// With a quarter of a core, whose parts were measured there too: an operation costs a server that
    /// mostly waits more.
    quarter: Check,
    /// The cells that did not keep a core as busy as they were to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_so_busy: Vec<OtherBusy>,
    savings: Vec<Saving>,
    /// What was not measured, and why.
    not_measured: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<latency::Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<memory::Memory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    energy: Option<energy::Energy>,
    /// Per hour, where a price was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    price_per_hour: Option<f64>,
}

/// The costs beside the traffic itself.
#[derive(Debug, Clone, Serialize)]
struct Check {
    /// How busy the core was, 0 to 1: the median.
    busy: f64,
    /// What the costs say, over what was measured.
    predicted_over_measured: Estimate,
    /// Why it is none: something other than the server limited a trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// A cell that kept a core more or less busy than it was to; shares of 0 to 1.
#[derive(Debug, Clone, Serialize)]
struct OtherBusy {
    cell: String,
    asked: f64,
    busy: f64,
}

/// How far a prediction may be off and the plan still stand.
const CLOSE: f64 = 0.10;

impl Check {
    fn holds(&self) -> bool {
        self.refused.is_none() && (self.predicted_over_measured.median - 1.0).abs() <= CLOSE
    }
}

/// Cores that another choice saves.
#[derive(Debug, Clone, Serialize)]
struct Saving {
    choice: String,
    cores: Estimate,
}

/// Whether this file has a plan, not a study.
pub(crate) fn is_in(file: &str) -> bool {
    document::is_plan(file)
}

/// Plans what the table `[plan]` of a file asks for.
pub(crate) fn of_file(name: &str, text: &str, out: &Path, json: bool) -> Result<ExitCode, Failure> {
    let plan = document::parse(text);
    let plan = plan.map_err(|why| Failure::request(format!("{name}: {why}")))?;
    main(&Arguments { json, out: out.to_owned(), ..plan })
}

pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(path) = &arguments.file {
        let text = std::fs::read_to_string(path);
        let name = path.display().to_string();
        let text = text.map_err(|error| Failure::request(format!("{name}: {error}")))?;
        return of_file(&name, &text, &arguments.out, arguments.json);
    }
    let interrupted = interrupt::flag()?;
    let wanted = arguments.wanted()?;
    let cells = Cells::new(arguments, &wanted)?;
    let folder = tempfile::tempdir().map_err(Failure::request)?;
    let pilot = |number: usize, study: &str| {
        let results = results_in(folder.path(), &format!("pilot-{number}"))?;
        let lines = measure(study, &results, arguments.json, &interrupted)?;
        lines.map(|lines| cells.rates(&lines)).transpose()
    };
    let mut rates = pilot(0, &cells.closed_loop())?;
    for (number, trials) in (1..).zip(CORRECTIONS) {
        let Some(found) = rates else { break };
        rates = pilot(number, &cells.open_loop(&Window::Pilot, trials, &found))?;
    }
    let Some(rates) = rates else { return Ok(ExitCode::from(interrupt::EXIT)) };
    let results = results_in(&arguments.out, "plan")?;
    let study = cells.open_loop(&Window::Measured, arguments.trials, &rates);
    let lines = measure(&study, &results, arguments.json, &interrupted)?;
    let Some(lines) = lines else {
        let folder = results.folder().display();
        eprintln!("toll: interrupted; toll run --continue {folder} measures the rest of its cells");
        return Ok(ExitCode::from(interrupt::EXIT));
    };
    let several = cells.several_cores(arguments.trials, &rates);
    let mut on_several = Vec::new();
    if of_plan(&several)?.cells.len() > 1 {
        let results = results_in(results.folder(), "cores")?;
        match measure(&several, &results, arguments.json, &interrupted)? {
            Some(lines) => on_several = lines,
            None => return Ok(ExitCode::from(interrupt::EXIT)),
        }
    }
    let mut outcome = rounds::outcome(arguments, &wanted, &cells, &lines, &on_several)?;
    outcome.name_what_is_missing(arguments);
    if !cells.has_ends(&rates) {
        let why = "too few of them end in a second for a trial to have them, so that the check has kept ones";
        outcome.not_measured.push(format!("new connections beside the rest: {why}"));
    }
    if let Some(open) = arguments.open_connections {
        // With a process for each trial, and kept beside the others.
        let memory = results_in(results.folder(), "memory")?;
        let lines = measure(&cells.memory(open), &memory, arguments.json, &interrupted)?;
        let Some(lines) = lines else { return Ok(ExitCode::from(interrupt::EXIT)) };
        outcome.remember(open, &lines);
    }
    let file = serde_json::to_string_pretty(&Versioned { schema: json::PLAN, of: &outcome });
    let file = file.map_err(Failure::measurement)?;
    results.write_derived("plan.json", &file).map_err(Failure::measurement)?;
    let mut found = Found::read(&results)?;
    found.lead_with(page::shown(&outcome));
    results.write_derived("plan.html", &found.html()?).map_err(Failure::measurement)?;
    match arguments.json {
        true => json::print(json::PLAN, &outcome)?,
        false => {
            crate::print(&words::of(&outcome));
            let folder = results.folder().display();
            crate::print(&format!("Everything is in {folder}; plan.html shows it.\n"));
        }
    }
    if !outcome.check.holds() {
        return Err(Failure::measurement("the plan did not stand its check"));
    }
    match outcome.latency.as_ref().filter(|latency| latency.kept == Kept::No) {
        Some(latency) => Err(Failure::gate(format!("not kept: {}", latency.limit))),
        None => Ok(ExitCode::SUCCESS),
    }
}

impl PlanOutcome {
    /// Names what this machine does not give and what nobody asked for.
    fn name_what_is_missing(&mut self, arguments: &Arguments) {
        let mut missing = Vec::new();
        if self.energy.is_none() {
            let why = observe::EnergyMeter::open().err().map(|error| error.to_string());
            let why = why.unwrap_or_else(|| "it took no more than the idle machine".to_owned());
            missing.push(format!("energy: {why}"));
        }
        if arguments.open_connections.is_none() {
            missing.push("memory: give --open-connections".to_owned());
        }
        let kernel_tls = match KernelTlsCounters::of_process(std::process::id()) {
            Ok(_) => "compare target.send in a study".to_owned(),
            Err(error) => error.to_string(),
        };
        missing.push(format!("what kTLS sendfile saves: {kernel_tls}"));
        missing.push("what another OpenSSL saves: compare target.library in a study".to_owned());
        self.not_measured.extend(missing);
    }

    /// Adds what open connections take, by the trials of that.
    fn remember(&mut self, open: u32, lines: &[TrialLine]) {
        self.memory = Memory::of(open, lines);
        if self.memory.is_none() {
            self.not_measured.push("memory: no trial of it has a figure".to_owned());
        }
    }
}

impl Arguments {
    /// How busy cores may be, 0 to 1.
    fn busy(&self) -> f64 {
        f64::from(self.busy.get()) / 100.0
    }

    fn wanted(&self) -> Result<PlannedTraffic, Failure> {
        if !(1..=95).contains(&self.busy.get()) {
            return Err(Failure::request(
                "--busy is from 1% to 95%: a server needs room for bursts",
            ));
        }
        if self.streams.is_some() && self.http == Http::V1 {
            return Err(Failure::request("--streams needs --http 2"));
        }
        let log = self.access_log.as_deref().map(capacity::read).transpose();
        let log = log.map_err(Failure::request)?;
        let mut object = self.object.clone();
        let mut requests = f64::from(self.requests_per_connection.get());
        let mut resumed = f64::from(self.resumed.get()) / 100.0;
        if let Some(log) = &log {
            object.clone_from(&log.object);
            if let Some(connections) = log.connections.filter(|of| of.opened > 0) {
                requests = log.requests as f64 / connections.opened as f64;
                resumed = connections.resumed as f64 / connections.opened as f64;
            }
        }
        let Some(mean_bytes) = object.mean_size() else {
            return Err(Failure::request(
                "--object takes sizes, not paths: toll makes the objects",
            ));
        };
        let connections_per_s = match (&log, self.goodput, self.new_connections) {
            (Some(log), ..) => log.busiest as f64 / 60.0 / requests,
            (None, Some(rate), _) => rate.0 / 8.0 / (requests * mean_bytes),
            (None, None, rate) => rate.map_or(0.0, |rate| rate.0),
        };
        if !(connections_per_s.is_finite() && connections_per_s > 0.0) {
            return Err(Failure::request("the traffic has no connections; give a rate above 0"));
        }
        let traffic =
            Traffic { connections_per_s, resumed, requests_per_connection: requests, mean_bytes };
        let whole = NonZeroU32::new(requests.round() as u32).unwrap_or(NonZeroU32::MIN);
        let percent = Percent::new((resumed * 100.0).round() as u8).unwrap_or_default();
        let minute = log.map(|log| log.minute);
        Ok(PlannedTraffic {
            traffic,
            object,
            requests_per_connection: whole,
            resumed: percent,
            minute,
        })
    }
}

fn results_in(parent: &Path, name: &str) -> Result<Results, Failure> {
    Results::create(parent, name, SystemTime::now()).map_err(Failure::request)
}

fn of_plan(text: &str) -> Result<Study, Failure> {
    file::parse("plan.toml", text, &crate::topology()?).map_err(Failure::request)
}

/// Measures a study; its trials, or `None` where it was interrupted.
fn measure(
    text: &str,
    results: &Results,
    is_silent: bool,
    interrupted: &AtomicBool,
) -> Result<Option<Vec<TrialLine>>, Failure> {
    let study = of_plan(text)?;
    let _lock = results.lock().map_err(Failure::request)?;
    results.write_study(text, &study).map_err(Failure::measurement)?;
    let experiments = experiment::of(&study);
    crate::run::write_machine(&experiments, results).map_err(Failure::request)?;
    for experiment in experiments {
        experiment.check().map_err(Failure::request)?;
        let mut progress = RunProgress::new(!is_silent);
        let mut tell = |event: Event<'_>| match event {
            Event::Lacks(text) => progress.beside(|| eprintln!("toll: {text}")),
            Event::Progress { left, words } => progress.show(left, words),
            Event::Says(_) | Event::Started(_) | Event::Finished { .. } => {}
        };
        let ended = experiment.run(results, interrupted, &mut tell);
        if ended.map_err(Failure::measurement)? == Ended::Interrupted {
            return Ok(None);
        }
    }
    Ok(Some(results.entries().map_err(Failure::measurement)?.trials))
}
