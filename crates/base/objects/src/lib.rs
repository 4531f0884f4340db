//! The generated objects that servers send and clients compare.
//!
//! All objects are prefixes of one seeded stream that repeats with period [`PERIOD`]. The period is
//! a prime, so records that are shifted, swapped or repeated differ from the right content. The
//! path of an object is, for example, `/bytes/16MiB`.

mod address;
mod files;
mod host;
mod mix;
mod shares;
mod url;
mod zone;

use std::io::{self, Write};
use std::sync::OnceLock;

pub use address::AddressError;
pub use files::{Files, MOST_FILES, Storage};
pub use host::{HostName, HostPort, names};
pub use mix::{Mix, Portion};
use random::Random;
pub use shares::{WHOLE, in_percent, shares};
use units::Bytes;
pub use url::Url;

/// The period of the stream in bytes: the largest prime below 1 MiB.
pub const PERIOD: usize = 1_048_573;

const SEED: u64 = 0x746f_6c6c_2062_7974;

/// The folder of generated objects in a URL, and on disk for servers that send files.
pub const FOLDER: &str = "bytes";

/// The path of the object with this size, `/bytes/16MiB`.
pub fn path(size: Bytes) -> String {
    format!("/{FOLDER}/{size}")
}

/// The size of the object that a URL's path names, or `None` where it names no generated object.
pub fn size_of(path: &str) -> Option<Bytes> {
    path.strip_prefix('/')?.strip_prefix(FOLDER)?.strip_prefix('/')?.parse().ok()
}

/// The bytes of every object from `offset` on, as many as are contiguous in memory: at least
/// a [`PERIOD`].
pub fn slice(offset: u64) -> &'static [u8] {
    let start = (offset % PERIOD as u64) as usize;
    &stream()[start..]
}

/// Whether `content` equals an object's bytes from `offset` on.
pub fn matches(mut offset: u64, mut content: &[u8]) -> bool {
    while !content.is_empty() {
        let expected = slice(offset);
        let n = expected.len().min(content.len());
        if content[..n] != expected[..n] {
            return false;
        }
        offset += n as u64;
        content = &content[n..];
    }
    true
}

/// Writes the object of `size` to `out`.
///
/// # Errors
/// The errors of `out`.
pub fn write_to(out: &mut impl Write, size: Bytes) -> io::Result<()> {
    write_from(0, out, size)
}

/// Writes `size` bytes of the stream to `out`, from `start` on.
///
/// # Errors
/// The errors of `out`.
pub fn write_from(start: u64, out: &mut impl Write, size: Bytes) -> io::Result<()> {
    let mut offset = 0;
    while offset < size.0 {
        let piece = slice(start + offset);
        let n = (size.0 - offset).min(piece.len() as u64) as usize;
        out.write_all(&piece[..n])?;
        offset += n as u64;
    }
    Ok(())
}

/// Two periods, so that slices can cross the end of the first.
fn stream() -> &'static [u8] {
    static STREAM: OnceLock<Vec<u8>> = OnceLock::new();
    STREAM.get_or_init(|| {
        let mut random = Random::new(SEED);
        let mut bytes: Vec<u8> = std::iter::repeat_with(|| random.bits().to_le_bytes())
            .take(PERIOD.div_ceil(8))
            .flatten()
            .collect();
        bytes.truncate(PERIOD);
        bytes.extend_from_within(..);
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_name_sizes() {
        assert_eq!(path(Bytes(16 << 20)), "/bytes/16MiB");
        assert_eq!(size_of("/bytes/16MiB"), Some(Bytes(16 << 20)));
        for other in ["/bytes/16", "/bytes/", "/byte/1B", "/", "bytes/1B", "/bytes/1B/2"] {
            assert_eq!(size_of(other), None, "{other}");
        }
    }

    #[test]
    fn the_bytes_never_change() {
        assert_eq!(slice(0)[..8], [252, 211, 247, 176, 159, 170, 238, 226]);
    }

    #[test]
    fn the_period_is_prime() {
        assert!((2..=1024).all(|divisor| !PERIOD.is_multiple_of(divisor)));
    }

    #[test]
    fn a_changed_byte_and_swapped_records_are_noticed() {
        let mut object = Vec::new();
        write_to(&mut object, Bytes(3 << 20)).unwrap();
        assert!(matches(0, &object));
        object[2_500_000] ^= 1;
        assert!(!matches(0, &object));
        object[2_500_000] ^= 1;
        let (first, second) = object.split_at_mut(16_384);
        first.swap_with_slice(&mut second[..16_384]);
        assert!(!matches(0, &object));
    }

    proptest! {
        #[test]
        fn slices_are_the_stream(offset in prop_oneof![0u64..1 << 40, PERIOD as u64 - 3..PERIOD as u64 + 3], length in 0usize..100_000) {
            let piece = &slice(offset)[..length];
            prop_assert!(slice(offset).len() >= PERIOD);
            prop_assert!(matches(offset, piece));
            for (i, byte) in piece.iter().enumerate().step_by(997) {
                prop_assert_eq!(*byte, slice((offset + i as u64) % PERIOD as u64)[0]);
            }
        }
    }
}
