//! Two runs as a page: what changed, then for each metric their cells beside each other.

use answer::Caveat;
use answer::analysis::Invalid;
use answer::compare::{ComparedMetric, Comparison, PairedRow};
use answer::findings::{
    Bar, BarRow, Bars, Chart, Findings, Item, Listing, Series, ShownAnswer, Table,
};
use answer::wording::capitalized;
use units::Quantity;

use super::{about_intervals, alike_or_unknown, columns, in_words, not_compared};
use crate::page::{ReportError, html};
use crate::run::Run;

/// The comparison as one HTML file that needs nothing else; `names` are those of the two runs.
///
/// # Errors
/// The templates do not fit the data, which is a fault of toll.
pub fn comparison_html(comparison: &Comparison, names: [&str; 2]) -> Result<String, ReportError> {
    let only = |of: &answer::compare::OnlyInOne| Item {
        label: format!("{}, {}", of.run.to_uppercase(), of.cell),
        text: of.label.clone(),
        is_warning: false,
    };
    let invalid = |title, trials: &[Invalid]| Listing {
        title,
        about: "",
        items: trials.iter().map(Item::from).collect(),
    };
    let metrics = comparison.metrics.iter().filter(|metric| !metric.cells.is_empty()).map(metric);
    let findings = Findings {
        answers: [changes(comparison)].into_iter().chain(metrics).collect(),
        conclusions: Listing {
            title: "In one run only",
            about: "",
            items: comparison.only.iter().map(only).collect(),
        },
        method: vec![("How sure the ratios are", about_intervals(comparison))],
        rejected: vec![
            invalid("Invalid trials of A, not used in any figure", &comparison.invalid_in_a),
            invalid("Invalid trials of B, not used in any figure", &comparison.invalid_in_b),
        ],
        measured: vec![format!("A is {}, B is {}", names[0], names[1])],
        is_whole: true,
        ..Findings::default()
    };
    let title = format!("{} and {}", names[0], names[1]);
    html(&Run { study: "compare", ..Run::of(&title, &findings) })
}

fn changes(comparison: &Comparison) -> ShownAnswer {
    let differences = comparison.differences.iter().filter(|of| !of.is_other_machine);
    let differences = differences.map(in_words).map(|(what, sides)| format!("{what}: {sides}."));
    ShownAnswer {
        title: "What changed".to_owned(),
        doubts: comparison.other_machine().map(Caveat::from).into_iter().collect(),
        sentences: differences.chain(alike_or_unknown(comparison)).collect(),
        ..ShownAnswer::default()
    }
}

/// A bar of each run for each cell.
fn metric(of: &ComparedMetric) -> ShownAnswer {
    let row = of.metric.row();
    let cells: Vec<&PairedRow> = of.cells.iter().collect();
    let figures = cells.iter().flat_map(|pair| [&pair.a, &pair.b]).flatten();
    let unit = row.quantity.unit_for(figures.map(|figure| figure.median()));
    let bars = |pair: &&PairedRow| BarRow {
        label: format!("{}: {}", pair.case, pair.label),
        bars: [
            ("A", Series::Baseline, &pair.a, pair.mark_a),
            ("B", Series::Server, &pair.b, pair.mark_b),
        ]
        .map(|(name, series, figure, mark)| Bar {
            name: name.to_owned(),
            series,
            figure: figure.clone(),
            mark,
            ..Bar::default()
        })
        .to_vec(),
        lacking: None,
    };
    let words = capitalized(row.words);
    let axis = match row.quantity {
        Quantity::PerSecond => row.axis.to_owned(),
        _ => format!("{} {}", unit.name, row.axis),
    };
    let chart = Bars {
        title: words.clone(),
        subtitle: "A is the earlier run, B the later one".to_owned(),
        axis,
        unit,
        is_share: row.quantity == Quantity::Share,
        rows: cells.iter().map(bars).collect(),
        ..Bars::default()
    };
    ShownAnswer {
        title: words,
        sentences: vec![of.sentence.clone()],
        charts: vec![Chart::Bars(chart)],
        tables: vec![Table {
            columns: columns(of.metric, &cells),
            marks: cells.iter().map(|pair| pair.mark_a.or(pair.mark_b)).collect(),
            ..Table::default()
        }],
        notes: not_compared(&cells).into_iter().map(|why| format!("Not compared: {why}")).collect(),
        ..ShownAnswer::default()
    }
}
