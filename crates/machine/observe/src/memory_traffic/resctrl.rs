//! The count of bytes between each last-level cache and memory, where the resctrl file system is
//! mounted (Documentation/filesystems/resctrl.rst, `mbm_total_bytes`).

use crate::ObserveError;
use crate::root::Root;

const FOLDER: &str = "/sys/fs/resctrl/mon_data";

#[derive(Debug)]
pub(super) struct Resctrl {
    root: Root,
    /// One of each last-level cache.
    files: Vec<String>,
}

impl Resctrl {
    pub(super) fn find(root: &Root) -> Result<Self, String> {
        let domains = root.names(FOLDER).into_iter().filter(|name| name.starts_with("mon_L3_"));
        let files: Vec<String> =
            domains.map(|domain| format!("{FOLDER}/{domain}/mbm_total_bytes")).collect();
        if files.is_empty() {
            return Err("resctrl is not mounted, or the processor does not monitor it".to_owned());
        }
        let found = Self { root: root.clone(), files };
        found.read().map_err(|error| error.to_string())?;
        Ok(found)
    }

    pub(super) fn read(&self) -> Result<u64, ObserveError> {
        // `Unavailable` and `Error` are no numbers.
        let bytes = |file: &String| self.root.number::<u64>(file).or_why();
        let sum: Result<u64, String> = self.files.iter().map(bytes).sum();
        sum.map_err(ObserveError::NoMemoryCounters)
    }
}
