//! A format of text, and how its lines are read.

use memchr::{memchr, memchr2};

use super::request::{Field, Values};

/// A piece of a format, as the language of a server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Value(Variable),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    /// As the language writes it.
    pub(super) name: String,
    /// `None` where it is of no use here.
    pub(super) field: Option<Field>,
    /// Whether it is a list, such as `10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80`.
    pub(super) is_list: bool,
}

/// Two values without text between them, so that their lengths cannot be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Adjacent(pub(super) String, pub(super) String);

/// A compiled format: what a line begins with, then each value and where it ends.
#[derive(Debug, Clone)]
pub(super) struct Template {
    start: Vec<u8>,
    values: Vec<(Option<Field>, End)>,
}

#[derive(Debug, Clone)]
enum End {
    /// Before this text, which is not empty.
    Text(Vec<u8>),
    /// The same, after a list, which may have this text in it.
    List(Vec<u8>),
    /// Before this text, which begins with a quotation mark. A mark within the value has a backslash before it.
    Quoted(Vec<u8>),
    /// Before a space or the end of the line.
    Word,
    Line,
}

impl Template {
    /// Of several values of one field, the first counts.
    pub(super) fn new(pieces: impl IntoIterator<Item = Piece>) -> Result<Self, Adjacent> {
        let mut start = Vec::new();
        let mut variables: Vec<(Variable, Vec<u8>)> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    variables.last_mut().map_or(&mut start, |(_, after)| after).extend(text);
                }
                Piece::Value(variable) => match variables.last() {
                    // Where one of two ends is of no interest if neither is used.
                    Some((last, after))
                        if after.is_empty() && (last.field, variable.field) == (None, None) => {}
                    Some((last, after))
                        if after.is_empty() && variable.field != Some(Field::Rest) =>
                    {
                        return Err(Adjacent(last.name.clone(), variable.name));
                    }
                    _ => variables.push((variable, Vec::new())),
                },
            }
        }
        let mut is_quoted = start.ends_with(b"\"");
        let mut values = Vec::with_capacity(variables.len());
        let mut rest = variables.into_iter().peekable();
        while let Some((variable, after)) = rest.next() {
            let ends_with_mark = after.ends_with(b"\"");
            let end = match after.first() {
                None if rest.peek().is_some() => End::Word,
                None => End::Line,
                Some(b'"') if is_quoted => End::Quoted(after),
                Some(b' ') if variable.is_list => End::List(after),
                Some(_) => End::Text(after),
            };
            values.push((variable.field, end));
            is_quoted = ends_with_mark;
        }
        Ok(Self { start, values })
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.values.iter().any(|(of, _)| *of == Some(field))
    }

    /// The values of a line; `None` where it has another form.
    pub(super) fn read<'a>(&self, line: &'a [u8]) -> Option<Values<'a>> {
        let mut values = Values::default();
        let mut rest = begins(line, &self.start).then(|| &line[self.start.len()..])?;
        for (field, end) in &self.values {
            let (value, after) = end.split(rest)?;
            if let Some(field) = field {
                values.set(*field, value);
            }
            rest = after;
        }
        rest.is_empty().then_some(values)
    }
}

impl End {
    /// The value, and what is after its end.
    fn split<'a>(&self, line: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let (at, text) = match self {
            Self::Text(text) => (find(line, text, |_| true)?, &text[..]),
            Self::List(text) => (find(line, text, |at| !is_in_list(line, at))?, &text[..]),
            Self::Quoted(text) => (closing_mark(line)?, &text[..]),
            Self::Word => (memchr(b' ', line).unwrap_or(line.len()), &[][..]),
            Self::Line => (line.len(), &[][..]),
        };
        let (value, after) = line.split_at(at);
        Some((value, begins(after, text).then(|| &after[text.len()..])?))
    }
}

/// Where the text is for the first time at an accepted place.
fn find(line: &[u8], text: &[u8], is_accepted: impl Fn(usize) -> bool) -> Option<usize> {
    let first = *text.first()?;
    let mut from = 0;
    loop {
        let at = from + memchr(first, line.get(from..)?)?;
        if begins(&line[at..], text) && is_accepted(at) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// `starts_with` calls a function for it, which takes longer than these few bytes.
fn begins(line: &[u8], text: &[u8]) -> bool {
    line.len() >= text.len() && line.iter().zip(text).all(|(a, b)| a == b)
}

/// Whether the space there is within `a, b : c`.
fn is_in_list(line: &[u8], at: usize) -> bool {
    let (before, after) = line.split_at(at);
    before.ends_with(b",") || before.ends_with(b" :") || after.starts_with(b" : ")
}

fn closing_mark(line: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', line.get(from..)?)?;
        if line[at] == b'"' {
            return Some(at);
        }
        from = at + 2;
    }
}
