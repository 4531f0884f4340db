//! `include = ["gcm-vs-cbc", ...]`: a study that consists of others.

use super::error::Flaw;
use super::fields::Field;

const INCLUDE: &str = "include";

/// The studies that are included, each once; a study that includes others measures nothing itself.
pub(super) fn check(fields: Field<'_>, measures: bool) -> Result<Vec<String>, Flaw> {
    let Some(field) = fields.get(INCLUDE) else { return Ok(Vec::new()) };
    if measures {
        return Err(field.flaw(
            "stands beside cases or primitives, and a study that includes others has none of its own; write these \
             into a file that is included",
        ));
    }
    let mut names: Vec<String> = Vec::new();
    for field in field.one_or_more() {
        let name = field.text()?.to_owned();
        if names.contains(&name) {
            return Err(field.wrong("is included twice; leave one out"));
        }
        names.push(name);
    }
    Ok(names)
}
