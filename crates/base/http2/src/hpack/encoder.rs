//! Header blocks for the peer (RFC 7541, sections 3.1 and 6).
//!
//! A head that was sent before is sent as the same bytes, as long as the table is the same.

use super::dynamic_table::{DynamicTable, OVERHEAD, TABLE_SIZE};
use super::fields::Fields;
use super::{integer, static_table, string};

/// How many heads are remembered. A load that asks for more objects encodes each path anew.
const REMEMBERED: usize = 4;

/// See the module.
pub(crate) struct Encoder {
    table: DynamicTable,
    /// The sizes of the table that the peer must be told of: the smallest since the last head, and the last one.
    resized: Option<(usize, usize)>,
    remembered: Vec<Remembered>,
    /// Where the next head is remembered.
    next: usize,
}

/// A head, and what it became where the table had this version and kept it.
#[derive(Default)]
struct Remembered {
    fields: Fields,
    block: Vec<u8>,
    version: Option<u64>,
}

impl Remembered {
    fn is<'f>(&self, version: u64, mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> bool {
        let mut own = self.fields.iter();
        self.version == Some(version)
            && fields.all(|field| own.next() == Some(field))
            && own.next().is_none()
    }
}

/// Whether a field enters the table (RFC 7541, section 6.2).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexing {
    With,
    Without,
    /// No proxy may put it into a table either (RFC 7541, section 7.1.3).
    Never,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        let remembered = std::iter::repeat_with(Remembered::default).take(REMEMBERED).collect();
        Self { table: DynamicTable::new(TABLE_SIZE), resized: None, remembered, next: 0 }
    }

    /// The peer keeps a table of at most this size.
    pub(crate) fn resize(&mut self, most: u32) {
        let size = usize::try_from(most).map_or(TABLE_SIZE, |most| most.min(TABLE_SIZE));
        let smallest = self.resized.map_or(size, |(smallest, _)| smallest.min(size));
        if self.resized.is_some() || size != self.table.capacity() {
            self.resized = Some((smallest, size));
        }
    }

    /// Appends the block of a head.
    pub(crate) fn encode<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
        out: &mut Vec<u8>,
    ) {
        let version = self.table.version();
        if self.resized.is_none()
            && let Some(one) = self.remembered.iter().find(|one| one.is(version, fields.clone()))
        {
            out.extend_from_slice(&one.block);
            return;
        }
        let begin = out.len();
        if let Some((smallest, size)) = self.resized.take() {
            for size in [smallest, size] {
                if size != self.table.capacity() {
                    integer::put(out, 0x20, 5, size);
                    self.table.resize(size);
                }
            }
        }
        fields.clone().for_each(|(name, value)| self.field(name, value, out));
        if self.table.version() == version {
            let one = &mut self.remembered[self.next];
            self.next = (self.next + 1) % REMEMBERED;
            one.fields.clear();
            fields.for_each(|field| one.fields.push(field));
            one.block.clear();
            one.block.extend_from_slice(&out[begin..]);
            one.version = Some(version);
        }
    }

    fn field(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let indexing = Indexing::of(name, value, self.table.capacity());
        let (whole, named) = self.find(name, value);
        if let Some(index) = whole.filter(|_| indexing != Indexing::Never) {
            return integer::put(out, 0x80, 7, index);
        }
        let (pattern, prefix) = match indexing {
            Indexing::With => (0x40, 6),
            Indexing::Without => (0, 4),
            Indexing::Never => (0x10, 4),
        };
        integer::put(out, pattern, prefix, named.unwrap_or(0));
        if named.is_none() {
            string::put(out, 0, 7, name);
        }
        string::put(out, 0, 7, value);
        if indexing == Indexing::With {
            self.table.insert(name, value);
        }
    }

    /// The numbers of this field, and of one with its name.
    fn find(&self, name: &[u8], value: &[u8]) -> (Option<usize>, Option<usize>) {
        let known =
            static_table::FIELDS.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let mut named = None;
        for (index, field) in (1..).zip(known.chain(self.table.iter())) {
            if field.0 == name {
                if field.1 == value {
                    return (Some(index), named.or(Some(index)));
                }
                named = named.or(Some(index));
            }
        }
        (None, named)
    }
}

impl Indexing {
    /// As browsers do it: what differs between requests, or is large, would push other fields out, and secrets
    /// could be guessed by the length of what is compressed.
    fn of(name: &[u8], value: &[u8], capacity: usize) -> Self {
        match name {
            b"authorization" => Self::Never,
            b"cookie" if value.len() < 20 => Self::Never,
            b":path" | b"content-length" | b"if-modified-since" | b"if-none-match" => Self::Without,
            _ if name.len() + value.len() + OVERHEAD > capacity / 4 * 3 => Self::Without,
            _ => Self::With,
        }
    }
}
