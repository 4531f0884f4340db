//! How the cells of an answer compare with its baseline, in words.
//!
//! A difference is stated only where it is [decided](stats::Decision) that there is one.

use load::Operation;

use study::metric::Kind;

use super::compared::{Compared, Entry};
use crate::figure::{Decided, Figure};
use crate::wording::{list, listed, percent, times};
use stats::{Decision, Direction};

/// From here on a factor is easier to grasp than percents.
const FACTOR: f64 = 2.0;

/// The differences from the baseline, in a clause without its full stop; `None` where nothing can
/// be compared.
pub(super) fn comparison(compared: &Compared<'_>) -> Option<String> {
    let baseline = compared.baseline()?;
    let ratios: Vec<(&Entry<'_>, &Decided)> = compared
        .entries
        .iter()
        .filter_map(|entry| Some((entry, entry.ratio.as_ref()?)))
        // Beside suites, plain HTTP is no alternative; what it saves is the tax, another answer.
        .filter(|(entry, _)| entry.value != "none" || compared.entries.len() == 2)
        .collect();
    let changes: Vec<(&Entry<'_>, Change)> = ratios
        .iter()
        .filter_map(|(entry, ratio)| Some((*entry, Change::of(compared, ratio)?)))
        .collect();
    let undecided = |decision: Decision| {
        let such = ratios.iter().filter(|(_, ratio)| ratio.decision == decision);
        listed(such.map(|(entry, ratio)| {
            // Beside costs, a ratio is one of costs.
            let (ratio, of_what) = match compared.is_per_cpu() {
                true => (ratio.inverse(), " the CPU"),
                false => (Some((*ratio).clone()), ""),
            };
            let factor = ratio.map(|ratio| format!(" ({}{of_what})", times(&ratio)));
            compared.with(entry) + &factor.unwrap_or_default()
        }))
    };
    let name = compared.name(baseline);
    let mut clauses = Vec::new();
    if is_best_suite(compared, baseline) {
        clauses.push(format!("{name} sends the most of the suites measured"));
    }
    if !changes.is_empty() {
        let against = match (clauses.is_empty(), compared.entries.len() > 2) {
            (false, _) => "against it, ".to_owned(),
            (true, true) => format!("against {name}, "),
            (true, false) => String::new(),
        };
        clauses.push(against + &in_words(compared, &changes));
    }
    let same = undecided(Decision::NoDifference);
    clauses.extend(same.map(|same| format!("no significant difference from {name} {same}")));
    let few = undecided(Decision::TooFew);
    clauses.extend(few.map(|few| format!("too few trials to show a difference from {name} {few}")));
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

/// A difference that is shown: `saves` `61% [60, 62]` `of the handshake's CPU`.
struct Change {
    verb: &'static str,
    amount: String,
    of_what: &'static str,
}

impl Change {
    fn of(compared: &Compared<'_>, ratio: &Decided) -> Option<Self> {
        let Decision::Sure(direction) = ratio.decision else { return None };
        match compared.kind() {
            Kind::Cost => Self::stated("is", ratio, ["lower", "higher", "as high"]),
            Kind::PerCpu | Kind::Tax => {
                let (verb, less) = match subject(compared) {
                    Subject::It if direction == Direction::Above => ("saves", saved(compared)),
                    _ => ("costs", "less CPU"),
                };
                // What an operation or a byte costs is the inverse of what a CPU-second gives.
                let cost = ratio.inverse()?;
                Self::stated(verb, &cost, [less, "more CPU", "the CPU"])
            }
            Kind::Throughput | Kind::State => {
                let all = if compared.is_of_bodies() { "the goodput" } else { "the rate" };
                Self::stated("gives", ratio, ["less", "more", all])
            }
        }
    }

    /// With the words for less and for more, which follow percents, and those that follow a factor.
    fn stated(
        verb: &'static str,
        ratio: &Figure,
        [less, more, all]: [&'static str; 3],
    ) -> Option<Self> {
        Some(match ratio.median() {
            FACTOR.. => Self { verb, amount: times(ratio), of_what: all },
            1.0.. => {
                Self { verb, amount: percent(&ratio.map(|ratio| ratio - 1.0)?), of_what: more }
            }
            _ => Self { verb, amount: percent(&ratio.map(|ratio| 1.0 - ratio)?), of_what: less },
        })
    }
}

/// All changes, with verb and object only where they are not those of the change before.
fn in_words(compared: &Compared<'_>, changes: &[(&Entry<'_>, Change)]) -> String {
    let mut before = None;
    let mut items = Vec::new();
    for (entry, Change { verb, amount, of_what }) in changes {
        let who = match subject(compared) {
            Subject::It => with_article(compared, entry),
            Subject::With => compared.with(entry),
        };
        items.push(match before.replace((*verb, *of_what)) {
            Some(same) if same == (*verb, *of_what) => format!("{who} {amount}"),
            _ => {
                let noun = match subject(compared) {
                    Subject::It => String::new(),
                    Subject::With => format!(" {}", noun(compared)),
                };
                format!("{who}{noun} {verb} {amount} {of_what}")
            }
        });
    }
    list(&items)
}

/// The subject of the sentence: what costs or gives something.
#[derive(PartialEq, Eq)]
pub(super) enum Subject {
    /// The compared thing itself: a certificate, a suite, a server.
    It,
    /// An operation with it: with 16 connections, a request.
    With,
}

pub(super) fn subject(compared: &Compared<'_>) -> Subject {
    match (compared.kind(), compared.rule.compare.as_str()) {
        (Kind::Cost, _) => Subject::With,
        (_, "target.certificate-key" | "load.suite" | "target.server") => Subject::It,
        _ => Subject::With,
    }
}

pub(super) fn with_article(compared: &Compared<'_>, entry: &Entry<'_>) -> String {
    let name = compared.name(entry);
    match compared.rule.compare.as_str() {
        // RSA, ECDSA and Ed25519 are all spoken with a vowel first.
        "target.certificate-key" => format!("an {name} certificate"),
        _ => name,
    }
}

fn noun(compared: &Compared<'_>) -> &'static str {
    match (compared.kind(), compared.is_of_bodies()) {
        (Kind::Cost, _) => "it",
        (Kind::Throughput | Kind::State, _) => "the server",
        (_, true) => "a byte",
        (_, false) => compared.one(),
    }
}

fn saved(compared: &Compared<'_>) -> &'static str {
    match (compared.is_of_bodies(), compared.operation()) {
        (true, _) => "of the CPU",
        (false, Operation::Handshakes) => "of the handshake's CPU",
        (false, Operation::Session) => "of the page's CPU",
        (false, _) => "of the request's CPU",
    }
}

/// Whether the baseline is one of at least three suites, and all others are shown to send less.
fn is_best_suite(compared: &Compared<'_>, baseline: &Entry<'_>) -> bool {
    let is_of_suites = compared.rule.compare == "load.suite"
        && compared.is_of_bodies()
        && compared.rule.metric.is_higher_better();
    let is_suite = |entry: &Entry<'_>| entry.value != "none";
    let others: Vec<_> = compared
        .measured()
        .into_iter()
        .filter(|(entry, _)| !entry.is_baseline && is_suite(entry))
        .collect();
    let is_less = |entry: &Entry<'_>| {
        entry.ratio.as_ref().is_some_and(|ratio| ratio.decision == Decision::Sure(Direction::Below))
    };
    is_of_suites
        && is_suite(baseline)
        && others.len() >= 2
        && others.iter().all(|(entry, _)| is_less(entry))
}
