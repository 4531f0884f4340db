//! `[[primitives]]`: tables of algorithms, libraries and sizes, measured without a server.

use std::str::FromStr;

use cpus::CpuList;
use primitives::{Algorithm, Cache, Hardware, Unit, UnknownAlgorithm, library};
use serde::Deserialize;
use serde_with::DeserializeFromStr;
use units::Bytes;

use super::draft::Draft;
use super::error::Flaw;
use super::fields::Field;
use super::up_to::UpTo;
use ::keys::did_you_mean;
use study::primitive::{AlgorithmTable, MessageSize, SIZE, SIZES};
use study::{CpuOrder, Cut, LostRows};

/// The name of the tables in study files.
pub(super) const NAME: &str = "primitives";

/// A `[[primitives]]` table.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PrimitiveKeys {
    /// Small letters, digits and hyphens. [default: an error]
    name: Option<String>,
    /// As in `toll bench`: `AES-128-GCM`, `"RSA-2048 sign"`, or kinds such as `gcm`, `rsa` (`toll bench
    /// --list` prints all). [default: an error]
    algorithms: Vec<Selected>,
    /// `openssl` (the system's), `aws-lc`, `ring`, `rustcrypto`, `rustls-ring`, `rustls-aws-lc`,
    /// `multibuffer`, `multibuffer-avx2` and so on, or the absolute path of a libcrypto. [default: `openssl`]
    libraries: Vec<LibraryName>,
    /// Of messages, 1 B to 16 MiB. [default: `16B`, `256B`, `1KiB`, `8KiB`, `16KiB`, `64KiB`]
    sizes: Vec<MessageSize>,
    /// Where the data lies: `warm`, `cold`. [default: `warm`]
    cache: Vec<Cache>,
    /// Features of the processor: `all`, `avx2`, `sse`, `none`. [default: `all`]
    hardware: Vec<Hardware>,
    /// How many CPUs work at the same time. [default: 1]
    threads: Option<UpTo<1_024>>,
    /// Which CPUs, a thread pinned to each. [default: the first of `target.cpus`]
    cpus: Option<CpuList>,
    /// How often the table is measured; [comparisons](figures.md#how-does-a-study-combine-trials) take 6 or
    /// more. [default: 3]
    rounds: UpTo<1_000>,
    /// Quiet samples of each figure in each round. [default: 10]
    samples: UpTo<10_000>,
}

/// What a scale says of all tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scaled {
    #[serde(default)]
    sizes: Vec<MessageSize>,
    rounds: Option<UpTo<1_000>>,
    samples: Option<UpTo<10_000>>,
}

impl Default for PrimitiveKeys {
    fn default() -> Self {
        Self {
            name: None,
            algorithms: Vec::new(),
            libraries: vec![LibraryName("openssl".to_owned())],
            sizes: Vec::new(),
            cache: vec![Cache::Warm],
            hardware: vec![Hardware::All],
            threads: None,
            cpus: None,
            rounds: UpTo(3),
            samples: UpTo(10),
        }
    }
}

/// The algorithms that a word means.
#[derive(DeserializeFromStr)]
struct Selected(Vec<Algorithm>);

/// Its canonical name, or an absolute path.
#[derive(PartialEq, DeserializeFromStr)]
struct LibraryName(String);

const EMPTY: &str = "is an empty list; write a value, or leave it out";
/// A study with more has a list too many.
const MOST_ROWS: usize = 10_000;

impl FromStr for Selected {
    type Err = UnknownAlgorithm;

    fn from_str(word: &str) -> Result<Self, UnknownAlgorithm> {
        Algorithm::select(word).map(Self)
    }
}

impl FromStr for LibraryName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name.contains('/') && !name.starts_with('/') {
            return Err(format!(
                "`{name}` is not an absolute path; write one, or the name of a library"
            ));
        }
        library::canonical(name).map(Self).map_err(|why| why.to_string())
    }
}

/// Reads all tables; `shared` has the CPUs of servers, which are theirs too where they say none.
pub(super) fn tables(
    fields: Field<'_>,
    shared: &Draft<'_>,
    allowed: &CpuList,
) -> Result<Vec<AlgorithmTable>, Flaw> {
    let mut tables: Vec<AlgorithmTable> = Vec::new();
    let mut rows = 0usize;
    for fields in fields.tables(NAME)? {
        let line = fields.line();
        let table = read(fields, shared, allowed)?;
        if tables.iter().any(|other| other.name == table.name) {
            return Err(Flaw::at(
                line,
                format!("two tables of primitives are named {}; rename one", table.name),
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

fn read(fields: Field<'_>, shared: &Draft<'_>, allowed: &CpuList) -> Result<AlgorithmTable, Flaw> {
    let name = super::case::name(fields.field("name")?, "a table")?;
    fields.field("algorithms")?;
    settings(fields, shared, allowed)
        .map(|table| AlgorithmTable { name: name.clone(), ..table })
        .map_err(|flaw| flaw.within(&format!("primitives {name}"), fields.line()))
}

/// All but the name.
fn settings(
    fields: Field<'_>,
    shared: &Draft<'_>,
    allowed: &CpuList,
) -> Result<AlgorithmTable, Flaw> {
    let written: PrimitiveKeys = fields.read()?;
    let cpus = cpus(fields, &written, shared, allowed)?;
    // Each once, in the order of toll's tables, whatever the words.
    let is_chosen = |algorithm: &Algorithm| {
        written.algorithms.iter().any(|selected| selected.0.contains(algorithm))
    };
    let algorithms: Vec<Algorithm> = Algorithm::all().filter(is_chosen).collect();
    if algorithms.is_empty() {
        return Err(fields.field("algorithms")?.flaw(EMPTY));
    }
    let has_bytes = algorithms.iter().any(|algorithm| algorithm.unit() == Unit::Byte);
    let sizes = match fields.get("sizes") {
        Some(field) if !has_bytes => {
            return Err(field.flaw(
                "has no effect, because none of these algorithms takes messages; leave it out",
            ));
        }
        Some(field) => sorted(unique(Some(field), written.sizes)?),
        None if has_bytes => SIZES.to_vec(),
        None => Vec::new(),
    };
    let libraries = unique(fields.get("libraries"), written.libraries)?;
    Ok(AlgorithmTable {
        name: String::new(),
        algorithms,
        libraries: libraries.into_iter().map(|library| library.0).collect(),
        sizes,
        caches: unique(fields.get("cache"), written.cache)?,
        hardware: unique(fields.get("hardware"), written.hardware)?,
        cpus,
        rounds: written.rounds.0,
        samples: u16::try_from(written.samples.0).unwrap_or(u16::MAX),
    })
}

fn sorted(sizes: Vec<MessageSize>) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> = sizes.into_iter().map(|size| size.0).collect();
    sizes.sort_unstable_by_key(|size| size.0);
    sizes
}

/// The values of a list, none of which may be there twice.
fn unique<T: PartialEq>(field: Option<Field<'_>>, values: Vec<T>) -> Result<Vec<T>, Flaw> {
    let Some(elements) = field.and_then(Field::elements) else { return Ok(values) };
    if let Some(field) = field.filter(|_| values.is_empty()) {
        return Err(field.flaw(EMPTY));
    }
    if let Some(field) = field.filter(|_| values.len() > MOST_ROWS) {
        return Err(field.flaw(&format!("has more than {MOST_ROWS} values; write fewer")));
    }
    match (1..values.len()).find(|&at| values[..at].contains(&values[at])) {
        Some(at) => Err(elements[at].wrong("is listed twice; leave one out")),
        None => Ok(values),
    }
}

/// The CPUs that are written, or as many threads as are asked for on those of the servers.
fn cpus(
    fields: Field<'_>,
    written: &PrimitiveKeys,
    shared: &Draft<'_>,
    allowed: &CpuList,
) -> Result<CpuList, Flaw> {
    let threads = written.threads.map(|UpTo(threads)| threads as usize);
    let of_servers = shared.target.field("cpus");
    let of_servers = of_servers.map(|field| Ok((field.read::<CpuOrder>()?, field.line())));
    let (pool, line) = match (&written.cpus, of_servers.transpose()?) {
        (Some(cpus), _) => (cpus.clone(), fields.get("cpus").map(Field::line)),
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
    let own = written.cpus.as_ref().map_or(1, CpuList::len);
    let wanted = threads.unwrap_or(own);
    if wanted > pool.len() {
        let line = fields.get("threads").map(Field::line).or(line);
        return Err(at(
            line,
            format!("threads = {wanted} need as many CPUs, and there are {}: {pool}", pool.len()),
        ));
    }
    Ok(pool.first(wanted))
}

/// Applies what a scale says of all tables. What was changed is noted.
pub(super) fn scale(
    field: Field<'_>,
    tables: &mut [AlgorithmTable],
    note: &mut impl FnMut(Cut),
) -> Result<(), Flaw> {
    let Scaled { sizes, rounds, samples } = field.read()?;
    if tables.is_empty() {
        return Err(field.flaw(
            "needs tables of primitives, and this study has none; leave it out of the scale",
        ));
    }
    let sizes = sorted(unique(field.get("sizes"), sizes)?);
    for table in tables {
        if let Some(UpTo(rounds)) = rounds.filter(|UpTo(rounds)| *rounds != table.rounds) {
            let what = format!("primitives.rounds = {rounds} instead of {}", table.rounds);
            note(Cut::of_key("rounds", what));
            table.rounds = rounds;
        }
        if let Some(UpTo(samples)) = samples {
            let what = format!("primitives.samples = {samples} instead of {}", table.samples);
            note(Cut::of_key("samples", what));
            table.samples = u16::try_from(samples).unwrap_or(u16::MAX);
        }
        if !sizes.is_empty() && !table.sizes.is_empty() {
            let what =
                format!("primitives.sizes = {} instead of {}", words(&sizes), words(&table.sizes));
            let lost = LostRows::ByKey { key: SIZE.to_owned(), case: None };
            note(Cut::of_key("sizes", what).losing(lost));
            table.sizes.clone_from(&sizes);
        }
    }
    Ok(())
}

fn words(sizes: &[Bytes]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The table of this name, which an answer is about.
pub(super) fn named<'a>(
    field: Field<'_>,
    tables: &'a [AlgorithmTable],
) -> Result<&'a AlgorithmTable, Flaw> {
    let text = field.text()?;
    tables.iter().find(|table| table.name == text).ok_or_else(|| {
        let hint = match tables.is_empty() {
            true => "; the study has none, write one with [[primitives]]".to_owned(),
            false => {
                did_you_mean(text, "there are:", tables.iter().map(|table| table.name.as_str()))
            }
        };
        field.wrong(&format!("is not a table of primitives of this study{hint}"))
    })
}
