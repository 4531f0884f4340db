//! Header blocks of the peer (RFC 7541, sections 3.2 and 6).

use super::dynamic_table::{DynamicTable, TABLE_SIZE};
use super::error::{HpackError, WRONG};
use super::fields::Fields;
use super::{integer, static_table, string};

/// What was read from a block.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) fields: Fields,
    /// For each field, whether it entered the table.
    entered: Vec<bool>,
    /// Whether the table had a part in what the fields are, or was resized.
    pub(super) needs_table: bool,
}

impl Decoded {
    /// The fields that entered the table.
    pub(super) fn entered(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let all = self.fields.iter().zip(&self.entered);
        all.filter(|(_, entered)| **entered).map(|(field, _)| field)
    }
}

/// See the module.
pub(crate) struct Decoder {
    table: DynamicTable,
    /// The most bytes of a head's names and values.
    longest_head: usize,
}

impl Decoder {
    /// One that takes heads with at most so many bytes of names and values.
    pub(crate) fn new(longest_head: usize) -> Self {
        Self { table: DynamicTable::new(TABLE_SIZE), longest_head }
    }

    /// A number that is the same as before only where blocks mean the same as before.
    pub(crate) fn version(&self) -> u64 {
        self.table.version()
    }

    /// Enters the fields of a block into the table as the block did.
    pub(super) fn enter_again(&mut self, decoded: &Decoded) {
        decoded.entered().for_each(|(name, value)| self.table.insert(name, value));
    }

    /// Reads a whole block.
    pub(crate) fn decode(
        &mut self,
        mut block: &[u8],
        decoded: &mut Decoded,
    ) -> Result<(), HpackError> {
        let Decoded { fields, entered, needs_table } = decoded;
        fields.clear();
        entered.clear();
        *needs_table = matches!(block, [0x20..0x40, ..]);
        while let [0x20..0x40, ..] = block {
            let size = integer::take(&mut block, 5).ok_or(WRONG)?;
            if size > TABLE_SIZE {
                return Err(HpackError::Wrong("a compression table beyond the agreed size"));
            }
            self.table.resize(size);
        }
        while let Some(first) = block.first() {
            let prefix = match first {
                0x80.. => 7,
                0x40.. => 6,
                0x20.. => return Err(HpackError::Wrong("a table's size within a compressed head")),
                _ => 4,
            };
            let index = integer::take(&mut block, prefix).ok_or(WRONG)?;
            *needs_table |= index > static_table::FIELDS.len();
            if prefix == 7 {
                fields.push(self.field(index)?);
            } else {
                let (name, value) = self.literal(&mut block, index, fields)?;
                if prefix == 6 {
                    self.table.insert(name, value);
                }
            }
            entered.push(prefix == 6);
            if fields.length() > self.longest_head {
                return Err(HpackError::LongHead);
            }
        }
        Ok(())
    }

    /// The field with this number in both tables.
    fn field(&self, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
        let after = index.checked_sub(static_table::FIELDS.len() + 1);
        let field = match after {
            Some(place) => self.table.get(place),
            None => static_table::get(index),
        };
        field.ok_or(HpackError::Wrong("a compressed field that is not in the table"))
    }

    /// Appends a field whose value is in the block, and its name too where that has no number.
    fn literal<'f>(
        &self,
        block: &mut &[u8],
        name: usize,
        fields: &'f mut Fields,
    ) -> Result<(&'f [u8], &'f [u8]), HpackError> {
        match name {
            0 => string::take(block, 7, fields.writer())?,
            index => fields.writer().extend_from_slice(self.field(index)?.0),
        }
        let end = fields.writer().len();
        string::take(block, 7, fields.writer())?;
        Ok(fields.end(end))
    }
}
