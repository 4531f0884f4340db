//! What a server runs outside the kernel per operation, as a trial that counts instructions has it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use instructions::{Function, Instructions};
use observe::Fact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use units::percent;

/// A function with a smaller part of the instructions is not named.
const NAMED: f64 = 0.01;
/// How many functions are named.
const MOST_NAMED: usize = 4;
/// Code without names that has such a part of the instructions may be the cipher's.
const UNNAMED: f64 = 0.05;
/// What names of functions have in them that encrypt.
const CIPHERS: [&str; 5] = ["aes", "gcm", "ghash", "chacha", "poly1305"];
/// The beginnings of OpenSSL's names of functions that only call those.
const WRAPPERS: [&str; 2] = ["EVP_", "CRYPTO_"];

/// The server's instructions outside the kernel, in blocks of operations.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedInstructions {
    /// What counted them, with its version. Figures of two are not compared.
    pub source: String,
    /// How many operations were counted, in all blocks.
    pub operations: u64,
    /// Their instructions.
    pub instructions: u64,
    /// Bytes of their bodies, proven.
    pub body_bytes: u64,
    /// Instructions per operation.
    pub per_operation: f64,
    /// Instructions per KiB of bodies; absent where there are none.
    pub per_kib: Option<f64>,
    /// Instructions per operation in each block.
    pub blocks: Vec<f64>,
    /// How far the blocks are apart, as a share of their mean.
    pub spread: f64,
    /// The functions that encrypt and that ran the most instructions, or why they are not known.
    pub cipher_code: Fact<Vec<String>>,
    /// The instructions for cryptography that this processor has and the one that counted lacks, by the
    /// names of /proc/cpuinfo: a library that has code for them runs that elsewhere. Absent where that is not
    /// known.
    pub lacking: Option<Vec<String>>,
}

/// What a block of operations ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) operations: u64,
    pub(crate) instructions: u64,
    pub(crate) body_bytes: u64,
}

impl Block {
    fn per_operation(&self) -> f64 {
        self.instructions as f64 / self.operations as f64
    }
}

impl CountedInstructions {
    /// `None` where nothing was counted.
    pub(crate) fn of(
        source: &str,
        blocks: &[Block],
        cipher_code: Fact<Vec<String>>,
        lacking: Option<Vec<String>>,
    ) -> Option<Self> {
        let sum = |of: fn(&Block) -> u64| blocks.iter().map(of).sum::<u64>();
        let (operations, instructions) = (sum(|of| of.operations), sum(|of| of.instructions));
        let body_bytes = sum(|of| of.body_bytes);
        let each: Vec<f64> = blocks.iter().map(Block::per_operation).collect();
        let (least, most) =
            (each.iter().copied().reduce(f64::min)?, each.iter().copied().reduce(f64::max)?);
        let per_operation = instructions as f64 / operations as f64;
        Some(Self {
            source: source.to_owned(),
            operations,
            instructions,
            body_bytes,
            per_operation,
            per_kib: (body_bytes > 0).then(|| instructions as f64 / (body_bytes as f64 / 1024.0)),
            spread: (most - least) / per_operation,
            blocks: each,
            cipher_code,
            lacking,
        })
    }
}

/// The functions that encrypt, by what some blocks ran.
pub(crate) fn cipher_code(counted: &Instructions) -> Fact<Vec<String>> {
    let Instructions { total, functions } = counted;
    let functions = by_name(functions);
    if functions.is_empty() {
        return Fact::unknown("the processor's counters have no names of functions");
    }
    let share = |of: &Function| of.instructions as f64 / *total as f64;
    let is_unnamed = |of: &&Function| of.name.starts_with("0x");
    let is_cipher = |of: &&Function| {
        let name = of.name.to_ascii_lowercase();
        CIPHERS.iter().any(|part| name.contains(part))
            && !WRAPPERS.iter().any(|start| of.name.starts_with(start))
    };
    let named = functions.iter().filter(|of| share(of) >= NAMED).filter(is_cipher);
    let named: Vec<String> = named.take(MOST_NAMED).map(|of| of.name.clone()).collect();
    let unnamed = functions.iter().filter(is_unnamed).max_by_key(|of| of.instructions);
    match unnamed.filter(|of| named.is_empty() && share(of) >= UNNAMED) {
        None => Fact::Known(named),
        Some(of) => {
            let object = of.object.rsplit('/').next().unwrap_or_default();
            Fact::unknown(format!(
                "{object} has no names of its own functions, one of which ran {} of the instructions",
                percent(share(of))
            ))
        }
    }
}

/// Each function once, the most expensive first: blocks and processes have the same ones.
fn by_name(functions: &[Function]) -> Vec<Function> {
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for of in functions {
        *sums.entry((&of.object, &of.name)).or_default() += of.instructions;
    }
    let function = |((object, name), instructions): ((&str, &str), u64)| Function {
        name: name.to_owned(),
        object: object.to_owned(),
        instructions,
    };
    let mut functions: Vec<Function> = sums.into_iter().map(function).collect();
    functions.sort_by_key(|of| Reverse(of.instructions));
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(functions: &[(&str, u64)]) -> Instructions {
        let functions = functions.iter().map(|(name, instructions)| Function {
            name: (*name).to_owned(),
            object: "/usr/lib/libcrypto.so.3".to_owned(),
            instructions: *instructions,
        });
        Instructions { total: 1000, functions: functions.collect() }
    }

    #[test]
    fn blocks_give_the_figure_and_its_spread() {
        let block = |instructions, body_bytes| Block { operations: 10, instructions, body_bytes };
        let of = |blocks: &[Block]| {
            CountedInstructions::of("callgrind 3.19.0", blocks, Fact::Known(Vec::new()), None)
        };
        assert_eq!(of(&[]), None);
        let handshakes = of(&[block(990, 0), block(1010, 0)]).unwrap();
        assert_eq!((handshakes.operations, handshakes.per_operation), (20, 100.0));
        assert_eq!(handshakes.per_kib, None);
        assert_eq!(handshakes.blocks, [99.0, 101.0]);
        assert!((handshakes.spread - 0.02).abs() < 1e-9);
        let bodies = of(&[block(990, 20_480), block(1010, 20_480)]).unwrap();
        assert_eq!(bodies.per_kib, Some(50.0));
    }

    #[test]
    fn the_ciphers_functions_are_named_and_their_wrappers_are_not() {
        let of = |functions: &[(&str, u64)]| cipher_code(&counted(functions));
        let code = [("memcpy", 500), ("aesni_gcm_encrypt", 300), ("EVP_aes_x", 90), ("vpaes", 9)];
        assert_eq!(of(&code), Fact::Known(vec!["aesni_gcm_encrypt".to_owned()]));
        assert_eq!(of(&[("memcpy", 990)]), Fact::Known(vec![]));
        let halves = [("aes_ctr", 6), ("memcpy", 988), ("aes_ctr", 6)];
        assert_eq!(of(&halves), Fact::Known(vec!["aes_ctr".to_owned()]));
        let why = |fact: Fact<Vec<String>>| match fact {
            Fact::Unknown { not_available_here } => not_available_here,
            Fact::Known(names) => panic!("{names:?}"),
        };
        let stripped = why(of(&[("0x00000000000eea00", 400), ("EVP_EncryptUpdate", 100)]));
        assert!(stripped.starts_with("libcrypto.so.3 has no names"), "{stripped}");
        assert!(why(of(&[])).contains("counters"));
    }
}
