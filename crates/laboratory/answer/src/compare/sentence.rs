//! What a comparison says, in a sentence.

use stats::{Decision, Direction, Estimate};

use super::pair::PairedRow;
use crate::wording::{NO_DIFFERENCE, ratio_in_short, times, times_of};
use study::Metric;

pub(super) fn of(metric: Metric, cells: &[PairedRow]) -> String {
    let measure = metric.row().words;
    let compared: Vec<(&PairedRow, Estimate)> =
        cells.iter().filter_map(|pair| Some((pair, pair.ratio.as_ref()?.into()))).collect();
    match compared[..] {
        [] => {
            let mut why: Vec<&str> = cells.iter().filter_map(|pair| pair.why.as_deref()).collect();
            why.dedup();
            let why = match why[..] {
                [] => "no cell has a figure in both runs".to_owned(),
                _ => why.join("; "),
            };
            format!("Nothing can be compared in {measure}: {why}.")
        }
        [(pair, ratio)] if cells.len() == 1 => {
            let times = times_of(ratio, "A", ["above A", "below A"]);
            let told = match pair.verdict {
                Some(Decision::Sure(_)) | None => String::new(),
                Some(Decision::NoDifference) => format!(", which is {NO_DIFFERENCE}"),
                Some(Decision::TooFew) => ", of too few trials to compare".to_owned(),
            };
            format!("B is {times} in {measure} ({}: {}){told}.", pair.case, pair.label)
        }
        _ => of_many(measure, cells.len(), &compared),
    }
}

fn of_many(measure: &str, all: usize, compared: &[(&PairedRow, Estimate)]) -> String {
    let of = |verdict: Decision| -> Vec<&(&PairedRow, Estimate)> {
        compared.iter().filter(|(pair, _)| pair.verdict == Some(verdict)).collect()
    };
    let part = |verdict, words: &str| {
        let cells = of(verdict);
        let ratios = || cells.iter().map(|(_, ratio)| *ratio);
        let least = ratios().reduce(|a, b| if b.median < a.median { b } else { a })?;
        let most = ratios().reduce(|a, b| if b.median > a.median { b } else { a })?;
        let range = match cells.len() {
            1 => ratio_in_short(least),
            _ => format!("{} to {}", ratio_in_short(least), ratio_in_short(most)),
        };
        Some(format!("{words} in {} ({range})", cells.len()))
    };
    let mut parts: Vec<String> = [
        part(Decision::Sure(Direction::Above), "B above A"),
        part(Decision::Sure(Direction::Below), "B below A"),
        part(Decision::NoDifference, NO_DIFFERENCE),
        part(Decision::TooFew, "too few trials"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if compared.len() < all {
        parts.push(format!("not compared in {}", all - compared.len()));
    }
    // The furthest from 1 is what a reader asks for next.
    let distance = |ratio: &Estimate| ratio.median.max(f64::MIN_POSITIVE).ln().abs();
    let shown = compared.iter().filter(|(pair, _)| pair.verdict.is_some_and(Decision::is_sure));
    let furthest = shown.max_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
    let furthest = furthest.map_or(String::new(), |(pair, ratio)| {
        format!(" Furthest: {}, {} ({}).", times(*ratio), pair.label, pair.case)
    });
    let parts = crate::wording::list(&parts);
    format!("In {measure}, of {all} cells: {parts}.{furthest}")
}
