//! `toll bench instructions`: what single instructions cost, and the bounds that follow.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use primitives::CycleSource;
use primitives::instructions::{self, Bound, Cost, Timing};
use primitives::sampler::{Figure, Quality, Quartiles};
use report::{Column, table};
use serde::Serialize;

use super::bounds;
use super::figures::MARK;
use crate::{Failure, interrupt, screen};

/// The word that asks for it, in place of an algorithm's name.
pub(crate) const WORD: &str = "instructions";

#[derive(Serialize)]
struct Json {
    schema: u32,
    cycles_source: CycleSource,
    interrupted: bool,
    instructions: Vec<Line>,
    bounds: Vec<Bound>,
}

#[derive(Serialize)]
struct Line {
    instruction: &'static str,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Measured { latency_cycles: Quartiles, throughput_cycles: Quartiles, quality: Quality },
    None { no_figure: String },
}

/// Measures and prints.
pub(crate) fn main(cpu: usize, json: bool, interrupted: &AtomicBool) -> Result<ExitCode, Failure> {
    let (costs, source) = instructions::measure(cpu, interrupted)?;
    let was_interrupted = interrupted.load(Ordering::Relaxed);
    let bounds = instructions::bounds(&costs);
    if json {
        crate::print_json(&Json {
            schema: 1,
            cycles_source: source,
            interrupted: was_interrupted,
            instructions: costs.iter().map(line).collect(),
            bounds,
        })?;
    } else {
        crate::print(&in_words(&costs, &bounds, source));
    }
    Ok(if was_interrupted { ExitCode::from(interrupt::EXIT) } else { ExitCode::SUCCESS })
}

fn line(cost: &Cost) -> Line {
    let outcome = match &cost.measured {
        Ok(timing) => Outcome::Measured {
            latency_cycles: timing.latency.cycles,
            throughput_cycles: timing.throughput.cycles,
            quality: quality(cost),
        },
        Err(why) => Outcome::None { no_figure: why.to_string() },
    };
    Line { instruction: cost.instruction.name, outcome }
}

/// The worse of both figures'.
fn quality(cost: &Cost) -> Quality {
    match &cost.measured {
        Ok(timing) if timing.latency.quality == Quality::Quiet => timing.throughput.quality,
        Ok(timing) => timing.latency.quality,
        Err(_) => Quality::Unknown,
    }
}

fn mark(cost: &Cost) -> &'static str {
    if quality(cost) == Quality::Disturbed { MARK } else { "" }
}

fn in_words(costs: &[Cost], bounds: &[Bound], source: CycleSource) -> String {
    if costs.is_empty() {
        return "not available here: toll measures no instructions on this architecture.\n".into();
    }
    let mut text = String::new();
    if let Some(cbc) = bounds.first() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{} cannot cost less than {:.3} cycles/byte here: {}.\n",
            cbc.of, cbc.cycles_per_byte, cbc.arithmetic
        );
    }
    let words = |name: &str, of: fn(&Cost) -> &str| {
        Column::words(name, costs.iter().map(|cost| of(cost).to_owned()))
    };
    let cycles = |name: &str, of: fn(&Timing) -> &Figure| {
        let cell = |cost: &Cost| match &cost.measured {
            Ok(timing) => format!("{:.2}{}", of(timing).cycles.median, mark(cost)),
            Err(_) => "-".to_owned(),
        };
        Column::numbers(name, "", costs.iter().map(cell))
    };
    let (width, style) = (screen::width(), screen::style());
    let columns = vec![
        words("core cycles", |cost| cost.instruction.name),
        words("what it does", |cost| cost.instruction.purpose).gives_way(1),
        cycles("latency", |timing| &timing.latency),
        cycles("throughput", |timing| &timing.throughput),
    ];
    text += &table(columns, width, style);
    text += &bounds::table(bounds, None);
    let _ = writeln!(text, "Core cycles are {}.", source.in_words());
    for cost in costs {
        if let Err(why) = &cost.measured {
            let _ = writeln!(text, "{}: {why}.", cost.instruction.name);
        }
    }
    if costs.iter().any(|cost| quality(cost) == Quality::Disturbed) {
        let _ = writeln!(
            text,
            "{MARK}: too few quiet samples: other work used the core, so the throughputs are too \
             low."
        );
    }
    text
}
