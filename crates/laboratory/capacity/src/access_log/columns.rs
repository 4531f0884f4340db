//! Logs whose columns are named by a line `#Fields:`: W3C as IIS writes it, and CloudFront's.

use super::request::{Field, Values};

/// The columns, by the last such line: a server that was started again writes another.
#[derive(Debug, Default)]
pub(super) struct Columns {
    fields: Vec<Option<Field>>,
}

pub(super) const FIELDS: &[u8] = b"#Fields:";

/// What a log of columns needs, by what its names are.
const NEEDED: [(Field, &str); 4] = [
    (Field::Time, "time"),
    (Field::Date, "date"),
    (Field::Status, "sc-status"),
    (Field::BodyAndHead, "sc-bytes"),
];

impl Columns {
    /// Takes a line that begins with `#`; else the name of a column that is needed and is not there.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let Some(names) = line.strip_prefix(FIELDS) else { return Ok(()) };
        let names = names.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty());
        self.fields = names.map(field).collect();
        let is_missing = |(field, _): &&(Field, &str)| !self.fields.contains(&Some(*field));
        NEEDED.iter().find(is_missing).map_or(Ok(()), |(_, name)| Err(*name))
    }

    /// The values of a line; `None` where it does not have these columns.
    pub(super) fn read<'a>(&self, line: &'a [u8]) -> Option<Values<'a>> {
        // CloudFront's values have spaces in them, IIS writes `+` for each.
        let separator = if memchr::memchr(b'\t', line).is_some() { b'\t' } else { b' ' };
        let mut values = Values::default();
        let mut fields = self.fields.iter();
        for value in line.split(|byte| *byte == separator) {
            if let Some(field) = fields.next()? {
                values.set(*field, value);
            }
        }
        fields.next().is_none().then_some(values)
    }
}

fn field(name: &[u8]) -> Option<Field> {
    Some(match name {
        b"date" => Field::Date,
        b"time" => Field::Time,
        b"sc-status" => Field::Status,
        b"sc-bytes" => Field::BodyAndHead,
        b"cs-method" => Field::Method,
        b"cs-version" | b"cs-protocol-version" => Field::Protocol,
        b"ssl-protocol" => Field::Tls,
        b"ssl-cipher" => Field::Cipher,
        b"cs-protocol" => Field::Scheme,
        b"s-port" => Field::Port,
        _ => return None,
    })
}
