//! Which levers a command line names.

use std::str::FromStr;

use capacity::{Kind, LEVERS};

/// Kinds of levers: some by their names, or all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kinds(Vec<Kind>);

/// The word for all of them, and for none but the file's own.
pub(super) const ALL: &str = "all";
pub(super) const OWN: &str = "own";

impl FromStr for Kinds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all: Vec<Kind> = LEVERS.iter().map(|lever| lever.kind).collect();
        all.dedup();
        match text {
            ALL => return Ok(Self(all)),
            OWN => return Ok(Self(Vec::new())),
            _ => {}
        }
        let kind = |name: &str| {
            let names = || all.iter().map(Kind::to_string).collect::<Vec<_>>().join(", ");
            let kind = name.trim().parse();
            kind.map_err(|_| format!("`{name}` is no lever; write some of {}, or {ALL}", names()))
        };
        text.split(',').map(kind).collect::<Result<_, _>>().map(Self)
    }
}

impl Kinds {
    pub(super) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, kind: Kind) -> bool {
        self.0.contains(&kind)
    }
}
