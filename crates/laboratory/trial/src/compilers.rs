//! How much of a server's CPU time its just-in-time compilers took.
//!
//! Code that is not compiled yet runs many times slower, and compiling takes the server's CPU. Noise of
//! the machine slows compilers and other threads alike, so their share of the server's CPU time shows
//! whether a trial was early, where rates do not.

use std::collections::BTreeMap;

use observe::NamedThread;

/// What a server with compilers that are nearly done spends on them.
pub(crate) const SETTLED: f64 = 0.03;

/// HotSpot's names (`C1 CompilerThread0`, `C2 CompilerThread0`), as the kernel cuts them.
const NAMES: [&str; 2] = ["C1 CompilerThre", "C2 CompilerThre"];

/// Of what each thread used, by its number, the compilers' part; `None` where there are none, or nothing
/// was used.
pub(crate) fn share(used: &BTreeMap<u32, f64>, threads: &[NamedThread]) -> Option<f64> {
    let all: f64 = used.values().sum();
    let compilers = threads.iter().filter(|thread| NAMES.contains(&thread.name.as_str()));
    let times: Vec<f64> = compilers.filter_map(|thread| used.get(&thread.id).copied()).collect();
    (all > 0.0 && !times.is_empty()).then(|| times.iter().sum::<f64>() / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(threads: &[(&str, f64)]) -> Option<f64> {
        let numbered = || (1..).zip(threads);
        let used = numbered().map(|(id, (_, used))| (id, *used)).collect();
        let named = |(id, (name, _)): (u32, &(&str, f64))| NamedThread {
            id,
            name: (*name).to_owned(),
            is_main: id == 1,
        };
        share(&used, &numbered().map(named).collect::<Vec<_>>())
    }

    #[test]
    fn it_is_their_part_of_what_the_server_used() {
        let java = [("java", 0.0), ("http-exec-", 0.6), ("C1 CompilerThre", 0.05)];
        let both = [java.as_slice(), &[("C2 CompilerThre", 0.15)]].concat();
        assert_eq!(of(&both), Some(0.25));
        assert_eq!(of(&[("java", 0.1), ("C2 CompilerThre", 0.0)]), Some(0.0));
    }

    #[test]
    fn a_server_without_compilers_or_without_work_has_none() {
        assert_eq!(of(&[("nginx", 1.0)]), None);
        assert_eq!(of(&[("java", 0.0), ("C2 CompilerThre", 0.0)]), None);
    }
}
