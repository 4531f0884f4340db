//! A TOML table as a list of fields that know their place, in the order of the file.

use toml::Spanned;
use toml::de::DeValue;

use super::error::Flaw;

/// A file's text, for the places of what was found in it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
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
    pub(super) span: (usize, usize),
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

    /// A table.
    pub(super) fn fields(self) -> Result<Self, Flaw> {
        match self.value {
            DeValue::Table(_) => Ok(self),
            _ => Err(self.no_table()),
        }
    }

    pub(super) fn no_table(self) -> Flaw {
        self.flaw(&format!("is a table; write its keys as {}.KEY = VALUE", self.name()))
    }

    /// The value of a key of a table, without which there is nothing to read.
    pub(super) fn field(self, key: &'static str) -> Result<Self, Flaw> {
        self.get(key).ok_or_else(|| self.place(Flaw::missing(key)))
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
    pub(super) fn place(self, flaw: Flaw) -> Flaw {
        match (self.key, self.value) {
            ("", _) => flaw,
            (_, DeValue::Table(_)) => flaw.or_at(self.line(), &self.title()),
            _ => flaw.or_at(self.line(), &self.name()),
        }
    }

    /// A table as a file writes it.
    pub(super) fn title(self) -> String {
        match (self.key, self.is_item) {
            ("", _) => "a study".to_owned(),
            (key, true) => format!("[[{key}]]"),
            (_, false) => format!("[{}]", self.name()),
        }
    }
}
