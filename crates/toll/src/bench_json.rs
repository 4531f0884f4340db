//! What `toll bench --json` prints: snake_case, units in the names.

use primitives::bench::{Outcome, Row};
use primitives::published::{self, Published};
use primitives::sampler::{Quality, Quartiles};
use primitives::{Cache, CycleSource, Unit};
use serde::Serialize;

use crate::bench_table::Context;

#[derive(Serialize)]
struct Bench<'a> {
    schema: u32,
    cycles_source: CycleSource,
    cache: Cache,
    threads: usize,
    hardware: String,
    interrupted: bool,
    libraries: Vec<Library<'a>>,
    rows: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Library<'a> {
    id: &'a str,
    title: &'a str,
    /// What the library says that it uses of the processor.
    processor_features: Option<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    algorithm: &'a str,
    library: &'a str,
    size_bytes: Option<usize>,
    #[serde(flatten)]
    outcome: Outcomes<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcomes<'a> {
    Measured(Box<Figures<'a>>),
    None { no_figure: &'a str },
}

#[derive(Serialize)]
struct Figures<'a> {
    cycles_per_byte: Option<Quartiles>,
    cycles_per_op: Quartiles,
    /// The median.
    ns_per_op: f64,
    /// The core's frequency meanwhile: the median of the cycles over that of the times.
    core_hz: f64,
    ops_per_s: f64,
    gb_per_s: Option<f64>,
    messages_per_op: usize,
    samples: usize,
    dropped_shared: usize,
    dropped_unsteady: usize,
    quality: Quality,
    confirmed_by: &'a str,
    published_cycles_per_byte: Option<published::Reference>,
}

/// The whole as one line of JSON.
pub(crate) fn of(outcome: &Outcome, context: &Context<'_>) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Bench {
        schema: 1,
        cycles_source: outcome.source,
        cache: context.cache,
        threads: context.threads,
        hardware: context.hardware.to_string(),
        interrupted: outcome.interrupted,
        libraries: context
            .libraries
            .iter()
            .map(|library| Library {
                id: library.id(),
                title: library.title(),
                processor_features: library.processor_features(),
            })
            .collect(),
        rows: outcome.rows.iter().map(|row| line(row, context)).collect(),
    })
}

fn line<'a>(row: &'a Row, context: &Context<'a>) -> Line<'a> {
    let place = row.place;
    let outcome = match &row.outcome {
        Err(why) => Outcomes::None { no_figure: why },
        Ok(measured) => {
            let bytes = (place.algorithm.unit() == Unit::Byte).then_some(measured.message_bytes);
            let bytes = bytes.map(|bytes| bytes as f64);
            let figure = &measured.figure;
            Outcomes::Measured(Box::new(Figures {
                cycles_per_byte: bytes.map(|bytes| figure.cycles.per(bytes)),
                cycles_per_op: figure.cycles,
                ns_per_op: figure.nanos,
                core_hz: figure.cycles.median * 1e9 / figure.nanos,
                ops_per_s: measured.runs_per_s,
                gb_per_s: bytes.map(|bytes| measured.runs_per_s * bytes / 1e9),
                messages_per_op: measured.lanes,
                samples: figure.samples,
                dropped_shared: figure.dropped_shared,
                dropped_unsteady: figure.dropped_unsteady,
                quality: figure.quality,
                confirmed_by: &measured.confirmed_by,
                published_cycles_per_byte: reference(row, measured.lanes),
            }))
        }
    };
    Line {
        algorithm: place.algorithm.name(),
        library: context.libraries[place.library].id(),
        size_bytes: place.size,
        outcome,
    }
}

/// The published figure that belongs beside a row: of the same size, and of as many buffers.
pub(crate) fn reference(row: &Row, lanes: usize) -> Option<published::Reference> {
    let kind = if lanes > 1 { Published::ManyBuffers } else { Published::OneStream };
    let same_size = row.place.size == Some(published::SIZE);
    same_size.then(|| published::reference(row.place.algorithm, kind)).flatten()
}
