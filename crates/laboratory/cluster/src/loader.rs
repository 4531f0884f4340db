//! A rank's load: a trial on its machine, whose server is elsewhere, in a thread of its own.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cpus::CpuList;
use load::{Engine, Load, Plan, Progress, Rank, Source};
use peers::{Client, Peer};
use rustix::time::{ClockId, clock_gettime};
use trial::{Hooks, Measured, Neighbours, Reports, ServerReport, ThisMachine, Trial};

use crate::member::{Loader, Stage};
use crate::share::Share;
use crate::words::Done;

/// Loads by trials.
#[derive(Default)]
pub(crate) struct TrialLoader(Option<Running>);

struct Running {
    stages: Receiver<Made>,
    /// Begins the load, once it is ready.
    begin: Option<Begin>,
    interrupt: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
}

/// Begins a load, in the thread that reports it to toll. Another thread would have to compete with load
/// threads for its CPU.
type Begin = Box<dyn FnOnce() -> Result<Instant, String> + Send>;

/// What a trial's thread has made.
enum Made {
    Ready(Begin),
    Done(Result<Box<Done>, String>),
}

impl Loader for TrialLoader {
    fn check(&mut self, place: &Rank) -> Result<(), String> {
        let allowed = CpuList::allowed().map_err(|error| error.to_string())?;
        if let Some(missing) = place.cpus.without(&allowed) {
            let cpu = missing.first(1);
            return Err(format!("there is no CPU {cpu} for it; it may use {allowed}"));
        }
        let source = place.source.iter().cloned().collect();
        let plan = Plan { cpus: place.cpus.clone(), source, ..Plan::default() };
        plan.check().map_err(|wrong| wrong.why)
    }

    fn prove(
        &mut self,
        addresses: &[SocketAddr],
        source: Option<&Source>,
        nonce: &str,
    ) -> Result<Option<IpAddr>, String> {
        addresses.iter().try_fold(None, |_, address| {
            let bind = |socket: &_| source.map_or(Ok(()), |source| source.bind(socket));
            proof::check(*address, nonce, bind).map(Some)
        })
    }

    fn prepare(&mut self, share: Share) {
        let (made, stages) = mpsc::channel();
        let interrupt = Arc::new(AtomicBool::new(false));
        let progress = Arc::new(Mutex::new(Progress::default()));
        let (its_interrupt, its_progress) = (interrupt.clone(), progress.clone());
        let spawned = std::thread::Builder::new().name("trial".to_owned()).spawn(move || {
            let done = load(share, &made, &its_interrupt, &its_progress);
            let _ = made.send(Made::Done(done.map(Box::new)));
        });
        self.0 = spawned.ok().map(|_| Running { stages, begin: None, interrupt, progress });
    }

    fn poll(&mut self) -> Option<Stage> {
        let ended = || Stage::Failed("its load could not be started".to_owned());
        let Some(running) = &mut self.0 else { return Some(ended()) };
        match running.stages.try_recv() {
            Ok(Made::Ready(begin)) => {
                running.begin = Some(begin);
                Some(Stage::Ready)
            }
            Ok(Made::Done(done)) => Some(done.map_or_else(Stage::Failed, Stage::Done)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(ended()),
        }
    }

    fn begin(&mut self) -> Result<u64, String> {
        let begin = self.0.as_mut().and_then(|running| running.begin.take());
        let begin = begin.ok_or("its load is not ready")?;
        let begun = begin()?;
        Ok(clock_ns().saturating_sub(begun.elapsed().as_nanos().try_into().unwrap_or(u64::MAX)))
    }

    fn progress(&self) -> Progress {
        let progress = self.0.as_ref().map(|running| &running.progress);
        progress.map_or_else(Progress::default, |progress| {
            *progress.lock().unwrap_or_else(PoisonError::into_inner)
        })
    }

    fn stop(&mut self) {
        if let Some(running) = &self.0 {
            running.interrupt.store(true, Relaxed);
        }
    }
}

/// Reports that a load is ready, and returns it once it has begun, with the time from then to its window.
fn when_begun<L: Load + Send + 'static>(
    made: &Sender<Made>,
    before_window: Duration,
    begin: impl FnOnce() -> Result<L, String> + Send + 'static,
) -> Result<L, String> {
    let gone = || "toll-rank has ended".to_owned();
    let (begun, load) = mpsc::channel();
    let begin = move || {
        let load = begin()?;
        let base = load.window().0 - before_window;
        drop(begun.send(load));
        Ok(base)
    };
    made.send(Made::Ready(Box::new(begin))).map_err(|_| gone())?;
    load.recv().map_err(|_| gone())
}

fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

fn load(
    share: Share,
    made: &Sender<Made>,
    interrupt: &AtomicBool,
    progress: &Mutex<Progress>,
) -> Result<Done, String> {
    let (job, offer, _files) = share.job().map_err(|error| error.to_string())?;
    let trial = Trial::new(job, None, Neighbours::Apart);
    let mut hooks = Hooks {
        interrupt,
        progress: &mut |moment| {
            *progress.lock().unwrap_or_else(PoisonError::into_inner) = moment.progress;
        },
        reports: &mut || Reports { server: Ok(ServerReport::default()), ranks: None },
    };
    let plan = &trial.job.plan;
    let before_window = Duration::from(plan.ramp) + plan.warmup().into();
    let machine = &mut ThisMachine::without_server();
    let measured: Result<Measured, String> = match Peer::of(trial.job.plan.client) {
        None => trial.run(machine, &mut hooks, |job, begins| {
            let prepared = Engine::prepare(job, interrupt).map_err(|error| error.to_string())?;
            begins();
            when_begun(made, before_window, || Ok(prepared.begin()))
        }),
        Some(peer) => {
            let client = Client::prepare(peer, &trial.job, offer);
            let client = client.map_err(|error| error.to_string())?;
            trial.run(machine, &mut hooks, |_, _| {
                let begin = move || client.start().map_err(|error| error.to_string());
                when_begun(made, before_window, begin)
            })
        }
    };
    let Measured { line, outcome } = measured?;
    Ok(Done { outcome, client: line.client_figures() })
}
