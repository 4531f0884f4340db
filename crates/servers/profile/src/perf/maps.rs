//! Which library lies at an address of a process: `perf` names none where it has no symbol.

use std::collections::HashMap;

use procfs::process::{MMapPath, Process};

/// The executable mappings of some processes.
#[derive(Debug, Default)]
pub struct Maps(HashMap<u32, Vec<Mapping>>);

#[derive(Debug)]
struct Mapping {
    start: u64,
    end: u64,
    library: String,
}

impl Maps {
    /// Those that the processes have now; a process that has ended has none.
    pub fn of(processes: &[u32]) -> Self {
        let maps = processes.iter().filter_map(|&pid| Some((pid, mappings(pid)?)));
        Self(maps.collect())
    }

    /// The file name of the program or library at an address.
    pub(super) fn library(&self, process: u32, address: u64) -> Option<&str> {
        let mappings = self.0.get(&process)?;
        let at = mappings.iter().find(|map| (map.start..map.end).contains(&address))?;
        Some(&at.library)
    }
}

fn mappings(pid: u32) -> Option<Vec<Mapping>> {
    let maps = Process::new(pid.cast_signed()).ok()?.maps().ok()?;
    let mapping = |map: procfs::process::MemoryMap| match map.pathname {
        MMapPath::Path(path) => Some(Mapping {
            start: map.address.0,
            end: map.address.1,
            library: path.file_name()?.to_string_lossy().into_owned(),
        }),
        _ => None,
    };
    Some(maps.into_iter().filter_map(mapping).collect())
}
