//! The machine that a run is measured on.

use cpus::CpuList;
use experiment::{Experiment, RunError};
use journal::Results;
use observe::Machine;

/// Writes what the machine is; where a run goes on, checks that it still is.
pub(crate) fn write(
    experiments: &[Box<dyn Experiment + '_>],
    results: &Results,
) -> Result<(), RunError> {
    let lists = experiments.iter().flat_map(|of| of.cpus());
    // Where server and load are elsewhere, all are as good.
    let cpus = match lists.reduce(|all, cpus| all.with(&cpus)) {
        Some(cpus) => cpus,
        None => CpuList::allowed().map_err(|error| RunError::Start(error.to_string()))?,
    };
    let machine = Machine::read(&cpus);
    match results.machine()? {
        Some(earlier) => machine
            .difference(&earlier)
            .map_or(Ok(()), |difference| Err(RunError::MachineChanged(difference))),
        None => Ok(results.write_machine(&machine)?),
    }
}
