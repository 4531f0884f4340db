//! `[[primitives]]`: tables of algorithms, libraries and sizes, measured without a server.

use std::fmt::Display;
use std::str::FromStr;

use cpus::CpuList;
use primitives::{Algorithm, Cache, Hardware, Unit, library};
use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use units::Bytes;

use super::draft::Draft;
use super::error::Flaw;
use super::fields::{Field, Fields, Source};
use ::keys::did_you_mean;
use study::CpuOrder;
use study::primitive::Table;

/// The name of the tables in study files.
pub(super) const NAME: &str = "primitives";

pub(super) const KEYS: [&str; 10] = [
    "name",
    "algorithms",
    "libraries",
    "sizes",
    "cache",
    "hardware",
    "threads",
    "cpus",
    "rounds",
    "samples",
];

/// What a scale can say of all tables.
const SCALED: [&str; 3] = ["sizes", "rounds", "samples"];

const LIBRARY: &str = "openssl";
const SIZES: [u64; 6] = [16, 256, 1 << 10, 8 << 10, 16 << 10, 64 << 10];
const ROUNDS: u32 = 3;
const MOST_ROUNDS: u64 = 1_000;
const SAMPLES: u16 = 10;
const MOST_SAMPLES: u64 = 10_000;
/// More would not fit the buffers of many messages at once.
const LARGEST: u64 = 16 << 20;
const MOST_THREADS: u64 = 1_024;
/// A study with more has a list too many.
const MOST_ROWS: usize = 10_000;

/// Reads all tables; `shared` has the CPUs of servers, which are theirs too where they say none.
pub(super) fn tables(
    source: Source<'_>,
    fields: &Fields<'_>,
    shared: &Draft<'_>,
    allowed: &CpuList,
) -> Result<Vec<Table>, Flaw> {
    let mut tables: Vec<Table> = Vec::new();
    let mut rows = 0usize;
    for (line, table) in super::tables(fields, NAME)? {
        let table = read(source, line, table, shared, allowed)?;
        if tables.iter().any(|other| other.name == table.name) {
            return Err(Flaw::at(
                line,
                format!("two tables of primitives are named {}; name one anew", table.name),
            ));
        }
        rows = rows.saturating_add(
            table.rows().saturating_mul(table.hardware.len()).saturating_mul(table.caches.len()),
        );
        if rows > MOST_ROWS {
            return Err(Flaw::at(
                line,
                format!(
                    "with primitives {} the study has more than {MOST_ROWS} rows of them; write \
                     fewer values",
                    table.name
                ),
            ));
        }
        tables.push(table);
    }
    Ok(tables)
}

fn read(
    source: Source<'_>,
    line: usize,
    table: &DeTable<'_>,
    shared: &Draft<'_>,
    allowed: &CpuList,
) -> Result<Table, Flaw> {
    let fields = Fields::all(source, table, "");
    fields.check_known("a table of primitives", &KEYS)?;
    let name = match fields.get("name") {
        Some(field) => super::case::name(field, "a table")?,
        None => {
            return Err(Flaw::at(line, "a table of primitives has no name; write name = \"...\""));
        }
    };
    settings(&fields, shared, allowed)
        .map(|table| Table { name: name.clone(), ..table })
        .map_err(|flaw| flaw.within(&format!("primitives {name}"), line))
}

/// All but the name.
fn settings(fields: &Fields<'_>, shared: &Draft<'_>, allowed: &CpuList) -> Result<Table, Flaw> {
    let Some(field) = fields.get("algorithms") else {
        return Err(Flaw::lacking("names no algorithms; write algorithms = [\"AES-128-GCM\"]"));
    };
    let algorithms = algorithms(field)?;
    let libraries = match fields.get("libraries") {
        Some(field) => list(field, library)?,
        None => vec![LIBRARY.to_owned()],
    };
    let caches = fields.get("cache").map_or(Ok(vec![Cache::Warm]), |field| list(field, parsed))?;
    let hardware =
        fields.get("hardware").map_or(Ok(vec![Hardware::All]), |field| list(field, parsed))?;
    let has_bytes = algorithms.iter().any(|algorithm| algorithm.unit() == Unit::Byte);
    let sizes = match fields.get("sizes") {
        Some(field) => sizes(field)?,
        None if has_bytes => SIZES.map(Bytes).to_vec(),
        None => Vec::new(),
    };
    if let Some(field) = fields.get("sizes").filter(|_| !has_bytes) {
        return Err(
            field.flaw("is of messages, and none of these algorithms goes over one; leave it out")
        );
    }
    Ok(Table {
        name: String::new(),
        algorithms,
        libraries,
        sizes,
        caches,
        hardware,
        cpus: cpus(fields, shared, allowed)?,
        rounds: fields.get("rounds").map_or(Ok(ROUNDS), rounds)?,
        samples: fields.get("samples").map_or(Ok(SAMPLES), samples)?,
    })
}

fn rounds(field: Field<'_>) -> Result<u32, Flaw> {
    let rounds = field.integer(1, MOST_ROUNDS)?;
    Ok(u32::try_from(rounds).unwrap_or(u32::MAX))
}

fn samples(field: Field<'_>) -> Result<u16, Flaw> {
    let samples = field.integer(1, MOST_SAMPLES)?;
    Ok(u16::try_from(samples).unwrap_or(u16::MAX))
}

/// Each algorithm once, in the order of toll's tables, whatever the words.
fn algorithms(field: Field<'_>) -> Result<Vec<Algorithm>, Flaw> {
    let mut chosen = Vec::new();
    for value in texts(field)? {
        let selected = Algorithm::select(value.text()?).map_err(|why| wrong(value, &why))?;
        chosen.extend(selected);
    }
    Ok(Algorithm::all().filter(|algorithm| chosen.contains(algorithm)).collect())
}

fn library(field: Field<'_>) -> Result<String, Flaw> {
    let name = field.text()?;
    if name.contains('/') && !name.starts_with('/') {
        return Err(field.wrong("is no absolute path; write one, or the name of a library"));
    }
    library::canonical(name).map_err(|why| wrong(field, &why))
}

fn parsed<T: FromStr<Err: Display>>(field: Field<'_>) -> Result<T, Flaw> {
    field.text()?.parse().map_err(|why| wrong(field, &why))
}

fn sizes(field: Field<'_>) -> Result<Vec<Bytes>, Flaw> {
    let mut sizes = list(field, size)?;
    sizes.sort_unstable_by_key(|size: &Bytes| size.0);
    Ok(sizes)
}

pub(super) fn size(field: Field<'_>) -> Result<Bytes, Flaw> {
    if matches!(field.value, DeValue::Integer(_) | DeValue::Float(_)) {
        let written = field.written();
        return Err(field.wrong(&format!("has no unit; write a size such as \"{written}KiB\"")));
    }
    let size: Bytes = field.text()?.parse().map_err(|why| wrong(field, &why))?;
    match size.0 {
        0 => Err(field.wrong("has no cost per byte; write 1B or more")),
        1..=LARGEST => Ok(size),
        _ => Err(field.wrong(&format!("is more than {}", Bytes(LARGEST)))),
    }
}

/// The CPUs that are written, or as many threads as are asked for on those of the servers.
fn cpus(fields: &Fields<'_>, shared: &Draft<'_>, allowed: &CpuList) -> Result<CpuList, Flaw> {
    let threads = fields.get("threads").map(|field| field.integer(1, MOST_THREADS)).transpose()?;
    let threads = threads.map(|threads| usize::try_from(threads).unwrap_or(usize::MAX));
    let of_servers = shared.target.field("cpus");
    let of_servers = of_servers.map(|field| Ok((CpuOrder::deserialize(field)?, field.line())));
    let (pool, line) = match (fields.get("cpus"), of_servers.transpose()?) {
        (Some(field), _) => (parsed::<CpuList>(field)?, Some(field.line())),
        (None, Some((order, line))) if threads.unwrap_or(1) <= order.len() => {
            (order.first(threads.unwrap_or(1)).unwrap_or_else(|| order.list()), Some(line))
        }
        _ => (allowed.clone(), None),
    };
    let at = |line: Option<usize>, what: String| match line {
        Some(line) => Flaw::at(line, what),
        None => Flaw::lacking(what),
    };
    if let Some(missing) = pool.without(allowed) {
        let first = missing.first(1);
        let what = format!(
            "cpus = {pool}: CPU {first} is not available to this process; it may use {allowed}"
        );
        return Err(at(line, what));
    }
    let has_own = fields.get("cpus").is_some();
    let wanted = threads.unwrap_or(if has_own { pool.len() } else { 1 });
    if wanted > pool.len() {
        let line = fields.get("threads").map(|field| field.line()).or(line);
        return Err(at(
            line,
            format!("threads = {wanted} need as many CPUs, and there are {}: {pool}", pool.len()),
        ));
    }
    Ok(pool.first(wanted))
}

/// The values of a list, or the one that stands there without one; none of them twice.
fn list<T: PartialEq>(
    field: Field<'_>,
    read: impl Fn(Field<'_>) -> Result<T, Flaw>,
) -> Result<Vec<T>, Flaw> {
    let mut values = Vec::new();
    for written in texts(field)? {
        let value = read(written)?;
        if values.contains(&value) {
            return Err(written.wrong("stands there twice; leave one out"));
        }
        values.push(value);
    }
    Ok(values)
}

/// The fields of a list that is not empty, or the one field that is no list.
fn texts(field: Field<'_>) -> Result<Vec<Field<'_>>, Flaw> {
    match field.elements() {
        Some(all) if all.len() > MOST_ROWS => {
            Err(field.flaw(&format!("has more than {MOST_ROWS} values; write fewer")))
        }
        Some(all) if all.is_empty() => {
            Err(field.flaw("is an empty list; write a value, or leave it out"))
        }
        Some(all) => Ok(all),
        None => Ok(vec![field]),
    }
}

fn wrong(field: Field<'_>, why: &impl Display) -> Flaw {
    Flaw::at(field.line(), format!("{}: {why}", field.name()))
}

/// What a scale says of all tables. What was changed is note.
pub(super) fn scale(
    source: Source<'_>,
    field: Field<'_>,
    tables: &mut [Table],
    note: &mut impl FnMut(String),
) -> Result<(), Flaw> {
    let fields = Fields::all(source, field.table()?, "primitives.");
    fields.check_known("the primitives of a scale", &SCALED)?;
    if tables.is_empty() {
        return Err(
            field.flaw("is of tables that this study does not have; leave it out of the scale")
        );
    }
    for table in tables {
        if let Some(field) = fields.get("rounds") {
            let rounds = rounds(field)?;
            note(format!("primitives.rounds = {rounds} instead of {}", table.rounds));
            table.rounds = rounds;
        }
        if let Some(field) = fields.get("samples") {
            let samples = samples(field)?;
            note(format!("primitives.samples = {samples} instead of {}", table.samples));
            table.samples = samples;
        }
        if let Some(field) = fields.get("sizes").filter(|_| !table.sizes.is_empty()) {
            let sizes = sizes(field)?;
            note(format!(
                "primitives.sizes = {} instead of {}",
                words(&sizes),
                words(&table.sizes)
            ));
            table.sizes = sizes;
        }
    }
    Ok(())
}

fn words(sizes: &[Bytes]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The table of this name, which an answer is about.
pub(super) fn named<'a>(field: Field<'_>, tables: &'a [Table]) -> Result<&'a Table, Flaw> {
    let text = field.text()?;
    tables.iter().find(|table| table.name == text).ok_or_else(|| {
        let hint = match tables.is_empty() {
            true => "; the study has none, write one with [[primitives]]".to_owned(),
            false => {
                did_you_mean(text, "there are:", tables.iter().map(|table| table.name.as_str()))
            }
        };
        field.wrong(&format!("is no table of primitives of this study{hint}"))
    })
}
