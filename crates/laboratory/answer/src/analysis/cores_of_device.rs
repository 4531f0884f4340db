//! How many cores send what a device is said to encrypt.

use study::{PublishedUnit, Show};
use units::Quantity;

use super::derived::Derived;
use super::point::Point;
use super::row_figure::RowFigure;
use crate::figure::Figure;

const GIGA: f64 = 1e9;

/// For each cell.
pub(super) fn derived(point: &Point) -> Vec<Derived> {
    let is_shown = point.rule.shows(Show::PerDevice);
    let mut published = point.rule.published.iter().filter(|_| is_shown);
    let Some(published) = published.find(|of| of.unit == PublishedUnit::GbpsOfDevice) else {
        return Vec::new();
    };
    let name = format!("such cores send what {} had: {}", published.who, published.says);
    let cores = |(entry, sent): (&RowFigure, &Figure)| {
        let cores = sent.map(|per_core| published.low * GIGA / per_core)?;
        Some(Derived::new(&name, point.with(entry), Quantity::Cpus, cores))
    };
    point.measured().into_iter().filter_map(cores).collect()
}
