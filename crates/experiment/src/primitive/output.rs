//! What `toll bench --json` says, read back.

use primitives::sampler::{Quality, Quartiles};
use primitives::{Cache, CycleSource, Hardware};
use serde::Deserialize;

use super::run::Reading;
use journal::primitive::{BoundLine, Figure, Line, Outcome, Place, Role};
use study::primitive::Table;
use study::primitive::{Part, What};
use trial::SCHEMA;

#[derive(Deserialize)]
struct Bench {
    schema: u32,
    cycles_source: CycleSource,
    cache: Cache,
    threads: usize,
    hardware: Hardware,
    interrupted: bool,
    libraries: Vec<Library>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Library {
    id: String,
    title: String,
}

#[derive(Deserialize)]
struct Row {
    algorithm: String,
    library: String,
    size_bytes: Option<u64>,
    #[serde(flatten)]
    outcome: RowOutcome,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RowOutcome {
    Measured(Box<Measured>),
    None { no_figure: String },
}

#[derive(Deserialize)]
struct Measured {
    cycles_per_byte: Option<Quartiles>,
    cycles_per_op: Quartiles,
    core_hz: f64,
    ops_per_s: f64,
    messages_per_op: u64,
    samples: u64,
    dropped_shared: u64,
    dropped_unsteady: u64,
    quality: Quality,
    confirmed_by: String,
}

#[derive(Deserialize)]
struct Instructions {
    schema: u32,
    interrupted: bool,
    bounds: Vec<Bound>,
}

#[derive(Deserialize)]
struct Bound {
    of: String,
    cycles_per_byte: f64,
    arithmetic: String,
}

/// The form of the output that is read here.
const BENCH_SCHEMA: u32 = 1;

/// A table at one level of hardware and one place of the data.
type Combination<'a> = (&'a Table, Hardware, Cache);

/// What a part says of these libraries; `None` after an interrupt.
///
/// # Errors
/// It is no such output, or it is of something else than the part; in words.
pub(super) fn read(
    text: &[u8],
    part: &Part<'_>,
    libraries: &[&str],
    started_unix_ms: u64,
) -> Result<Option<Reading>, String> {
    match part.what {
        What::Bounds(_) => {
            let said: Instructions = parse(text)?;
            check_schema(said.schema)?;
            let line = |bound: Bound| BoundLine {
                schema: SCHEMA,
                role: Role::Bound,
                of: bound.of,
                cycles_per_byte: bound.cycles_per_byte,
                arithmetic: bound.arithmetic,
                round: part.round,
                order: 0,
            };
            let bounds = said.bounds.into_iter().map(line).collect();
            Ok((!said.interrupted).then_some(Reading { lines: Vec::new(), bounds }))
        }
        What::Table { table, hardware, cache } => {
            let said: Bench = parse(text)?;
            check_schema(said.schema)?;
            if said.interrupted {
                return Ok(None);
            }
            if (said.hardware, said.cache, said.threads) != (hardware, cache, table.cpus.len()) {
                return Err("it measured something other than requested".to_owned());
            }
            let mut lines = Vec::new();
            for (algorithm, library, size) in table.places() {
                // The library at this place of the request has this id: a path is its own.
                if !libraries.contains(&library) {
                    continue;
                }
                let row = said.rows.iter().find(|row| {
                    (row.algorithm.as_str(), row.library.as_str(), row.size_bytes)
                        == (algorithm.name(), library, size)
                });
                let row =
                    row.ok_or_else(|| format!("it does not report {algorithm}, {library}"))?;
                let title = said.libraries.iter().find(|known| known.id == library);
                lines.push(Line {
                    schema: SCHEMA,
                    role: Role::Primitive,
                    place: place((table, hardware, cache), &row.algorithm, library, size),
                    round: part.round,
                    order: 0,
                    started_unix_ms,
                    library_title: title.map_or(library, |known| &known.title).to_owned(),
                    cycles_source: said.cycles_source,
                    outcome: row.outcome.kept(size),
                });
            }
            Ok(Some(Reading { lines, bounds: Vec::new() }))
        }
    }
}

/// The lines of a library that is not here.
pub(super) fn not_here(
    part: &Part<'_>,
    library: &str,
    why: &str,
    started_unix_ms: u64,
) -> Vec<Line> {
    let What::Table { table, hardware, cache } = part.what else { return Vec::new() };
    let of_library = table.places().into_iter().filter(|(_, name, _)| *name == library);
    of_library
        .map(|(algorithm, library, size)| Line {
            schema: SCHEMA,
            role: Role::Primitive,
            place: place((table, hardware, cache), algorithm.name(), library, size),
            round: part.round,
            order: 0,
            started_unix_ms,
            library_title: library.to_owned(),
            cycles_source: CycleSource::MeasuredFrequency,
            outcome: Outcome::None { no_figure: format!("not available here: {why}") },
        })
        .collect()
}

fn place(of: Combination<'_>, algorithm: &str, library: &str, size_bytes: Option<u64>) -> Place {
    let (table, hardware, cache) = of;
    Place {
        table: table.name.clone(),
        algorithm: algorithm.to_owned(),
        library: library.to_owned(),
        size_bytes,
        hardware,
        cache,
        threads: table.cpus.len(),
    }
}

impl RowOutcome {
    fn kept(&self, size_bytes: Option<u64>) -> Outcome {
        let measured = match self {
            Self::None { no_figure } => return Outcome::None { no_figure: no_figure.clone() },
            Self::Measured(measured) => measured,
        };
        let bytes = size_bytes.map(|size| size as f64 * measured.messages_per_op as f64);
        Outcome::Measured(Box::new(Figure {
            cycles_per_byte: measured.cycles_per_byte,
            cycles_per_op: measured.cycles_per_op,
            core_hz: measured.core_hz,
            ops_per_s: measured.ops_per_s,
            bytes_per_s: bytes.map(|bytes| measured.ops_per_s * bytes),
            messages_per_op: measured.messages_per_op,
            samples: measured.samples,
            dropped_shared: measured.dropped_shared,
            dropped_unsteady: measured.dropped_unsteady,
            quality: measured.quality,
            confirmed_by: measured.confirmed_by.clone(),
        }))
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("its output cannot be read: {error}"))
}

fn check_schema(schema: u32) -> Result<(), String> {
    match schema {
        BENCH_SCHEMA => Ok(()),
        _ => Err(format!("its output has schema {schema}, not {BENCH_SCHEMA}")),
    }
}
