//! Keys of a description: of a load (`[load]` in a study, the flags of `toll load`) or of a server
//! (`[target]`, the flags of `toll serve`). The structs themselves say what keys there are; this is
//! how their values are shown, and how two keys contradict each other.

mod did_you_mean;
pub mod full;
mod suggested;

use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{Error, IntoDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use did_you_mean::{did_you_mean, nearest};
pub use suggested::{Suggested, on_or_off};

/// Two keys that do not go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The key that decides.
    pub cause: &'static str,
    /// What it is or does, so that the other key does not fit: `is plain HTTP`.
    pub why: String,
    /// The key that does not fit.
    pub key: &'static str,
    /// When a study leaves the key out, and when it is refused.
    pub force: Force,
}

/// How much a conflict weighs in a study, where a key may stand nearer to a cell than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// The key has no use. It is left out where it holds for all cases, or is farther than its cause.
    Useless,
    /// The key says the opposite. It is left out where it is farther than its cause.
    Opposite,
    /// Both cannot be meant, wherever they stand.
    Contradiction,
}

/// A value that is wrong by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct WrongValue {
    /// Which key has it.
    pub key: &'static str,
    /// What is wrong, and what to do.
    pub why: String,
}

impl Conflict {
    /// In words; `named` gives a key with its value, as its user wrote it.
    pub fn sentence(&self, named: impl Fn(&'static str) -> String) -> String {
        let Self { cause, why, key, .. } = self;
        format!("{} {why}, which contradicts {}; leave one out", named(cause), named(key))
    }
}

/// A key of a description with its value, as a flag.
pub fn flag(description: &impl Serialize, key: &str) -> String {
    match values(description).into_iter().find(|(other, _)| other == key) {
        Some((_, value)) => format!("--{key} {value}"),
        None => format!("--{key} left open"),
    }
}

/// The keys of a description with their values, as study files have them; without those that are
/// left open.
pub fn values(description: &impl Serialize) -> Vec<(String, String)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(description) else { return Vec::new() };
    fields.into_iter().filter_map(|(key, value)| Some((key, text(value)?))).collect()
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        Value::Array(items) => {
            let items: Vec<String> = items.into_iter().filter_map(text).collect();
            Some(items.join(", "))
        }
        other => Some(other.to_string()),
    }
}

/// The names of a struct's fields, as it is read.
pub fn names<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    /// The known fields, which serde passes to the error about an unknown one.
    #[derive(Debug)]
    struct Known(&'static [&'static str]);

    impl fmt::Display for Known {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Ok(())
        }
    }

    impl std::error::Error for Known {}

    impl Error for Known {
        fn custom<T: fmt::Display>(_: T) -> Self {
            Self(&[])
        }

        fn unknown_field(_: &str, known: &'static [&'static str]) -> Self {
            Self(known)
        }
    }

    let unknown = std::iter::once(("", ""));
    let unknown = MapDeserializer::<_, Known>::new(unknown);
    T::deserialize(unknown.into_deserializer()).map_or_else(|known| known.0, |_| &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    struct Example {
        first_key: Option<u32>,
        other: bool,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        list: Vec<String>,
    }

    #[test]
    fn keys_are_the_names_of_fields_and_open_ones_have_no_value() {
        assert_eq!(names::<Example>(), ["first-key", "other", "list"]);
        let value = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(values(&Example::default()), [value("other", "false")]);
        let both =
            Example { first_key: Some(7), other: true, list: ["a", "b"].map(str::to_owned).into() };
        let list = value("list", "a, b");
        assert_eq!(values(&both), [value("first-key", "7"), list, value("other", "true")]);
    }

    #[test]
    fn a_conflict_names_both_keys_as_their_user_wrote_them() {
        let conflict = Conflict {
            cause: "other",
            why: "needs no number".to_owned(),
            key: "first-key",
            force: Force::Useless,
        };
        let sentence =
            conflict.sentence(|key| flag(&Example { other: true, ..Example::default() }, key));
        support::assert_golden!([("--other true", sentence)]);
    }
}
