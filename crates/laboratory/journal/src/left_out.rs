//! The lines of a journal that are not believed. They are left out and named: a journal is a file that
//! a disk may damage and that a person may edit.

use std::collections::BTreeMap;

/// Lines that were left out, by the reason: how many, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOutLines(BTreeMap<&'static str, (usize, String)>);

impl LeftOutLines {
    pub(crate) fn add_damaged(&mut self, which: String) {
        self.add("damaged", which);
    }

    pub(crate) fn add(&mut self, why: &'static str, which: String) {
        self.0.entry(why).or_insert((0, which)).0 += 1;
    }

    /// A sentence for each reason, without its full stop.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(why, (count, first))| match count {
            1 => format!("1 line is left out as {why}: {first}"),
            _ => format!("{count} lines are left out as {why}, the first: {first}"),
        })
    }
}
