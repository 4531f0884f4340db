//! Starts the load's threads, watches them, and gathers what they recorded.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpus::CpuList;
use objects::HostName;
use units::Nanos;

use crate::advice;
use crate::choice::Choice;
use crate::clients::Clients;
use crate::descriptors::{NoRoom, Tables};
use crate::draw::{Draw, Drawn};
use crate::job::{Job, PlanError};
use crate::outcome::Outcome;
use crate::plan::{LONGEST, Plan};
use crate::recorder::Recorder;
use crate::requests::AllRequests;
use crate::running::{Load, Progress};
use crate::schedule::{Ramp, ThreadPart};
use crate::window::Window;
use crate::worker::{self, Counters, Share};
use crate::{Arrival, Operation, ports, source};
use wire::ErrorKind;
use wire::handshake::{Negotiated, Offer, OfferError, QuicClient, Sampler, client};

/// How much longer than its time limit a probe is waited for: an operation without progress is noticed
/// only now and then, and says more than that there was no answer.
const PROBE_SLACK: Duration = Duration::from_millis(100);

/// Between two looks at a load that prepares itself or is a probe.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A load that is running.
pub struct Engine {
    window: Arc<Window>,
    base: Instant,
    threads: Vec<Thread>,
    /// The size of each request's body.
    request_body: u64,
    names_asked: usize,
}

/// A load whose threads are there and wait for its begin. Dropping it ends them.
pub struct Prepared {
    engine: Engine,
    /// What lets each thread begin, with the load's start.
    starts: Vec<mpsc::Sender<Instant>>,
}

struct Thread {
    handle: JoinHandle<std::io::Result<Outcome>>,
    id: i32,
    counters: Arc<Counters>,
}

/// Why a load could not start; one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan contradicts itself, or names something that does not exist.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The process may not open enough descriptors, even with a table per thread.
    #[error(transparent)]
    Descriptors(#[from] NoRoom),
    /// The system refused to start a thread or to pin it to its CPU.
    #[error("a load thread on CPU {cpu} could not start: {source}")]
    Thread {
        /// The CPU that it was meant for.
        cpu: usize,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Why a server cannot be loaded as asked; one line that says what, where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The load could not even start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The one operation that was tried failed.
    #[error("{url} at {address}: {kind}: {seen}; {advice}")]
    Failed {
        /// What was asked for.
        url: String,
        /// Where.
        address: SocketAddr,
        /// How it failed.
        kind: ErrorKind,
        /// In words.
        seen: String,
        /// What to do.
        advice: String,
    },
    /// It was interrupted.
    #[error("interrupted before the server had answered")]
    Interrupted,
    /// The operation neither ended nor failed in time.
    #[error(
        "{url} at {address}: no answer within {limit}; is the server busy, or is this not the right port?"
    )]
    NoAnswer {
        /// What was asked for.
        url: String,
        /// Where.
        address: SocketAddr,
        /// How long the probe waited.
        limit: Nanos,
    },
}

impl Engine {
    /// Starts a load's threads, and with them the warm-up. The window of a closed loop that keeps its connections
    /// begins when 95% of them are up, at most 5 s after the warm-up.
    ///
    /// # Errors
    /// A plan that contradicts itself, a certificate file that cannot be read, too few descriptors,
    /// or a CPU that does not exist. Nothing was sent in these cases.
    pub fn start(job: Job) -> Result<Self, EngineError> {
        Self::start_after(job, &AtomicBool::new(false), &mut || {})
    }

    /// As [`start`](Self::start), and calls this right before the load begins, when all is prepared; an
    /// interrupt cuts that short.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_after(
        job: Job,
        interrupt: &AtomicBool,
        begins: &mut dyn FnMut(),
    ) -> Result<Self, EngineError> {
        let prepared = Self::prepare_with(job, interrupt, true)?;
        begins();
        Ok(prepared.begin())
    }

    /// Does all that a load needs before its first packet; a load that is to resume sessions and has no
    /// warm-up collects them here, on all its threads at the same time, until an interrupt. Its window begins when it
    /// is planned to, as other loads expect that share it.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn prepare(job: Job, interrupt: &AtomicBool) -> Result<Prepared, EngineError> {
        Self::prepare_with(job, interrupt, false)
    }

    /// The same of a load whose window may wait for its connections.
    fn prepare_with(
        job: Job,
        interrupt: &AtomicBool,
        may_wait: bool,
    ) -> Result<Prepared, EngineError> {
        job.check()?;
        let plan = &job.plan;
        let (connections, streams) = (plan.connections, plan.streams());
        let tables = Tables::make_room(connections, plan.cpus.len())?;
        let thread_count = tables.threads;
        // Threads get what they need before the load begins: to allocate a recorder's memory, page
        // by page, would delay their start.
        let site = job.site()?.map(Arc::new);
        let period = job.period()?;
        let pages = || site.as_ref().map(|site| site.outcomes()).unwrap_or_default();
        let names = job.drawn_names()?;
        let offer = if job.url.is_tls() { Some(job.offer()?) } else { None };
        let needs = (0..thread_count)
            .map(|thread| {
                let mut recorder = Recorder::new(plan.arrival);
                (recorder.outcome.pages, recorder.deadline) = (pages(), period);
                let clients = match &offer {
                    Some(offer) => new_clients(&job, offer, &names, thread)?,
                    None => Clients::Plain,
                };
                Ok((clients, recorder))
            })
            .collect::<Result<Vec<_>, EngineError>>()?;

        let window = Window::new(job.stop(), plan.ramp);
        let window = Arc::new(match plan.operation {
            _ if may_wait && job.needs_all_up() && plan.ramp.0 == 0 => {
                window.with_kept(connections).waiting()
            }
            Operation::Requests | Operation::Session => window.with_kept(connections),
            Operation::Handshakes | Operation::OneRequestPerConnection => window,
        });
        let ramp = Ramp::new(plan.ramp.0, window.planned_end());
        let cpus = plan.cpus.clone();
        let choice = Choice::new(thread_count, job.tries_pauses_until(), plan.wakeups().asked());
        let choice = Arc::new(Mutex::new(choice));
        let collecting = job.collecting().map(Arc::new);
        let requests = Arc::new(AllRequests::of(&job, &names)?);
        let (request_body, names_asked) = (requests.body.len() as u64, names.len());
        let job = Arc::new(job);
        let collecting_since = Instant::now();
        let mut windows = Vec::new();
        let mut spawned = Vec::with_capacity(thread_count);
        for (thread, (clients, recorder)) in needs.into_iter().enumerate() {
            let slots =
                connections / thread_count + usize::from(thread < connections % thread_count);
            let window_start = window.start();
            let part = ThreadPart {
                thread,
                threads: thread_count,
                slots: slots * streams,
                connections: connections * streams,
                window_start,
                seed: job.seed,
                ramp,
                period: period.unwrap_or_default(),
            };
            // A connection is a slot there.
            let collecting_part = ThreadPart { slots, connections, window_start: 0, ..part };
            let sessions = collecting.clone().map(|job| {
                let window = Arc::new(worker::collecting_window(&job, slots, names_asked));
                windows.push(window.clone());
                (job, window)
            });
            let cpus = cpus.as_slice();
            let cpu = cpus[thread % cpus.len()];
            let counters = Arc::new(Counters::default());
            let (ready, is_ready) = mpsc::channel();
            let (start, is_started) = mpsc::channel();
            let handle = {
                let (job, window, counters) = (job.clone(), window.clone(), counters.clone());
                let (site, requests, choice) = (site.clone(), requests.clone(), choice.clone());
                std::thread::Builder::new().name(format!("load-{cpu}")).spawn(move || {
                    let pinned =
                        cpus::pin_current_thread(&CpuList::from(cpu)).and_then(|()| tables.enter());
                    let prepared = pinned.and_then(|()| {
                        let collect = |(job, window): &(Arc<Job>, Arc<Window>)| {
                            let (part, since) = (collecting_part, collecting_since);
                            worker::collect(job, window, since, part, &clients, names_asked)
                        };
                        sessions.as_ref().map(collect).transpose()
                    });
                    let (prepared, collected) = match prepared {
                        Ok(collected) => (Ok(rustix::thread::gettid()), collected),
                        Err(error) => (Err(error), None),
                    };
                    let is_pinned = prepared.is_ok();
                    // Fails only where the receiver has already given up.
                    let _ = ready.send(prepared);
                    // No thread sends before all are pinned. Where pinning fails, none ever does.
                    let started = is_started.recv().ok().filter(|_| is_pinned);
                    let Some(base) = started else { return Ok(recorder.into_outcome()) };
                    let counters = &counters;
                    let site = site.as_deref();
                    let (job, window, requests) = (&job, &window, &requests);
                    let choice = &choice;
                    let share = Share { job, requests, site, window, base, part, counters, choice };
                    let mut outcome = worker::run(&share, &clients, recorder)?;
                    collected.into_iter().for_each(|collected| outcome.merge(collected));
                    Ok(outcome)
                })
            };
            let handle = handle.map_err(|source| EngineError::Thread { cpu, source })?;
            spawned.push((cpu, handle, counters, is_ready, start));
        }
        let (mut threads, mut starts) = (Vec::new(), Vec::new());
        for (cpu, handle, counters, is_ready, start) in spawned {
            let ready = loop {
                match is_ready.recv_timeout(POLL_INTERVAL) {
                    Ok(ready) => break ready,
                    Err(RecvTimeoutError::Disconnected) => {
                        break Err(std::io::Error::other("it ended at once"));
                    }
                    Err(RecvTimeoutError::Timeout) if interrupt.load(Relaxed) => {
                        windows.iter().for_each(|window| window.close(0));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            };
            let id = ready.map_err(|source| EngineError::Thread { cpu, source })?;
            threads.push(Thread { handle, id: id.as_raw_nonzero().get(), counters });
            starts.push(start);
        }
        let engine = Self { window, base: collecting_since, threads, request_body, names_asked };
        Ok(Prepared { engine, starts })
    }
}

impl Prepared {
    /// Begins the load, and with it the warm-up.
    pub fn begin(self) -> Engine {
        let base = Instant::now();
        for start in self.starts {
            // Fails only where the thread has ended, which `join` reports.
            let _ = start.send(base);
        }
        Engine { base, ..self.engine }
    }
}

impl Load for Engine {
    /// A load with a number of operations may end long before its planned end.
    fn window(&self) -> (Instant, Instant) {
        let at = |nanos: u64| self.base + Duration::from_nanos(nanos.min(LONGEST.0));
        (at(self.window.start()), at(self.window.end()))
    }

    /// They are assigned to the plan's CPUs in turn: one thread per CPU, or several where the limit
    /// on descriptors requires a table per thread.
    fn thread_ids(&self) -> Vec<i32> {
        self.threads.iter().map(|thread| thread.id).collect()
    }

    fn progress(&self) -> Progress {
        self.threads.iter().fold(Progress::default(), |sum, thread| Progress {
            completed: sum.completed + thread.counters.completed.load(Relaxed),
            failures: sum.failures + thread.counters.failed.load(Relaxed),
            body_bytes: sum.body_bytes + thread.counters.body.load(Relaxed),
        })
    }

    fn is_finished(&self) -> bool {
        self.threads.iter().all(|thread| thread.handle.is_finished())
    }

    fn wake_at_end(&self, waiter: std::thread::Thread) {
        self.window.wake_at_end(waiter);
    }

    fn stop(&self) {
        self.window.close(u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }

    /// The load ends at most about a second after its window and, unless it is stopped, its
    /// [`Plan::ramp`].
    fn join(self) -> Outcome {
        let mut all = Outcome {
            window: self.window.length(),
            interrupted: self.window.is_interrupted(),
            up: self.window.up(),
            request_body: self.request_body,
            names_asked: self.names_asked,
            ..Outcome::default()
        };
        for thread in self.threads {
            match thread.handle.join() {
                Ok(Ok(outcome)) => all.merge(outcome),
                Ok(Err(error)) => all.lost.push(error.to_string()),
                Err(_) => all.lost.push("a load thread panicked; please report this".to_owned()),
            }
        }
        if let Err(breach) = all.balance() {
            all.lost.push(breach);
        }
        all
    }
}

/// Tries one operation, or one for each object, each for as long as the plan's time limit, until an interrupt.
///
/// # Errors
/// Why the server cannot be loaded as asked, in one line.
pub fn probe(job: &Job, interrupt: &AtomicBool) -> Result<Option<Negotiated>, ProbeError> {
    job.check().map_err(EngineError::from)?;
    // The probe itself has one connection. The check for descriptors uses the whole plan, so that
    // an error names the plan's number. Ranks look for themselves.
    if job.plan.ranks.is_none() {
        Tables::make_room(job.plan.connections, job.plan.cpus.len()).map_err(EngineError::from)?;
    }
    let mut negotiated = None;
    for path in job.paths() {
        let url = job.url.with_path(path);
        let job = Job { url, objects: None, files: None, ..job.clone() };
        negotiated = probe_one(&job, interrupt)?;
    }
    Ok(negotiated)
}

fn probe_one(job: &Job, interrupt: &AtomicBool) -> Result<Option<Negotiated>, ProbeError> {
    let limit = job.plan.timeout;
    let mut plan =
        Plan { arrival: Arrival::CLOSED, connections: 1, ramp: Nanos(0), ..job.plan.clone() };
    // Other programs may have all ports of the usual address.
    if ports::has_many_sources(&job.plan, job.address.ip()) {
        plan.source = vec![source::OF_PROBE];
    }
    let (url, address) = (job.url.to_string(), job.address);
    let names = job.drawn_names().map_err(EngineError::from)?.into_iter().take(1).collect();
    plan.names = None;
    let job = Job { plan, names, operations: Some(1), ..job.clone() };
    let engine = Engine::start(job.clone())?;
    let deadline = Instant::now() + Duration::from(limit) + PROBE_SLACK;
    while !engine.is_finished() && Instant::now() < deadline && !interrupt.load(Relaxed) {
        std::thread::sleep(POLL_INTERVAL);
    }
    engine.stop();
    let outcome = engine.join();
    if interrupt.load(Relaxed) {
        return Err(ProbeError::Interrupted);
    }
    if let Some((kind, _, seen)) = outcome.failures.iter().next() {
        let asks_certificate = outcome.certificate_requests > 0;
        let advice = advice::on_failure(kind, seen, asks_certificate, &job);
        return Err(ProbeError::Failed { url, address, kind, seen: seen.to_owned(), advice });
    }
    if outcome.completed == 0 {
        return Err(ProbeError::NoAnswer { url, address, limit });
    }
    Ok(outcome.negotiated.first().map(|(negotiated, _)| *negotiated))
}

/// The clients of a thread: one for each of these names, or for the URL's host.
fn new_clients(
    job: &Job,
    offer: &Offer,
    names: &[HostName],
    thread: usize,
) -> Result<Clients, PlanError> {
    if job.plan.is_http3() {
        return each_client(job, offer, names, thread, QuicClient::new).map(Clients::Quic);
    }
    each_client(job, offer, names, thread, client).map(Clients::Tcp)
}

/// What `make` makes of the offer for each of these names.
fn each_client<C>(
    job: &Job,
    offer: &Offer,
    names: &[HostName],
    thread: usize,
    make: impl Fn(&Offer, Sampler) -> Result<C, OfferError>,
) -> Result<Vec<C>, PlanError> {
    let mut signatures = Draw::new(Drawn::Signatures, job.plan.verify().0, job.seed, thread);
    if names.is_empty() {
        return Ok(vec![make(offer, Box::new(move || signatures.draw()))?]);
    }
    // One in K of all, not of those of each name.
    let signatures = Arc::new(Mutex::new(signatures));
    let count = NonZeroUsize::new(names.len()).unwrap_or(NonZeroUsize::MIN);
    let of_name = |(number, name): (usize, &HostName)| {
        let signatures = signatures.clone();
        let draw = move || signatures.lock().unwrap_or_else(PoisonError::into_inner).draw();
        let offer = Offer { host: name.to_string(), client: (number, count), ..offer.clone() };
        Ok(make(&offer, Box::new(draw))?)
    };
    names.iter().enumerate().map(of_name).collect()
}
