//! Whether another program measures the same as toll: pairs of cells that differ in the program that
//! makes the load.
//!
//! Rates of two closed loops are about the same thing only where the server was the limit with both.
//! Where a client was the limit, its rate describes the client, and only the server's cost per
//! operation can be compared.

use std::sync::Arc;

use keys::full;
use std::collections::BTreeMap;

use load::{Client, Operation};
use serde::Serialize;

use crate::label::{label, label_in, server_words};
use study::{Metric, Param};
use trial::{Limit, WarningKind};

use super::row::Row;
use crate::comparable::ratio;
use crate::figure::{Figure, decisions};
use crate::limits::{in_words, of_trials};
use crate::wording::{capitalized, times_of};
use stats::{Decision, Direction};

/// Rates that differ by less than 5% count as equal.
const ENDS: [f64; 2] = [1.0 / 1.05, 1.05];

/// A cell that toll and another program both loaded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrossCheck {
    /// What came of it in one or two sentences.
    pub sentence: String,
    /// The same in a word.
    pub agreement: Agreement,
    /// What was loaded, in words.
    pub label: String,
    /// The other program.
    pub client: String,
    /// The cell that toll loaded.
    pub cell: String,
    /// The cell that the other program loaded.
    pub other_cell: String,
    /// Operations per second of the other program over toll's, from pairs of trials of one round.
    pub rate_ratio: Option<Figure>,
    /// The server's CPU time per operation with the other program over that with toll.
    pub server_cpu_ratio: Option<Figure>,
    /// What limited toll's valid trials, and how many of them.
    pub limits: BTreeMap<Limit, usize>,
    /// What limited those of the other program.
    pub other_limits: BTreeMap<Limit, usize>,
}

/// Whether two programs found the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The server was the limit with both, and the rates differ by less than 5%.
    Agrees,
    /// The server was the limit with both, and the rates differ by more.
    Disagrees,
    /// The server was the limit with both, and the trials do not decide.
    Undecided,
    /// Something else than the server was the limit of one, so the rates are of different things.
    NotComparable,
    /// There are no two valid trials of one round.
    NotMeasured,
}

/// One for each cell that toll loaded and other programs too. A report lists them under each other, so they are decided
/// together.
pub(super) fn all(rows: &[Arc<Row>]) -> Vec<CrossCheck> {
    let rest = |of: &Row| (of.case.clone(), of.params.without([full::CLIENT]));
    let mut checks = Vec::new();
    let client = |of: &Row| of.cell().map(|cell| cell.load.client);
    let is_of_toll = |of: &&Row| client(of) == Some(Client::Toll);
    let rows = || rows.iter().map(Arc::as_ref);
    for toll in rows().filter(is_of_toll).filter(|of| of.params.contains_key(full::CLIENT)) {
        let others = rows().filter(|other| !is_of_toll(other) && rest(other) == rest(toll));
        let check = |other| Some((toll, CrossCheck::of(toll, other, client(other)?)));
        checks.extend(others.filter_map(check));
    }
    let asked = checks.iter().flat_map(|(toll, check)| check.asked(toll)).flatten();
    let decisions = decisions(asked.flat_map(|ratio| ENDS.map(|end| (ratio, end))));
    let mut agreements = decisions.chunks(ENDS.len()).map(agreement);
    let decided = |(toll, mut check): (&Row, CrossCheck)| {
        let [rate, cost] = check.asked(toll).map(|ratio| ratio.and_then(|_| agreements.next()));
        check.agreement = rate.unwrap_or(check.agreement);
        check.sentence = check.in_words(&check.sentence, cost == Some(Agreement::Disagrees));
        check
    };
    checks.into_iter().map(decided).collect()
}

impl CrossCheck {
    /// Without what is decided; in place of the sentence it has why there is no ratio.
    fn of(toll: &Row, other: &Row, client: Client) -> Self {
        let rate = ratio(other, toll, Metric::Rate);
        let why =
            rate.as_ref().err().map(|why| why.in_words([&format!("with {client}"), "with toll"]));
        let agreement = match rate {
            Ok(_) => Agreement::NotComparable,
            Err(_) => Agreement::NotMeasured,
        };
        let why = [toll, other].into_iter().find_map(why_lacking).or(why);
        Self {
            sentence: why.unwrap_or_default(),
            agreement,
            label: loaded(toll),
            client: client.to_string(),
            cell: toll.name.clone(),
            other_cell: other.name.clone(),
            rate_ratio: rate.ok(),
            server_cpu_ratio: ratio(other, toll, Metric::ServerCpuPerOperation).ok(),
            limits: toll.limits.clone(),
            other_limits: other.limits.clone(),
        }
    }

    /// What is to be decided of it: the rate where the server was the limit with both, and what an operation costs where
    /// that explains the rate.
    fn asked(&self, toll: &Row) -> [Option<&Figure>; 2] {
        let is_comparable = is_servers(&self.limits) && is_servers(&self.other_limits);
        [
            self.rate_ratio.as_ref().filter(|_| is_comparable),
            self.server_cpu_ratio
                .as_ref()
                .filter(|_| self.rate_ratio.is_some() && share_a_core(toll)),
        ]
    }

    /// In a sentence; `why` is for one without a ratio.
    fn in_words(&self, why: &str, costs_differ: bool) -> String {
        let Self { client, label, .. } = self;
        let Some(rate) = &self.rate_ratio else {
            return format!("{} is not checked with {client}: {why}.", capitalized(label));
        };
        let cost = self.server_cpu_ratio.as_ref().map_or_else(
            || "the server's CPU time is not known".to_owned(),
            |ratio| {
                let cost = times_of(ratio, "as much CPU time", ["more CPU time", "less CPU time"]);
                format!("an operation costs the server {cost}")
            },
        );
        let rate = times_of(rate, "toll's", ["above toll's", "below toll's"]);
        let figures = format!("its rate is {rate}, and {cost}");
        let both = "the server's CPU was the limit with both";
        let sentence = match self.agreement {
            Agreement::Agrees => format!("{client} agrees with toll ({label}): {figures}; {both}."),
            Agreement::Disagrees => {
                format!("{client} disagrees with toll ({label}): {figures}, though {both}.")
            }
            Agreement::Undecided => format!(
                "These trials do not show whether {client} agrees with toll ({label}): {figures}; \
                 {both}."
            ),
            Agreement::NotComparable | Agreement::NotMeasured => format!(
                "{client} cannot check toll's rate ({label}): with {client} {}; with toll {}. For \
                 information: {figures}.",
                limits_in_words(&self.other_limits),
                limits_in_words(&self.limits),
            ),
        };
        match costs_differ {
            true => format!(
                "{sentence} Server and client share a core here, so a client that works more slows \
                 the server."
            ),
            false => sentence,
        }
    }
}

/// Whether a ratio lies within the tolerance, by what it shows beside its ends.
fn agreement(ends: &[Decision]) -> Agreement {
    match ends {
        [Decision::Sure(Direction::Below), _] | [_, Decision::Sure(Direction::Above)] => {
            Agreement::Disagrees
        }
        [Decision::Sure(_), Decision::Sure(_)] => Agreement::Agrees,
        _ => Agreement::Undecided,
    }
}

/// Whether the server was the limit of most trials, and the client of none.
fn is_servers(limits: &BTreeMap<Limit, usize>) -> bool {
    let of = |limit| limits.get(&limit).copied().unwrap_or(0);
    let all: usize = limits.values().sum();
    of(Limit::ClientCpu) + of(Limit::CpuQuota) == 0 && 2 * of(Limit::ServerCpu) > all
}

/// `the client's CPU was the limit in 5 of 7 trials, no limit was found in 2 of 7 trials`.
fn limits_in_words(limits: &BTreeMap<Limit, usize>) -> String {
    let all = limits.values().sum();
    let each = limits.iter();
    let each =
        each.map(|(limit, count)| format!("{} {}", in_words(*limit), of_trials(*count, all)));
    each.collect::<Vec<_>>().join(", ")
}

/// Why there is no figure of a cell, where there is none.
fn why_lacking(of: &Row) -> Option<String> {
    if let Some(why) = &of.skipped {
        return Some(why.clone());
    }
    if of.trials.valid > 0 {
        return None;
    }
    Some(match of.why_invalid() {
        Some(why) => format!("no trial of {} is valid; the first: {why}", of.name),
        None => format!("no trial of {} was run", of.name),
    })
}

fn share_a_core(of: &Row) -> bool {
    let is_shared = |kind| matches!(kind, WarningKind::SiblingCpus | WarningKind::SharedCpus);
    of.valid().any(|line| line.warnings.iter().any(|warning| is_shared(warning.kind)))
}

/// What was loaded: the server, what it was asked for, and what the case sweeps.
fn loaded(of: &Row) -> String {
    let Some(cell) = of.cell() else { return String::new() };
    let mut parts = vec![server_words(cell.target.server)];
    match cell.load.operation {
        Operation::Handshakes => parts.push("handshakes".to_owned()),
        operation => {
            parts.push(label(full::OBJECT, &Param::Object(cell.target.object.clone())));
            if operation == Operation::OneRequestPerConnection {
                parts.push(label(full::OPERATION, &Param::Operation(operation)));
            }
        }
    }
    let named = ["server", "object", "operation", "client"];
    let is_named = |key: &str| named.contains(&full::name(key));
    let swept = of.params.iter().filter(|(key, _)| !is_named(key));
    parts.extend(swept.map(|(key, value)| label_in(cell.load.operation, key, value)));
    parts.join(", ")
}
