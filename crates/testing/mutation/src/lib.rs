//! Inputs for tests of parsers: real ones and mutations of them.
//!
//! Real fuzzing needs a nightly compiler and time. With this crate, the bodies of fuzz targets also
//! run in every `cargo test`: on their seeds and on a fixed set of mutations of them.

use std::io;
use std::path::Path;

use random::Random;

/// Mutations are kept below this length.
const LONGEST: usize = 8 << 10;

/// Bytes with a meaning in many formats: ends of lines, separators, digits, bounds of lengths.
const SPECIAL: [u8; 16] =
    [0, 1, 2, 3, 20, 21, 22, 23, b'\r', b'\n', b':', b' ', b'0', b'9', 0x7f, 0xff];

/// The files of a folder, in the order of their names.
///
/// # Errors
/// The system's error, or a folder without files: a test without inputs would always pass.
pub fn seeds(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut paths = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort_unstable();
    match paths.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::NotFound, "no seeds are there")),
        false => paths.iter().map(std::fs::read).collect(),
    }
}

/// The seeds, then as many mutations of them.
pub fn mutated(seeds: &[Vec<u8>], mutations: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(0x746f_6c6c);
    let mutations = (0..mutations).map(move |_| {
        let mut bytes = one_of(&mut random, seeds).cloned().unwrap_or_default();
        for _ in 0..=below(&mut random, 6) {
            damage(&mut bytes, seeds, &mut random);
        }
        bytes.truncate(LONGEST);
        bytes
    });
    seeds.iter().cloned().chain(mutations)
}

fn damage(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = below(random, bytes.len() + 1);
    let to = at + below(random, (bytes.len() - at + 1).min(40));
    match below(random, 8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << below(random, 8),
        1 if at < bytes.len() => bytes[at] = one_of(random, &SPECIAL).copied().unwrap_or(0),
        2 => bytes.insert(at, one_of(random, &SPECIAL).copied().unwrap_or(0)),
        3 => bytes.insert(at, random.bits() as u8),
        4 => drop(bytes.drain(at..to)),
        5 => bytes.extend_from_within(at..to),
        6 => bytes.truncate(at),
        _ => {
            let other = one_of(random, seeds).map(Vec::as_slice).unwrap_or_default();
            let tail = &other[below(random, other.len() + 1)..];
            bytes.truncate(at);
            bytes.extend_from_slice(tail);
        }
    }
}

fn one_of<'a, T>(random: &mut Random, choices: &'a [T]) -> Option<&'a T> {
    choices.get(below(random, choices.len()))
}

/// A number below `end`; 0 where there is none.
fn below(random: &mut Random, end: usize) -> usize {
    random.below(end.max(1) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<Vec<u8>> {
        vec![b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![], vec![7; 100]]
    }

    #[test]
    fn every_run_has_the_same_inputs_and_the_seeds_come_first() {
        let inputs = || mutated(&some(), 500).collect::<Vec<_>>();
        let found = inputs();
        assert_eq!(found, inputs());
        assert_eq!((found.len(), &found[..3]), (503, &some()[..]));
    }

    #[test]
    fn mutations_differ_and_grow_and_shrink() {
        let found: Vec<_> = mutated(&some(), 500).skip(3).collect();
        let different = found.iter().filter(|bytes| !some().contains(bytes)).count();
        assert!(different > 400, "{different}");
        assert!(found.iter().any(|bytes| bytes.len() > 100));
        assert!(found.iter().all(|bytes| bytes.len() <= LONGEST));
        assert_eq!(mutated(&[], 3).count(), 3);
    }

    #[test]
    fn a_folder_without_seeds_is_an_error() {
        assert!(seeds(Path::new("/nonexistent")).is_err());
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(seeds(empty.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(empty.path().join("seed"), "GET /").unwrap();
        assert_eq!(seeds(empty.path()).unwrap(), [b"GET /"]);
    }
}
