//! An answer in words, the figures first.

use std::collections::BTreeMap;

use load::{Operation, Percent};

use crate::label::cpus;
use study::metric::Kind;
use study::{AnswerRule, Published};
use trial::Limit;
use units::Quantity;

use super::compared::{Compared, Entry};
use super::comparison::comparison;
use super::limits::{in_words, of_trials};
use super::trials::is_more_than_a_tenth;
use crate::figure::{Decided, Figure, Signed};
use crate::wording::{all_of, capitalized, grouped, list, listed, percent, quantity};

/// The whole answer, with its full stop.
pub(super) fn sentence(compared: &Compared<'_>) -> String {
    if compared.measured().is_empty() {
        return not_measured(compared);
    }
    if compared.kind() == Kind::Tax {
        return tax(compared);
    }
    let mut text = figures(compared);
    if let Some(comparison) = comparison(compared) {
        text = format!("{text}: {comparison}");
    }
    text.push_str(&published(compared.rule, &compared.common));
    text.push('.');
    if compared.kind() == Kind::Throughput {
        text.push_str(&no_maximum(compared));
    }
    text
}

/// `One core of this machine makes 1,640 [1,590, 1,690] full TLS 1.3 handshakes per second with
/// RSA-2048 and 4,200 [4,100, 4,300] with ECDSA P-256 (nginx)`
fn figures(compared: &Compared<'_>) -> String {
    let measured = compared.measured();
    let largest = measured.iter().map(|(_, figure)| figure.median()).fold(0.0, f64::max);
    let (unit, noun) = unit(compared, largest);
    let item = |(place, (entry, figure)): (usize, &(&Entry<'_>, &Figure))| {
        let noun = if place == 0 { format!(" {noun}") } else { String::new() };
        format!("{}{noun} {}", quantity(*figure, unit), compared.with(entry))
    };
    let items = list(measured.iter().enumerate().map(item));
    format!("{} {} {items}{}", subject(compared), verb(compared), compared.context())
}

pub(super) fn verb(compared: &Compared<'_>) -> &'static str {
    match (compared.kind(), compared.is_of_bodies(), compared.operation()) {
        (Kind::Cost, ..) => "is",
        (_, true, _) => "sends",
        (_, false, _) if compares_operations(compared) => "makes",
        (_, false, Operation::Handshakes) => "makes",
        (_, false, _) => "serves",
    }
}

/// `; Intel's Xeon E5 v3 had 2 to 2.4x`: those that are shown next to cells with what these have in
/// `common`, and where there are none, all.
pub(super) fn published(rule: &AnswerRule, common: &BTreeMap<String, String>) -> String {
    let is_of = |of: &&Published| {
        of.beside.iter().all(|(key, value)| common.get(key).is_none_or(|own| own == value))
    };
    let own: Vec<&Published> = rule.published.iter().filter(is_of).collect();
    let said = if own.is_empty() { rule.published.iter().collect() } else { own };
    let says = list(said.iter().map(|of| &of.says));
    said.first().map_or_else(String::new, |first| format!("; {} had {says}", first.who))
}

pub(super) fn subject(compared: &Compared<'_>) -> String {
    match compared.kind() {
        Kind::Cost => return format!("The {}", compared.metric()),
        Kind::PerCpu | Kind::Tax => return format!("One {}", core(compared)),
        Kind::Throughput | Kind::State => {}
    }
    match compared.shared(|cell| cell.target.pinned_to().cloned()).flatten() {
        Some(list) => format!("The server (on {})", cpus(&list)),
        None => "The server".to_owned(),
    }
}

/// `core of this machine`, or of the one that the servers ran on.
fn core(compared: &Compared<'_>) -> String {
    match compared.shared(|cell| cell.target.host.clone()) {
        Some(None) => "core of this machine".to_owned(),
        Some(Some(host)) => format!("core of {host}"),
        None => "core of its machine".to_owned(),
    }
}

/// What all figures are divided by, and what they then count.
pub(super) fn unit(compared: &Compared<'_>, largest: f64) -> (f64, String) {
    match compared.rule.metric.row().quantity {
        Quantity::PerSecond => (1.0, format!("{} per second", operations(compared))),
        quantity => {
            let unit = quantity.unit_for([largest]);
            (unit.factor, unit.name.to_owned())
        }
    }
}

/// Whether what one operation is differs between the entries.
fn compares_operations(compared: &Compared<'_>) -> bool {
    compared.rule.compare == "load.operation"
}

pub(super) fn operations(compared: &Compared<'_>) -> String {
    if compares_operations(compared) {
        let is_connection = |entry: &Entry<'_>| {
            use Operation::{Handshakes, OneRequestPerConnection};
            matches!(entry.trials.cell.load.operation, Handshakes | OneRequestPerConnection)
        };
        let are_connections = compared.entries.iter().all(is_connection);
        return if are_connections { "connections" } else { "operations" }.to_owned();
    }
    match compared.operation() {
        Operation::Handshakes => {}
        Operation::Session => return "pages".to_owned(),
        Operation::Requests | Operation::OneRequestPerConnection => return "requests".to_owned(),
    }
    let version = compared.shared(|cell| cell.load.asked_version());
    let resumption = compared.shared(|cell| cell.load.resumption);
    let full = if resumption == Some(Percent::default()) { "full " } else { "" };
    match version.flatten() {
        Some(version) => format!("{full}{version} handshakes"),
        None => format!("{full}TLS handshakes"),
    }
}

fn tax(compared: &Compared<'_>) -> String {
    let shares = compared.measured().into_iter();
    let shares: Vec<(&Entry<'_>, Decided)> =
        shares.filter_map(|(entry, _)| Some((entry, entry.ratio.as_ref()?.taken()?))).collect();
    taken(compared, &shares, "")
}

/// `TLS takes 79% [78, 80] with AES-128-GCM and 81% [80, 82] with AES-256-GCM of what a core of this
/// machine could send in plain (nginx).` These are shares of what is sent in plain in some way, such as
/// ` by sendfile`.
pub(super) fn taken(
    compared: &Compared<'_>,
    shares: &[(&Entry<'_>, Decided)],
    way: &str,
) -> String {
    let mut taken = Vec::new();
    let (mut same, mut few, mut given) = (Vec::new(), Vec::new(), Vec::new());
    for (entry, share) in shares {
        let with = compared.with(entry);
        let undecided = format!("{with} ({})", percent(&share.figure));
        match share.signed() {
            Signed::Above(share) => taken.push(format!("{} {with}", percent(&share))),
            Signed::Below(share) => given.push(format!("{} {with}", percent(&share))),
            Signed::NoDifference => same.push(undecided),
            Signed::TooFew => few.push(undecided),
        }
    }
    let (mut clauses, core) = (Vec::new(), core(compared));
    clauses.extend(
        listed(taken)
            .map(|taken| format!("TLS takes {taken} of what a {core} could send in plain{way}")),
    );
    clauses.extend(listed(same).map(|same| {
        format!("no significant difference from plain HTTP{way} in what a {core} sends {same}")
    }));
    clauses.extend(listed(few).map(|few| {
        format!("too few trials to compare what a {core} sends with plain HTTP{way} {few}")
    }));
    clauses.extend(
        listed(given).map(|given| format!("a {core} sends more than in plain{way} by {given}")),
    );
    capitalized(&format!("{}{}.", clauses.join("; "), compared.context()))
}

/// `Not measured (nginx): no trial was run.`
fn not_measured(compared: &Compared<'_>) -> String {
    let context = compared.context();
    if compared.kind() == Kind::Tax {
        let Some(baseline) = compared.baseline() else {
            return format!("Not measured{context}: no cell is of plain HTTP.");
        };
        if baseline.trials.samples(compared.rule.metric).is_empty() {
            let lacking = compared.lacking(baseline);
            return format!("Not measured{context}: {}, {lacking}.", compared.with(baseline));
        }
    }
    let each = compared.shown().map(|entry| (compared.lacking(entry), compared.with(entry)));
    let reasons = grouped(each);
    let told = match reasons.as_slice() {
        [(reason, _)] => reason.clone(),
        _ => {
            let told = reasons.iter().map(|(reason, cells)| format!("{}, {reason}", list(cells)));
            all_of(told, "; ").unwrap_or_default()
        }
    };
    format!("Not measured{context}: {told}.")
}

/// Which figures are not the server's maximum and why, in a sentence after a space.
fn no_maximum(compared: &Compared<'_>) -> String {
    let cell = |(entry, _): (&Entry<'_>, &Figure)| {
        let (valid, mut others) = (entry.trials.counts().valid, entry.trials.limits());
        others.remove(&Limit::ServerCpu);
        let counts = is_more_than_a_tenth(others.values().sum(), valid);
        let reason = |(limit, count)| format!("{} {}", of_trials(count, valid), in_words(limit));
        let reasons = list(others.into_iter().map(reason));
        counts.then(|| format!("{} ({reasons})", compared.with(entry)))
    };
    let cells = listed(compared.measured().into_iter().filter_map(cell));
    cells.map_or_else(String::new, |cells| format!(" This is not the server's maximum {cells}."))
}
