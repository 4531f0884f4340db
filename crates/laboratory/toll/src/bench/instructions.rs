//! `toll bench instructions`: what single instructions cost, and the bounds that follow.

use std::sync::atomic::{AtomicBool, Ordering};

use answer::costs::Costs;
use answer::findings::{Column, Findings, Table};
use journal::primitive::BoundLine;
use primitives::CycleSource;
use primitives::instructions::{self, Bound, Cost, Timing};
use primitives::sampler::{Quality, Quartiles, TimedFigure};
use serde::Serialize;
use trial::SCHEMA;

use super::one_round;
use crate::{Exit, Failure, json};

/// The word that asks for it, in place of an algorithm's name.
pub(crate) const WORD: &str = "instructions";

const NOT_HERE: &str = "not available here: toll measures no instructions on this architecture.\n";

#[derive(Serialize)]
struct Json {
    cycles_source: CycleSource,
    interrupted: bool,
    instructions: Vec<InstructionRow>,
    bounds: Vec<Bound>,
}

#[derive(Serialize)]
struct InstructionRow {
    instruction: &'static str,
    #[serde(flatten)]
    outcome: InstructionOutcome,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InstructionOutcome {
    Measured { latency_cycles: Quartiles, throughput_cycles: Quartiles, quality: Quality },
    None { no_figure: String },
}

/// Measures and prints.
pub(crate) fn main(cpu: usize, is_json: bool, interrupted: &AtomicBool) -> Result<Exit, Failure> {
    let (costs, source) = instructions::measure(cpu, interrupted)?;
    let was_interrupted = interrupted.load(Ordering::Relaxed);
    let bounds = instructions::bounds(&costs);
    if is_json {
        let of = Json {
            cycles_source: source,
            interrupted: was_interrupted,
            instructions: costs.iter().map(line).collect(),
            bounds,
        };
        json::print(json::INSTRUCTIONS, &of)?;
    } else {
        match costs.is_empty() {
            true => crate::print(NOT_HERE),
            false => one_round::print(&findings(&costs, &bounds, source)),
        }
    }
    Ok(if was_interrupted { Exit::Interrupted } else { Exit::Done })
}

fn line(cost: &Cost) -> InstructionRow {
    let outcome = match &cost.measured {
        Ok(timing) => InstructionOutcome::Measured {
            latency_cycles: timing.latency.cycles,
            throughput_cycles: timing.throughput.cycles,
            quality: quality(cost),
        },
        Err(why) => InstructionOutcome::None { no_figure: why.to_string() },
    };
    InstructionRow { instruction: cost.instruction.name, outcome }
}

/// The worse of both figures'.
fn quality(cost: &Cost) -> Quality {
    match &cost.measured {
        Ok(timing) if timing.latency.quality == Quality::Quiet => timing.throughput.quality,
        Ok(timing) => timing.latency.quality,
        Err(_) => Quality::Unknown,
    }
}

/// What the instructions cost, and what follows.
fn findings(costs: &[Cost], bounds: &[Bound], source: CycleSource) -> Findings {
    let words = |name: &str, of: fn(&Cost) -> &str| {
        Column::words(name, costs.iter().map(|cost| of(cost).to_owned()))
    };
    let cycles = |name: &str, of: fn(&Timing) -> &TimedFigure| {
        let cell = |cost: &Cost| match &cost.measured {
            Ok(timing) => {
                let mark = if quality(cost) == Quality::Disturbed { "!" } else { "" };
                format!("{:.2}{mark}", of(timing).cycles.median)
            }
            Err(_) => "-".to_owned(),
        };
        Column::numbers(name, "core cycles", costs.iter().map(cell))
    };
    let is_disturbed = costs.iter().any(|cost| quality(cost) == Quality::Disturbed);
    let note = "! too few quiet samples: other work used the core, so the throughputs are too low";
    let table = Table {
        title: "Instructions".to_owned(),
        columns: vec![
            words("", |cost| cost.instruction.name),
            words("what it does", |cost| cost.instruction.purpose).yields_to(1),
            cycles("latency", |timing| &timing.latency),
            cycles("throughput", |timing| &timing.throughput),
        ],
        notes: is_disturbed.then(|| note.to_owned()).into_iter().collect(),
        ..Table::default()
    };
    let entries = bounds.iter().map(|bound| BoundLine {
        schema: SCHEMA,
        bound: bound.clone(),
        round: 0,
        order: 0,
    });
    let bounds = Costs::of_bounds(&entries.collect::<Vec<_>>()).bounds_table();
    let lacking = costs.iter().filter_map(|cost| {
        Some(format!("{}: {}.", cost.instruction.name, cost.measured.as_ref().err()?))
    });
    let source = format!("Core cycles are {}.", source.in_words());
    Findings {
        overview: vec![table, bounds],
        notes: std::iter::once(source).chain(lacking).collect(),
        ..Findings::default()
    }
}

#[cfg(test)]
mod tests {
    use primitives::instructions::Bounded;
    use support::{insta, json_names};

    use super::*;

    #[test]
    fn programs_get_these_names() {
        let cycles = Quartiles { low: 3.9, median: 4.0, high: 4.1 };
        let measured = InstructionOutcome::Measured {
            latency_cycles: cycles,
            throughput_cycles: cycles,
            quality: Quality::Quiet,
        };
        let none = InstructionOutcome::None { no_figure: "not available: no AVX2".to_owned() };
        let row = |outcome| InstructionRow { instruction: "AESENC", outcome };
        let bound =
            Bound { of: Bounded::Ctr, cycles_per_byte: 0.3, arithmetic: "10 rounds".to_owned() };
        let of = Json {
            cycles_source: CycleSource::MeasuredFrequency,
            interrupted: false,
            instructions: [measured, none].map(row).into(),
            bounds: vec![bound],
        };
        let found = serde_json::to_value(json::Versioned { schema: json::INSTRUCTIONS, of });
        insta::assert_snapshot!(json_names([&found.unwrap()], &[]));
    }
}
