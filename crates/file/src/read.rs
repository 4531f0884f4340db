//! The types of a study file, as serde derives them, from what is written at a place of it.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_path_to_error::Segment;
use toml::de::DeValue;

use super::error::Flaw;
use super::fields::Field;
use super::keys::StudyKey;
use ::keys::{did_you_mean, nearest};

/// What a type finds wrong with a value, wherever that stands.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
enum Refusal {
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
    let mut fields: Vec<_> = fields.collect();
    fields.sort_by_key(|(_, field)| field.span);
    let field = |path: &[&Segment]| match path.split_first()? {
        (Segment::Map { key }, rest) => {
            fields.iter().find(|(name, _)| name == key).map(|(_, field)| field.at(rest))
        }
        _ => None,
    };
    read(|taken| Content::Fields(fields.clone(), taken), field)
}

/// What a type is read from, in the order of the file, so that the first error is the first of its lines.
enum Content<'a, 't> {
    Value(Field<'a>, &'t Taken),
    /// A value that stands for a list of one.
    Alone(Field<'a>, &'t Taken),
    Fields(Vec<(&'a str, Field<'a>)>, &'t Taken),
}

impl<'a, 't> Content<'a, 't> {
    fn of(field: Field<'a>, taken: &'t Taken) -> Self {
        match taken.as_lists.contains(&field.span.0) {
            true => Self::Alone(field, taken),
            false => Self::Value(field, taken),
        }
    }
}

impl<'de> Deserializer<'de> for Content<'_, '_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let (field, taken) = match self {
            Self::Value(field, taken) => (field, taken),
            Self::Alone(field, taken) => {
                let values = std::iter::once(Self::Value(field, taken));
                return visitor.visit_seq(SeqDeserializer::new(values));
            }
            Self::Fields(fields, taken) => {
                let entry = |(key, field)| (key, Content::of(field, taken));
                return visitor.visit_map(MapDeserializer::new(fields.into_iter().map(entry)));
            }
        };
        match field.value {
            DeValue::String(own) => visitor.visit_str(own),
            _ if taken.as_text == Some(field.span.0) => visitor.visit_str(&field.written()),
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
                let values = field.elements().unwrap_or_default().into_iter();
                visitor.visit_seq(SeqDeserializer::new(values.map(|of| Self::of(of, taken))))
            }
            DeValue::Table(_) => {
                let entries = field.iter().map(|field| (field.key, Self::of(field, taken)));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        }
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

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let text = String::deserialize(self)?;
        visitor.visit_enum(IntoDeserializer::<Refusal>::into_deserializer(text))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Refusal> for Content<'_, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'a> Field<'a> {
    /// The value as a type has it.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<T, Flaw> {
        read(|taken| Content::of(self, taken), |path| Some(self.at(path)))
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
            (LIST, DeValue::Table(_)) => {
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

/// A list, as serde calls it.
const LIST: &str = "a sequence";

/// What is taken otherwise than it is written, by where it begins.
#[derive(Default)]
struct Taken {
    /// A number or a flag, as text.
    as_text: Option<usize>,
    /// Values that stand without a list, as lists of one.
    as_lists: Vec<usize>,
}

/// What is refused, where that stands, and in which table.
struct Refused<'a> {
    why: Refusal,
    place: Option<Field<'a>>,
    table: Option<Field<'a>>,
}

/// Reads a type; `field` is what stands at a path of the content.
fn read<'a, T: DeserializeOwned>(
    content: impl for<'t> Fn(&'t Taken) -> Content<'a, 't>,
    field: impl Fn(&[&Segment]) -> Option<Field<'a>>,
) -> Result<T, Flaw> {
    let attempt = |taken: &Taken| -> Result<T, Box<Refused<'a>>> {
        serde_path_to_error::deserialize(content(taken)).map_err(|error| {
            let path: Vec<&Segment> = error.path().iter().collect();
            let table = path.split_last().and_then(|(_, table)| field(table));
            let place = field(&path);
            Box::new(Refused { why: error.into_inner(), place, table })
        })
    };
    let mut taken = Taken::default();
    let refused = loop {
        let refused = match attempt(&taken) {
            Ok(value) => return Ok(value),
            Err(refused) => refused,
        };
        let single = refused.place.filter(|place| place.is_single());
        match (&refused.why, single.map(|place| place.span.0)) {
            (Refusal::Not(what), Some(at)) if what == LIST && !taken.as_lists.contains(&at) => {
                taken.as_lists.push(at);
            }
            (Refusal::Not(_), Some(at)) => {
                taken.as_text = Some(at);
                break match attempt(&taken) {
                    // Why it is refused as text says more: that it has no unit.
                    Err(other) if other.is_own_of(at) => other,
                    _ => refused,
                };
            }
            _ => break refused,
        }
    };
    Err(refused.in_words())
}

impl Refused<'_> {
    fn is_own_of(&self, at: usize) -> bool {
        matches!(self.why, Refusal::Own(_)) && self.place.is_some_and(|place| place.span.0 == at)
    }

    fn in_words(self) -> Flaw {
        let Some(place) = self.place else {
            return match self.why {
                Refusal::Missing(key) => Flaw::missing(key),
                other => Flaw::lacking(other.to_string()),
            };
        };
        match self.why {
            Refusal::Own(why) => place.place(Flaw::lacking(why)),
            Refusal::Missing(key) => place.place(Flaw::missing(key)),
            Refusal::Unknown(known) => place.unknown(self.table.unwrap_or(place), known),
            Refusal::Not(expected) => place.is_not(&expected),
            Refusal::TooLarge => place.wrong("is too large; write less"),
            Refusal::TooSmall => place.wrong("is out of range; write a whole number, 1 or more"),
        }
    }
}
