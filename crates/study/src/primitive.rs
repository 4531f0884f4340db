//! The part of a study that needs no server: what algorithms cost, in `[[primitives]]` tables.

mod part;
mod rule;

use cpus::CpuList;
use primitives::{Algorithm, Cache, Hardware, RowKey, Unit};
use serde::{Deserialize, Serialize};
use serde_with::{DisplayFromStr, serde_as};
use units::Bytes;

pub use part::{Part, What};
pub use rule::{Dimension, Rule, SIZE};

/// The tables of a study, and the answers that they give.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Primitives {
    /// In the order of the file.
    pub tables: Vec<Table>,
    /// In the order of the file.
    pub answers: Vec<Rule>,
}

/// A `[[primitives]]` table: everything in it is measured in every combination.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
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

impl Table {
    /// How many rows one combination of hardware and cache has.
    #[must_use]
    pub fn rows(&self) -> usize {
        let of = |algorithm: &Algorithm| match algorithm.unit() {
            Unit::Byte => self.sizes.len(),
            Unit::Operation => 1,
        };
        self.algorithms.iter().map(of).sum::<usize>() * self.libraries.len()
    }

    /// What one combination of hardware and cache measures.
    #[must_use]
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
