//! What toll prints for programs: one object, of a form that has a version. Its names and units are public. A
//! golden file has the names of each form; where one goes or means something else, its version grows.

use serde::Serialize;

use crate::Failure;

/// `toll report --json`.
pub(crate) const REPORT: u32 = 4;
/// The same of a study that includes others.
pub(crate) const REPORTS: u32 = 1;
/// `toll compare --json`.
pub(crate) const COMPARISON: u32 = 1;
/// `toll bench --json`.
pub(crate) const BENCH: u32 = 2;
/// `toll bench instructions --json`.
pub(crate) const INSTRUCTIONS: u32 = 1;
/// `toll plan --json` and `plan.json`.
pub(crate) const PLAN: u32 = 5;
/// `toll watch --json` and `bill.json`.
pub(crate) const WATCH: u32 = 2;
/// `toll check --json`, with `--apply`, `--restore` and `--like` too.
pub(crate) const CHECK: u32 = 1;
/// `toll run --list --json`.
pub(crate) const STUDIES: u32 = 1;

/// An output with the version of its form; lines of a journal have that of theirs.
#[derive(Serialize)]
pub(crate) struct Versioned<T> {
    pub(crate) schema: u32,
    #[serde(flatten)]
    pub(crate) of: T,
}

pub(crate) fn print(schema: u32, of: &impl Serialize) -> Result<(), Failure> {
    print_line(&Versioned { schema, of })
}

/// A line of a journal, or what stands beside one.
pub(crate) fn print_line(line: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(line).map_err(Failure::measurement)?;
    crate::print(&format!("{text}\n"));
    Ok(())
}
