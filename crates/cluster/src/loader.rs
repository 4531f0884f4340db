//! A rank's load: a trial on its machine, whose server is elsewhere, in a thread of its own.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cpus::CpuList;
use load::{Engine, Job, Load, Outcome, Plan, Progress, Rank};
use peers::{Client, Offer, Peer};
use rustix::time::{ClockId, clock_gettime};
use trial::{ClientFigures, Hooks, Neighbours, ThisMachine, Trial};

use crate::member::{Loader, Stage};
use crate::share::Share;
use crate::words::Done;

/// Loads by trials.
#[derive(Default)]
pub(crate) struct TrialLoader(Option<Running>);

struct Running {
    stages: Receiver<Stage>,
    go: Sender<()>,
    begun: Receiver<u64>,
    interrupt: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
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

    fn prepare(&mut self, share: Share) {
        let (to_stages, stages) = mpsc::channel();
        let (go, is_to_go) = mpsc::channel();
        let (to_begun, begun) = mpsc::channel();
        let interrupt = Arc::new(AtomicBool::new(false));
        let progress = Arc::new(Mutex::new(Progress::default()));
        let gate = Gate { stages: to_stages.clone(), go: is_to_go, begun: to_begun };
        let (its_interrupt, its_progress) = (interrupt.clone(), progress.clone());
        let spawned = std::thread::Builder::new().name("trial".to_owned()).spawn(move || {
            let made = load(share, gate, &its_interrupt, &its_progress);
            let stage = made.map_or_else(Stage::Failed, |done| Stage::Done(Box::new(done)));
            let _ = to_stages.send(stage);
        });
        if spawned.is_ok() {
            self.0 = Some(Running { stages, go, begun, interrupt, progress });
        } else {
            self.0 = None;
        }
    }

    fn poll(&mut self) -> Option<Stage> {
        let ended = || Stage::Failed("its load could not be started".to_owned());
        let Some(running) = &self.0 else { return Some(ended()) };
        match running.stages.try_recv() {
            Ok(stage) => Some(stage),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(ended()),
        }
    }

    fn begin(&mut self) -> Result<u64, String> {
        let failed = || "its load did not begin".to_owned();
        let running = self.0.as_ref().ok_or_else(failed)?;
        running.go.send(()).map_err(|_| failed())?;
        running.begun.recv().map_err(|_| failed())
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

/// Where a load waits that is ready.
struct Gate {
    stages: Sender<Stage>,
    go: Receiver<()>,
    begun: Sender<u64>,
}

impl Gate {
    /// Begins it when that is its turn.
    fn pass<L>(&self, begin: impl FnOnce() -> Result<L, String>) -> Result<L, String> {
        let gone = |_| "toll-rank has ended".to_owned();
        self.stages.send(Stage::Ready).map_err(|_| gone(mpsc::RecvError))?;
        self.go.recv().map_err(gone)?;
        let clock_ns = clock_ns();
        let load = begin()?;
        // Fails only where the program is about to end.
        let _ = self.begun.send(clock_ns);
        Ok(load)
    }
}

fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

fn load(
    share: Share,
    gate: Gate,
    interrupt: &AtomicBool,
    progress: &Mutex<Progress>,
) -> Result<Done, String> {
    let (job, offer, _folder) = share.job().map_err(|error| error.to_string())?;
    let trial = Trial::new(job, None, Neighbours::Apart);
    let mut hooks = Hooks {
        interrupt,
        progress: &mut |moment| {
            *progress.lock().unwrap_or_else(PoisonError::into_inner) = moment.progress;
        },
        check_target: &mut || Ok(()),
    };
    let outcome = Rc::new(RefCell::new(Outcome::default()));
    let kept = |load| Kept { load, outcome: outcome.clone() };
    let machine = &mut ThisMachine::without_server();
    let measured = match Peer::of(trial.job.plan.client) {
        None => trial.run(machine, &mut hooks, |job| {
            let prepared = Engine::prepare(job).map_err(|error| error.to_string())?;
            gate.pass(|| Ok(Kept { load: prepared.begin(), outcome: outcome.clone() }))
        }),
        Some(peer) => {
            let client = prepare(peer, &trial.job, offer)?;
            trial.run(machine, &mut hooks, |_| {
                gate.pass(|| client.start().map(kept).map_err(|error| error.to_string()))
            })
        }
    };
    let client = ClientFigures::of(&measured?.line);
    Ok(Done { outcome: outcome.take(), client })
}

fn prepare(peer: Peer, job: &Job, offer: Offer) -> Result<Client, String> {
    Client::prepare(peer, job, offer).map_err(|error| error.to_string())
}

/// A load whose outcome is kept as it is, beside what a trial makes of it.
struct Kept<L> {
    load: L,
    outcome: Rc<RefCell<Outcome>>,
}

impl<L: Load> Load for Kept<L> {
    fn window(&self) -> (Instant, Instant) {
        self.load.window()
    }

    fn thread_ids(&self) -> Vec<i32> {
        self.load.thread_ids()
    }

    fn progress(&self) -> Progress {
        self.load.progress()
    }

    fn is_finished(&self) -> bool {
        self.load.is_finished()
    }

    fn stop(&self) {
        self.load.stop();
    }

    fn join(self) -> Outcome {
        let outcome = self.load.join();
        self.outcome.replace(outcome.clone());
        outcome
    }
}
