//! Counts what a server's processes run between two moments.

use std::thread;
use std::time::{Duration, Instant};

use observe::{InstructionCounter, ProcessTree, TreeMeter};
use units::Nanos;

use crate::callgrind::Process;
use crate::emulated::lacking_in_valgrind;
use crate::{CountError, Function};

/// How long a server may work after its last answer: in callgrind it is fifty times slower.
const SETTLE_LIMIT: Duration = Duration::from_secs(5);
/// Between two looks at its CPU time, which the kernel accounts for each 10 ms at the latest. It is settled when two
/// say the same.
const LOOK: Duration = Duration::from_millis(20);

/// Counts the instructions of those processes of a server that serve: not of a master that only starts
/// them.
#[derive(Debug)]
pub struct Meter {
    root: u32,
    of: Of,
    source: String,
    /// Counts the CPU time of all its processes.
    used: TreeMeter,
    /// The CPU time of all processes when they were last read.
    read_at: Option<Nanos>,
}

#[derive(Debug)]
enum Of {
    Callgrind(Vec<Process>),
    Perf { pids: Vec<u32>, open: Option<InstructionCounter> },
}

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    pub total: u64,
    /// The functions of all processes; none where the processor counted.
    pub functions: Vec<Function>,
}

impl Meter {
    /// By callgrind, in which the server whose first process this is must run.
    ///
    /// # Errors
    /// It does not, or valgrind does not answer.
    pub fn callgrind(root: u32) -> Result<Self, CountError> {
        let pids = serving(root)?;
        let processes: Vec<Process> =
            pids.into_iter().map(Process::find).collect::<Result<_, _>>()?;
        let mut creators = Vec::new();
        for process in &processes {
            creators.push(process.dump()?.creator.replacen('-', " ", 1));
        }
        creators.sort();
        creators.dedup();
        let source = creators.join(" and ");
        let used = TreeMeter::begin(root)?;
        Ok(Self { root, of: Of::Callgrind(processes), source, used, read_at: None })
    }

    /// By the processor's counters.
    ///
    /// # Errors
    /// The machine has none, or the kernel does not let this user have them.
    pub fn perf(root: u32) -> Result<Self, CountError> {
        let pids = serving(root)?;
        InstructionCounter::open(&pids).map_err(CountError::NoCounter)?;
        let of = Of::Perf { pids, open: None };
        let (source, used) = ("perf instructions:u".to_owned(), TreeMeter::begin(root)?);
        Ok(Self { root, of, source, used, read_at: None })
    }

    /// What counts, with its version: figures of two are of different things.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The instructions for cryptography of this processor that it does not have, by the names of /proc/cpuinfo; none
    /// where the processor itself counts, `None` where that is not known.
    pub fn lacking(&self) -> Option<Vec<&'static str>> {
        match self.of {
            Of::Callgrind(_) => lacking_in_valgrind(),
            Of::Perf { .. } => Some(Vec::new()),
        }
    }

    /// Begins to count, when the server has nothing left to do.
    ///
    /// # Errors
    /// It goes on working, or what counts does not answer.
    pub fn begin(&mut self) -> Result<(), CountError> {
        let used = self.settle()?;
        match &mut self.of {
            // What was read is forgotten, and nothing has run since.
            Of::Callgrind(_) if self.read_at == Some(used) => Ok(()),
            Of::Callgrind(processes) => processes.iter().try_for_each(Process::zero),
            Of::Perf { pids, open } => {
                *open = Some(InstructionCounter::open(pids).map_err(CountError::Counter)?);
                Ok(())
            }
        }
    }

    /// What was counted since it began, when the server has nothing left to do.
    ///
    /// # Errors
    /// It goes on working, has other processes than before, or what counts does not answer.
    pub fn end(&mut self) -> Result<Instructions, CountError> {
        self.settle()?;
        let counted = match &mut self.of {
            Of::Callgrind(processes) => {
                let mut sum = Instructions::default();
                for process in &*processes {
                    let dump = process.dump()?;
                    sum.total += dump.instructions;
                    sum.functions.extend(dump.functions);
                }
                sum
            }
            Of::Perf { open, .. } => {
                let counter = open.take().ok_or(CountError::ProcessesChanged)?;
                let total = counter.read().map_err(CountError::Counter)?;
                Instructions { total, functions: Vec::new() }
            }
        };
        self.read_at = Some(self.used()?);
        match serving(self.root)? == self.pids() {
            true => Ok(counted),
            false => Err(CountError::ProcessesChanged),
        }
    }

    fn pids(&self) -> Vec<u32> {
        match &self.of {
            Of::Callgrind(processes) => processes.iter().map(Process::pid).collect(),
            Of::Perf { pids, .. } => pids.clone(),
        }
    }

    fn used(&self) -> Result<Nanos, CountError> {
        Ok(self.used.read()?.on_cpu)
    }

    /// Waits until its processes use no CPU time, and returns what they have used: what follows the last answer of an
    /// operation, such as the end of its connection, is part of it.
    fn settle(&self) -> Result<Nanos, CountError> {
        let deadline = Instant::now() + SETTLE_LIMIT;
        let mut before = self.used()?;
        loop {
            thread::sleep(LOOK);
            let now = self.used()?;
            if now == before {
                return Ok(now);
            }
            if Instant::now() >= deadline {
                return Err(CountError::NotSettled { seconds: SETTLE_LIMIT.as_secs() });
            }
            before = now;
        }
    }
}

/// In the order of their numbers.
fn serving(root: u32) -> Result<Vec<u32>, CountError> {
    let mut pids = ProcessTree::find(root)?.serving_processes();
    pids.sort_unstable();
    Ok(pids)
}
