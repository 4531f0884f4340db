//! A rank that loads, as a state machine: time is a value, and what loads is a trait.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use load::{Progress, Rank, Source};

use crate::messages::Messages;
use crate::share::Share;
use crate::words::{Done, Order, Report};

/// How long it sleeps between polls while it only waits, to use almost no CPU time.
const IDLE: Duration = Duration::from_millis(30);
/// How long once all are ready, so that it begins soon after the others.
const SOON: Duration = Duration::from_micros(200);
/// How often it sends a sign of life during a trial.
const BEAT: Duration = Duration::from_millis(250);

/// What makes a rank's load.
pub(crate) trait Loader {
    /// Whether it can load from there.
    fn check(&mut self, place: &Rank) -> Result<(), String>;
    /// Whether each of these addresses answers the number to a connection from this source.
    ///
    /// # Errors
    /// Which does not, in one line.
    fn prove(
        &mut self,
        addresses: &[SocketAddr],
        source: Option<&Source>,
        nonce: &str,
    ) -> Result<Option<IpAddr>, String>;
    /// Begins to prepare a load; [`poll`](Self::poll) tells when that is done.
    fn prepare(&mut self, share: Share);
    /// What has become of the load since the last call.
    fn poll(&mut self) -> Option<Stage>;
    /// Begins the load that is ready; returns once it has begun, with that time of the monotonic clock.
    fn begin(&mut self) -> Result<u64, String>;
    /// What it has done so far.
    fn progress(&self) -> Progress;
    /// Ends it early.
    fn stop(&mut self);
}

/// What has become of a load.
#[derive(Debug)]
pub(crate) enum Stage {
    /// All is there that it needs to begin.
    Ready,
    /// It cannot be made.
    Failed(String),
    Done(Box<Done>),
}

/// What a rank does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(crate) enum Step {
    Sleep(Duration),
    /// It was told to end.
    End,
    /// It has received nothing for too long.
    Alone,
}

/// A rank that loads.
pub(crate) struct Member<L> {
    pub(crate) loader: L,
    state: State,
    heard: Instant,
    /// It ends where it receives nothing for this long.
    silence: Duration,
    beat: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Preparing,
    /// Before the barrier, with a load to begin after it or with none.
    Waiting {
        loads: bool,
        is_awake: bool,
    },
    Loading,
}

impl<L: Loader> Member<L> {
    pub(crate) fn new(loader: L, silence: Duration, now: Instant) -> Self {
        Self { loader, state: State::Idle, heard: now, silence, beat: now }
    }

    /// Does what is to be done now.
    pub(crate) fn step(&mut self, now: Instant, messages: &mut impl Messages) -> Step {
        while let Some((_, bytes)) = messages.receive() {
            self.heard = now;
            // A message that makes no sense is of another version, which toll has refused.
            let Ok(order) = serde_json::from_slice(&bytes) else { continue };
            if let Order::End = order {
                self.loader.stop();
                return Step::End;
            }
            self.follow(order, messages);
        }
        if now.saturating_duration_since(self.heard) >= self.silence {
            self.loader.stop();
            return Step::Alone;
        }
        self.advance(messages);
        if self.state == State::Idle {
            self.beat = now;
        } else if now >= self.beat + BEAT {
            self.beat = now;
            report(messages, &Report::Progress(self.loader.progress()));
        }
        Step::Sleep(match self.state {
            State::Waiting { is_awake: true, .. } => SOON,
            _ => IDLE,
        })
    }

    fn follow(&mut self, order: Order, messages: &mut impl Messages) {
        match order {
            Order::Place(place) => {
                let answer = self.loader.check(&place);
                report(messages, &answer.map_or_else(Report::Refused, |()| Report::CanLoad(None)));
            }
            Order::Prove { addresses, source, nonce } => {
                let answer = self.loader.prove(&addresses, source.as_ref(), &nonce);
                report(messages, &answer.map_or_else(Report::Refused, Report::CanLoad));
            }
            Order::Prepare(Some(share)) => {
                self.loader.prepare(*share);
                self.state = State::Preparing;
            }
            Order::Prepare(None) => self.wait(false, messages),
            Order::Wake => {
                if let State::Waiting { is_awake, .. } = &mut self.state {
                    *is_awake = true;
                    report(messages, &Report::Awake);
                }
            }
            Order::Stop => self.loader.stop(),
            Order::Alive | Order::End => {}
        }
    }

    fn wait(&mut self, loads: bool, messages: &mut impl Messages) {
        report(messages, &Report::Ready);
        messages.enter_barrier();
        self.state = State::Waiting { loads, is_awake: false };
    }

    fn advance(&mut self, messages: &mut impl Messages) {
        match self.state {
            State::Idle => {}
            State::Waiting { loads, .. } => {
                if messages.has_passed_barrier() {
                    self.state = State::Idle;
                    if loads {
                        self.begin(messages);
                    }
                }
            }
            State::Preparing | State::Loading => match self.loader.poll() {
                None => {}
                Some(Stage::Ready) => self.wait(true, messages),
                Some(Stage::Failed(why)) => {
                    self.state = State::Idle;
                    report(messages, &Report::Refused(why));
                }
                Some(Stage::Done(done)) => {
                    self.state = State::Idle;
                    report(messages, &Report::Done(done));
                }
            },
        }
    }

    fn begin(&mut self, messages: &mut impl Messages) {
        match self.loader.begin() {
            Ok(clock_ns) => {
                self.state = State::Loading;
                report(messages, &Report::Started { clock_ns });
            }
            Err(why) => report(messages, &Report::Refused(why)),
        }
    }
}

fn report(messages: &mut impl Messages, report: &Report) {
    // Strings, numbers and histograms always have a JSON form.
    messages.send(0, serde_json::to_vec(report).unwrap_or_default());
}
