//! A `[[case]]`: what it says by itself, what it sweeps, and the cells that this makes.

use ::keys::full;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use cpus::Topology;
use load::{Client, Counter};
use targets::{Target, ThreadsPerCore};

use super::check::check;
use super::draft::Draft;
use super::error::Flaw;
use super::fields::Field;
use super::keys::{KeyTable, StudyKey};
use super::merged::{Level, canonical};
use super::{find, ranks};
use study::{Cell, Cut, LostRows, Only, Params};

/// A study with more cells has a sweep too many.
pub(super) const MOST_CELLS: usize = 10_000;

/// A case, before its cells are made.
pub(super) struct Case<'a> {
    pub(super) name: String,
    /// Where it begins.
    pub(super) line: usize,
    pub(super) draft: Draft<'a>,
    pub(super) sweeps: Vec<Sweep<'a>>,
}

/// A key and the values that it takes.
pub(super) struct Sweep<'a> {
    pub(super) key: StudyKey,
    pub(super) values: Vec<Swept<'a>>,
    /// Those of the study as it is written, where a scale has other ones.
    pub(super) written: Vec<Swept<'a>>,
}

/// A value of a sweep.
#[derive(Clone)]
pub(super) struct Swept<'a> {
    /// In the form that stands for all its aliases.
    pub(super) text: String,
    field: Field<'a>,
}

impl<'a> Case<'a> {
    /// Reads a case; `shared` is what holds for all cases, which sweep `varied` too.
    pub(super) fn read(
        fields: Field<'a>,
        shared: &Draft<'a>,
        varied: &[Field<'a>],
    ) -> Result<Self, Flaw> {
        let line = fields.line();
        let name = name(fields.field("name")?, "a case")?;
        check_size(fields, &name, line)?;
        let part = format!("case {name}");
        Self::settings(fields, shared, varied)
            .map(|(draft, sweeps)| Self { name, line, draft, sweeps })
            .map_err(|flaw| flaw.within(&part, line))
    }

    fn settings(
        fields: Field<'a>,
        shared: &Draft<'a>,
        varied: &[Field<'a>],
    ) -> Result<(Draft<'a>, Vec<Sweep<'a>>), Flaw> {
        let mut draft = shared.clone();
        draft.apply(fields, Level::Case);
        let own = fields.get("sweep").into_iter().flat_map(Field::iter);
        // The last one that is varied changes most slowly.
        let sweeps = sweeps(varied.iter().rev().copied().chain(own), &draft)?;
        check_cores(&draft, &sweeps)?;
        Ok((draft, sweeps))
    }

    /// How many cells a study has with those of this case, if they are not too many.
    pub(super) fn size_with(&self, before: usize) -> Result<usize, Flaw> {
        let size = before.saturating_add(self.size());
        if size > MOST_CELLS { Err(too_many(&self.name, self.line)) } else { Ok(size) }
    }

    /// How many cells there are.
    fn size(&self) -> usize {
        self.sweeps.iter().map(|sweep| sweep.values.len()).fold(1, usize::saturating_mul)
    }

    /// The sweep of the key with this name.
    pub(super) fn sweep(&self, key: &str) -> Option<&Sweep<'a>> {
        let key = StudyKey::named(key)?;
        self.sweeps.iter().find(|sweep| sweep.key == key)
    }

    /// All cells, the last swept key changing fastest, but for those with more cores than there are;
    /// and what was left out, a clause for each number of threads per core.
    pub(super) fn cells(
        &self,
        machine: &Topology,
        ranks: &[ranks::WrittenRank],
    ) -> Result<(Vec<Cell>, Vec<Cut>), Flaw> {
        let mut cells = Vec::new();
        let mut lacking: BTreeMap<usize, BTreeMap<usize, TooFew>> = BTreeMap::new();
        for index in 0..self.size() {
            match self.cell(index, cells.len() + 1, machine, ranks)? {
                Ok(cell) => cells.push(cell),
                Err(few) => {
                    lacking.entry(few.threads).or_default().insert(few.cores, few);
                }
            }
        }
        let first = lacking.values().flat_map(|by_cores| by_cores.values()).next();
        if let Some(few) = first.filter(|_| cells.is_empty()) {
            return Err(Flaw::lacking(format!(
                "the least that is swept over is target.cores = {}, and {}",
                few.asked(&few.cores.to_string()),
                few.there()
            )));
        }
        let cut = lacking.values().filter_map(|by_cores| {
            let few = by_cores.values().next()?;
            let numbers: Vec<String> = by_cores.keys().map(ToString::to_string).collect();
            let what = format!(
                "case {}: target.cores = {} left out, for {} here",
                self.name,
                few.asked(&numbers.join(", ")),
                few.there()
            );
            let (key, case) = (full::CORES.to_owned(), Some(self.name.clone()));
            Some(Cut::new("fewer cores", what).losing(LostRows::ByKey { key, case }))
        });
        let cut = cut.collect();
        Ok((cells, cut))
    }

    /// The cell of one combination of the sweep.
    fn cell(
        &self,
        index: usize,
        number: usize,
        machine: &Topology,
        ranks: &[ranks::WrittenRank],
    ) -> Result<Result<Cell, TooFew>, Flaw> {
        let mut draft = self.draft.clone();
        let mut params = Params::default();
        let mut rest = index;
        for Sweep { key, values, .. } in self.sweeps.iter().rev() {
            let value = &values[rest % values.len()];
            rest /= values.len();
            draft.table_mut(key.table).put(key.name, value.field, Level::Sweep);
            params.set(&key.to_string(), &value.text);
        }
        let (mut target, mut load) = draft.resolve()?;
        let pool = draft.pool(&target, &load, machine)?;
        let threads = target.threads_per_core.take().map_or(1, ThreadsPerCore::count);
        if let (Some(cores), Some(pool)) = (target.cores.take().map(NonZeroUsize::get), &pool) {
            let is_swept = |key: &str| draft.target.level(key) == Level::Sweep;
            match pool.cores(cores, threads, machine) {
                Ok(cpus) => target = Target { cpus, ..target },
                Err(there) if is_swept("cores") || is_swept("threads-per-core") => {
                    return Ok(Err(TooFew { cores, threads, there }));
                }
                Err(there) => {
                    let what = format!(
                        "target.cores = {cores} is more than there are: {} ({pool})",
                        TooFew { cores, threads, there }.there()
                    );
                    return Err(draft.target.flaw("cores", what));
                }
            }
        }
        let find = find::finish(&draft, &mut load)?;
        ranks::settle(&draft, &target, &mut load, ranks)?;
        // Not every program can be told what to offer. All clients of a sweep have the same server.
        let only = match load.client != Client::Toll || params.contains_key(full::CLIENT) {
            true => Only::of(&target, &load),
            false => Only::default(),
        };
        let in_callgrind = load.counter() == Some(Counter::Callgrind);
        let only = Only { in_callgrind, ..only };
        check(&draft, &target, &load, machine.allowed())?;
        let name = format!("{}-{number:04}", self.name);
        let case = self.name.clone();
        Ok(Ok(Cell { case, name, params, target, only, load, find, pool }))
    }
}

/// More cores than there are, of those with as many threads.
struct TooFew {
    cores: usize,
    threads: usize,
    there: usize,
}

impl TooFew {
    /// Numbers of cores, and of the threads of each.
    fn asked(&self, numbers: &str) -> String {
        match self.threads {
            1 => numbers.to_owned(),
            threads => format!("{numbers} with target.threads-per-core = {threads}"),
        }
    }

    fn there(&self) -> String {
        let cores = units::counted(self.there as u64, "core");
        match self.threads {
            1 => format!("the server may have {cores}"),
            threads => format!("the server may have {cores} with {threads} CPUs"),
        }
    }
}

/// Refuses a case with too many cells before their values are read.
fn check_size(fields: Field<'_>, name: &str, line: usize) -> Result<(), Flaw> {
    let Some(field) = fields.get("sweep") else { return Ok(()) };
    let lengths = field.iter().map(|sweep| sweep.len().unwrap_or(1));
    let size = lengths.fold(1usize, usize::saturating_mul);
    if size > MOST_CELLS { Err(too_many(name, line)) } else { Ok(()) }
}

/// With the cells of the case of this name, a study has too many.
fn too_many(name: &str, line: usize) -> Flaw {
    let what =
        format!("with case {name} the study has more than {MOST_CELLS} cells; sweep fewer values");
    Flaw::at(line, what)
}

/// Refuses sweeps that leave open which CPUs a number of cores is taken from.
fn check_cores(draft: &Draft<'_>, sweeps: &[Sweep<'_>]) -> Result<(), Flaw> {
    let swept = |name: &str| sweeps.iter().find(|sweep| sweep.key.to_string() == name);
    if !draft.target.has("cores") && swept(full::CORES).is_none() {
        let threads = "threads-per-core";
        let lacks = "needs a number of cores; write target.cores too";
        return match (swept(full::THREADS_PER_CORE), draft.target.level(threads)) {
            (Some(sweep), _) => Err(sweep.values[0].field.flaw(lacks)),
            (None, Level::File) => Ok(()),
            (None, _) => Err(draft.target.flaw(threads, format!("target.{threads} {lacks}"))),
        };
    }
    for name in [full::CPUS, full::CLIENT_CPUS] {
        if let Some(value) = swept(name).and_then(|sweep| sweep.values.first()) {
            return Err(value.field.flaw(
                "is swept together with target.cores, which takes its CPUs from there; leave one out",
            ));
        }
    }
    Ok(())
}

/// The name of `what`: part of the names of cells and of file names.
pub(super) fn name(field: Field<'_>, what: &str) -> Result<String, Flaw> {
    let text = field.text()?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match !text.is_empty() && text.chars().all(fits) {
        true => Ok(text.to_owned()),
        false => Err(field.wrong(&format!(
            "is not a valid name for {what}; use small letters, digits and hyphens"
        ))),
    }
}

fn sweeps<'a>(
    fields: impl Iterator<Item = Field<'a>>,
    draft: &Draft<'a>,
) -> Result<Vec<Sweep<'a>>, Flaw> {
    let mut sweeps: Vec<Sweep<'a>> = Vec::new();
    for field in fields {
        let sweep = sweep(field)?;
        if sweeps.iter().any(|other| other.key == sweep.key) {
            return Err(field.flaw("is swept already; leave one out"));
        }
        if draft.table(sweep.key.table).level(sweep.key.name) != Level::File {
            return Err(field.flaw("is swept, and written in the same case too; leave one out"));
        }
        sweeps.push(sweep);
    }
    Ok(sweeps)
}

/// The keys of all `[[vary]]`.
pub(super) fn varied(fields: Field<'_>) -> Result<Vec<Field<'_>>, Flaw> {
    let varied = fields.tables("vary")?.into_iter().flat_map(Field::iter).map(|field| {
        match table_without_quotes(field) {
            Some(table) => Err(Flaw::at(
                field.line(),
                format!("{table} in [[vary]] needs quotes; write \"{table}.KEY\" = [...]"),
            )),
            None => Ok(field),
        }
    });
    varied.collect()
}

/// The table whose key was written without quotes, so that it is a table of a sweep.
fn table_without_quotes(field: Field<'_>) -> Option<&'static str> {
    KeyTable::SWEPT.into_iter().map(KeyTable::name).find(|name| *name == field.key)
}

/// A key of `sweep` or of `[[vary]]` with its values.
pub(super) fn sweep(field: Field<'_>) -> Result<Sweep<'_>, Flaw> {
    if let Some(table) = table_without_quotes(field) {
        let what = format!("sweep.{table} needs quotes; write sweep.\"{table}.KEY\" = [...]");
        return Err(Flaw::at(field.line(), what));
    }
    let key = StudyKey::swept(field.key).map_err(|why| field.flaw(&why))?;
    let mut texts = BTreeSet::new();
    let mut values: Vec<Swept<'_>> = Vec::new();
    for value in field.called(key.table.name(), key.name).values()? {
        let text = canonical(key, value)?;
        if !texts.insert(text.clone()) {
            return Err(value.wrong("is listed in its sweep twice; leave one out"));
        }
        values.push(Swept { text, field: value });
    }
    match values.is_empty() {
        false => Ok(Sweep { key, written: values.clone(), values }),
        true => Err(field.flaw("is swept over no value; write at least one")),
    }
}
