//! Rank 0, which relays messages between toll and the ranks, and enters the barrier for toll.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::member::Step;
use crate::messages::Messages;
use crate::words::{Order, RankCommand, Report};

/// How long it sleeps between polls: while a trial is about to begin, and otherwise.
const SOON: Duration = Duration::from_micros(200);
const IDLE: Duration = Duration::from_millis(30);
/// How long after the barrier it passes on at once the reports of the others that they have begun.
const BEGINNING: Duration = Duration::from_millis(100);

/// Writes to `toll` which MPI this rank runs on.
///
/// # Errors
/// toll does not read any more.
pub(crate) fn report_version(version: String, toll: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *toll, &(0, Report::Mpi(version)))?;
    toll.write_all(b"\n")
}

/// Rank 0.
pub(crate) struct Relay {
    /// When the last message from toll came.
    heard: Instant,
    /// It ends where none comes for this long.
    silence: Duration,
    state: State,
    /// Whether toll has told the ranks to end.
    pub(crate) is_over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// A trial is about to begin.
    Awake,
    /// In the barrier.
    Waiting,
    /// Past it, since then.
    Started(Instant),
}

impl Relay {
    pub(crate) fn new(silence: Duration, now: Instant) -> Self {
        Self { heard: now, silence, state: State::Idle, is_over: false }
    }

    /// Passes a line of toll's on.
    ///
    /// # Errors
    /// The line is not valid.
    pub(crate) fn pass_on(
        &mut self,
        now: Instant,
        line: &str,
        messages: &mut impl Messages,
    ) -> io::Result<()> {
        self.heard = now;
        let to = match serde_json::from_str(line)? {
            RankCommand::Go => {
                messages.enter_barrier();
                self.state = State::Waiting;
                return Ok(());
            }
            RankCommand::To(rank, order) => (rank..rank + 1, order),
            RankCommand::All(order) => (1..messages.size(), order),
        };
        let (ranks, order) = to;
        match order {
            Order::Wake => self.state = State::Awake,
            Order::End => self.is_over = true,
            _ => {}
        }
        for rank in ranks {
            messages.send(rank, serde_json::to_vec(&order)?);
        }
        Ok(())
    }
    /// Writes what the ranks have said to `toll`, a line `[RANK,REPORT]` each, and does what else is to
    /// be done now.
    ///
    /// # Errors
    /// toll does not read any more.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        messages: &mut impl Messages,
        toll: &mut impl Write,
    ) -> io::Result<Step> {
        while let Some((from, bytes)) = messages.receive() {
            write!(toll, "[{from},")?;
            toll.write_all(&bytes)?;
            toll.write_all(b"]\n")?;
        }
        toll.flush()?;
        if now.saturating_duration_since(self.heard) >= self.silence {
            return Ok(Step::Alone);
        }
        self.state = match self.state {
            State::Waiting if messages.has_passed_barrier() => State::Started(now),
            State::Started(since) if now.saturating_duration_since(since) >= BEGINNING => {
                State::Idle
            }
            state => state,
        };
        Ok(Step::Sleep(if self.state == State::Idle { IDLE } else { SOON }))
    }
}
