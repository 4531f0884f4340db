//! A TOML table as a list of fields that know their line, in the order of the file.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::error::Flaw;
use super::suggest::did_you_mean;

/// A file's text, for the places of what was found in it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a>(pub(super) &'a str);

/// A value, with what it is called and where it stands.
pub(super) struct Field<'a> {
    source: Source<'a>,
    /// The key, without its table.
    pub(super) key: &'a str,
    /// The key with its table, as errors name it.
    pub(super) name: String,
    /// Counted from 1.
    pub(super) line: usize,
    span: Range<usize>,
    pub(super) value: &'a DeValue<'a>,
}

/// All fields of a table.
pub(super) struct Fields<'a>(Vec<Field<'a>>);

impl Source<'_> {
    pub(super) fn line(self, offset: usize) -> usize {
        let before = &self.0.as_bytes()[..offset.min(self.0.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// What is written there, cut where it is long.
    pub(super) fn written(self, span: &Range<usize>) -> String {
        const LONGEST: usize = 40;
        let text = self.0.get(span.clone()).unwrap_or_default();
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_owned(),
        }
    }
}

impl<'a> Fields<'a> {
    /// All fields of `table`, whose names begin with `prefix`.
    pub(super) fn all(source: Source<'a>, table: &'a DeTable<'a>, prefix: &str) -> Self {
        let mut fields: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                let position = key.span().start;
                let field = Field {
                    source,
                    key: key.get_ref(),
                    name: format!("{prefix}{}", key.get_ref()),
                    line: source.line(position),
                    span: value.span(),
                    value: value.get_ref(),
                };
                (position, field)
            })
            .collect();
        fields.sort_by_key(|(position, _)| *position);
        Self(fields.into_iter().map(|(_, field)| field).collect())
    }

    /// Of a table that is not there.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Refuses the first field that is none of `known`, the keys of `what`.
    pub(super) fn check_known(&self, what: &str, known: &[&str]) -> Result<(), Flaw> {
        match self.0.iter().find(|field| !known.contains(&field.key)) {
            None => Ok(()),
            Some(field) => Err(field.unknown(what, known)),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Field<'a>> {
        self.0.iter().find(|field| field.key == key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Field<'a>> {
        self.0.iter()
    }
}

impl<'a> Field<'a> {
    /// What is written in the file.
    pub(super) fn written(&self) -> String {
        self.source.written(&self.span)
    }

    /// An error about this field; `what` follows its name.
    pub(super) fn flaw(&self, what: &str) -> Flaw {
        Flaw::at(self.line, format!("{} {what}", self.name))
    }

    /// An error about a key that is none of `what`, which has the keys `known`.
    pub(super) fn unknown(&self, what: &str, known: &[&str]) -> Flaw {
        let hint = did_you_mean(self.key, "its keys are", known.iter().copied());
        self.flaw(&format!("is no key of {what}{hint}"))
    }

    /// An error about the value; `what` follows it.
    pub(super) fn wrong(&self, what: &str) -> Flaw {
        self.flaw(&format!("= {} {what}", self.written()))
    }

    pub(super) fn text(&self) -> Result<&'a str, Flaw> {
        match self.value {
            DeValue::String(text) => Ok(text),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                let (key, written) = (&self.name, self.written());
                Err(self.wrong(&format!("lacks its quotes; write {key} = \"{written}\"")))
            }
            DeValue::Array(_) => Err(self.flaw("is a list, where one text belongs")),
            _ => Err(self.flaw("is no text; write it in quotes")),
        }
    }

    /// A text, or the texts of a list with blanks between them, none of which holds one.
    pub(super) fn words(&self) -> Result<String, Flaw> {
        if !matches!(self.value, DeValue::Array(_)) {
            return self.text().map(str::to_owned);
        }
        let word = |field: &Field<'_>| match field.text()? {
            text if text.is_empty() || text.contains(char::is_whitespace) => {
                Err(field.wrong("is empty or holds a blank, which it cannot"))
            }
            text => Ok(text.to_owned()),
        };
        let words: Result<Vec<String>, Flaw> = self.values(&self.name)?.iter().map(word).collect();
        Ok(words?.join(" "))
    }

    /// A text that is not empty and has no line ends.
    pub(super) fn sentence(&self) -> Result<&'a str, Flaw> {
        let text = self.text()?;
        match text.trim().is_empty() || text.chars().any(char::is_control) {
            false => Ok(text),
            true => Err(self.flaw("is to be one line of text, not empty")),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, Flaw> {
        match self.value {
            DeValue::Boolean(flag) => Ok(*flag),
            DeValue::Array(_) | DeValue::Table(_) => {
                Err(self.flaw("is neither true nor false; write one of these"))
            }
            _ => Err(self.wrong("is neither true nor false; write one of these, without quotes")),
        }
    }

    /// A whole number from `least` to `most`.
    pub(super) fn integer(&self, least: u64, most: u64) -> Result<u64, Flaw> {
        let range = || format!("write a whole number from {least} to {most}");
        match self.value {
            DeValue::Integer(integer) => u64::from_str_radix(integer.as_str(), integer.radix())
                .ok()
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| self.wrong(&format!("is out of range; {}", range()))),
            DeValue::Array(_) | DeValue::Table(_) => {
                Err(self.flaw(&format!("is no number; {}", range())))
            }
            _ => Err(self.wrong(&format!("is no whole number; {}, without quotes", range()))),
        }
    }

    pub(super) fn table(&self) -> Result<&'a DeTable<'a>, Flaw> {
        match self.value {
            DeValue::Table(table) => Ok(table),
            _ => {
                Err(self.flaw(&format!("is a table; write its keys as {}.KEY = VALUE", self.name)))
            }
        }
    }

    /// The tables of `[[name]]`, each with the line where it begins.
    pub(super) fn tables(&self) -> Result<Vec<(usize, &'a DeTable<'a>)>, Flaw> {
        let wrong = |line| {
            Flaw::at(line, format!("{0} is a list of tables; write [[{0}]] above each", self.name))
        };
        let DeValue::Array(array) = self.value else { return Err(wrong(self.line)) };
        array
            .iter()
            .map(|element| {
                let line = self.source.line(element.span().start);
                match element.get_ref() {
                    DeValue::Table(table) => Ok((line, table)),
                    _ => Err(wrong(line)),
                }
            })
            .collect()
    }

    /// The values of a list, each under the list's name; `None` where it is no list.
    pub(super) fn elements(&self) -> Option<Vec<Field<'a>>> {
        self.values(&self.name).ok()
    }

    /// The same field again.
    pub(super) fn itself(&self) -> Self {
        Self { name: self.name.clone(), span: self.span.clone(), ..*self }
    }

    /// The values of a list, each under the name of `name`.
    pub(super) fn values(&self, name: &str) -> Result<Vec<Field<'a>>, Flaw> {
        let DeValue::Array(array) = self.value else {
            return Err(self.flaw("is no list; write the values to try between [ and ]"));
        };
        let field = |element: &'a toml::Spanned<DeValue<'a>>| Field {
            source: self.source,
            key: self.key,
            name: name.to_owned(),
            line: self.source.line(element.span().start),
            span: element.span(),
            value: element.get_ref(),
        };
        Ok(array.iter().map(field).collect())
    }
}
