//! Runs a trial that counts the server's instructions: blocks of a fixed number of operations, one after
//! another, after some that are not counted.
//!
//! A block's end is seen at the server: it is read when the server has nothing left to do. Where connections are
//! kept, a load without most of the requests is counted too and subtracted, so that opening the connections is not in
//! the figure.

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use instructions::{CountError, Instructions, Meter};
use load::{Count, Counter, Job, Load, Operation, Outcome, Plan, Progress};
use tls::CertificateKey;
use units::Nanos;

use crate::counted::{Block, CountedInstructions, cipher_code};
use crate::facts::Asked;
use crate::judge::lost_in_words;
use crate::machine::unix_ms;
use crate::mismatch::Mismatch;
use crate::moment::Moment;
use crate::operations::{Operations, first_words};
use crate::reading::CoreHz;
use crate::receipt::Receipt;
use crate::trial::{Hooks, Measured, STEP, Trial};
use crate::trial_record::{ByteCounts, CpuTimes, LatencyNs, SCHEMA, Traffic, TrialRecord};
use crate::warning::Warning;

/// How many blocks a trial has. They show how far a count repeats within a process; how far it does from one process to
/// the next, trials show.
pub const BLOCKS: usize = 2;
/// Operations of a block that opens connections.
const HANDSHAKES: u64 = 8;
/// The same with an RSA key: OpenSSL makes a new blinding for each 32 operations of it, which costs as much as half a
/// handshake, and each block is to have one.
const RSA_HANDSHAKES: u64 = 32;
/// Requests of a block on kept connections, at most.
const REQUESTS: u64 = 64;
/// Fewer, and at least four, where their bodies are more than this together: in callgrind a MiB takes a tenth of a
/// second.
const MOST_BYTES: u64 = 2 << 20;
/// What a block may take. One that failed would take the time limit of an operation each time.
const BLOCK_LIMIT: Nanos = Nanos(300_000_000_000);
/// Requests of the load that is subtracted, for each connection.
const FEW: u64 = 4;

/// What a trial takes, most of the time, in callgrind on a machine of today.
pub const COUNTING_TAKES: Nanos = Nanos(6_000_000_000);

/// What counts a server's instructions between two moments.
pub trait InstructionMeter {
    /// What counts, with its version.
    fn source(&self) -> String;
    /// Begins to count, when the server has nothing left to do.
    ///
    /// # Errors
    /// It cannot.
    fn begin(&mut self) -> Result<(), CountError>;
    /// What was counted since, when the server has nothing left to do.
    ///
    /// # Errors
    /// It is not known.
    fn end(&mut self) -> Result<Instructions, CountError>;
    /// The instructions for cryptography of this processor that it does not have, where that is known.
    fn lacking(&self) -> Option<Vec<&'static str>>;
}

/// What counts the instructions of the server whose first process this is.
///
/// # Errors
/// It cannot be counted so, with what to do.
pub fn instruction_meter(counter: Counter, pid: u32) -> Result<Meter, CountError> {
    match counter {
        Counter::Callgrind => Meter::callgrind(pid),
        Counter::Perf => Meter::perf(pid),
    }
}

impl InstructionMeter for Meter {
    fn source(&self) -> String {
        Meter::source(self).to_owned()
    }

    fn begin(&mut self) -> Result<(), CountError> {
        Meter::begin(self)
    }

    fn end(&mut self) -> Result<Instructions, CountError> {
        Meter::end(self)
    }

    fn lacking(&self) -> Option<Vec<&'static str>> {
        Meter::lacking(self)
    }
}

/// Why a load was not counted.
enum Stopped {
    /// It could not begin.
    NotBegun(String),
    /// What the server did is not known.
    Lost(String),
    Interrupted,
}

impl Trial {
    /// Runs the trial in blocks. The record has operations, their receipt and instructions, and no times.
    ///
    /// `start` prepares the load, calls what it is given, and begins the load.
    ///
    /// # Errors
    /// Why it could not begin.
    pub fn count<L: Load, E: Display>(
        &self,
        meter: &mut dyn InstructionMeter,
        hooks: &mut Hooks<'_>,
        start: impl FnMut(Job, &mut dyn FnMut()) -> Result<L, E>,
    ) -> Result<Measured, String> {
        let started_unix_ms = unix_ms();
        let mut counting = Counting {
            trial: self,
            meter,
            hooks,
            start,
            began: Instant::now(),
            loads: 0,
            whole: Outcome::default(),
            counted: Instructions::default(),
        };
        let mut blocks = Vec::new();
        let lost = match counting.run(&mut blocks) {
            Err(Stopped::NotBegun(why)) if counting.loads == 0 => return Err(why),
            Err(Stopped::NotBegun(why) | Stopped::Lost(why)) => Some(why),
            Err(Stopped::Interrupted) | Ok(()) => None,
        };
        let window = counting.began.elapsed();
        let Counting { meter, hooks, loads, mut whole, counted, .. } = counting;
        whole.window = Nanos(window.as_nanos() as u64);
        let lacking = meter.lacking();
        let lacking = lacking.map(|names| names.into_iter().map(str::to_owned).collect());
        let counted = (blocks.len() == BLOCKS)
            .then(|| {
                let code = cipher_code(&counted);
                CountedInstructions::of(&meter.source(), &blocks, code, lacking)
            })
            .flatten();
        let interrupted = counted.is_none() && hooks.interrupt.load(Relaxed);
        let line = self.counted_line(&whole, loads, hooks, (counted, lost, interrupted));
        Ok(Measured { line: TrialRecord { started_unix_ms, ..line }.judged(), outcome: whole })
    }

    /// How many operations it has in all.
    pub fn operations_in_all(&self) -> u64 {
        let (few, operations) = (self.few(), self.operations_of_block());
        few + operations + BLOCKS as u64 * (2 * few + operations)
    }

    /// How many operations the load has that is subtracted; 0 where none is.
    fn few(&self) -> u64 {
        let Plan { connections, .. } = self.job.plan;
        if self.job.plan.keeps_connections() { FEW * connections as u64 } else { 0 }
    }

    /// How many operations a block has.
    fn operations_of_block(&self) -> u64 {
        let job = &self.job;
        if !job.plan.keeps_connections() {
            return match self.certificate_key {
                Some(key) if !matches!(key, CertificateKey::Rsa(_)) => HANDSHAKES,
                _ => RSA_HANDSHAKES,
            };
        }
        let size = match (&job.objects, job.files) {
            (Some(mix), _) => mix.mean_size().map(|mean| mean as u64),
            (None, Some(files)) => Some(files.size.0),
            (None, None) => objects::size_of(job.url.path()).map(|size| size.0),
        };
        (MOST_BYTES / size.unwrap_or(1).max(1)).clamp(4, REQUESTS)
    }

    /// That connections which were to be kept were opened again, so that handshakes are in the figure.
    fn not_kept(&self, whole: &Outcome, loads: u64) -> Option<Mismatch> {
        let most = loads * self.job.plan.connections as u64;
        (self.job.plan.operation == Operation::Requests && whole.connections > most).then(|| {
            Mismatch::new(
                "connections",
                format!("{most} kept ones"),
                format!("{} opened ones", whole.connections),
            )
        })
    }

    /// That some of the handshakes that were to resume a session did not: one costs as much as several that do,
    /// so none may be among them.
    fn not_resumed(&self, whole: &Outcome) -> Option<Mismatch> {
        let full = whole.negotiated.iter().filter(|(kind, _)| !kind.resumed);
        let full: u64 = full.map(|(_, count)| count).sum();
        (self.job.plan.resumption.get() == 100 && full > 0).then(|| {
            let obtained = format!("{full} full ones");
            Mismatch::new("resumption", "resumed handshakes alone", obtained)
        })
    }

    fn counted_line(
        &self,
        whole: &Outcome,
        loads: u64,
        hooks: &mut Hooks<'_>,
        (counted, lost, interrupted): (Option<CountedInstructions>, Option<String>, bool),
    ) -> TrialRecord {
        let reports = (hooks.reports)();
        let mut receipt = Receipt::of(&self.job, self.certificate_key, whole);
        receipt.asked = Asked { server_cpus: self.server_cpus.clone(), ..receipt.asked };
        if let Some(server) = &self.runs_on {
            receipt.add_server(server);
            if let Ok(report) = &reports.server {
                receipt.add_foreign_files(&server.target, &report.foreign);
                if let Some(sending) = &report.sending {
                    receipt.add_sending(sending);
                }
                if let Some(backend) = &report.backend {
                    receipt.add_backend(&server.target, backend, (&self.job, whole));
                }
            }
        }
        receipt.mismatch.extend(self.not_kept(whole, loads));
        receipt.mismatch.extend(self.not_resumed(whole));
        let warnings = counted.as_ref().and_then(Warning::other_code);
        TrialRecord {
            schema: SCHEMA,
            valid: false,
            interrupted,
            started_unix_ms: 0,
            window_ns: whole.window.0,
            window_awaited_ns: None,
            operations: Operations {
                completed: whole.completed,
                in_flight: whole.in_flight,
                first_errors: first_words(&whole.failures),
                ..Operations::from(&whole.failures)
            },
            bytes: ByteCounts {
                body: whole.bytes.body,
                decrypted: whole.bytes.opened,
                sent: None,
                unproven: whole.bytes.unproven,
                read_from_disk: None,
            },
            rate_per_s: None,
            goodput_bps: None,
            connections_opened: Some(whole.connections),
            connections_per_s: None,
            server_process: self.process.clone(),
            cpu_ns: CpuTimes::default(),
            memory: None,
            energy: None,
            connection_memory: None,
            ranks: Vec::new(),
            lost_ranks: Vec::new(),
            core_hz: CoreHz { before: None, after: None },
            latency_ns: LatencyNs::default(),
            traffic: Traffic::mean(whole.traffic),
            littles_law: None,
            pages: Vec::new(),
            walks: None,
            profile: None,
            cpu_share: Vec::new(),
            server_cpu_share: Vec::new(),
            programs: Vec::new(),
            receipt,
            counted,
            verdict: None,
            warnings: warnings.into_iter().collect(),
            target_error: reports.server.err().or(lost),
            load_error: lost_in_words(&whole.lost),
        }
    }
}

/// A trial under way.
struct Counting<'a, 'b, 'h, S> {
    trial: &'a Trial,
    meter: &'b mut dyn InstructionMeter,
    hooks: &'b mut Hooks<'h>,
    start: S,
    began: Instant,
    /// How many loads were made.
    loads: u64,
    /// What all of them did.
    whole: Outcome,
    /// What all blocks ran, the loads left out that are subtracted.
    counted: Instructions,
}

impl<S, L, E> Counting<'_, '_, '_, S>
where
    S: FnMut(Job, &mut dyn FnMut()) -> Result<L, E>,
    L: Load,
    E: Display,
{
    fn run(&mut self, blocks: &mut Vec<Block>) -> Result<(), Stopped> {
        let operations = self.trial.operations_of_block();
        let few = self.trial.few();
        // What a server does only once is not counted.
        self.load(few + operations)?;
        for _ in 0..BLOCKS {
            // With failures the trial is not valid, and a server that does not answer takes long.
            if self.whole.failures.total() > 0 {
                return Ok(());
            }
            let opening = match few {
                0 => (Instructions::default(), 0),
                few => self.load(few)?,
            };
            let (all, bytes) = self.load(few + operations)?;
            let less = all.total.checked_sub(opening.0.total).zip(bytes.checked_sub(opening.1));
            let (instructions, body_bytes) = less.ok_or_else(|| {
                Stopped::Lost("the server ran fewer instructions for more operations".to_owned())
            })?;
            self.counted.total += all.total;
            self.counted.functions.extend(all.functions);
            blocks.push(Block { operations, instructions, body_bytes });
        }
        Ok(())
    }

    /// Loads with this many operations: what the server ran for them, and the bytes of their bodies.
    fn load(&mut self, operations: u64) -> Result<(Instructions, u64), Stopped> {
        let lost = |error: CountError| Stopped::Lost(error.to_string());
        let plan = Plan {
            count: u32::try_from(operations).ok().and_then(Count::of),
            duration: BLOCK_LIMIT,
            ..self.trial.job.plan.clone()
        };
        let job = Job { plan, ..self.trial.job.clone() };
        let mut begun = Ok(());
        let load = (self.start)(job, &mut || begun = self.meter.begin());
        let load = load.map_err(|error| Stopped::NotBegun(error.to_string()))?;
        load.wake_at_end(thread::current());
        while !load.is_finished() {
            if self.hooks.interrupt.load(Relaxed) || begun.is_err() {
                load.stop();
                break;
            }
            let Progress { completed, failures, body_bytes } = load.progress();
            let completed = completed + self.whole.completed;
            let progress = Progress { completed, failures, body_bytes };
            let elapsed = self.began.elapsed();
            (self.hooks.progress)(Moment {
                prepared: Duration::ZERO,
                elapsed,
                window: Duration::ZERO,
                progress,
            });
            thread::park_timeout(STEP);
        }
        let outcome = load.join();
        self.loads += 1;
        begun.map_err(lost)?;
        let body = outcome.bytes.body;
        let ended = outcome.completed + outcome.failures.total();
        let most_open = self.whole.most_open.max(outcome.most_open);
        self.whole.merge(outcome);
        self.whole.most_open = most_open;
        if self.hooks.interrupt.load(Relaxed) {
            return Err(Stopped::Interrupted);
        }
        if ended < operations {
            let why =
                format!("{ended} of {operations} operations of a block ended within {BLOCK_LIMIT}");
            return Err(Stopped::Lost(why));
        }
        let ran = self.meter.end().map_err(lost)?;
        Ok((ran, body))
    }
}
