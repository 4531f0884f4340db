//! Runs a study: each of its experiments is measured, part by part, each part on disk before the next.
//!
//! An [`Experiment`] is a kind of measurement with all that a study asks of it:
//!
//! - [`cells`] measures servers under load.
//! - [`primitive`] measures algorithms, which need no server.

pub mod cells;
mod kind;
pub mod primitive;
mod run_error;
#[cfg(test)]
mod testing;

use study::Study;

pub use kind::{DryRun, Ended, Event, Experiment};
pub use run_error::{ErrorClass, RunError};

/// The experiments of a study, in the order in which they are measured: servers first, so that what
/// they lack is known before minutes are spent.
pub fn of(study: &Study) -> Vec<Box<dyn Experiment + '_>> {
    let all: [Option<Box<dyn Experiment>>; 2] = [cells::of(study), primitive::of(study)];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const CELLS: &str = "[target]\nserver = \"embedded\"\ncpus = \"0\"\n[load]\ncpus = \"1\"\n\
                         duration = \"1s\"\n[[case]]\nname = \"bulk\"\n";
    const TABLES: &str = "[[primitives]]\nname = \"hashes\"\nalgorithms = [\"SHA-256\"]\n\
                          libraries = [\"openssl\"]\nsizes = [\"1KiB\"]\nrounds = 1\ncpus = \"1\"\n";

    #[test]
    fn a_study_has_the_experiments_that_it_asks_for_servers_first() {
        for (parts, expected) in [
            (vec![CELLS], vec!["trials in all"]),
            (vec![TABLES], vec!["primitives in "]),
            (vec![CELLS, TABLES], vec!["trials in all", "primitives in "]),
        ] {
            let text = format!("schema = 1\nquestion = \"?\"\ntrials = 7\n{}", parts.concat());
            let study = file::parse(
                "test.toml",
                &text,
                &"0-1".parse::<cpus::CpuList>().unwrap().into(),
                None,
            )
            .unwrap();
            let experiments = of(&study);
            assert_eq!(experiments.len(), expected.len());
            for (experiment, words) in experiments.iter().zip(expected) {
                assert!(experiment.forecast().contains(words), "{}", experiment.forecast());
                let plan = experiment.plan(Path::new("results"));
                assert!(plan.summary.contains(words) && !plan.commands.is_empty(), "{plan:?}");
                assert!(experiment.cpus().iter().any(|cpus| cpus.to_string() == "1"));
            }
        }
    }
}
