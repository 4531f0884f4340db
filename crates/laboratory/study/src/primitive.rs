//! The part of a study that needs no server: what algorithms cost, in `[[primitives]]` tables.

mod part;

use std::str::FromStr;

use cpus::CpuList;
use primitives::{Algorithm, Cache, Hardware, RowKey, Unit};
use serde::{Deserialize, Serialize};
use serde_with::{DisplayFromStr, serde_as};
use units::Bytes;

pub use journal::primitive::{ALGORITHM, CACHE, HARDWARE, LIBRARY, SIZE};
pub use part::{Part, What};

use crate::{Param, Params};

/// The sizes of messages where none are written.
pub const SIZES: [Bytes; 6] =
    [Bytes(16), Bytes(256), Bytes(1 << 10), Bytes(8 << 10), Bytes(16 << 10), Bytes(64 << 10)];

/// More would not fit the buffers of many messages at once.
const LARGEST: Bytes = Bytes(16 << 20);

/// Of a message.
#[derive(Debug, Clone, Copy, PartialEq, serde_with::DeserializeFromStr)]
pub struct MessageSize(pub Bytes);

impl FromStr for MessageSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<Bytes>().map_err(|why| why.to_string())? {
            Bytes(0) => Err(format!("`{text}` has no cost per byte; write 1B or more")),
            size if size > LARGEST => Err(format!("`{text}` is more than {LARGEST}")),
            size => Ok(Self(size)),
        }
    }
}

/// The tables of a study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Primitives {
    /// In the order of the file.
    pub tables: Vec<AlgorithmTable>,
}

/// A row of a table, named and described as a cell is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// Unique in the study: the table's name and a number, `ciphers-0003`.
    pub name: String,
    pub params: Params,
    pub key: RowKey,
}

/// A `[[primitives]]` table: everything in it is measured in every combination.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlgorithmTable {
    /// Unique among the study's tables.
    pub name: String,
    /// What is measured.
    #[serde_as(as = "Vec<DisplayFromStr>")]
    pub algorithms: Vec<Algorithm>,
    /// By their names, or the paths of libcryptos.
    pub libraries: Vec<String>,
    /// Of messages, for algorithms that go over bytes; ascending.
    pub sizes: Vec<Bytes>,
    /// Where the data lies.
    pub caches: Vec<Cache>,
    /// How much of the processor the libraries may use.
    pub hardware: Vec<Hardware>,
    /// A thread works on each at the same time.
    pub cpus: CpuList,
    /// How often the table is measured.
    pub rounds: u32,
    /// Quiet samples of each figure in each round.
    pub samples: u16,
}

impl AlgorithmTable {
    /// How many rows one combination of hardware and cache has.
    pub fn rows(&self) -> usize {
        let of = |algorithm: &Algorithm| match algorithm.unit() {
            Unit::Byte => self.sizes.len(),
            Unit::Operation => 1,
        };
        self.algorithms.iter().map(of).sum::<usize>() * self.libraries.len()
    }

    /// All rows, in the order in which they are shown.
    pub fn all_rows(&self) -> Vec<TableRow> {
        let caches = |hardware| self.caches.iter().map(move |cache| (hardware, *cache));
        let combinations = self.hardware.iter().flat_map(|hardware| caches(*hardware));
        let keys = combinations.flat_map(|(hardware, cache)| self.combination(hardware, cache));
        let row = |(number, key): (usize, RowKey)| TableRow {
            name: format!("{}-{:04}", self.name, number + 1),
            params: self.params(&key),
            key,
        };
        keys.enumerate().map(row).collect()
    }

    /// What tells a row from the others; what is the same for all, and usual, goes without saying.
    fn params(&self, key: &RowKey) -> Params {
        let all = [
            (ALGORITHM, Some(Param::Algorithm(key.algorithm))),
            (LIBRARY, Some(Param::Text(key.library.clone()))),
            (SIZE, key.size_bytes.map(|size| Param::Size(Bytes(size)))),
            (HARDWARE, (self.hardware.len() > 1).then(|| Param::Text(key.hardware.to_string()))),
            (CACHE, (self.caches != [Cache::Warm]).then(|| Param::Text(key.cache.to_string()))),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// The values that its rows have of a key, as study files write them.
    pub fn values(&self, key: &str) -> Vec<String> {
        match key {
            ALGORITHM => self.algorithms.iter().map(ToString::to_string).collect(),
            LIBRARY => self.libraries.clone(),
            HARDWARE => self.hardware.iter().map(ToString::to_string).collect(),
            CACHE => self.caches.iter().map(ToString::to_string).collect(),
            SIZE => self.sizes.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        }
    }

    /// What one combination of hardware and cache measures.
    pub fn combination(&self, hardware: Hardware, cache: Cache) -> Vec<RowKey> {
        let mut keys = Vec::new();
        for &algorithm in &self.algorithms {
            let sizes: Vec<Option<u64>> = match algorithm.unit() {
                Unit::Byte => self.sizes.iter().map(|size| Some(size.0)).collect(),
                Unit::Operation => vec![None],
            };
            for size_bytes in sizes {
                keys.extend(self.libraries.iter().map(|library| RowKey {
                    algorithm,
                    library: library.clone(),
                    size_bytes,
                    hardware,
                    cache,
                    threads: self.cpus.len(),
                }));
            }
        }
        keys
    }
}
