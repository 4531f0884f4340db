//! The keys of a table, merged by levels: what holds for all cases, what a case says, what a sweep
//! says.

use std::collections::BTreeMap;

use ::keys::{Conflict, Force, WrongValue};
use load::Plan;
use serde::de::DeserializeOwned;
use targets::Target;

use super::error::Flaw;
use super::fields::Field;
use super::keys::{KeyTable, StudyKey};
use super::read;
use super::search_keys::SearchKeys;

/// The keys of a table, from all levels.
#[derive(Clone, Default)]
pub(super) struct Merged<'a>(BTreeMap<&'a str, WrittenKey<'a>>);

/// A value with its level.
#[derive(Clone, Copy)]
struct WrittenKey<'a> {
    field: Field<'a>,
    level: Level,
}

/// For how much a value was written. The later ones are nearer to a cell, and count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// For all cases, or by nobody.
    File,
    /// For all cells of a case.
    Case,
    /// For the cells of a case that have this value.
    Sweep,
}

/// The text that stands for this value of a key in cells and answers, whatever the alias that it is written as.
pub(super) fn canonical(key: StudyKey, field: Field<'_>) -> Result<String, Flaw> {
    let mut alone = Merged::default();
    alone.put(key.name, field, Level::File);
    let own = alone.values(key.table)?.into_iter().find(|(name, _)| name == key.name);
    own.map(|(_, value)| value).ok_or_else(|| field.flaw("has no value"))
}

impl<'a> Merged<'a> {
    /// Puts a value in the place of those of farther levels.
    pub(super) fn put(&mut self, name: &'a str, field: Field<'a>, level: Level) {
        self.0.insert(name, WrittenKey { field, level });
    }

    /// Puts all keys of a table into this.
    pub(super) fn apply(&mut self, field: Field<'a>, level: Level) {
        field.iter().for_each(|field| self.put(field.key, field, level));
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn field(&self, name: &str) -> Option<Field<'a>> {
        self.0.get(name).map(|written| written.field)
    }

    pub(super) fn level(&self, name: &str) -> Level {
        self.0.get(name).map_or(Level::File, |written| written.level)
    }

    pub(super) fn line(&self, name: &str) -> Option<usize> {
        self.field(name).map(Field::line)
    }

    /// The struct that these keys describe.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Flaw> {
        read::table(self.0.iter().map(|(name, written)| (*name, written.field)))
    }

    /// All keys of the table with their values, whether they are written or not; without those that are left open.
    pub(super) fn values(&self, table: KeyTable) -> Result<Vec<(String, String)>, Flaw> {
        Ok(match table {
            KeyTable::Target => ::keys::values(&self.read::<Target>()?),
            KeyTable::Load => ::keys::values(&self.read::<Plan>()?),
            KeyTable::Find => ::keys::values(&self.read::<SearchKeys>()?),
        })
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
    pub(super) fn resolved<T: DeserializeOwned + serde::Serialize>(
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
