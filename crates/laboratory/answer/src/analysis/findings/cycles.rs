//! Where the servers' CPU time goes: an answer of its own, and a table with a column for each class.

use std::collections::{BTreeMap, BTreeSet};

use load::Operation;
use profile::{Class, Event};
use units::{Nanos, Quantity, percent};

use super::cell_labels::title;
use crate::analysis::row::operation;
use crate::analysis::{Cycles, ProfileChange, Row};
use crate::caveat::Caveat;
use crate::figure::Figure;
use crate::findings::{
    Bar, BarRow, Bars, Chart, Column, Headline, Section, Series, ShownAnswer, Table, TableCell,
};
use crate::label::without_what_is_common;
use crate::wording::{brief, capitalized, grouped, list, listed};

/// Classes with a smaller share are not in sentences.
const WORTH_SAYING: f64 = 0.03;

/// Classes with a smaller share in all cells of a chart are drawn as one.
const WORTH_DRAWING: f64 = 0.01;

/// Above this share the rules do not say what the server does.
const MOST_OTHER: f64 = 0.05;

/// None where nothing was sampled.
pub(super) fn answer(cells: &[&Row], changes: &[ProfileChange]) -> Option<ShownAnswer> {
    let sampled = sampled(cells);
    let (_, first) = sampled.first()?;
    let is_lacking = |cell: &&&Row| cell.profiles.is_empty() && cell.trials.valid > 0;
    let lacking = cells.iter().filter(is_lacking);
    let not_sampled =
        listed(lacking.map(|cell| title(cell))).map(|cells| format!("Not sampled: {cells}."));
    let (doubts, others) = doubts(&sampled);
    let changes_in_words = changes.iter().map(|change| change.sentence.clone());
    let each = sampled.iter().map(|(cell, cycles)| sentence(cell, cycles));
    Some(ShownAnswer {
        title: "Where the servers' CPU time goes".to_owned(),
        headline: Some(headline(&sampled, changes)),
        tables: Vec::new(),
        charts: charts(&sampled),
        notes: changes_in_words.chain(each).chain([how(first)]).chain(others).collect(),
        doubts: doubts.into_iter().chain(not_sampled).map(Caveat::from).collect(),
        ..ShownAnswer::default()
    })
}

/// The largest change between two cells that the study compares; where it compares none, what most of
/// the first cell's time goes to.
fn headline(sampled: &[(&Row, Cycles)], changes: &[ProfileChange]) -> Headline {
    let moved = |change: &ProfileChange| change.share.map_or(0.0, |share| share.difference());
    let most = changes.iter().max_by(|a, b| moved(a).total_cmp(&moved(b)));
    if let Some(change) = most {
        let (value, unit) = match (change.class, change.share) {
            (Some(class), Some(share)) => (share.in_short(), of_the_time(class)),
            _ => ("≈".to_owned(), "no class of work differs".to_owned()),
        };
        return Headline { value, unit, sentence: change.sentence.clone(), advice: None };
    }
    let largest = |(cell, cycles): &(&Row, Cycles)| {
        let (class, share) = by_size(cycles).into_iter().next()?;
        Some(Headline {
            value: brief(Quantity::Share, share),
            unit: of_the_time(class),
            sentence: sentence(cell, cycles),
            advice: None,
        })
    };
    let is_reliable = |of: &&(&Row, Cycles)| of.1.doubts.is_empty();
    sampled.iter().filter(is_reliable).find_map(largest).unwrap_or_else(|| Headline {
        value: "?".to_owned(),
        unit: "no reliable profile".to_owned(),
        sentence: "No profile is reliable".to_owned(),
        advice: None,
    })
}

fn of_the_time(class: Class) -> String {
    format!("of the server's CPU time: {}", class.words())
}

/// A chart for each case, a stack for each of its cells.
fn charts(sampled: &[(&Row, Cycles)]) -> Vec<Chart> {
    let by_case = grouped(sampled.iter().map(|of| (of.0.case.as_str(), of)));
    by_case.iter().map(|(case, cells)| Chart::Bars(stacks(case, cells))).collect()
}

/// CPU time by class: per byte where all of the cells have bodies, else per operation.
fn stacks(case: &str, cells: &[&(&Row, Cycles)]) -> Bars {
    let is_of_bodies = cells.iter().all(|(_, cycles)| !cycles.ns_per_byte.is_empty());
    let times = |cycles: &Cycles| match is_of_bodies {
        true => cycles.ns_per_byte.clone(),
        false => cycles.ns_per_operation.clone(),
    };
    let is_large = |class: &Class| {
        let share = |cycles: &Cycles| cycles.shares.get(class).copied().unwrap_or_default();
        cells.iter().any(|(_, cycles)| share(cycles) >= WORTH_DRAWING)
    };
    let (large, small): (Vec<Class>, Vec<Class>) = Class::ALL.into_iter().partition(is_large);
    let row = |((_, cycles), label): (&&(&Row, Cycles), String)| {
        let times = times(cycles);
        let bar = |series, name: &str, classes: &[Class]| {
            let sum = || classes.iter().filter_map(|class| times.get(class)).sum::<f64>();
            // A class that was not seen is none of the time; where no time is known, there is no figure.
            let figure = (!times.is_empty()).then(sum);
            Bar {
                name: name.to_owned(),
                series,
                figure: figure.and_then(|time| Figure::of(vec![time])),
                ..Bar::default()
            }
        };
        let of_class = |class: &Class| bar(Series::Class(*class), class.words(), &[*class]);
        let bars = large.iter().map(of_class);
        let rest = bar(Series::Rest, "less than 1% each", &small);
        let doubt = if cycles.doubts.is_empty() { "" } else { " (unreliable)" };
        BarRow { label: label + doubt, bars: bars.chain([rest]).collect(), lacking: None }
    };
    let labels: Vec<_> = cells.iter().map(|(cell, _)| cell.label_parts()).collect();
    let wholes = cells.iter().map(|(_, cycles)| times(cycles).values().sum::<f64>());
    let unit = Quantity::Nanos.unit_for(wholes);
    let one = match operation(cells.iter().map(|(cell, _)| *cell)) {
        _ if is_of_bodies => "byte",
        Operation::Handshakes => "handshake",
        Operation::Session => "page",
        Operation::Requests | Operation::OneRequestPerConnection => "request",
    };
    Bars {
        title: "Where the CPU time goes".to_owned(),
        subtitle: format!("{case}; in the bars, shares"),
        axis: format!("{} of the server's CPU time per {one}; lower is better", unit.name),
        unit,
        is_stacked: true,
        rows: cells.iter().zip(without_what_is_common(&labels)).map(row).collect(),
        ..Bars::default()
    }
}

fn sampled<'a>(cells: &[&'a Row]) -> Vec<(&'a Row, Cycles)> {
    cells.iter().filter_map(|cell| Some((*cell, Cycles::of(cell)?))).collect()
}

/// `nginx, AES-128-GCM: symmetric crypto 47%, copies 21%, TCP/IP 14%.`
fn sentence(cell: &Row, cycles: &Cycles) -> String {
    let large = by_size(cycles).into_iter().filter(|(_, share)| *share >= WORTH_SAYING);
    let parts = list(large.map(|(class, share)| format!("{} {}", class.words(), percent(share))));
    format!("{}: {parts}.", capitalized(&title(cell)))
}

/// The classes with their shares, the largest first.
fn by_size(cycles: &Cycles) -> Vec<(Class, f64)> {
    let mut shares: Vec<(Class, f64)> =
        cycles.shares.iter().map(|(class, share)| (*class, *share)).collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    shares
}

fn how(cycles: &Cycles) -> String {
    let clock = match cycles.event {
        Event::Cycles => "by the core's cycle counter",
        Event::CpuClock => {
            "by the kernel's timer, because cycles cannot be sampled on this machine; work with \
             interrupts off is counted where they are on again, and sorted by its callers"
        }
    };
    format!(
        "{} times per second, {clock}, in trials of their own. profile/ in the result folder has the stacks \
         and a flame graph of each cell.",
        profile::FREQUENCY
    )
}

/// Each doubt once, with the cells that it is about; and what else is to know.
fn doubts(sampled: &[(&Row, Cycles)]) -> (Vec<String>, Vec<String>) {
    let with = |of: &dyn Fn(&Cycles) -> Option<String>| {
        let each = sampled.iter().filter_map(|(cell, cycles)| Some((of(cycles)?, title(cell))));
        grouped(each).into_iter().map(|(doubt, cells)| match cells.len() {
            1 | 2 => format!("{}: {doubt}.", capitalized(&list(&cells))),
            all if all == sampled.len() => format!("All cells: {doubt}."),
            some => format!("{} and {} other cells: {doubt}.", capitalized(&cells[0]), some - 1),
        })
    };
    let share = |cycles: &Cycles, class| cycles.shares.get(&class).copied().unwrap_or_default();
    let where_seen = |class: Class, what: &'static str| {
        move |cycles: &Cycles| (share(cycles, class) >= WORTH_SAYING).then(|| what.to_owned())
    };
    let loopback = where_seen(
        Class::Loopback,
        "part of the server's CPU time is the client's half of TCP, which the sender's CPU runs on \
         loopback; a client on another host would not use that time",
    );
    let unreliable = |cycles: &Cycles| {
        listed(cycles.doubts.clone()).map(|why| format!("the shares are unreliable: {why}"))
    };
    let other = |cycles: &Cycles| {
        let other = share(cycles, Class::Other);
        (other > MOST_OTHER)
            .then(|| format!("{} fit no rule: add your own with --profile-rules", percent(other)))
    };
    let stripped = where_seen(
        Class::CryptoWithoutSymbols,
        "the crypto library has no symbols, so its classes cannot be separated: make openssl, and \
         target.library = \"openssl-built\"",
    );
    let callers = |cycles: &Cycles| {
        cycles.lacks_frame_pointers.then(|| {
            "the server is built without frame pointers, so its own functions are sorted without their \
             callers: build it with CFLAGS=-fno-omit-frame-pointer to see them"
                .to_owned()
        })
    };
    let threads = |cycles: &Cycles| {
        let many = cycles.kernel_threads.iter().filter(|(_, beside)| **beside >= WORTH_SAYING);
        let each = listed(many.map(|(name, beside)| format!("{name} {}", percent(*beside))))?;
        Some(format!("kernel threads worked beside the server, {each} of its time"))
    };
    let futexes = |cycles: &Cycles| {
        let why = cycles.futex_calls_per_operation.clone().or_why().err()?;
        Some(format!("futex calls are not available here: {why}"))
    };
    let doubts = [with(&unreliable), with(&other)];
    let others = [with(&stripped), with(&callers), with(&loopback), with(&threads), with(&futexes)];
    (doubts.into_iter().flatten().collect(), others.into_iter().flatten().collect())
}

/// A row for each cell that was sampled, a column for each class that one of them has.
pub(super) fn section(cells: &[&Row]) -> Option<Section> {
    let sampled = sampled(cells);
    let classes: BTreeSet<Class> =
        sampled.iter().flat_map(|(_, cycles)| cycles.shares.keys().copied()).collect();
    let cells = || Column::words("cell", sampled.iter().map(|(cell, _)| title(cell)));
    type OfClasses = fn(&Cycles) -> &BTreeMap<Class, f64>;
    let of_classes = |of: OfClasses, words: fn(f64) -> String| {
        let column = |class: &Class| {
            let fields = sampled.iter().map(|(_, cycles)| of(cycles).get(class).copied());
            let fields = fields.map(|value| value.map(|value| (words(value), value)));
            Column::numbers(class.words(), "", fields.map(Option::unwrap_or_default))
        };
        classes.iter().map(column).collect::<Vec<_>>()
    };
    let samples = sampled.iter().map(|(_, cycles)| TableCell {
        is_bad: !cycles.doubts.is_empty(),
        ..(units::thousands(cycles.samples), cycles.samples as f64).into()
    });
    let threads: BTreeSet<&String> =
        sampled.iter().flat_map(|(_, cycles)| cycles.kernel_threads.keys()).collect();
    let threads = threads.into_iter().map(|thread| {
        let beside = sampled.iter().map(|(_, cycles)| {
            let beside = cycles.kernel_threads.get(thread);
            beside.map(|beside| (percent(*beside), *beside)).unwrap_or_default()
        });
        Column::numbers(&format!("besides: {thread}"), "", beside)
    });
    let futexes = sampled.iter().map(|(_, cycles)| {
        let each = cycles.futex_calls_per_operation.known();
        each.map(|each| (format!("{each:.3}"), *each)).unwrap_or_default()
    });
    let has_futexes = sampled.iter().any(|(_, of)| of.futex_calls_per_operation.known().is_some());
    let futexes = has_futexes.then(|| Column::numbers("futex calls per operation", "", futexes));
    let shares = of_classes(|cycles| &cycles.shares, percent).into_iter();
    let times =
        of_classes(|cycles| &cycles.ns_per_operation, |ns| Nanos(ns.round() as u64).to_string());
    let bytes = of_classes(|cycles| &cycles.ns_per_byte, |ns| format!("{ns:.3}"));
    let table = |title: &str, columns: Vec<Column>| Table {
        title: title.to_owned(),
        columns: std::iter::once(cells()).chain(columns).collect(),
        ..Table::default()
    };
    (!sampled.is_empty()).then(|| Section {
        title: "Where the CPU time goes",
        about: "Of the servers' processes, by class of work. Times are these shares of the CPU time \
                of the measured trials. Besides: kernel threads on the server's CPUs, as a share of the \
                server's own samples. Futex calls are those by which threads wait for each other or wake \
                each other.",
        tables: vec![
            table(
                "Shares",
                shares
                    .chain(threads)
                    .chain(futexes)
                    .chain([Column::numbers("samples", "", samples)])
                    .collect(),
            ),
            table("CPU time per operation", times),
            table("CPU time per byte, in ns", bytes),
        ],
    })
}
