//! What `toll bench --json` prints: snake_case, units in the names.

use primitives::bench::Measurement;
use primitives::published;
use primitives::row::Measured;
use primitives::{Cache, CycleSource, Hardware, Row};
use serde::Serialize;

use super::figures::{Context, reference};

#[derive(Serialize)]
struct Bench<'a> {
    schema: u32,
    cycles_source: CycleSource,
    cache: Cache,
    threads: usize,
    hardware: Hardware,
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

/// A row with what follows from it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    row: &'a Row,
    #[serde(flatten)]
    more: Option<More>,
}

#[derive(Serialize)]
struct More {
    /// The median.
    ns_per_op: f64,
    gb_per_s: Option<f64>,
    published_cycles_per_byte: Option<published::Reference>,
}

/// The whole.
pub(crate) fn of<'a>(measurement: &'a Measurement, context: &Context<'a>) -> impl Serialize + 'a {
    let more = |row: &Row, measured: &Measured| More {
        ns_per_op: measured.ns_per_op(),
        gb_per_s: measured.bytes_per_s.map(|bytes| bytes / 1e9),
        published_cycles_per_byte: reference(row, measured),
    };
    let line = |row| Line { row, more: row.outcome.measured().map(|measured| more(row, measured)) };
    Bench {
        schema: 1,
        cycles_source: measurement.source,
        cache: context.cache,
        threads: context.threads,
        hardware: context.hardware,
        interrupted: measurement.interrupted,
        libraries: context
            .libraries
            .iter()
            .map(|library| Library {
                id: library.id(),
                title: library.title(),
                processor_features: library.processor_features(),
            })
            .collect(),
        rows: measurement.rows.iter().map(line).collect(),
    }
}
