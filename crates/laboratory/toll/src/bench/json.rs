//! What `toll bench --json` prints: snake_case, units in the names.

use answer::costs::{Costs, PublishedCost};
use primitives::row::Measured;
use primitives::{Cache, CycleSource, Hardware, Row};
use serde::Serialize;

use super::one_round::OneRound;

#[derive(Serialize)]
struct BenchJson<'a> {
    cycles_source: CycleSource,
    cache: Cache,
    threads: usize,
    hardware: Hardware,
    interrupted: bool,
    /// The release that toll ran on, where that is not this machine's own.
    system: Option<String>,
    libraries: Vec<LibraryVersion<'a>>,
    rows: Vec<JsonRow<'a>>,
}

#[derive(Serialize)]
struct LibraryVersion<'a> {
    id: &'a str,
    title: &'a str,
    /// What the library says that it uses of the processor.
    processor_features: Option<String>,
}

/// A row with what follows from it.
#[derive(Serialize)]
struct JsonRow<'a> {
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
    /// As `toll report --json` has it.
    published: Vec<PublishedCost>,
}

/// The whole.
pub(crate) fn of<'a>(round: &OneRound<'a>, costs: &Costs) -> impl Serialize + 'a {
    let published = |row: &Row| {
        let of = costs.rows.iter().find(|of| of.key == row.key);
        of.map_or(Vec::new(), |of| of.published.clone())
    };
    let more = |row: &Row, measured: &Measured| More {
        ns_per_op: measured.ns_per_op(),
        gb_per_s: measured.bytes_per_s.map(|bytes| bytes / 1e9),
        published: published(row),
    };
    let line =
        |row| JsonRow { row, more: row.outcome.measured().map(|measured| more(row, measured)) };
    BenchJson {
        cycles_source: round.measurement.source,
        cache: round.cache,
        threads: round.cpus.len(),
        hardware: round.hardware,
        interrupted: round.measurement.interrupted,
        system: round.system.clone(),
        libraries: round
            .libraries
            .iter()
            .map(|library| LibraryVersion {
                id: library.id(),
                title: library.title(),
                processor_features: library.processor_features(),
            })
            .collect(),
        rows: round.measurement.rows.iter().map(line).collect(),
    }
}
