//! The parts in which tables are measured, in their order.
//!
//! A part is one round of one table at one level of hardware and one place of the data, or of the
//! bounds: what one process measures. All parts of a round come before those of the next, every other
//! round backwards, so that what drifts touches all tables alike.

use cpus::CpuList;
use primitives::{Cache, Hardware, RowKey, instructions};
use units::{Bytes, Nanos};

use super::{AlgorithmTable, Primitives};

/// What one process measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Which repetition it is, from 0.
    pub round: u32,
    /// Of what.
    pub what: What<'a>,
}

/// What a part is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What<'a> {
    /// What the instructions of the processor allow, on the first of these CPUs.
    Bounds(&'a CpuList),
    /// All algorithms, libraries and sizes of a table.
    Table {
        table: &'a AlgorithmTable,
        /// With how much of the processor.
        hardware: Hardware,
        /// Where the data lies.
        cache: Cache,
    },
}

/// What a sample takes with its readings of the core, on a machine that is quiet half of the time.
const SAMPLE: u64 = 350_000;
/// What a process takes to start, to make keys and to check its results.
const START: u64 = 250_000_000;
/// What the bounds take.
const BOUNDS: u64 = 500_000_000;

impl Primitives {
    /// All parts, in the order in which they are measured.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let rounds = self.tables.iter().map(|table| table.rounds).max().unwrap_or(0);
        let mut parts = Vec::new();
        for round in 0..rounds {
            let mut of_round = Vec::new();
            if let Some(first) = self.tables.first().filter(|_| !instructions::all().is_empty()) {
                of_round.push(Part { round, what: What::Bounds(&first.cpus) });
            }
            for table in self.tables.iter().filter(|table| table.rounds > round) {
                for &hardware in &table.hardware {
                    for &cache in &table.caches {
                        of_round.push(Part { round, what: What::Table { table, hardware, cache } });
                    }
                }
            }
            if round % 2 == 1 {
                of_round.reverse();
            }
            parts.extend(of_round);
        }
        parts
    }

    /// How long all parts take together on a machine that is quiet half of the time.
    pub fn forecast(&self) -> Nanos {
        let all = self.parts().iter().map(|part| part.forecast().0).sum();
        Nanos(all)
    }
}

impl Part<'_> {
    /// How long it takes on a machine that is quiet half of the time.
    pub fn forecast(&self) -> Nanos {
        match self.what {
            What::Bounds(_) => Nanos(BOUNDS),
            What::Table { table, .. } => {
                let samples = (table.rows() as u64).saturating_mul(table.samples.into());
                Nanos(START.saturating_add(samples.saturating_mul(SAMPLE)))
            }
        }
    }

    /// The arguments of `toll` that measure it, of these libraries.
    pub fn arguments(&self, libraries: &[&str]) -> Vec<String> {
        let mut arguments = vec!["bench".to_owned()];
        match self.what {
            What::Bounds(_) => arguments.push("instructions".to_owned()),
            What::Table { table, hardware, cache } => {
                arguments.extend(table.algorithms.iter().map(ToString::to_string));
                let mut add = |flag: &str, value: String| arguments.extend([flag.into(), value]);
                libraries.iter().for_each(|name| add("--library", (*name).to_owned()));
                table.sizes.iter().for_each(|size: &Bytes| add("--size", size.to_string()));
                add("--threads", table.cpus.len().to_string());
                add("--cache", cache.to_string());
                add("--hardware", hardware.to_string());
                add("--samples", table.samples.to_string());
            }
        }
        arguments.push("--json".to_owned());
        arguments
    }

    /// What its rows are of; none of the bounds.
    pub fn rows(&self) -> Vec<RowKey> {
        match self.what {
            What::Bounds(_) => Vec::new(),
            What::Table { table, hardware, cache } => table.combination(hardware, cache),
        }
    }

    /// The command to repeat it by hand.
    pub fn command(&self) -> String {
        let libraries: Vec<&str> = match self.what {
            What::Bounds(_) => Vec::new(),
            What::Table { table, .. } => table.libraries.iter().map(String::as_str).collect(),
        };
        let quoted = |word: &String| match word.contains(' ') {
            true => format!("\"{word}\""),
            false => word.clone(),
        };
        let words: Vec<String> = self.arguments(&libraries).iter().map(quoted).collect();
        format!("taskset -c {} toll {}", self.cpus(), words.join(" "))
    }

    /// The CPUs that it works on.
    pub fn cpus(&self) -> CpuList {
        match self.what {
            What::Bounds(cpus) => cpus.first(1),
            What::Table { table, .. } => table.cpus.clone(),
        }
    }

    /// What it is of, in a few words.
    pub fn in_words(&self) -> String {
        match self.what {
            What::Bounds(_) => "what the instructions allow".to_owned(),
            What::Table { table, hardware, cache } => {
                format!("{}, hardware {hardware}, {cache} caches", table.name)
            }
        }
    }
}
