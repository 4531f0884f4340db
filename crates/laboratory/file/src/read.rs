//! The types of a study file, as serde derives them, from what is written at a place of it.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_path_to_error::Segment;
use toml::de::DeValue;

use super::error::Flaw;
use super::fields::Field;
use super::keys::StudyKey;
use ::keys::{did_you_mean, nearest};

/// What a type finds wrong with a value, wherever that stands.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub(super) enum Refusal {
    /// In the type's own words.
    Own(String),
    /// It is something else than this, in serde's words.
    Not(String),
    TooLarge,
    TooSmall,
    /// The table has other keys.
    Unknown(&'static [&'static str]),
    Missing(&'static str),
}

impl Error for Refusal {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::Own(why.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Not(expected.to_string())
    }

    fn invalid_value(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match given {
            Unexpected::Unsigned(0) | Unexpected::Signed(_) => Self::TooSmall,
            Unexpected::Unsigned(_) => Self::TooLarge,
            _ => Self::Not(expected.to_string()),
        }
    }

    fn unknown_variant(given: &str, known: &'static [&'static str]) -> Self {
        let hint = did_you_mean(given, "write one of:", known.iter().copied());
        Self::Own(format!("`{given}` is not a valid value{hint}"))
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> Self {
        Self::Unknown(known)
    }

    fn missing_field(key: &'static str) -> Self {
        Self::Missing(key)
    }
}

/// The table of these fields as a type has it.
pub(super) fn table<'a, T: DeserializeOwned>(
    fields: impl Iterator<Item = (&'a str, Field<'a>)>,
) -> Result<T, Flaw> {
    // In the order of the file, so that the first error is the first of its lines.
    let mut fields: Vec<_> = fields.collect();
    fields.sort_by_key(|(_, field)| field.span);
    read(MapDeserializer::new(fields.iter().copied()), |path| match path.split_first()? {
        (Segment::Map { key }, rest) => {
            fields.iter().find(|(name, _)| name == key).map(|(_, field)| field.at(rest))
        }
        _ => None,
    })
}

impl<'de> Deserializer<'de> for Field<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.value {
            DeValue::String(own) => visitor.visit_str(own),
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            DeValue::Integer(number) => {
                let number = i128::from_str_radix(number.as_str(), number.radix());
                let number = number.unwrap_or(i128::MAX);
                match (u64::try_from(number), i64::try_from(number)) {
                    (Ok(number), _) => visitor.visit_u64(number),
                    (_, Ok(number)) => visitor.visit_i64(number),
                    _ => visitor.visit_f64(f64::NAN),
                }
            }
            // What no key takes.
            DeValue::Float(_) | DeValue::Datetime(_) => visitor.visit_f64(f64::NAN),
            DeValue::Array(_) => {
                let values = self.elements().unwrap_or_default();
                visitor.visit_seq(SeqDeserializer::new(values.into_iter()))
            }
            DeValue::Table(_) => {
                let entries = self.iter().map(|field| (field.key, field));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        }
    }

    /// A value that stands without a list is a list of one.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.is_single() {
            true => visitor.visit_seq(SeqDeserializer::new(std::iter::once(self))),
            false => self.deserialize_any(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.read_text(|text| visitor.visit_str(text))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_str(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.read_text(|text| visitor.visit_enum(text.into_deserializer()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char bytes byte_buf unit unit_struct tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Refusal> for Field<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'a> Field<'a> {
    /// The value as a type has it.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<T, Flaw> {
        read(self, |path| Some(self.at(path)))
    }

    /// A text as it is read. A number or a flag is none; why it is refused as a text says more than that: it
    /// has no unit.
    fn read_text<T>(self, read: impl FnOnce(&str) -> Result<T, Refusal>) -> Result<T, Refusal> {
        if let DeValue::String(text) = self.value {
            return read(text);
        }
        match self.is_single().then(|| read(&self.written())) {
            Some(Err(why @ Refusal::Own(_))) => Err(why),
            _ => Err(Refusal::Not("a string".to_owned())),
        }
    }

    /// What stands at the end of a path from here, as far as it leads.
    fn at(self, path: &[&Segment]) -> Self {
        path.iter().fold(self, |field, segment| {
            let next = match segment {
                Segment::Map { key } => field.get(key),
                Segment::Seq { index } => field.elements().and_then(|all| all.get(*index).copied()),
                Segment::Enum { .. } | Segment::Unknown => None,
            };
            next.unwrap_or(field)
        })
    }

    /// Neither a list nor a table.
    fn is_single(self) -> bool {
        !matches!(self.value, DeValue::Array(_) | DeValue::Table(_))
    }

    /// Where there may be a `[load]`, `load.duration` is suggested for `duration`.
    fn unknown(self, table: Self, known: &[&str]) -> Flaw {
        if StudyKey::named(self.key).is_some() {
            return self.flaw("is in quotes, which makes it another key; leave the quotes out");
        }
        let of_tables = StudyKey::all().filter(|key| known.contains(&key.table.name()));
        let of_tables: Vec<String> = of_tables.map(|key| key.to_string()).collect();
        let near = nearest(self.key, known.iter().copied())
            .or_else(|| nearest(self.key, of_tables.iter().map(String::as_str)));
        let hint = match near {
            Some(near) => format!("did you mean {near}?"),
            None => format!("its keys are {}", known.join(", ")),
        };
        self.flaw(&format!("is not a key of {}; {hint}", table.title()))
    }

    /// It is none of what is expected.
    fn is_not(self, expected: &str) -> Flaw {
        match (expected, self.value) {
            ("a boolean", _) => {
                self.wrong("is neither true nor false; write one of these, without quotes")
            }
            ("a sequence", DeValue::Table(_)) => {
                let name = self.name();
                self.flaw(&format!("is a list of tables; write [[{name}]] above each"))
            }
            ("a map", _) => self.no_table(),
            _ if expected.starts_with("struct ") => self.no_table(),
            _ if ["u32", "u64", "size"].iter().any(|end| expected.ends_with(end)) => {
                self.wrong("is not a whole number; write one such as 64, without quotes")
            }
            _ => match self.text() {
                Err(flaw) => flaw,
                Ok(_) => self.wrong(&format!("is not {expected}")),
            },
        }
    }
}

/// Reads a type; `field` is what stands at a path of it.
fn read<'a, T: DeserializeOwned>(
    from: impl Deserializer<'static, Error = Refusal>,
    field: impl Fn(&[&Segment]) -> Option<Field<'a>>,
) -> Result<T, Flaw> {
    serde_path_to_error::deserialize(from).map_err(|error| {
        let path: Vec<&Segment> = error.path().iter().collect();
        let table = path.split_last().and_then(|(_, table)| field(table));
        let place = field(&path);
        error.into_inner().in_words(place, table)
    })
}

impl Refusal {
    /// At its place, which is in a table.
    fn in_words(self, place: Option<Field<'_>>, table: Option<Field<'_>>) -> Flaw {
        let Some(place) = place else {
            return match self {
                Self::Missing(key) => Flaw::missing(key),
                other => Flaw::lacking(other.to_string()),
            };
        };
        match self {
            Self::Own(why) => place.place(Flaw::lacking(why)),
            Self::Missing(key) => place.place(Flaw::missing(key)),
            Self::Unknown(known) => place.unknown(table.unwrap_or(place), known),
            Self::Not(expected) => place.is_not(&expected),
            Self::TooLarge => place.wrong("is too large; write less"),
            Self::TooSmall => place.wrong("is out of range; write a whole number, 1 or more"),
        }
    }
}
