//! What an answer about algorithms says first: in its author's words, or where they are lacking in a plain
//! sentence, `headline.txt`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stats::Decision;
use study::headline::RowOf;
use study::primitive::{Dimension, Rule};
use units::Bytes;

use super::group::{Group, Ratio};
use crate::figure::{Decided, paired};
use crate::findings::Headline;
use crate::primitive::Row;
use crate::wording::{factor, filled};
use crate::written::{Authored, Pair, Row as _};

const SENTENCE: &str = include_str!("headline.txt");

/// What the plain sentence is filled with.
#[derive(Debug, Default, Serialize)]
struct Facts {
    /// `AES-128-GCM, 8KiB`
    what: String,
    cost: String,
    /// `AWS-LC 1.30`
    name: String,
    rate: String,
    /// Empty where there is none.
    other_cost: String,
    other_name: String,
    /// How many times as fast, where that is decided.
    times: String,
    /// Why it is not decided.
    undecided: &'static str,
}

/// The author's sentence, and where it cannot be said the difference that is furthest from none.
pub(super) fn headline(rule: &Rule, groups: &[Group<'_>], rows: &[Row]) -> Option<Headline> {
    written(rule, groups, rows).or_else(|| {
        let all = || groups.iter().flat_map(|group| group.ratios.iter().map(move |of| (group, of)));
        let sure = all().filter(|(_, of)| of.times_as_fast.decision.is_sure());
        let distance = |(_, of): &(_, &Ratio<'_>)| of.times_as_fast.distance();
        let furthest = sure.max_by(|a, b| distance(a).total_cmp(&distance(b)));
        if let Some((group, ratio)) = furthest.or_else(|| all().next()) {
            return beside(group, ratio);
        }
        if rule.written.is_some() && has_nothing_to_compare(groups) {
            return None;
        }
        let first = groups
            .iter()
            .find_map(|group| Some((group, group.rows().filter(|row| row.cost.is_some()).last()?)));
        match first {
            Some((group, row)) => one(&group.common(), &row.value(rule.compare), row),
            None => Some(not_measured(groups)),
        }
    })
}

/// Whether all but the baseline is not available here, which the rows say: an author who compares has nothing to say
/// then.
fn has_nothing_to_compare(groups: &[Group<'_>]) -> bool {
    let mut rows = groups.iter().flat_map(Group::rows);
    let (mut has_cost, mut lacks) = (false, false);
    let is_known = rows.all(|row| {
        has_cost |= row.cost.is_some();
        lacks |= row.is_unavailable();
        row.cost.is_some() || row.is_unavailable()
    });
    is_known && has_cost && lacks
}

fn written(rule: &Rule, groups: &[Group<'_>], all: &[Row]) -> Option<Headline> {
    let written = rule.written.as_ref()?;
    let row = |of: &RowOf| {
        let mut rows = all.iter().filter(|row| row.is(of));
        let cost = |row: &&Row| row.cost.as_ref().map_or(f64::INFINITY, |of| of.cycles.median());
        if of.is_best { rows.min_by(|a, b| cost(a).total_cmp(&cost(b))) } else { rows.next() }
    };
    let rows = written.rows.iter().map(|(name, of)| Some((name.as_str(), row(of)?)));
    let rows: BTreeMap<&str, &Row> = rows.collect::<Option<_>>()?;
    let metric = rows.first_key_value()?.1.metric();
    let decides = written.decides.iter().map(|of| (metric, of.rows.clone()));
    let pairs: BTreeSet<Pair> = written.compared().into_iter().chain(decides).collect();
    // What the answer compares anyway is decided there; the others are decided together with it.
    let ratios = || groups.iter().flat_map(|group| &group.ratios);
    let known = |one: &Row, other: &Row| {
        let is_of = |of: &&Ratio<'_>, a, b| std::ptr::eq(of.baseline, a) && std::ptr::eq(of.row, b);
        let known = ratios().find(|of| is_of(of, one, other)).map(|of| of.times_as_fast.clone());
        known.or_else(|| ratios().find(|of| is_of(of, other, one))?.times_as_fast.inverse())
    };
    let mut decided = BTreeMap::new();
    let mut family: Vec<_> = ratios().map(|of| (None, of.times_as_fast.figure.clone())).collect();
    for (of, names) in pairs {
        let [one, other] = names.each_ref().map(|name| rows.get(name.as_str()).copied());
        let (one, other) = (one?, other?);
        match known(one, other).filter(|_| of == metric) {
            Some(known) => drop(decided.insert((of, names), known)),
            None => {
                let ratio = paired(one.samples(of), other.samples(of))?;
                family.push((Some((of, names)), ratio));
            }
        }
    }
    let of_family = Decided::decide(family, 1.0).into_iter();
    decided.extend(of_family.filter_map(|(pair, ratio)| Some((pair?, ratio))));
    let compare = rule.compare.into();
    Some(Authored { written, metric, compare, rows: &rows, decided }.headline()?.0)
}

/// A row beside the baseline.
fn beside(group: &Group<'_>, ratio: &Ratio<'_>) -> Option<Headline> {
    let Ratio { row, baseline, times_as_fast } = ratio;
    let compare = group.rule.compare;
    let facts = Facts {
        other_cost: baseline.cost_in_words()?,
        other_name: baseline.value(compare),
        ..facts(&group.common(), &row.value(compare), row)?
    };
    let times = factor(times_as_fast.median());
    let (value, unit, facts) = match times_as_fast.decision {
        Decision::Sure(_) => (times.clone(), "as fast", Facts { times, ..facts }),
        Decision::NoDifference => {
            let undecided = "no significant difference";
            ("≈".to_owned(), undecided, Facts { undecided, ..facts })
        }
        Decision::TooFew => {
            let undecided = "too few rounds to compare";
            ("?".to_owned(), "too few rounds", Facts { undecided, ..facts })
        }
    };
    Some(Headline {
        value,
        unit: unit.to_owned(),
        sentence: filled(SENTENCE, &facts)?,
        advice: None,
    })
}

/// A figure by itself, of what it is of.
fn one(what: &str, name: &str, row: &Row) -> Option<Headline> {
    headline_of(facts(what, name, row)?, row)
}

fn headline_of(facts: Facts, row: &Row) -> Option<Headline> {
    let sentence = filled(SENTENCE, &facts)?;
    Some(Headline { value: facts.cost, unit: row.counts(row.metric()), sentence, advice: None })
}

/// The figure of a row, and that of another for a reader to compare; one round decides nothing.
#[must_use]
pub fn of_one_round(row: &Row, other: Option<&Row>) -> Option<Headline> {
    let facts = facts(row.key.algorithm.name(), &row.value(Dimension::Library), row)?;
    let facts = match other {
        Some(other) => Facts {
            other_cost: other.cost_in_words()?,
            other_name: other.value(Dimension::Library),
            ..facts
        },
        None => facts,
    };
    headline_of(facts, row)
}

fn facts(what: &str, name: &str, row: &Row) -> Option<Facts> {
    let size = row.key.size_bytes.map(|size| format!(", {}", Bytes(size))).unwrap_or_default();
    let messages = row.cost.as_ref()?.messages_per_op;
    let messages =
        if messages > 1 { format!(", {messages} messages at once") } else { String::new() };
    Some(Facts {
        what: format!("{what}{size}"),
        cost: row.cost_in_words()?,
        name: format!("{name}{messages}"),
        rate: row.cost.as_ref()?.rate().0,
        ..Facts::default()
    })
}

fn not_measured(groups: &[Group<'_>]) -> Headline {
    let mut rows = groups.iter().flat_map(Group::rows);
    let why = rows.find_map(|row| row.no_figure.as_ref()).map_or("no figures", |none| &none.why);
    Headline::not_measured(why)
}
