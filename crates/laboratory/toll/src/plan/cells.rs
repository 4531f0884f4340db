//! The studies of a plan: one that isolates each part, after a pilot that says how often a core can do it. A changed
//! server is measured in the parts that the changes touch; parts that are alike are measured once.

use std::collections::BTreeMap;
use std::fmt::Write;

use capacity::{Costs, Request};
use journal::TrialLine;
use keys::full;
use study::Metric;

use super::arguments::Arguments;
use super::offers::Offer;
use super::parts::{self, AT_A_QUARTER, FULL, MEMORY, OTHER, REQUESTS, RESUMED, TRAFFIC};
use super::scaling;
use super::today::{Keys, Today, entry, write_case, write_keys};
use super::traffic::{PlannedTraffic, Shape};
use crate::Failure;

/// How busy a core is that mostly waits.
const QUARTER: f64 = 0.25;

/// How often in a second each case happens, by its name.
pub(super) type Rates = BTreeMap<String, f64>;

#[derive(Debug, Clone)]
pub(super) struct Cells {
    today: Today,
    pub(super) cases: Vec<Case>,
    /// Why cases that a plan can do without are not measured.
    pub(super) dropped: BTreeMap<String, String>,
}

/// Connections that are open at a time, which is enough for a core that has room left.
const CONNECTIONS: u32 = 16;

/// As many keep a core full, and several.
const FULL_CORE: u32 = 64;
const FULL_CORES: u32 = 128;

/// From this mean size of objects on, an eighth of the connections does, and their objects end within a trial.
const LARGE_OBJECTS: f64 = (1 << 20) as f64;

/// Connections live this long at most where they end within trials, in seconds. Of longer lives a trial sees no
/// end, or all at once, and what so few connections take is little.
const LONGEST_LIFE: f64 = 0.25;

/// The most that are opened to learn what one takes.
const MOST_OPEN: u64 = 1_500;

/// The trials of each pilot in an open loop, which correct the rates one after the other. The costs of an operation
/// change with the rate, so that once is not enough; and one trial may be disturbed.
pub(super) const CORRECTIONS: [u32; 2] = [2, 3];

#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    part: &'static str,
    keys: Keys,
    /// How busy it is to keep a core, 0 to 1.
    pub(super) busy: f64,
    /// Whether the plan stands without it.
    is_optional: bool,
    /// Of the traffic itself: how connections are used, and where its parts are measured.
    whole: Option<Changed>,
}

/// Where the parts of a server are measured: the names of their cases.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Places {
    full: String,
    /// Where sessions are resumed.
    resumed: Option<String>,
    requests: String,
    other: String,
}

/// A server with some changes, or none: where it is measured, and the traffic that it has then.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Changed {
    pub(super) places: Places,
    pub(super) shape: Shape,
}

/// Full handshakes with the private key on the CPU, and on a modelled device.
pub(super) const ON_CPU: &str = "key-on-cpu";
pub(super) const ON_DEVICE: &str = "key-on-device";

/// What a modelled device makes per second, so that it limits nothing.
const DEVICE_RATE: u32 = 1_000_000;

/// How long trials are.
pub(super) enum Window {
    Pilot,
    Measured,
}

impl Places {
    /// Those of the server as it is; `suffix` is of the cells' names.
    fn today(suffix: &str, is_resumed: bool) -> Self {
        let place = |part: &str| format!("{part}{suffix}");
        let resumed = is_resumed.then(|| place(RESUMED));
        Self { full: place(FULL), resumed, requests: place(REQUESTS), other: place(OTHER) }
    }

    /// What each part costs, by what an operation of its case takes.
    pub(super) fn costs<E>(&self, each: impl Fn(&str) -> Result<Request, E>) -> Result<Costs, E> {
        let [request, other] = [each(&self.requests)?, each(&self.other)?];
        let byte = request.byte(&other);
        let beside = |place: &str| Ok(connection(&each(place)?, &request, &other));
        let full = beside(&self.full)?;
        let resumed = self.resumed.as_deref().map(beside).transpose()?.unwrap_or(full);
        Ok(Costs { full, resumed, request, byte })
    }

    pub(super) fn cases(&self) -> impl Iterator<Item = &str> {
        let always = [&self.full, &self.requests, &self.other];
        always.into_iter().chain(&self.resumed).map(String::as_str)
    }
}

impl Cells {
    /// The server as it is; where changes are measured too, without the parts at a quarter of a core.
    pub(super) fn new(arguments: &Arguments, wanted: &PlannedTraffic) -> Result<Self, Failure> {
        let today = Today::of(arguments, wanted);
        let shape = today.shape;
        let is_resumed = shape.resumed.get() > 0;
        let mut cells = Self { today, cases: Vec::new(), dropped: BTreeMap::new() };
        let quarter = arguments.levers.is_none().then_some((AT_A_QUARTER, QUARTER));
        for (suffix, busy) in [("", arguments.busy())].into_iter().chain(quarter) {
            let places = Places::today(suffix, is_resumed);
            let parts = [FULL, RESUMED, REQUESTS, OTHER, TRAFFIC].into_iter();
            for part in parts.filter(|part| is_resumed || *part != RESUMED) {
                let whole = Changed { places: places.clone(), shape };
                cells.cases.push(Case {
                    name: format!("{part}{suffix}"),
                    part,
                    keys: cells.today.keys(part, &[]).unwrap_or_default(),
                    busy,
                    is_optional: false,
                    whole: (part == TRAFFIC).then_some(whole),
                });
            }
        }
        Ok(cells)
    }

    /// Full handshakes alone, with their key on the CPU and on a device.
    pub(super) fn with_device(arguments: &Arguments, wanted: &PlannedTraffic) -> Self {
        let today = Today::of(arguments, wanted).with_static_rsa();
        let busy = today.busy;
        let rate = format!("{} {DEVICE_RATE}/s", arguments.certificate_key);
        let device =
            [entry("target.accelerator", "model"), entry("target.accelerator-rate", &rate)];
        let case = |name: &str, more: &[(String, String)]| {
            let mut keys = today.keys(FULL, &[]).unwrap_or_default();
            keys.extend(more.iter().cloned());
            let name = name.to_owned();
            Case { name, part: FULL, keys, busy, is_optional: true, whole: None }
        };
        let cases = vec![case(ON_CPU, &[]), case(ON_DEVICE, &device)];
        Self { today, cases, dropped: BTreeMap::new() }
    }

    /// The server as it is, by the cells whose names end so.
    pub(super) fn unchanged(&self, suffix: &str) -> Changed {
        let shape = self.today.shape;
        Changed { places: Places::today(suffix, shape.resumed.get() > 0), shape }
    }

    /// What the server with these changes is measured by. Cases that are lacking are added: their names begin with
    /// that.
    ///
    /// # Errors
    /// Why it cannot be: the changes contradict each other, or what is.
    pub(super) fn add(&mut self, name: &str, changes: &[&Offer]) -> Result<Changed, String> {
        let shape = changes.iter().fold(self.today.shape, |shape, of| of.shape(shape));
        let mut added = Vec::new();
        let mut place = |part| {
            let keys = self.today.keys(part, changes)?;
            let is_same = |case: &&Case| {
                case.part == part && case.keys == keys && case.busy == self.today.busy
            };
            if let Some(case) = self.cases.iter().find(is_same) {
                return Ok(case.name.clone());
            }
            let name = format!("{name}-{part}");
            let busy = self.today.busy;
            let case =
                Case { name: name.clone(), part, keys, busy, is_optional: true, whole: None };
            added.push(case);
            Ok::<_, String>(name)
        };
        let is_resumed = shape.resumed.get() > 0;
        let places = Places {
            full: place(FULL)?,
            resumed: is_resumed.then(|| place(RESUMED)).transpose()?,
            requests: place(REQUESTS)?,
            other: place(OTHER)?,
        };
        self.cases.extend(added);
        Ok(Changed { places, shape })
    }

    /// Adds the traffic itself with these changes; the name of its case.
    ///
    /// # Errors
    /// As of the parts.
    pub(super) fn add_traffic(
        &mut self,
        name: &str,
        changes: &[&Offer],
        changed: &Changed,
    ) -> Result<String, String> {
        let keys = self.today.keys(TRAFFIC, changes)?;
        let name = format!("{name}-{TRAFFIC}");
        self.cases.push(Case {
            name: name.clone(),
            part: TRAFFIC,
            keys,
            busy: self.today.busy,
            is_optional: true,
            whole: Some(changed.clone()),
        });
        Ok(name)
    }

    /// Some of the cases alone.
    pub(super) fn only(&self, is_wanted: impl Fn(&Case) -> bool) -> Self {
        let cases = self.cases.iter().filter(|case| is_wanted(case)).cloned().collect();
        Self { cases, today: self.today.clone(), dropped: BTreeMap::new() }
    }

    /// A study with these keys for all of its cases.
    fn study(&self, trials: u32, keys: &[(&str, &str)]) -> String {
        let mut text = format!(
            "schema = 1\nquestion = \"How many cores does this traffic need?\"\nseed = 7\ntrials = {trials}\n"
        );
        let own = keys.iter().map(|(key, value)| entry(key, value));
        write_keys(&mut text, &self.today.common);
        write_keys(&mut text, &own.collect());
        text
    }

    /// Each part as often as a core can. A full core's batches make it cheaper than one that has room left, so
    /// this says only where to begin.
    pub(super) fn closed_loop(&self) -> String {
        let connections = self.of_full_cores(FULL_CORE).to_string();
        let mut text = self.study(
            1,
            &[
                ("load.connections", &*connections),
                ("load.warmup", "300ms"),
                ("load.duration", "300ms"),
            ],
        );
        let is_part = |case: &&Case| case.busy == self.today.busy && case.part != TRAFFIC;
        for Case { name, keys, .. } in self.cases.iter().filter(is_part) {
            write_case(&mut text, name, keys);
        }
        text
    }

    /// How often in a second each keeps a core as busy as it is to, by what an operation took in a pilot. A
    /// closed loop has neither the traffic nor a quarter of a core. Cases that the plan can do without go where
    /// they have no rate.
    pub(super) fn rates(&mut self, pilot: &[TrialLine]) -> Result<Rates, Failure> {
        let each = |name: &str| {
            // The median trial, by what an operation takes.
            let valid = of_case(pilot, name).filter(|line| line.line.valid);
            let mut found: Vec<Request> = valid.filter_map(|of| parts::each(&of.line)).collect();
            found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            found.get(found.len() / 2).copied().ok_or_else(|| {
                let why = why_invalid(pilot, name)
                    .unwrap_or_else(|| "nothing ended in its pilot".to_owned());
                format!("{name} cannot be measured: {why}")
            })
        };
        let rate = |case: &Case| {
            let each = match &case.whole {
                _ if of_case(pilot, &case.name).next().is_some() => each(&case.name)?.cost,
                Some(whole) => {
                    let places = match case.is_optional {
                        true => &whole.places,
                        // A closed loop has none at a quarter.
                        false => &self.unchanged("").places,
                    };
                    let costs = places.costs(each)?;
                    let traffic = whole.shape.traffic;
                    traffic.load(&costs).all() * 1e9 / traffic.requests_per_s()
                }
                None if case.is_optional => each(&case.name)?.cost,
                None => each(case.part)?.cost,
            };
            Ok::<_, String>(case.busy * 1e9 / each)
        };
        let mut rates = Rates::new();
        let mut dropped = Vec::new();
        for case in &self.cases {
            match rate(case) {
                Ok(rate) => {
                    rates.insert(case.name.clone(), rate);
                }
                Err(why) if case.is_optional => dropped.push((case.name.clone(), why)),
                Err(why) => return Err(Failure::measurement(why)),
            }
        }
        self.cases.retain(|case| rates.contains_key(&case.name));
        self.dropped.extend(dropped);
        Ok(rates)
    }

    /// Connections that wait after a request, of a server that has had no load before. More of them than are
    /// needed for a figure say no more.
    pub(super) fn memory(&self, open: u32) -> String {
        let connections = u64::from(open).clamp(Metric::LEAST_CONNECTIONS, MOST_OPEN).to_string();
        let mut text = self.study(
            3,
            &[
                ("restart", "trial"),
                ("load.connections", &*connections),
                (full::OPERATION, "requests"),
                (full::ARRIVAL, "paced 2s"),
                ("load.warmup", "4s"),
                ("load.duration", "1s"),
            ],
        );
        write_case(&mut text, MEMORY, &[entry(full::OBJECT, "1KiB")].into());
        text
    }

    /// The traffic on one core and on as many as the machine has, all of them full, by how often one of them has it.
    pub(super) fn several_cores(&self, trials: u32, rates: &Rates) -> String {
        let connections = self.of_full_cores(FULL_CORES);
        let times = [("load.warmup", "300ms"), ("load.duration", "700ms")];
        let number = connections.to_string();
        let mut text =
            self.study(trials, &[&times[..], &[("load.connections", &*number)]].concat());
        if let Some((Case { keys, busy, .. }, rate)) = self.traffic_of(rates) {
            write_case(&mut text, TRAFFIC, keys);
            write_keys(&mut text, &ends(&self.today.shape, connections, rate / busy));
            let cores = (full::CORES, scaling::CORES);
            let _ = writeln!(text, "sweep.\"{}\" = {:?}", cores.0, cores.1);
        }
        text
    }

    /// The traffic where it keeps a core as busy as is planned, with its rate.
    fn traffic_of(&self, rates: &Rates) -> Option<(&Case, f64)> {
        let case = self.cases.iter().find(|case| case.name == TRAFFIC)?;
        Some((case, *rates.get(TRAFFIC)?))
    }

    /// Connections of a closed loop.
    fn of_full_cores(&self, most: u32) -> u32 {
        if self.today.shape.traffic.mean_bytes > LARGE_OBJECTS { most / 8 } else { most }
    }

    /// Whether the check has connections that end, at the rates of its cells.
    pub(super) fn has_ends(&self, rates: &Rates) -> bool {
        let shape = &self.today.shape;
        self.traffic_of(rates).is_some_and(|(_, rate)| !ends(shape, CONNECTIONS, rate).is_empty())
    }

    /// Each in an open loop at its rate.
    pub(super) fn open_loop(&self, window: &Window, trials: u32, rates: &Rates) -> String {
        let times = match window {
            Window::Pilot => ["300ms", "500ms"],
            Window::Measured => ["500ms", "1s"],
        };
        let connections = CONNECTIONS.to_string();
        let mut text = self.study(
            trials,
            &[
                ("load.connections", &*connections),
                ("load.warmup", times[0]),
                ("load.duration", times[1]),
            ],
        );
        for Case { name, keys, whole, .. } in &self.cases {
            let Some(rate) = rates.get(name) else { continue };
            write_case(&mut text, name, keys);
            let _ = writeln!(text, "{} = \"poisson {rate:.3}/s\"", full::ARRIVAL);
            if let Some(whole) = whole {
                write_keys(&mut text, &ends(&whole.shape, CONNECTIONS, *rate));
            }
        }
        text
    }
}

/// The keys that end the traffic's connections and resume some of them, for so many connections that together
/// have this rate of requests. None where they would live longer than trials can show: then they are kept.
fn ends(shape: &Shape, connections: u32, rate: f64) -> Keys {
    let requests = shape.requests_per_connection;
    let life = f64::from(connections) * f64::from(requests.get()) / rate;
    let mut keys = Keys::new();
    if life <= LONGEST_LIFE {
        keys.extend([entry(full::REQUESTS_PER_CONNECTION, &requests.to_string())]);
        // The first connection of each place has no session to resume: with few connections they are most.
        if life < LONGEST_LIFE / 2.0 {
            keys.extend([entry(full::RESUMPTION, &shape.resumed.to_string())]);
        }
    }
    keys
}

/// What a connection costs beside its request, which is for the smaller object.
pub(super) fn connection(whole: &Request, request: &Request, other: &Request) -> f64 {
    let later = if request.bytes < other.bytes { request } else { other };
    whole.beside(later, request.byte(other))
}

fn of_case<'a>(lines: &'a [TrialLine], name: &'a str) -> impl Iterator<Item = &'a TrialLine> {
    lines.iter().filter(move |line| line.place.case == name)
}

/// Why a trial of the case is not valid.
pub(super) fn why_invalid(lines: &[TrialLine], name: &str) -> Option<String> {
    of_case(lines, name).find_map(|line| line.line.why_invalid())
}
