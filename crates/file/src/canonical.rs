//! One text for each value of a key, whatever the alias that it is written as.

use toml::de::DeValue;

use super::error::Flaw;
use super::fields::{Field, Source};
use super::keys::StudyKey;
use super::merged::Merged;

/// The text that stands for this value in cells and answers.
pub(super) fn canonical(key: StudyKey, field: Field<'_>) -> Result<String, Flaw> {
    let values = Merged::of(key.name, field).values(key.table)?;
    let own = values.into_iter().find(|(name, _)| name == key.name);
    own.map(|(_, value)| value).ok_or_else(|| field.flaw("has no value"))
}

/// The same for a value on the command line, which has no quotes.
pub(super) fn canonical_text(key: StudyKey, value: &str) -> Result<String, String> {
    let lines = [0];
    let source = Source::new(value, &lines);
    let read = |value: &DeValue<'_>| {
        canonical(key, Field::alone(source, value).called(key.table.name(), key.name))
    };
    read(&DeValue::String(value.into())).or_else(|flaw| {
        let unquoted = DeValue::parse(value).ok().map(|value| read(value.get_ref()));
        unquoted.and_then(Result::ok).ok_or_else(|| flaw.what())
    })
}
