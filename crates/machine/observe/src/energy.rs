//! What the processors' packages take from the mains, by their own counters (RAPL), as the kernel shows them
//! (Documentation/power/powercap/powercap.rst).
//!
//! A package is cores, caches and memory controllers, of all programs that run on it. Parts of it have
//! counters of their own (`intel-rapl:0:0`), which are in its count already; memory modules and the rest of
//! the machine are in none. AMD's processors are shown under the same names.

use serde::{Deserialize, Serialize};

use crate::root::Root;
use crate::{Availability, ObserveError};

const FOLDER: &str = "/sys/class/powercap";

/// The counters of all packages.
#[derive(Debug)]
pub struct EnergyMeter {
    root: Root,
    packages: Vec<Package>,
}

#[derive(Debug)]
struct Package {
    /// Of its count, in microjoules.
    file: String,
    /// The count begins again at 0 after this one.
    range: u64,
}

/// What the counters of the packages stood at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnergyReading(Vec<Count>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    microjoules: u64,
    range: u64,
}

impl EnergyMeter {
    /// The counters of this machine.
    ///
    /// # Errors
    /// It has none, or does not let this process read them.
    pub fn open() -> Result<Self, ObserveError> {
        Self::at(Root::machine())
    }

    fn at(root: Root) -> Result<Self, ObserveError> {
        let names = root.names(FOLDER).into_iter();
        let zones = names.filter(|name| {
            // Of a package, not a part of one, nor the same package by another interface.
            name.strip_prefix("intel-rapl:").is_some_and(|number| !number.contains(':'))
        });
        let mut packages = Vec::new();
        for zone in zones {
            let file = |name: &str| format!("{FOLDER}/{zone}/{name}");
            let name = root.line(&file("name")).or_why().map_err(ObserveError::NoEnergyCounters)?;
            if name.starts_with("package") {
                let range = root.number(&file("max_energy_range_uj")).or_why();
                let range = range.map_err(ObserveError::NoEnergyCounters)?;
                packages.push(Package { file: file("energy_uj"), range });
            }
        }
        if packages.is_empty() {
            let why =
                format!("{FOLDER} has no package (RAPL): a virtual machine, or no driver of it");
            return Err(ObserveError::NoEnergyCounters(why));
        }
        let meter = Self { root, packages };
        meter.read().map(|_| meter)
    }

    /// # Errors
    /// A counter cannot be read, which needs root since Linux 5.10.
    pub fn read(&self) -> Result<EnergyReading, ObserveError> {
        let count = |Package { file, range }: &Package| {
            let microjoules = self.root.number(file).or_why()?;
            Ok(Count { microjoules, range: *range })
        };
        let counts: Result<Vec<Count>, String> = self.packages.iter().map(count).collect();
        counts.map(EnergyReading).map_err(|why| {
            let as_root = if why.starts_with("cannot read") { "; only root may" } else { "" };
            ObserveError::NoEnergyCounters(format!("{why}{as_root}"))
        })
    }
}

impl EnergyReading {
    /// Joules since an earlier reading, in which no counter has begun again twice; `None` where there are
    /// other packages now.
    pub fn joules_since(&self, earlier: &Self) -> Option<f64> {
        let (now, before) = (&self.0, &earlier.0);
        let used = |(now, before): (&Count, &Count)| match now.microjoules >= before.microjoules {
            true => now.microjoules - before.microjoules,
            false => now.range.saturating_sub(before.microjoules) + now.microjoules,
        };
        (now.len() == before.len())
            .then(|| now.iter().zip(before).map(used).map(|part| part as f64 * 1e-6).sum())
    }
}

/// Whether this machine's energy can be read, tried.
pub(crate) fn probe() -> Availability {
    match EnergyMeter::open() {
        Ok(_) => Availability::Available,
        Err(error) => Availability::NotAvailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const RANGE: &str = "262143328850\n";

    /// A tree with these zones: folder, name, count.
    fn tree(zones: &[(&str, &str, &str)]) -> (TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (zone, name, count) in zones {
            set(&root, zone, "name", name);
            set(&root, zone, "max_energy_range_uj", RANGE);
            set(&root, zone, "energy_uj", count);
        }
        (folder, root)
    }

    fn set(root: &Root, zone: &str, file: &str, text: &str) {
        let folder = root.path(&format!("{FOLDER}/{zone}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(file), text).unwrap();
    }

    #[test]
    fn packages_count_once_and_their_parts_not_again() {
        let (_folder, root) = tree(&[
            ("intel-rapl:0", "package-0\n", "1000000\n"),
            ("intel-rapl:0:0", "core\n", "900000\n"),
            ("intel-rapl:0:1", "dram\n", "800000\n"),
            ("intel-rapl:1", "package-1-die-0\n", "5\n"),
            ("intel-rapl:2", "psys\n", "7000000\n"),
            ("intel-rapl-mmio:0", "package-0\n", "1000000\n"),
        ]);
        std::fs::create_dir_all(root.path(&format!("{FOLDER}/intel-rapl"))).unwrap();
        let meter = EnergyMeter::at(root.clone()).unwrap();
        let before = meter.read().unwrap();
        set(&root, "intel-rapl:0", "energy_uj", "3500000\n");
        set(&root, "intel-rapl:1", "energy_uj", "500005\n");
        assert_eq!(meter.read().unwrap().joules_since(&before), Some(3.0));
    }

    #[test]
    fn a_counter_that_begins_again_goes_on() {
        let (_folder, root) = tree(&[("intel-rapl:0", "package-0\n", "262143328000\n")]);
        let meter = EnergyMeter::at(root.clone()).unwrap();
        let before = meter.read().unwrap();
        set(&root, "intel-rapl:0", "energy_uj", "999150\n");
        let joules = meter.read().unwrap().joules_since(&before).unwrap();
        assert!((joules - 1.0).abs() < 1e-9, "{joules}");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let why = |root: &Root| EnergyMeter::at(root.clone()).unwrap_err().to_string();
        let (_folder, none) = tree(&[]);
        let (_other, parts) = tree(&[("intel-rapl:0:0", "core\n", "1\n")]);
        for root in [none, parts] {
            assert!(why(&root).contains(FOLDER), "{}", why(&root));
        }
        let (_folder, root) = tree(&[("intel-rapl:0", "package-0\n", "1\n")]);
        // As a file that may not be read; root may read all others.
        let file = root.path(&format!("{FOLDER}/intel-rapl:0/energy_uj"));
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(why(&root).contains("root"), "{}", why(&root));
        let (_folder, root) = tree(&[("intel-rapl:0", "package-0\n", "many\n")]);
        assert!(why(&root).contains("many"), "{}", why(&root));
        set(&root, "intel-rapl:0", "max_energy_range_uj", "");
        assert!(why(&root).contains("max_energy_range_uj"), "{}", why(&root));
    }
}
