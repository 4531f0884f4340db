//! A plan on the page of its run: the cores as a stacked bar, and what each choice saves, the most first.

use answer::Caveat;
use answer::analysis::Figure;
use answer::findings::{Bar, BarRow, Bars, Chart, Headline, Series, ShownAnswer};
use stats::Direction;
use units::Quantity;

use super::lever_outcome::{Levers, Saving};
use super::lever_words;
use super::outcome::PlanOutcome;
use super::phrases::{self, percent};
use super::words;

pub(super) fn shown(outcome: &PlanOutcome) -> ShownAnswer {
    let mut sentences = words::paragraphs(outcome).into_iter();
    // What keeps a plan from standing comes first.
    let doubts = sentences.by_ref().take(usize::from(!outcome.check.holds())).map(Caveat::from);
    let doubts = doubts.collect();
    let cores = phrases::cores(&outcome.plan.cores);
    ShownAnswer {
        title: "Cores for this traffic".to_owned(),
        headline: Some(Headline {
            value: phrases::number(outcome.plan.cores.median),
            unit: format!("cores at {} busy", percent(outcome.plan.busy)),
            sentence: format!("The traffic needs {cores}."),
            advice: lever_words::advice(outcome),
        }),
        charts: [Some(stack(outcome)), tornado(outcome)].into_iter().flatten().collect(),
        sentences: sentences.collect(),
        notes: words::calibration(outcome),
        doubts,
        ..ShownAnswer::default()
    }
}

fn stack(outcome: &PlanOutcome) -> Chart {
    let series = [Series::PrivateKey, Series::Tls, Series::Rest];
    let bar = |((name, samples), series): ((&str, Vec<f64>), Series)| {
        let figure = Figure::of(samples);
        Bar { name: name.to_owned(), series, figure, ..Bar::default() }
    };
    let bars_of_parts = outcome.plan.by_part().into_iter().zip(series).map(bar).collect();
    let label = format!("{}, {}", outcome.server_words(), outcome.certificate_key);
    let row = BarRow { label, bars: bars_of_parts, lacking: None };
    bars("Cores by what they do", true, vec![row], [outcome.plan.cores.median])
}

/// What is shown to save cores; `None` where nothing is.
fn tornado(outcome: &PlanOutcome) -> Option<Chart> {
    let sure = |levers| Levers::sure(levers, Direction::Above);
    let savings: Vec<&Saving> = outcome.levers.as_ref().map(sure)?.collect();
    let medians: Vec<f64> = savings.iter().map(|saving| saving.cores.median).collect();
    let row = |saving: &&Saving| {
        let bar = Bar { figure: Some(saving.cores.into()), ..Bar::default() };
        BarRow { label: saving.change.clone(), bars: vec![bar], lacking: None }
    };
    let rows: Vec<BarRow> = savings.iter().map(row).collect();
    (!rows.is_empty()).then(|| bars("Cores that a change saves", false, rows, medians))
}

fn bars(
    title: &str,
    is_stacked: bool,
    rows: Vec<BarRow>,
    values: impl IntoIterator<Item = f64>,
) -> Chart {
    Chart::Bars(Bars {
        title: title.to_owned(),
        axis: "cores".to_owned(),
        unit: Quantity::Cpus.unit_for(values),
        is_stacked,
        rows,
        ..Bars::default()
    })
}
