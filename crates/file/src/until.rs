//! `until`, which says when a run has measured enough.

use load::Percent;
use serde::Deserialize;
use study::Until;
use units::Nanos;

use super::error::Flaw;
use super::fields::Field;

const KEYS: [&str; 2] = ["interval", "at-most"];

pub(super) fn read(field: Field<'_>) -> Result<Until, Flaw> {
    let fields = field.fields("until.")?;
    fields.check_known("until", &KEYS)?;
    let [interval, at_most] = KEYS.map(|key| {
        let lacking = || field.flaw(&format!("lacks {key}; write {EXAMPLE}"));
        fields.get(key).ok_or_else(lacking)
    });
    let (interval, at_most) = (interval?, at_most?);
    let share = Percent::deserialize(interval)?;
    if share.get() == 0 {
        return Err(interval.wrong("is never reached; write 1% or more"));
    }
    Ok(Until { interval: share, at_most: Nanos::deserialize(at_most)? })
}

const EXAMPLE: &str = "until = { interval = \"5%\", at-most = \"3min\" }";
