//! `[hosts]`, which says how other machines are reached.

use study::Hosts;

use super::error::Flaw;
use super::fields::{Field, Fields, Source};
use super::merged::Merged;

pub(super) fn read<'a>(source: Source<'a>, field: Field<'a>) -> Result<Hosts, Flaw> {
    let fields = Fields::all(source, field.table()?, "hosts.");
    Merged::table(&fields, "hosts", &["control", "shell"])?.read()
}
