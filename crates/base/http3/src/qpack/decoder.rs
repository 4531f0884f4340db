//! Field sections of the peer (RFC 9204, section 4.5).

use http2::hpack::{HpackError, WRONG, integer, string};

use super::static_table;
use crate::{Breach, ErrorCode, Fields, LONGEST_HEAD};

/// Reads a whole field section; `fields` are then what it means.
///
/// # Errors
/// It is not QPACK, refers to the dynamic table, or has more than [`LONGEST_HEAD`] bytes of names and values.
pub fn decode(mut section: &[u8], fields: &mut Fields) -> Result<(), Breach> {
    let section = &mut section;
    fields.clear();
    let required = integer::take(section, 8).ok_or(WRONG).map_err(breach)?;
    if required != 0 {
        return Err(DYNAMIC);
    }
    // A Base before the beginning of the table (section 4.5.1.2).
    if section.first().is_some_and(|first| first & SIGN != 0) {
        let what = "a field section whose Base is negative";
        return Err(Breach::new(ErrorCode::QpackDecompressionFailed, what));
    }
    integer::take(section, 7).ok_or(WRONG).map_err(breach)?;
    while let Some(first) = section.first() {
        match *first {
            first @ 0x80.. => fields.push(known(section, first & 0x40 != 0, 6)?),
            first @ 0x40.. => {
                let (name, _) = known(section, first & 0x10 != 0, 4)?;
                fields.writer().extend_from_slice(name);
                value(section, fields)?;
            }
            0x20.. => {
                string::take(section, 3, fields.writer()).map_err(breach)?;
                value(section, fields)?;
            }
            // Fields after the Base of the dynamic table.
            _ => return Err(DYNAMIC),
        }
        if fields.length() > LONGEST_HEAD {
            return Err(breach(HpackError::LongHead));
        }
    }
    Ok(())
}

/// The sign of the Delta Base.
const SIGN: u8 = 0x80;

const DYNAMIC: Breach = Breach::new(
    ErrorCode::QpackDecompressionFailed,
    "a compressed field in a dynamic table, which was not allowed",
);

/// Takes the number of a field in a table.
fn known(
    section: &mut &[u8],
    is_static: bool,
    prefix: u32,
) -> Result<(&'static [u8], &'static [u8]), Breach> {
    let index = integer::take(section, prefix).ok_or(WRONG).map_err(breach)?;
    if !is_static {
        return Err(DYNAMIC);
    }
    let what = "a compressed field that is not in the table";
    static_table::get(index).ok_or(Breach::new(ErrorCode::QpackDecompressionFailed, what))
}

/// Takes the value of the field whose name was written last.
fn value(section: &mut &[u8], fields: &mut Fields) -> Result<(), Breach> {
    let end = fields.writer().len();
    string::take(section, 7, fields.writer()).map_err(breach)?;
    fields.end(end);
    Ok(())
}

fn breach(error: HpackError) -> Breach {
    match error {
        HpackError::Wrong(what) => Breach::new(ErrorCode::QpackDecompressionFailed, what),
        HpackError::LongField => {
            Breach::new(ErrorCode::ExcessiveLoad, "a field of more than 64 KiB")
        }
        HpackError::LongHead => {
            Breach::new(ErrorCode::ExcessiveLoad, "a head of more than 64 KiB of fields")
        }
    }
}
