//! A TOML table as a list of fields that know their place, in the order of the file, and how serde
//! reads them.

use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use toml::Spanned;
use toml::de::DeValue;

use super::error::Flaw;
use super::keys::Key;
use ::keys::nearest;

/// A file's text, for the places of what was found in it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    text: &'a str,
    /// Where each line begins.
    lines: &'a [usize],
}

/// A value, with what it is called and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    source: Source<'a>,
    /// The key of its table, where errors name it with that: `load` of `load.suite`, nothing of what stands at
    /// the top, in a `[[case]]` or in another table of a list.
    table: &'a str,
    /// The key, without its table.
    pub(super) key: &'a str,
    /// Whether it is one of the values of a list, which has that key.
    is_item: bool,
    /// Where it begins.
    at: usize,
    span: (usize, usize),
    pub(super) value: &'a DeValue<'a>,
}

/// Where the lines of a text begin.
pub(super) fn line_starts(text: &str) -> Vec<usize> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(ends.map(|(end, _)| end + 1)).collect()
}

impl<'a> Source<'a> {
    /// `lines` are the [`line_starts`] of the text.
    pub(super) fn new(text: &'a str, lines: &'a [usize]) -> Self {
        Self { text, lines }
    }

    pub(super) fn text(self) -> &'a str {
        self.text
    }

    /// Counted from 1.
    pub(super) fn line(self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    /// What is written there, cut where it is long.
    pub(super) fn written(self, (start, end): (usize, usize)) -> String {
        const LONGEST: usize = 40;
        let text = self.text.get(start..end).unwrap_or_default();
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_owned(),
        }
    }
}

impl<'a> Field<'a> {
    /// All that is written in a source.
    pub(super) fn alone(source: Source<'a>, value: &'a DeValue<'a>) -> Self {
        let span = (0, source.text.len());
        Self { source, table: "", key: "", is_item: false, at: 0, span, value }
    }

    /// The value as a type has it.
    pub(super) fn read<T: Deserialize<'a>>(self) -> Result<T, Flaw> {
        T::deserialize(self).map_err(|flaw| self.place(flaw))
    }

    /// The key with its table, as errors name it.
    pub(super) fn name(self) -> String {
        match self.table {
            "" => self.key.to_owned(),
            table => format!("{table}.{}", self.key),
        }
    }

    /// The same value under another name.
    pub(super) fn called(self, table: &'a str, key: &'a str) -> Self {
        Self { table, key, ..self }
    }

    /// Counted from 1.
    pub(super) fn line(self) -> usize {
        self.source.line(self.at)
    }

    /// What is written in the file.
    pub(super) fn written(self) -> String {
        self.source.written(self.span)
    }

    /// An error about this field; `what` follows its name.
    pub(super) fn flaw(self, what: &str) -> Flaw {
        Flaw::at(self.line(), format!("{} {what}", self.name()))
    }

    /// Refuses the first key of a table that is none of `known`, the keys of `what`. Where there may be a
    /// `[load]`, `load.duration` is suggested for `duration`.
    fn check_known(self, what: &str, known: &[&str]) -> Result<(), Flaw> {
        let Some(field) = self.iter().find(|field| !known.contains(&field.key)) else {
            return Ok(());
        };
        if Key::named(field.key).is_some() {
            let what = "is in quotes, which makes it another key; leave the quotes out";
            return Err(field.flaw(what));
        }
        let of_tables = Key::all().filter(|key| known.contains(&key.table.name()));
        let of_tables: Vec<String> = of_tables.map(|key| key.to_string()).collect();
        let near = nearest(field.key, known.iter().copied())
            .or_else(|| nearest(field.key, of_tables.iter().map(String::as_str)));
        let hint = match near {
            Some(near) => format!("; did you mean {near}?"),
            None => format!("; its keys are {}", known.join(", ")),
        };
        Err(field.flaw(&format!("is not a key of {what}{hint}")))
    }

    /// An error about the value; `what` follows it.
    pub(super) fn wrong(self, what: &str) -> Flaw {
        self.flaw(&format!("= {} {what}", self.written()))
    }

    pub(super) fn text(self) -> Result<&'a str, Flaw> {
        match self.value {
            DeValue::String(text) => Ok(text),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                let (key, written) = (self.name(), self.written());
                Err(self.wrong(&format!("lacks its quotes; write {key} = \"{written}\"")))
            }
            DeValue::Array(_) => Err(self.flaw(&format!(
                "is a list, where one value belongs; to try several values write sweep.\"{}\" = \
                 [...] in a case",
                self.name()
            ))),
            _ => Err(self.flaw("is not a string; write it in quotes")),
        }
    }

    /// A text that is not empty and has no line ends.
    pub(super) fn sentence(self) -> Result<&'a str, Flaw> {
        let text = self.text()?;
        match text.trim().is_empty() || text.chars().any(char::is_control) {
            false => Ok(text),
            true => Err(self.flaw("is to be one line of text, not empty")),
        }
    }

    /// A whole number from `least` to `most`.
    fn integer(self, least: u64, most: u64) -> Result<u64, Flaw> {
        let DeValue::Integer(integer) = self.value else {
            return Err(self.wrong("is not a whole number; write one such as 64, without quotes"));
        };
        match i128::from_str_radix(integer.as_str(), integer.radix()).map(u64::try_from) {
            Ok(Ok(number)) if (least..=most).contains(&number) => Ok(number),
            Ok(Ok(number)) if number > most => {
                Err(self.wrong(&format!("is too large; write a whole number, {most} at most")))
            }
            _ => {
                Err(self.wrong(&format!("is out of range; write a whole number, {least} or more")))
            }
        }
    }

    /// A table.
    pub(super) fn fields(self) -> Result<Self, Flaw> {
        match self.value {
            DeValue::Table(_) => Ok(self),
            _ => {
                Err(self
                    .flaw(&format!("is a table; write its keys as {}.KEY = VALUE", self.name())))
            }
        }
    }

    /// The value of a key of a table, without which there is nothing to read.
    pub(super) fn field(self, key: &'static str) -> Result<Self, Flaw> {
        self.get(key).ok_or_else(|| self.place(Flaw::missing_field(key)))
    }

    /// The value of a key of a table.
    pub(super) fn get(self, key: &str) -> Option<Self> {
        let DeValue::Table(table) = self.value else { return None };
        table.get_key_value(key).map(|(key, value)| self.entry(key, value))
    }

    /// The fields of a table in the order of the file.
    pub(super) fn iter(self) -> impl Iterator<Item = Self> {
        let table = if let DeValue::Table(table) = self.value { Some(table) } else { None };
        let entries = table.into_iter().flatten();
        let mut fields: Vec<_> = entries.map(|(key, value)| self.entry(key, value)).collect();
        fields.sort_by_key(|field| field.at);
        fields.into_iter()
    }

    fn entry(
        self,
        key: &'a Spanned<std::borrow::Cow<'a, str>>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Self {
        // What is swept has its table in its key.
        let has_names = self.is_item || !self.table.is_empty() || self.key == "sweep";
        Self {
            table: if has_names { "" } else { self.key },
            key: key.get_ref(),
            is_item: false,
            at: key.span().start,
            span: (value.span().start, value.span().end),
            value: value.get_ref(),
            ..self
        }
    }

    /// The tables of `[[key]]`.
    pub(super) fn tables(self, key: &str) -> Result<Vec<Self>, Flaw> {
        let tables = self.get(key).and_then(Self::elements).unwrap_or_default();
        tables.into_iter().map(Self::fields).collect()
    }

    /// How many values a list has; `None` where it is no list.
    pub(super) fn len(self) -> Option<usize> {
        match self.value {
            DeValue::Array(array) => Some(array.len()),
            _ => None,
        }
    }

    /// The values of a list, each under the list's name; `None` where it is no list.
    pub(super) fn elements(self) -> Option<Vec<Field<'a>>> {
        let DeValue::Array(array) = self.value else { return None };
        let field = |element: &'a Spanned<DeValue<'a>>| {
            let at = element.span().start;
            let span = (at, element.span().end);
            Self { at, span, value: element.get_ref(), is_item: true, ..self }
        };
        Some(array.iter().map(field).collect())
    }

    /// The values of a list, or the one that stands there without a list.
    pub(super) fn one_or_more(self) -> Vec<Field<'a>> {
        self.elements().unwrap_or_else(|| vec![self])
    }

    /// The values of a list.
    pub(super) fn values(self) -> Result<Vec<Field<'a>>, Flaw> {
        self.elements()
            .ok_or_else(|| self.flaw("is not a list; write the values to try between [ and ]"))
    }

    /// An error of a value's own type.
    fn place(self, flaw: Flaw) -> Flaw {
        match (self.key, self.value) {
            ("", _) => flaw,
            (_, DeValue::Table(_)) => flaw.or_at(self.line(), &self.title()),
            _ => flaw.or_at(self.line(), &self.name()),
        }
    }

    /// A table as a file writes it.
    fn title(self) -> String {
        match (self.key, self.is_item) {
            ("", _) => "a study".to_owned(),
            (key, true) => format!("[[{key}]]"),
            (_, false) => format!("[{}]", self.name()),
        }
    }
}

/// The values of a table or a list, in turn. Whatever is wrong with one has its place.
pub(super) struct Each<'a> {
    left: std::vec::IntoIter<Field<'a>>,
    /// Whose key was read.
    next: Option<Field<'a>>,
}

impl<'a> Each<'a> {
    pub(super) fn of(fields: impl IntoIterator<Item = Field<'a>>) -> Self {
        Self { left: fields.into_iter().collect::<Vec<_>>().into_iter(), next: None }
    }
}

impl<'de> MapAccess<'de> for Each<'de> {
    type Error = Flaw;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Flaw> {
        self.next = self.left.next();
        self.next.map(|field| seed.deserialize(field.key.into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Flaw> {
        let field = self.next.take().ok_or_else(|| Flaw::lacking("a value has no key"))?;
        seed.deserialize(field).map_err(|flaw| field.place(flaw))
    }
}

impl<'de> SeqAccess<'de> for Each<'de> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Flaw> {
        let read = |field: Field<'de>| seed.deserialize(field).map_err(|flaw| field.place(flaw));
        self.left.next().map(read).transpose()
    }
}

/// Errors give the field's name and line, and the value as it is written.
impl<'de> Deserializer<'de> for Field<'de> {
    type Error = Flaw;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match self.value {
            DeValue::Boolean(_) => self.deserialize_bool(visitor),
            DeValue::Integer(_) => self.deserialize_u64(visitor),
            DeValue::Array(_) => visitor.visit_seq(Each::of(self.values()?)),
            _ => self.deserialize_str(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match self.value {
            DeValue::String(text) => visitor.visit_str(text),
            // Its type says what is wrong with it as it is written, such as that it has no unit.
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                visitor.visit_str(&self.written())?;
                Err(self.text().err().unwrap_or_else(|| self.flaw("lacks its quotes")))
            }
            _ => Err(self.text().err().unwrap_or_else(|| self.flaw("is not a string"))),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match self.value {
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            DeValue::Array(_) | DeValue::Table(_) => {
                Err(self.flaw("is neither true nor false; write one of these"))
            }
            _ => Err(self.wrong("is neither true nor false; write one of these, without quotes")),
        }
    }

    /// A number that counts nothing, such as a seed.
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        visitor.visit_u64(self.integer(0, i64::MAX.unsigned_abs())?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        self.deserialize_u64(visitor)
    }

    /// All other numbers of study files are counts.
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        visitor.visit_u64(self.integer(1, u32::MAX.into())?)
    }

    /// A value that stands there without a list is a list of one.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match (self.value, self.one_or_more()) {
            (DeValue::Table(_), _) if !self.is_item => {
                let name = self.name();
                Err(self.flaw(&format!("is a list of tables; write [[{name}]] above each")))
            }
            (_, values) if values.is_empty() => {
                Err(self.flaw("is an empty list; write a value, or leave it out"))
            }
            (_, values) => visitor.visit_seq(Each::of(values)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        visitor.visit_enum(self.text()?.into_deserializer())
    }

    /// Refuses unknown keys, whatever the type does with them.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        self.fields()?.check_known(&self.title(), known)?;
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        visitor.visit_map(Each::of(self.fields()?.iter()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u128 f32 f64 char bytes byte_buf unit unit_struct tuple
        tuple_struct identifier
    }
}
