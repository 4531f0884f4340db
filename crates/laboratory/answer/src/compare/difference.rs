//! In what two runs differ beside their figures.

use std::collections::{BTreeMap, BTreeSet};

use observe::machine::Settings;
use observe::{CgroupLimits, Fact, Machine};
use serde::Serialize;
use study::primitive::LIBRARY;

use super::compared_run::ComparedRun;
use super::pair::{Match, RunRow};
use crate::circumstance::Circumstance;
use crate::wording::grouped;

/// Something that is not the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is: `processor`, `nginx`, `load.connections`.
    pub what: String,
    /// How it was in A.
    pub a: String,
    /// How it was in B.
    pub b: String,
    /// Whether it makes B's machine another one, by its speed: no ratio of times is of the rest alone then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_other_machine: bool,
    /// In how many of the cells that are compared, where it is not the same for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<usize>,
}

const UNKNOWN: &str = "not known";
const PROCESSOR: [&str; 2] = ["processor", "CPU features"];

/// The server that toll did not start, of which it knows no more than clients do.
const FOUND: &str = "address";

/// The server's process, where toll did not start it.
const PROCESS: &str = "target.pid";

pub(super) fn all(a: &ComparedRun, b: &ComparedRun, matches: &[Match<'_>]) -> Vec<Difference> {
    let mut differences: Vec<Difference> = a
        .machine
        .as_ref()
        .zip(b.machine.as_ref())
        .map(|(a, b)| machines(a, b))
        .into_iter()
        .flatten()
        .collect();
    let names: BTreeSet<&String> = a.hosts.keys().chain(b.hosts.keys()).collect();
    for host in names {
        let named = |of: Difference| Difference { what: format!("{} of {host}", of.what), ..of };
        match (a.hosts.get(host), b.hosts.get(host)) {
            (Some(a), Some(b)) => differences.extend(machines(a, b).into_iter().map(named)),
            (a, b) => {
                let used = |of: Option<&Machine>| of.map(|_| "used".to_owned());
                let what = format!("the machine {host}");
                differences.push(Difference::of(&what, used(a), used(b)));
            }
        }
    }
    differences.extend(cut(a, b));
    differences.extend(targets(a, b, matches));
    differences.extend(libraries(matches));
    differences.extend(congestion(matches));
    differences.extend(negotiated(matches));
    differences.extend(settings(matches));
    differences
}

/// What is not known of the servers of both runs.
pub(super) fn not_compared(
    a: &ComparedRun,
    b: &ComparedRun,
    matches: &[Match<'_>],
) -> Vec<&'static str> {
    let has_version = |side: &ComparedRun, both: &Match<'_>| {
        let target = |name: &String| side.targets.iter().find(|of| of.cells.contains(name));
        let target = target(&both.a.row.name).or_else(|| target(&both.b.row.name));
        target.map_or(both.a.row.library.is_some(), |target| target.server != FOUND)
    };
    let is_unversioned = |both: &Match<'_>| !has_version(a, both) || !has_version(b, both);
    let has_names = |both: &Match<'_>| [both.a, both.b].map(|side| !side.row.negotiated.is_empty());
    let is_unnegotiated = |both: &Match<'_>| has_names(both)[0] != has_names(both)[1];
    let is_unasked = |both: &Match<'_>| {
        let [a, b] = [both.a, both.b];
        let has_both = [a, b].iter().all(|side| !side.row.asked.is_empty());
        a.row.library.is_none() && a.cell.zip(b.cell).is_none() && !has_both
    };
    let lacking = [
        ("the machine", a.machine.is_none() || b.machine.is_none()),
        ("the server's program and configuration", matches.iter().any(is_unversioned)),
        ("what was asked for", matches.iter().any(is_unasked)),
        ("what was negotiated", matches.iter().any(is_unnegotiated)),
    ];
    lacking.into_iter().filter_map(|(what, lacks)| lacks.then_some(what)).collect()
}

/// What figures depend on. Frequencies are not among it: they are measured beside each trial.
fn machines(a: &Machine, b: &Machine) -> Vec<Difference> {
    type FactOf = fn(&Machine) -> Option<String>;
    fn words<T: ToString>(fact: &Fact<T>) -> Option<String> {
        fact.known().map(ToString::to_string)
    }
    let facts: [(&str, FactOf); 9] = [
        ("CPU features", |m| m.processor.flags.known().map(|flags| flags.join(" "))),
        ("hypervisor", |m| words(&m.processor.hypervisor)),
        ("frequency governor", |m| words(&m.processor.frequency_governor)),
        ("memory in bytes", |m| words(&m.memory.total_bytes)),
        ("distribution", |m| words(&m.system.distribution)),
        ("OpenSSL of toll", |m| Some(m.openssl.clone())),
        ("kernel TLS", |m| Some(m.kernel_tls.to_string())),
        ("congestion control", |m| words(&m.network.tcp_congestion_control)),
        ("somaxconn", |m| words(&m.network.somaxconn)),
    ];
    let facts = facts
        .into_iter()
        .map(|(what, of)| (what, of(a), of(b)))
        .filter(|(_, a, b)| a != b)
        .map(|(what, a, b)| Difference::of(what, a, b));
    speeds(a, b).chain(facts).chain(known_of_both(a, b)).collect()
}

/// What decides the speed of both, is known of both and differs.
fn speeds(a: &Machine, b: &Machine) -> impl Iterator<Item = Difference> {
    let both = a.speed().into_iter().zip(b.speed());
    both.filter_map(|((what, a), (_, b))| {
        let differs = a.is_some() && b.is_some() && a != b;
        differs.then(|| Difference { is_other_machine: true, ..Difference::of(what, a, b) })
    })
}

/// The settings of the processor and the memory limit that are known of both and differ: more of them are known to
/// root than to others, which is no difference of the machine.
fn known_of_both(a: &Machine, b: &Machine) -> Vec<Difference> {
    let facts = |machine: &Machine| {
        let settings = machine.settings.as_ref().map(Settings::in_words);
        let limits = machine.cgroup.as_ref().map(CgroupLimits::in_words);
        let [.., memory, _] = limits.unwrap_or_else(CgroupLimits::unknown_in_words);
        settings.map(|settings| settings.into_iter().chain([memory]))
    };
    let (Some(a), Some(b)) = (facts(a), facts(b)) else { return Vec::new() };
    let both = a.zip(b).filter_map(|((what, a), (_, b))| match (a, b) {
        (Fact::Known(a), Fact::Known(b)) if a != b => Some(Difference::of(what, Some(a), Some(b))),
        _ => None,
    });
    both.collect()
}

/// What was cut from a study of which only a summary is there, which has no settings.
fn cut(a: &ComparedRun, b: &ComparedRun) -> Option<Difference> {
    let words = |side: &ComparedRun| match &side.analysis.cut[..] {
        [] => "nothing".to_owned(),
        cut => cut.join("; "),
    };
    let (of_a, of_b) = (words(a), words(b));
    let is_summary = a.study.is_none() || b.study.is_none();
    let differs = is_summary && of_a != of_b;
    differs.then(|| Difference::of("cut from the study", Some(of_a), Some(of_b)))
}

/// The versions of the servers that the compared cells were measured with.
fn targets(a: &ComparedRun, b: &ComparedRun, matches: &[Match<'_>]) -> Vec<Difference> {
    let version = |side: &ComparedRun, cell: &String| {
        let target = side.targets.iter().find(|target| target.cells.contains(cell))?;
        Some(target.version.clone().unwrap_or_else(|| {
            target.skipped.clone().map_or(UNKNOWN.to_owned(), |why| format!("left out: {why}"))
        }))
    };
    let of = |both: &Match<'_>| {
        let (cell_a, cell_b) = (&both.a.row.name, &both.b.row.name);
        let target = a.targets.iter().find(|target| target.cells.contains(cell_a))?;
        let (a, b) = (version(a, cell_a), version(b, cell_b));
        // That a side has none is named as not compared.
        (a != b && b.is_some()).then(|| Difference::of(&target.server, a, b))
    };
    counted(matches.iter().filter_map(of), matches.len())
}

/// The versions of the libraries of timed algorithms.
fn libraries(matches: &[Match<'_>]) -> Vec<Difference> {
    let of = |both: &Match<'_>| {
        let (a, b) = (both.a.row.library.clone(), both.b.row.library.clone());
        let name = both.a.row.params.get(LIBRARY)?.to_string();
        (a != b).then(|| Difference::of(&name, a, b))
    };
    counted(matches.iter().filter_map(of), matches.len())
}

/// What was negotiated, of cells in which it is known of both runs.
fn negotiated(matches: &[Match<'_>]) -> Vec<Difference> {
    let words =
        |values: &BTreeSet<String>| Some(values.iter().cloned().collect::<Vec<_>>().join(", "));
    let of = |both: &Match<'_>| {
        let (a, b) = (&both.a.row.negotiated, &both.b.row.negotiated);
        let differing = a.iter().filter_map(|(what, a)| {
            let b = b.get(what).filter(|b| *b != a)?;
            Some(Difference::of(what, words(a), words(b)))
        });
        differing.collect::<Vec<_>>()
    };
    counted(matches.iter().flat_map(of), matches.len())
}

/// What the servers' connections had for congestion control, whatever the machines' was: toll has chosen it
/// on loopback only since some version.
fn congestion(matches: &[Match<'_>]) -> Vec<Difference> {
    let control = |side: &RunRow<'_>| {
        let controls = side.row.circumstances.get(&Circumstance::Congestion)?;
        Some(controls.iter().cloned().collect::<Vec<_>>().join(", "))
    };
    let of = |both: &Match<'_>| {
        let (a, b) = (control(&both.a), control(&both.b));
        (a != b).then(|| Difference::of("servers' congestion control", a, b))
    };
    counted(matches.iter().filter_map(of), matches.len())
}

/// The keys of the compared cells that do not have the same value; where a run has no study, what receipts say was
/// asked for.
fn settings(matches: &[Match<'_>]) -> Vec<Difference> {
    let of = |both: &Match<'_>| {
        let [a, b]: [BTreeMap<String, String>; 2] = match both.a.cell.zip(both.b.cell) {
            Some((a, b)) => [a, b].map(|cell| cell.settings().into_iter().collect()),
            None => [both.a, both.b].map(|side| side.row.asked.clone()),
        };
        if a.is_empty() || b.is_empty() {
            return Vec::new();
        }
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        // Each start of a server has another number.
        let differing =
            keys.into_iter().filter(|key| *key != PROCESS && a.get(*key) != b.get(*key));
        let difference =
            |key: &String| Difference::of(key, a.get(key).cloned(), b.get(key).cloned());
        differing.map(difference).collect()
    };
    counted(matches.iter().flat_map(of), matches.len())
}

impl Difference {
    /// Whether it is that of two processors, which are known.
    pub(super) fn is_of_processor(&self) -> bool {
        let is_of_two = || [&self.a, &self.b].iter().all(|value| *value != UNKNOWN);
        PROCESSOR.contains(&self.what.as_str()) && is_of_two()
    }

    fn of(what: &str, a: Option<String>, b: Option<String>) -> Self {
        let words = |value: Option<String>| value.unwrap_or_else(|| UNKNOWN.to_owned());
        let (a, b) = (words(a), words(b));
        Self { what: what.to_owned(), a, b, is_other_machine: false, cells: None }
    }
}

/// Each difference once, with the number of cells that show it where it is not that of all.
fn counted(found: impl IntoIterator<Item = Difference>, all: usize) -> Vec<Difference> {
    let once = grouped(found.into_iter().map(|difference| (difference, ())));
    let counted = |(difference, cells): (Difference, Vec<()>)| Difference {
        cells: Some(cells.len()).filter(|cells| *cells < all),
        ..difference
    };
    once.into_iter().map(counted).collect()
}
