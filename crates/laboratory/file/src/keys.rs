//! The keys of targets and loads, which are the fields of [`Target`] and [`Plan`].

use load::Plan;
use targets::Target;

use super::search_keys::SearchKeys;
use ::keys::did_you_mean;
use study::Cell;

/// A key of a target or a load. It is swept with its table, and cells name it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
#[display("{}.{name}", table.name())]
pub(super) struct StudyKey {
    pub(super) table: KeyTable,
    /// Without its table.
    pub(super) name: &'static str,
}

/// A table whose keys are merged for each cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyTable {
    Target,
    Load,
    /// What is searched for; its keys are not swept.
    Find,
}

/// The one key that says how a study is run, and not what is measured.
const NOT_SWEPT: &str = "target.if-missing";

impl KeyTable {
    pub(super) const ALL: [Self; 3] = [Self::Target, Self::Load, Self::Find];
    pub(super) const SWEPT: [Self; 2] = [Self::Target, Self::Load];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Load => "load",
            Self::Find => "find",
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Target => ::keys::names::<Target>(),
            Self::Load => ::keys::names::<Plan>(),
            Self::Find => ::keys::names::<SearchKeys>(),
        }
    }
}

impl StudyKey {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let keys = |table: KeyTable| table.names().iter().map(move |name| Self { table, name });
        KeyTable::SWEPT.into_iter().flat_map(keys)
    }

    /// The key with this name, `load.suite`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (table, name) = name.split_once('.')?;
        Self::all().find(|key| key.table.name() == table && key.name == name)
    }

    /// The key that a study sweeps by this name.
    ///
    /// # Errors
    /// A sentence that follows the name.
    pub(super) fn swept(name: &str) -> Result<Self, String> {
        match Self::named(name) {
            _ if name == NOT_SWEPT => Err("cannot be swept; write it once".to_owned()),
            Some(key) => Ok(key),
            None => {
                let names: Vec<String> = Self::all().map(|key| key.to_string()).collect();
                let names = names.iter().map(String::as_str).filter(|name| *name != NOT_SWEPT);
                Err(format!("cannot be swept{}", did_you_mean(name, "swept are", names)))
            }
        }
    }

    /// The value that a cell has; `None` where it is left open.
    pub(super) fn of(self, cell: &Cell) -> Option<String> {
        let full = self.to_string();
        cell.params.get(&full).map(ToString::to_string).or_else(|| {
            cell.settings().into_iter().find(|(key, _)| *key == full).map(|(_, value)| value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_that_code_speaks_of_are_there() {
        for name in ::keys::full::ALL {
            assert!(StudyKey::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn keys_are_the_fields_of_targets_and_loads() {
        let all: Vec<String> = StudyKey::all().map(|key| key.to_string()).collect();
        for name in ["target.server", "target.i-operate-this-host", "load.cpus", "load.insecure"] {
            assert!(all.iter().any(|key| key == name), "{name}");
        }
        for key in StudyKey::all() {
            let name = key.to_string();
            assert_eq!(StudyKey::named(&name), Some(key));
            assert_eq!(StudyKey::swept(&name).is_ok(), name != NOT_SWEPT);
        }
    }
}
