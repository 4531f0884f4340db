//! A `[[case]]`: what it says by itself, what it sweeps, and the cells that this makes.

use std::collections::{BTreeMap, BTreeSet};

use cpus::CpuList;
use toml::de::DeTable;

use super::check::check;
use super::draft::{Draft, Origin, Reach};
use super::error::Flaw;
use super::fields::{Field, Fields, Source};
use super::find;
use super::keys::{KEYS, Key, Table};
use crate::study::{Cell, LoadClient, Only};

/// A study with more cells has a sweep too many.
pub(super) const MOST_CELLS: usize = 10_000;

/// A case, before its cells are made.
pub(super) struct Case {
    pub(super) name: String,
    /// Where it begins.
    pub(super) line: usize,
    pub(super) draft: Draft,
    pub(super) sweeps: Vec<Sweep>,
}

/// A key and the values that it takes.
pub(super) struct Sweep {
    pub(super) key: &'static Key,
    pub(super) values: Vec<Swept>,
    /// Those of the study as it is written, where a scale has other ones.
    pub(super) written: Vec<Swept>,
}

/// A value of a sweep.
#[derive(Clone)]
pub(super) struct Swept {
    /// In the form that stands for all its aliases.
    pub(super) text: String,
    line: usize,
}

const OWN_KEYS: [&str; 3] = ["name", "sweep", find::NAME];

impl Case {
    /// Reads a case; `shared` is what holds for all cases.
    pub(super) fn read(
        source: Source<'_>,
        line: usize,
        table: &DeTable<'_>,
        shared: &Draft,
    ) -> Result<Self, Flaw> {
        let fields = Fields::all(source, table, "");
        check_keys(&fields)?;
        let name = match fields.get("name") {
            Some(field) => name(field, "a case")?,
            None => return Err(Flaw::at(line, "a case has no name; write name = \"...\"")),
        };
        let part = format!("case {name}");
        Self::settings(source, &fields, shared)
            .map(|(draft, sweeps)| Self { name, line, draft, sweeps })
            .map_err(|flaw| flaw.within(&part, line))
    }

    fn settings(
        source: Source<'_>,
        fields: &Fields<'_>,
        shared: &Draft,
    ) -> Result<(Draft, Vec<Sweep>), Flaw> {
        let mut draft = shared.clone();
        for table in Table::ALL {
            if let Some(field) = fields.get(table.name()) {
                apply(source, field, table, &mut draft, Origin::case)?;
            }
        }
        if let Some(field) = fields.get(find::NAME) {
            draft.find.apply(source, field, Origin::case)?;
        }
        let sweeps = match fields.get("sweep") {
            Some(field) => sweeps(source, field, fields)?,
            None => Vec::new(),
        };
        check_cores(&draft, &sweeps)?;
        Ok((draft, sweeps))
    }

    /// How many cells there are; `None` where that cannot be counted.
    pub(super) fn size(&self) -> Option<usize> {
        self.sweeps.iter().try_fold(1usize, |size, sweep| size.checked_mul(sweep.values.len()))
    }

    /// The sweep of this key.
    pub(super) fn sweep(&self, key: &str) -> Option<&Sweep> {
        self.sweeps.iter().find(|sweep| sweep.key.full == key)
    }

    /// The names of the swept keys.
    pub(super) fn swept(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.sweeps.iter().map(|sweep| sweep.key.full)
    }

    /// All cells, the last swept key changing fastest, but for those with more cores than there are;
    /// and what was left out, in a clause.
    pub(super) fn cells(&self, allowed: &CpuList) -> Result<(Vec<Cell>, Option<String>), Flaw> {
        self.all_cells(allowed)
            .map_err(|flaw| flaw.within(&format!("case {}", self.name), self.line))
    }

    fn all_cells(&self, allowed: &CpuList) -> Result<(Vec<Cell>, Option<String>), Flaw> {
        let size = self.size().unwrap_or(usize::MAX);
        let mut cells = Vec::new();
        let mut lacking = BTreeSet::new();
        for index in 0..size {
            match self.cell(index, cells.len() + 1, allowed)? {
                Made::Cell(cell) => cells.push(*cell),
                Made::TooFewCpus { cores, there } => {
                    lacking.insert((cores, there));
                }
            }
        }
        if let Some((least, there)) = lacking.first().filter(|_| cells.is_empty()) {
            return Err(Flaw::lacking(format!(
                "the least that target.cores is swept over is {least}, and the server may have \
                 {there} CPU{}",
                if *there == 1 { "" } else { "s" }
            )));
        }
        let numbers: Vec<String> = lacking.iter().map(|(cores, _)| cores.to_string()).collect();
        let cut = lacking.first().map(|(_, there)| {
            format!(
                "case {}: target.cores = {} left out, for the server may have {there} CPU{} here",
                self.name,
                numbers.join(", "),
                if *there == 1 { "" } else { "s" }
            )
        });
        Ok((cells, cut))
    }

    fn cell(&self, index: usize, number: usize, allowed: &CpuList) -> Result<Made, Flaw> {
        let mut draft = self.draft.clone();
        let mut params = BTreeMap::new();
        let mut rest = index;
        for Sweep { key, values, .. } in self.sweeps.iter().rev() {
            let value = &values[rest % values.len()];
            rest /= values.len();
            let origin = Origin::sweep(value.line);
            key.set(&mut draft, &value.text, origin).map_err(|why| Flaw::at(value.line, why))?;
            params.insert(key.full.to_owned(), value.text.clone());
        }
        let pool = draft.pool(allowed)?;
        if let (Some(cores), Some(pool)) = (&draft.cores, &pool)
            && cores.origin.reach == Reach::Sweep
            && cores.value > pool.len()
        {
            return Ok(Made::TooFewCpus { cores: cores.value, there: pool.len() });
        }
        let (mut target, mut load) = draft.finish(pool.as_ref())?;
        let find = draft.find.finish(&draft, &mut load)?;
        // Not every program can be told what to offer. All clients of a sweep have the same server.
        if load.client != LoadClient::Toll || params.contains_key("load.client") {
            target.only = Only::of(&target.server, &load.protocol);
        }
        check(&draft, &target, &load, allowed)?;
        let name = format!("{}-{number:04}", self.name);
        let case = self.name.clone();
        Ok(Made::Cell(Box::new(Cell { case, name, params, target, load, find, pool })))
    }
}

/// What one combination of a sweep makes.
enum Made {
    Cell(Box<Cell>),
    TooFewCpus { cores: usize, there: usize },
}

/// Refuses sweeps that leave open which CPUs a number of cores is taken from.
fn check_cores(draft: &Draft, sweeps: &[Sweep]) -> Result<(), Flaw> {
    let swept = |name: &str| sweeps.iter().find(|sweep| sweep.key.full == name);
    if draft.cores.is_none() && swept("target.cores").is_none() {
        return Ok(());
    }
    for name in ["target.cpus", "load.cpus"] {
        if let Some(sweep) = swept(name) {
            let line = sweep.values.first().map_or(0, |value| value.line);
            return Err(Flaw::at(
                line,
                format!(
                    "{name} is swept beside target.cores, which takes its CPUs from there; leave one out"
                ),
            ));
        }
    }
    Ok(())
}

/// Puts all keys of a `[target]` or `[load]` table into a draft.
pub(super) fn apply(
    source: Source<'_>,
    field: &Field<'_>,
    table: Table,
    draft: &mut Draft,
    origin: fn(usize) -> Origin,
) -> Result<(), Flaw> {
    let fields = Fields::all(source, field.table()?, &format!("{}.", table.name()));
    let names: Vec<_> = table.keys().map(|key| key.name).collect();
    fields.check_known(&format!("a {}", table.name()), &names)?;
    for field in fields.iter() {
        if let Some(key) = table.keys().find(|key| key.name == field.key) {
            key.read(field, draft, origin(field.line))?;
        }
    }
    Ok(())
}

/// Refuses an unknown key, and suggests `load.duration` for `duration`.
fn check_keys(fields: &Fields<'_>) -> Result<(), Flaw> {
    let tables = Table::ALL.map(Table::name);
    let is_own = |key| OWN_KEYS.contains(&key) || tables.contains(&key);
    let Some(field) = fields.iter().find(|field| !is_own(field.key)) else { return Ok(()) };
    if KEYS.iter().any(|key| key.full == field.key) {
        return Err(field.flaw("stands in quotes, which make it another key; leave them out"));
    }
    let known: Vec<_> = OWN_KEYS.into_iter().chain(KEYS.iter().map(|key| key.full)).collect();
    Err(field.unknown("a case", &known))
}

/// The name of `what`: part of the names of cells and of file names.
pub(super) fn name(field: &Field<'_>, what: &str) -> Result<String, Flaw> {
    let text = field.text()?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match !text.is_empty() && text.chars().all(fits) {
        true => Ok(text.to_owned()),
        false => {
            Err(field
                .wrong(&format!("is no name of {what}; take small letters, digits and hyphens")))
        }
    }
}

fn sweeps(source: Source<'_>, field: &Field<'_>, case: &Fields<'_>) -> Result<Vec<Sweep>, Flaw> {
    Fields::all(source, field.table()?, "")
        .iter()
        .map(|field| {
            let sweep = sweep(field)?;
            match fixed(case, sweep.key) {
                false => Ok(sweep),
                true => {
                    Err(field.flaw("is swept, and written in the same case too; leave one out"))
                }
            }
        })
        .collect()
}

/// Whether a case says one value of this key.
fn fixed(case: &Fields<'_>, key: &Key) -> bool {
    let table = case.get(key.table.name()).and_then(|field| field.table().ok());
    table.is_some_and(|table| table.contains_key(key.name))
}

/// A key of `sweep` with its values.
pub(super) fn sweep(field: &Field<'_>) -> Result<Sweep, Flaw> {
    if let Some(table) = Table::ALL.into_iter().find(|table| table.name() == field.key) {
        return Err(Flaw::at(
            field.line,
            format!("sweep.{0} needs quotes; write sweep.\"{0}.KEY\" = [...]", table.name()),
        ));
    }
    let key = Key::swept(field.key).map_err(|why| field.flaw(&why))?;
    let mut values: Vec<Swept> = Vec::new();
    for value in field.values(key.full)? {
        let text = key.canonical(&value)?;
        if values.iter().any(|other| other.text == text) {
            return Err(value.wrong("stands in its sweep twice; leave one out"));
        }
        values.push(Swept { text, line: value.line });
    }
    match values.is_empty() {
        false => Ok(Sweep { key, written: values.clone(), values }),
        true => Err(field.flaw("is swept over no value; write at least one")),
    }
}
