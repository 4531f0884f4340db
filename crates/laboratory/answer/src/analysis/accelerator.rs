//! What offload to an accelerator of private keys costs, what it saves, and how much of the device's rate
//! was used.
//!
//! Inline, the device answers at once and is not waited for. So the cost of offload is the server's CPU
//! time per handshake with asynchronous offload less that inline, and the cost of the key is that without
//! an accelerator less that inline. Both are differences between trials of the same round.

use offload::Way;
use study::{Cell, Metric, Show};
use units::{Quantity, thousands};

use super::derived::Derived;
use super::point::Point;
use super::row::Row;
use super::row_figure::RowFigure;
use crate::figure::{Decided, Figure, difference};

/// All that follows for an answer about one.
pub(super) fn derived(point: &Point) -> Vec<Derived> {
    let shown = |show, of: fn(&Point) -> Vec<Derived>| match point.rule.shows(show) {
        true => of(point),
        false => Vec::new(),
    };
    [shown(Show::Offload, costs), shown(Show::DeviceUse, used)].concat()
}

/// The cell of a comparison whose server waits like this; `None` has no accelerator.
fn find(point: &Point, wanted: Option<Way>) -> Option<&Row> {
    let way = |cell: &Cell| cell.target.accelerator().map(|device| device.way);
    let mut rows = point.figures.iter().map(|entry| &*entry.row);
    rows.find(|row| row.cell().map(way) == Some(wanted))
}

fn costs(point: &Point) -> Vec<Derived> {
    let Some(inline) = find(point, Some(Way::Inline)) else { return Vec::new() };
    let mut derived = Vec::new();
    if let Some(asynchronous) = find(point, Some(Way::Asynchronous)) {
        let ratio = point.ratio(asynchronous, inline);
        let share = ratio.as_ref().and_then(Decided::added);
        derived.extend(cost("offload, asynchronous minus inline", [asynchronous, inline], share));
    }
    if let Some(software) = find(point, None) {
        let ratio = point.ratio(inline, software);
        let share = ratio.as_ref().and_then(Decided::taken);
        derived.extend(cost("the key, software minus inline", [software, inline], share));
    }
    if point.shared(|cell| cell.load.connections) == Some(1) {
        let others = point.figures.iter().filter(|of| !std::ptr::eq(&*of.row, inline));
        derived.extend(others.filter_map(|entry| later(point, entry, inline)));
    }
    derived
}

/// A difference of CPU time with its share, which has been decided: what is above 0 in a round has a share
/// above 0.
fn cost(name: &str, [one, other]: [&Row; 2], share: Option<Decided>) -> Vec<Derived> {
    let [one, other] = [one, other].map(|row| row.samples(Metric::ServerCpuPerOperation));
    let Some((share, figure)) = share.zip(difference(one, other)) else {
        return Vec::new();
    };
    let ns = Decided { figure, decision: share.decision };
    let difference = |what: &str, quantity, by| {
        Derived::difference(&format!("{what} of {name}"), String::new(), quantity, by)
    };
    vec![difference("server CPU", Quantity::Nanos, ns), difference("share", Quantity::Share, share)]
}

/// How much later a lone handshake ends than an inline one.
fn later(point: &Point, entry: &RowFigure, inline: &Row) -> Option<Derived> {
    let device = entry.row.cell()?.target.accelerator()?;
    let [latency, of_inline] = [&*entry.row, inline].map(|row| row.samples(Metric::P50));
    let later = difference(latency, of_inline)?;
    let name = format!("ends later than inline, at a latency of {}", device.latency.exact());
    Some(Derived::new(&name, point.with(entry), Quantity::Nanos, later))
}

/// What the server used of the rate that the device was set to.
fn used(point: &Point) -> Vec<Derived> {
    let of = |entry: &RowFigure| {
        let busy = entry.row.valid().map(|line| line.evidence()?.accelerator_busy);
        let busy = Figure::of(busy.collect::<Option<_>>()?)?;
        let name = format!("used of the model's set rate, {}", nominal(entry.row.cell()?)?);
        Some(Derived::new(&name, point.with(entry), Quantity::Share, busy))
    };
    point.figures.iter().filter_map(of).collect()
}

/// `40,000 RSA-2048 operations/s`, of all engines.
fn nominal(cell: &Cell) -> Option<String> {
    let device = cell.target.accelerator()?;
    let key = cell.target.certificate_key;
    let rate = u64::from(device.rates.of(key)?.get()) * device.engines.get() as u64;
    let key = key.words();
    Some(format!("{} {key} operations/s", thousands(rate)))
}
