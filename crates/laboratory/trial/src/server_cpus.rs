//! On which CPUs a server runs that toll did not start.

use cpus::CpuList;
use observe::{ObserveError, ProcessTree, allowed_cpus};

/// The CPUs of the process `pid` and its descendants.
///
/// Where some of the threads are pinned to fewer CPUs than the others, those are the ones that
/// serve: a master process or a main thread that may run anywhere does next to nothing.
///
/// # Errors
/// There is no such process.
pub fn server_cpus(pid: u32) -> Result<CpuList, ObserveError> {
    let lists: Vec<CpuList> = ProcessTree::find(pid)?.pids().flat_map(lists_of).collect();
    serving(&lists).ok_or(ObserveError::ProcessGone { pid })
}

/// Where each thread of a process may run; those that end meanwhile are left out.
fn lists_of(pid: u32) -> Vec<CpuList> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let number = |task: std::fs::DirEntry| task.file_name().to_str()?.parse().ok();
    tasks.flatten().filter_map(number).filter_map(allowed_cpus).collect()
}

/// All CPUs of the lists that are shorter than the longest; the longest where none is.
pub(crate) fn serving(lists: &[CpuList]) -> Option<CpuList> {
    let longest = lists.iter().max_by_key(|list| list.len())?;
    let pinned = lists.iter().filter(|list| list.len() < longest.len()).cloned();
    Some(pinned.reduce(|all, list| all.with(&list)).unwrap_or_else(|| longest.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving_of(lists: &[&str]) -> Option<String> {
        let lists: Vec<CpuList> = lists.iter().map(|list| list.parse().unwrap()).collect();
        serving(&lists).map(|list| list.to_string())
    }

    #[test]
    fn pinned_threads_serve_and_free_ones_watch() {
        assert_eq!(serving_of(&["0-7", "0", "2"]).as_deref(), Some("0,2"));
        assert_eq!(serving_of(&["0-7", "0-7"]).as_deref(), Some("0-7"));
        assert_eq!(serving_of(&["3"]).as_deref(), Some("3"));
        assert_eq!(serving_of(&[]), None);
    }

    #[test]
    fn this_process_runs_where_it_may() {
        let cpus = server_cpus(std::process::id()).unwrap();
        assert!(cpus.without(&CpuList::allowed().unwrap()).is_none());
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        // Above the kernel's limit of process numbers, 2^22.
        assert!(matches!(server_cpus(1 << 23), Err(ObserveError::ProcessGone { .. })));
    }
}
