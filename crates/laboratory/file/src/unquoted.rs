//! A value of a key on the command line, where it has no quotes.

use toml::de::DeValue;

use super::fields::{Field, Source};
use super::keys::StudyKey;
use super::merged::canonical;

/// A value as a study file has it.
pub(super) struct Unquoted {
    /// As the file would write it: in quotes, or a number or a flag.
    pub(super) written: String,
    /// The text that stands for it and all its aliases.
    pub(super) canonical: String,
}

impl Unquoted {
    /// Reads a value of this key.
    ///
    /// # Errors
    /// A sentence: the key cannot have it.
    pub(super) fn read(key: StudyKey, value: &str) -> Result<Self, String> {
        let lines = [0];
        let source = Source::new(value, &lines);
        let canonical = |value: &DeValue<'_>| {
            canonical(key, Field::alone(source, value).called(key.table.name(), key.name))
        };
        match canonical(&DeValue::String(value.into())) {
            Ok(canonical) => Ok(Self { written: toml::Value::from(value).to_string(), canonical }),
            Err(flaw) => {
                let unquoted = DeValue::parse(value).ok();
                let unquoted = unquoted.and_then(|value| canonical(value.get_ref()).ok());
                let written = value.to_owned();
                unquoted.map(|canonical| Self { written, canonical }).ok_or(flaw.what)
            }
        }
    }
}
