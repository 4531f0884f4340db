//! Where the servers' CPU time goes: an answer of its own, and a table with a column for each class.

use profile::{Class, Event};
use units::{Nanos, percent};

use super::words::title;
use crate::analysis::{CellSummary, Cycles};
use crate::findings::{Answer, Column, Remark, Section, Table};
use crate::wording::{capitalized, list};

/// Classes with a smaller share are not in sentences.
const WORTH_SAYING: f64 = 0.03;

/// Above this share the rules do not say what the server does.
const MOST_OTHER: f64 = 0.05;

/// None where nothing was sampled.
pub(super) fn answer(cells: &[CellSummary]) -> Option<Answer> {
    let sampled = sampled(cells);
    let first = sampled.first()?.1;
    let remarks = std::iter::once(Remark::new("Sampled", how(first))).chain(doubts(&sampled));
    Some(Answer {
        question: Some("Where does the servers' CPU time go?".to_owned()),
        sentences: sampled.iter().map(|(cell, cycles)| sentence(cell, cycles)).collect(),
        remarks: remarks.collect(),
        ..Answer::default()
    })
}

fn sampled(cells: &[CellSummary]) -> Vec<(&CellSummary, &Cycles)> {
    cells.iter().filter_map(|cell| Some((cell, cell.cycles.as_ref()?))).collect()
}

/// `nginx, AES-128-GCM: symmetric crypto 47%, copies 21%, TCP/IP 14%.`
fn sentence(cell: &CellSummary, cycles: &Cycles) -> String {
    let mut shares: Vec<(Class, f64)> =
        cycles.shares.iter().map(|(class, share)| (*class, *share)).collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let large = shares.iter().filter(|(_, share)| *share >= WORTH_SAYING);
    let parts: Vec<String> =
        large.map(|(class, share)| format!("{} {}", class.words(), percent(*share))).collect();
    format!("{}: {}.", capitalized(&title(cell)), list(&parts))
}

fn how(cycles: &Cycles) -> String {
    let clock = match cycles.event {
        Event::Cycles => "by the core's cycle counter",
        Event::CpuClock => {
            "by the kernel's timer, as this machine lets no cycles be sampled; what runs with \
             interrupts off is counted where they are on again, and sorted by its callers"
        }
    };
    format!("{} times a second, {clock}, in trials of their own.", profile::FREQUENCY)
}

/// Each doubt once, with the cells that it is about.
fn doubts(sampled: &[(&CellSummary, &Cycles)]) -> Vec<Remark> {
    let with = |of: &dyn Fn(&Cycles) -> Option<String>| {
        let each = sampled.iter().filter_map(|(cell, cycles)| Some((of(cycles)?, title(cell))));
        let grouped = crate::wording::grouped(each);
        grouped
            .into_iter()
            .map(|(doubt, cells)| format!("{}: {doubt}.", capitalized(&list(&cells))))
    };
    let share = |cycles: &Cycles, class| cycles.shares.get(&class).copied().unwrap_or_default();
    let loopback = |cycles: &Cycles| {
        (share(cycles, Class::Loopback) >= WORTH_SAYING).then(|| {
            "part of the server's CPU time is the client's half of TCP, which the sender's CPU \
             runs on loopback; a client on another host would not cost the server that"
                .to_owned()
        })
    };
    let unreliable = |cycles: &Cycles| {
        (!cycles.doubts.is_empty())
            .then(|| format!("the shares are unreliable, {}", list(&cycles.doubts)))
    };
    let other = |cycles: &Cycles| {
        let other = share(cycles, Class::Other);
        (other > MOST_OTHER)
            .then(|| format!("{} fit no rule: add your own with --profile-rules", percent(other)))
    };
    let stripped = |cycles: &Cycles| {
        (share(cycles, Class::CryptoWithoutSymbols) > 0.0).then(|| {
            "the crypto library has no symbols, so its classes cannot be told apart: make openssl, \
             and target.library = \"openssl-built\""
                .to_owned()
        })
    };
    let threads = |cycles: &Cycles| {
        let many = cycles.kernel_threads.iter().filter(|(_, beside)| **beside >= WORTH_SAYING);
        let each: Vec<String> =
            many.map(|(name, beside)| format!("{name} {}", percent(*beside))).collect();
        (!each.is_empty()).then(|| {
            format!("kernel threads worked beside the server, {} of its time", list(&each))
        })
    };
    with(&unreliable)
        .chain(with(&other))
        .map(Remark::caveat)
        .chain(
            with(&stripped)
                .chain(with(&loopback))
                .chain(with(&threads))
                .map(|text| Remark::new("Know", text)),
        )
        .collect()
}

/// A row for each cell that was sampled, a column for each class that one of them has.
pub(super) fn section(cells: &[CellSummary]) -> Option<Section> {
    let sampled = sampled(cells);
    let classes: std::collections::BTreeSet<Class> =
        sampled.iter().flat_map(|(_, cycles)| cycles.shares.keys().copied()).collect();
    let cells = || Column::words("cell", sampled.iter().map(|(cell, _)| title(cell)));
    let column = |class: &Class, of: &dyn Fn(&Cycles) -> Option<(String, f64)>| {
        let fields = sampled.iter().map(|(_, cycles)| of(cycles).unwrap_or_default());
        Column::numbers(class.words(), "", fields)
    };
    let shares = classes.iter().map(|class| {
        column(class, &|cycles| cycles.shares.get(class).map(|share| (percent(*share), *share)))
    });
    let samples =
        sampled.iter().map(|(_, cycles)| (units::thousands(cycles.samples), cycles.samples as f64));
    let times = classes.iter().map(|class| {
        column(class, &|cycles| {
            let ns = *cycles.ns_per_operation.get(class)?;
            Some((Nanos(ns.round() as u64).to_string(), ns))
        })
    });
    let bytes = classes.iter().map(|class| {
        column(class, &|cycles| {
            let ns = *cycles.ns_per_byte.get(class)?;
            Some((format!("{ns:.3}"), ns))
        })
    });
    let table = |title: &str, columns: Vec<Column>| Table {
        title: title.to_owned(),
        columns: std::iter::once(cells()).chain(columns).collect(),
        ..Table::default()
    };
    (!sampled.is_empty()).then(|| Section {
        title: "Where the CPU time goes",
        about: "Of the servers' processes, by class of work. Times are these shares of the CPU time \
                of the measured trials.",
        tables: vec![
            table("Shares", shares.chain([Column::numbers("samples", "", samples)]).collect()),
            table("CPU time per operation", times.collect()),
            table("CPU time per byte, in ns", bytes.collect()),
        ],
    })
}
