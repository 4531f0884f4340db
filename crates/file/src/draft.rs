//! A cell in the making: what is said of it, where, and how near to it.
//!
//! Each table is merged by levels: what holds for all cases, what a case says, what a sweep says. What
//! is said nowhere has the value of [`Target`]'s or [`Plan`]'s default.

use std::collections::BTreeMap;

use ::keys::{Conflict, Force, WrongValue};
use cpus::CpuList;
use load::Plan;
use serde::Deserialize;
use serde::de::value::MapDeserializer;
use targets::Target;

use super::error::Flaw;
use super::fields::{Field, Fields, Source};
use super::keys::{Key, Table};
use study::CpuOrder;

/// What is said of a cell.
#[derive(Clone)]
pub(super) struct Draft<'a> {
    pub(super) target: Merged<'a>,
    pub(super) load: Merged<'a>,
    /// What is searched for.
    pub(super) find: Merged<'a>,
    /// The line of the last `[find]`, where there is one.
    pub(super) find_line: Option<usize>,
    /// The CPUs of server and load, where a study names none.
    unsaid: (CpuList, CpuList),
}

/// The keys of a table, from all levels.
#[derive(Clone, Default)]
pub(super) struct Merged<'a>(BTreeMap<&'a str, Said<'a>>);

/// A value with its level.
#[derive(Clone, Copy)]
struct Said<'a> {
    field: Field<'a>,
    level: Level,
}

/// For how much a value was said. The later ones are nearer to a cell, and count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// For all cases, or by nobody.
    File,
    /// For all cells of a case.
    Case,
    /// For the cells of a case that have this value.
    Sweep,
}

impl<'a> Merged<'a> {
    /// One key alone.
    pub(super) fn of(name: &'a str, field: Field<'a>) -> Self {
        Self(BTreeMap::from([(name, Said { field, level: Level::File })]))
    }

    /// All keys of a table that stands alone; `what` has the keys `known`.
    pub(super) fn table(fields: &Fields<'a>, what: &str, known: &[&str]) -> Result<Self, Flaw> {
        fields.check_known(what, known)?;
        let said = |field: Field<'a>| (field.key, Said { field, level: Level::File });
        Ok(Self(fields.iter().map(said).collect()))
    }

    /// Puts a value in the place of those of farther levels.
    pub(super) fn put(&mut self, name: &'a str, field: Field<'a>, level: Level) {
        self.0.insert(name, Said { field, level });
    }

    /// Puts all keys of a table into this; `what` has the keys `known`.
    pub(super) fn apply(
        &mut self,
        source: Source<'a>,
        field: Field<'a>,
        (what, prefix, known): (&str, &'static str, &[&str]),
        level: Level,
    ) -> Result<(), Flaw> {
        let fields = Fields::all(source, field.table()?, prefix);
        fields.check_known(what, known)?;
        for field in fields.iter() {
            self.put(field.key, field, level);
        }
        Ok(())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn field(&self, name: &str) -> Option<Field<'a>> {
        self.0.get(name).map(|said| said.field)
    }

    pub(super) fn level(&self, name: &str) -> Level {
        self.0.get(name).map_or(Level::File, |said| said.level)
    }

    pub(super) fn line(&self, name: &str) -> Option<usize> {
        self.field(name).map(Field::line)
    }

    /// The struct that these keys describe.
    pub(super) fn read<T: Deserialize<'a>>(&self) -> Result<T, Flaw> {
        let fields = self.0.iter().map(|(name, said)| (*name, said.field));
        T::deserialize(MapDeserializer::new(fields))
    }

    /// An error about a key, which names its line.
    pub(super) fn flaw(&self, name: &str, what: impl Into<String>) -> Flaw {
        match self.line(name) {
            Some(line) => Flaw::at(line, what),
            None => Flaw::lacking(what),
        }
    }

    /// An error about a value.
    pub(super) fn wrong(&self, wrong: WrongValue) -> Flaw {
        self.flaw(wrong.key, wrong.why)
    }

    /// The struct without the keys that have no use in it.
    fn resolved<T: Deserialize<'a> + serde::Serialize>(
        &mut self,
        prefix: &str,
        conflicts: impl Fn(&T) -> Vec<Conflict>,
    ) -> Result<T, Flaw> {
        loop {
            let value: T = self.read()?;
            let mut conflicts = conflicts(&value);
            conflicts.retain(|conflict| self.has(conflict.key));
            let Some(first) = conflicts.first() else { return Ok(value) };
            let flaw = self.contradicted(prefix, first, &value);
            let before = self.0.len();
            for conflict in conflicts {
                let (level, cause) = (self.level(conflict.key), self.level(conflict.cause));
                let is_left_out = match conflict.force {
                    Force::Useless => level == Level::File || level < cause,
                    Force::Opposite => level < cause,
                    Force::Contradiction => false,
                };
                if is_left_out {
                    self.0.remove(conflict.key);
                }
            }
            if self.0.len() == before {
                return Err(flaw);
            }
        }
    }

    /// The error at the nearer one of two keys; of two that are as near, at the later one.
    fn contradicted(
        &self,
        prefix: &str,
        conflict: &Conflict,
        value: &impl serde::Serialize,
    ) -> Flaw {
        let place = |key: &str| (self.level(key), self.line(key));
        let at = std::cmp::max_by_key(conflict.cause, conflict.key, |key| place(key));
        let values = ::keys::values(value);
        let sentence = conflict.sentence(|key| {
            let value = values.iter().find(|(name, _)| name == key);
            let value = value.map_or("(left open)", |(_, value)| value);
            match self.line(key) {
                Some(line) if key != at => format!("{prefix}{key} = {value} (line {line})"),
                _ => format!("{prefix}{key} = {value}"),
            }
        });
        self.flaw(at, sentence)
    }
}

impl<'a> Draft<'a> {
    /// Of which nothing is said.
    pub(super) fn new(allowed: &CpuList) -> Self {
        let first = allowed.first(1);
        let second = allowed.without(&first).map_or_else(|| first.clone(), |rest| rest.first(1));
        Self {
            target: Merged::default(),
            load: Merged::default(),
            find: Merged::default(),
            find_line: None,
            unsaid: (first, second),
        }
    }

    pub(super) fn table(&mut self, table: Table) -> &mut Merged<'a> {
        match table {
            Table::Target => &mut self.target,
            Table::Load => &mut self.load,
        }
    }

    /// Puts all keys of a `[target]` or `[load]` table into this.
    pub(super) fn apply(
        &mut self,
        source: Source<'a>,
        field: Field<'a>,
        table: Table,
        level: Level,
    ) -> Result<(), Flaw> {
        let keys = (&*format!("a {}", table.name()), table.prefix(), table.names());
        self.table(table).apply(source, field, keys, level)
    }

    /// Puts all keys of a `[find]` table into this.
    pub(super) fn apply_find(
        &mut self,
        source: Source<'a>,
        field: Field<'a>,
        level: Level,
    ) -> Result<(), Flaw> {
        self.find.apply(source, field, ("a find", "find.", super::find::names()), level)?;
        self.find_line = Some(field.line());
        Ok(())
    }

    /// Refuses values that are none of their keys'.
    pub(super) fn check(&self) -> Result<(), Flaw> {
        self.target.read::<Target>()?;
        self.load.read::<Plan>().map(drop)
    }

    /// The value of a key as it stands, or the one that holds where it is not said.
    pub(super) fn shown(&self, key: Key) -> Result<Option<String>, Flaw> {
        let values = match key.table {
            Table::Target => ::keys::values(&self.with_target_cpus(self.target.read()?)),
            Table::Load => {
                ::keys::values(&self.with_load_cpus(self.load.read::<Plan>()?.settled()))
            }
        };
        Ok(values.into_iter().find(|(name, _)| name == key.name).map(|(_, value)| value))
    }

    fn with_target_cpus(&self, target: Target) -> Target {
        match self.target.has("cpus") {
            true => target,
            false => Target { cpus: self.unsaid.0.clone(), ..target },
        }
    }

    fn with_load_cpus(&self, plan: Plan) -> Plan {
        match self.load.has("cpus") {
            true => plan,
            false => Plan { cpus: self.unsaid.1.clone(), ..plan },
        }
    }

    /// The server and the load that this describes. What has no use in them is left out of this.
    pub(super) fn resolve(&mut self) -> Result<(Target, Plan), Flaw> {
        if !self.target.has("server") {
            return Err(Flaw::lacking("target.server is not given; write it"));
        }
        let target = self.target.resolved("target.", Target::conflicts)?;
        target.check().map_err(|wrong| self.target.wrong(wrong))?;
        let plan = self.load.resolved("load.", Plan::conflicts)?;
        Ok((self.with_target_cpus(target), self.with_load_cpus(plan.settled())))
    }

    /// The CPUs that a server may have which is given a number of cores: those that are written, or
    /// else all that this process may use, without the client's where there are others.
    pub(super) fn pool(
        &self,
        target: &Target,
        plan: &Plan,
        allowed: &CpuList,
    ) -> Result<Option<CpuOrder>, Flaw> {
        if target.cores.is_none() || target.server.program().is_none() {
            return Ok(None);
        }
        if let Some(field) = self.target.field("cpus") {
            return CpuOrder::deserialize(field).map(Some);
        }
        let others = allowed.without(&plan.cpus).unwrap_or_else(|| allowed.clone());
        Ok(Some(CpuOrder::spread(&others, &plan.cpus, observe::cpu_place)))
    }
}
