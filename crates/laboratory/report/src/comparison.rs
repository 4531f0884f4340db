//! Two runs on a terminal: the answers, what else differs, and the cells.

mod page;

use answer::Mark;
use answer::analysis::{Figure, Invalid};
use answer::compare::{ComparedMetric, Comparison, Difference, PairedRow};
use answer::findings::{Column, Item, Listing};
use answer::wording::{NO_DIFFERENCE, grouped, interval, list, ratio_alone, ratio_interval};
use stats::{Decision, Direction, Estimate};
use study::Metric;
use units::thousands;

use crate::terminal::{Look, Page, Style};
use crate::text::on_one_line;

pub use page::comparison_html;

/// The comparison in lines of at most `width` columns, as far as its tables allow.
pub fn comparison(comparison: &Comparison, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    if let Some(machine) = comparison.other_machine() {
        page.paragraph("", &machine, Look::Warning);
    }
    for sentence in comparison.sentences() {
        page.paragraph("", sentence, Look::Bold);
    }
    differences(&mut page, comparison);
    for metric in &comparison.metrics {
        table(&mut page, metric);
    }
    let pairs = comparison.metrics.iter().flat_map(|metric| &metric.cells);
    let marks: Vec<Mark> = pairs.flat_map(|pair| [pair.mark_a, pair.mark_b]).flatten().collect();
    page.marks(&marks);
    if !comparison.metrics.is_empty() {
        page.blank();
        page.paragraph("", &about_intervals(comparison), Look::Dim);
    }
    if !comparison.only.is_empty() {
        page.heading("In one run only");
    }
    for only in &comparison.only {
        let label = format!("  {}, {}: ", only.run.to_uppercase(), on_one_line(&only.cell));
        page.paragraph(&label, &only.label, Look::Usual);
    }
    let invalid = |title, trials: &[Invalid]| Listing {
        title,
        about: "",
        items: trials.iter().map(Item::from).collect(),
    };
    page.listing(&invalid("Invalid trials of A, not used in any figure", &comparison.invalid_in_a));
    page.listing(&invalid("Invalid trials of B, not used in any figure", &comparison.invalid_in_b));
    page.text()
}

/// But for those that were named before the answers.
fn differences(page: &mut Page, comparison: &Comparison) {
    for words in alike_or_unknown(comparison) {
        page.paragraph("", &words, Look::Usual);
    }
    let mut others = comparison.differences.iter().filter(|of| !of.is_other_machine).peekable();
    if others.peek().is_some() {
        page.heading("What else differs");
    }
    for (what, sides) in others.map(in_words) {
        page.paragraph(&format!("  {what}: "), &sides, Look::Warning);
    }
}

/// That nothing differs, where that is so, and what is not known.
fn alike_or_unknown(comparison: &Comparison) -> Vec<String> {
    let unknown = match &comparison.not_compared[..] {
        [] => None,
        unknown => Some(format!("Not known, so not compared: {}.", list(unknown.iter().copied()))),
    };
    let alike = comparison.differences.is_empty().then(|| {
        let compared = match unknown {
            None => "Machine, servers, settings and what was negotiated are",
            Some(_) => "What is known of machine, settings and what was negotiated is",
        };
        format!("{compared} the same in both runs.")
    });
    alike.into_iter().chain(unknown).collect()
}

/// What differs, and how.
fn in_words(Difference { what, a, b, cells, .. }: &Difference) -> (String, String) {
    let cells = match cells {
        Some(1) => " (in 1 cell)".to_owned(),
        Some(n) => format!(" (in {} cells)", thousands(*n as u64)),
        None => String::new(),
    };
    (format!("{what}{cells}"), format!("{a} in A, {b} in B"))
}

fn table(page: &mut Page, metric: &ComparedMetric) {
    if metric.cells.is_empty() {
        return;
    }
    page.heading(metric.metric.row().words);
    let cells: Vec<&PairedRow> = metric.cells.iter().collect();
    let is_doubtful =
        |pair: &PairedRow| pair.ratio.is_none() || pair.mark_a.or(pair.mark_b).is_some();
    page.table(columns(metric.metric, &cells), |row| is_doubtful(cells[row]));
    for why in not_compared(&cells) {
        page.paragraph("  Not compared: ", &why, Look::Warning);
    }
}

/// Those of these cells that have no ratio, with the reason, a line for each reason.
pub(crate) fn not_compared(cells: &[&PairedRow]) -> Vec<String> {
    let refused = cells.iter().filter_map(|pair| Some((pair.why.clone()?, pair.label.clone())));
    let refused = grouped(refused).into_iter();
    refused.map(|(why, labels)| format!("{}: {why}.", list(labels))).collect()
}

/// These cells with both figures, their ratio, and what it shows.
pub(crate) fn columns(metric: Metric, cells: &[&PairedRow]) -> Vec<Column> {
    let figures = cells.iter().flat_map(|pair| [&pair.a, &pair.b]).flatten();
    let unit = metric.row().quantity.unit_for(figures.map(|figure| figure.estimate.median));
    let number = |figure: &Option<Figure>| match figure {
        Some(figure) => unit.number(figure.estimate.median),
        None => "none".to_owned(),
    };
    let ends = |figure: &Option<Figure>| {
        figure.as_ref().map(|figure| interval(figure, &unit)).unwrap_or_default()
    };
    let words =
        |of: &dyn Fn(&PairedRow) -> String| Column::words("", cells.iter().map(|pair| of(pair)));
    let numbers = |name: &str, unit: &str, yields_to, of: &dyn Fn(&PairedRow) -> String| {
        Column::numbers(name, unit, cells.iter().map(|pair| of(pair))).yields_to(yields_to)
    };
    vec![
        words(&|pair| format!("{}: {}", pair.case, pair.label)),
        numbers("A", unit.name, 0, &|pair| number(&pair.a)),
        words(&|pair| symbol(pair.mark_a)),
        numbers("interval", unit.name, 2, &|pair| ends(&pair.a)),
        numbers("B", unit.name, 0, &|pair| number(&pair.b)),
        words(&|pair| symbol(pair.mark_b)),
        numbers("interval", unit.name, 2, &|pair| ends(&pair.b)),
        numbers("B/A", "", 0, &|pair| pair.ratio.as_ref().map_or("none".to_owned(), ratio_alone)),
        numbers("interval", "", 1, &|pair| {
            pair.ratio.as_ref().map(ratio_interval).unwrap_or_default()
        }),
        words(&|pair| verdict(pair.verdict).to_owned()).yields_to(3),
    ]
}

fn symbol(mark: Option<Mark>) -> String {
    mark.map_or("", Mark::symbol).to_owned()
}

fn verdict(verdict: Option<Decision>) -> &'static str {
    match verdict {
        Some(Decision::Sure(Direction::Above)) => "above",
        Some(Decision::Sure(Direction::Below)) => "below",
        Some(Decision::NoDifference) => NO_DIFFERENCE,
        Some(Decision::TooFew) => "too few trials",
        None => "not compared",
    }
}

/// How sure the intervals are, at worst.
fn about_intervals(comparison: &Comparison) -> String {
    let pairs = comparison.metrics.iter().flat_map(|metric| &metric.cells);
    let ratios = pairs.filter_map(|pair| pair.ratio.as_ref());
    let coverages = ratios.map(|ratio| Estimate::from(ratio).interval.coverage);
    let worst = coverages.reduce(f64::min);
    let covers = match worst {
        Some(coverage) if coverage > 0.0 => {
            format!("covers the true ratio in {} of comparisons", units::percent(coverage))
        }
        _ => "is missing where a run has a single trial".to_owned(),
    };
    let drift = |of: fn(&ComparedMetric) -> f64| {
        units::percent(comparison.metrics.iter().map(of).fold(0.0, f64::max))
    };
    format!(
        "B/A is the ratio of the medians; its interval {covers}, if the trials are independent and those of \
         a cell scatter alike in both runs. It has room for what each run drifted from its first half to its \
         second, {} in A and {} in B at most. The runs were not measured side by side, so the ratio includes \
         everything else that changed between them, also on the machine.",
        drift(|metric| metric.drift_in_a),
        drift(|metric| metric.drift_in_b)
    )
}
