//! The hyperthreads that share a core with given CPUs, according to the kernel.
//!
//! A virtual machine may hide it; what server and client do to each
//! other is therefore [measured](crate::siblings). This is for the CPUs of neither.

use cpus::CpuList;

use crate::root::Root;

/// The CPUs outside of `cpus` that share a core with one of them; none where the kernel does
/// not report it.
pub fn sibling_cpus(cpus: &CpuList) -> Vec<usize> {
    let root = Root::machine();
    let lists =
        cpus.as_slice().iter().filter_map(|&cpu| root.thread_siblings(cpu).known().cloned());
    let mut siblings: Vec<usize> = lists.flat_map(|list| others(&list, cpus)).collect();
    siblings.sort_unstable();
    siblings.dedup();
    siblings
}

fn others(list: &str, cpus: &CpuList) -> Vec<usize> {
    let list = list.trim().parse::<CpuList>().ok();
    list.and_then(|list| list.without(cpus)).map_or_else(Vec::new, |list| list.as_slice().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpus_that_are_not_meant_are_siblings() {
        let cpus: CpuList = "0,4".parse().unwrap();
        assert_eq!(others("0,32\n", &cpus), [32]);
        assert_eq!(others("0,4\n", &cpus), [] as [usize; 0]);
        assert_eq!(others("4-7", &cpus), [5, 6, 7]);
        assert_eq!(others("", &cpus), [] as [usize; 0]);
        assert_eq!(sibling_cpus(&CpuList::from(100_000)), [] as [usize; 0]);
    }
}
