//! What an `[[answer]]` about primitives compares.

use serde::{Deserialize, Serialize};
use strum::{AsRefStr, Display, IntoStaticStr};
use units::Bytes;

use crate::gate::RatioGate;
use crate::headline::Written;
use crate::reference::Published;
use primitives::RowKey;

/// How an answer is found: the costs of a table over the values of one of its lists. Where the table
/// has several values of the others too, each combination of those is compared by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// What it asks, where the study says so.
    pub question: Option<String>,
    /// The name of the table.
    pub primitives: String,
    /// What is compared.
    pub compare: Dimension,
    /// What the others are compared with, as the study writes it.
    pub baseline: String,
    /// The sizes that sentences are about, ascending; the last one has the figures.
    pub at: Vec<Bytes>,
    /// Figures of the study's reference that are shown next to it.
    pub published: Vec<Published>,
    /// Numbers of cores to which rates are projected.
    pub project: Vec<u32>,
    /// How many times as fast as the baseline all others must be.
    pub gates: Vec<RatioGate>,
    /// What the study's author writes of it.
    #[serde(default)]
    pub written: Option<Written>,
}

/// A list of a table that can be compared over.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
    AsRefStr
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Dimension {
    /// What is done.
    Algorithm,
    /// Who does it.
    Library,
    /// With how much of the processor.
    Hardware,
    /// Where the data lies.
    Cache,
}

/// What the size of messages is called beside the dimensions, where an author names a row.
pub const SIZE: &str = "size";

impl Dimension {
    pub const ALL: [Self; 4] = [Self::Algorithm, Self::Library, Self::Hardware, Self::Cache];

    /// The value that a row has of it.
    #[must_use]
    pub fn of(self, row: &RowKey) -> String {
        match self {
            Self::Algorithm => row.algorithm.to_string(),
            Self::Library => row.library.clone(),
            Self::Hardware => row.hardware.to_string(),
            Self::Cache => row.cache.to_string(),
        }
    }

    /// The values that a table has of it, as study files write them.
    #[must_use]
    pub fn values(self, table: &super::Table) -> Vec<String> {
        match self {
            Self::Algorithm => table.algorithms.iter().map(ToString::to_string).collect(),
            Self::Library => table.libraries.clone(),
            Self::Hardware => table.hardware.iter().map(ToString::to_string).collect(),
            Self::Cache => table.caches.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Rule {
    /// Whether the others are compared with this row.
    #[must_use]
    pub fn is_baseline(&self, row: &RowKey) -> bool {
        self.compare.of(row) == self.baseline
    }
}
