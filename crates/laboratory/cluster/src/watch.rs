//! What toll knows of its ranks in one trial: who is ready, who has begun, who has been lost. Time is a
//! value.

use std::time::{Duration, Instant};

use load::{Progress, Rank};
use trial::rank_name;
use units::Nanos;

use crate::words::{Done, Report};

/// A rank that sends nothing for this long is lost; it sends something four times per second.
const LOST: Duration = Duration::from_secs(4);
/// If a rank has sent nothing for this long when all ended, it was the cause.
const SILENT: Duration = Duration::from_secs(1);
/// How long the ranks may take until all have begun.
const BEGIN_LIMIT: Duration = Duration::from_secs(9);
/// How long after their load is over they may take for their results.
const RESULT_LIMIT: Duration = Duration::from_secs(9);

/// The ranks of a trial.
pub(crate) struct Watch {
    pub(crate) seen: Vec<Seen>,
    /// Why a rank cannot make its share, where that was known before anything was sent.
    pub(crate) refused: Option<String>,
    asked: Instant,
    pub(crate) went: Option<Instant>,
    /// How long the load takes, from its begin to its end.
    length: Duration,
}

/// What is known of a rank.
pub(crate) struct Seen {
    /// Counted from 1.
    pub(crate) rank: usize,
    pub(crate) place: Rank,
    /// Whether it loads; else it only takes part in the barrier.
    loads: bool,
    pub(crate) state: State,
    pub(crate) progress: Progress,
    /// How long after toll's start signal its report came that it had begun.
    pub(crate) begun_within: Option<Duration>,
    /// When it began by the clock of its machine.
    pub(crate) clock_ns: u64,
    /// The longest time without a message while it loaded.
    pub(crate) silence: Duration,
    heard: Instant,
}

#[derive(Debug)]
pub(crate) enum State {
    Preparing,
    Ready,
    Awake,
    Started,
    Done(Box<Done>),
    /// Why there is no result of it.
    Lost(String),
}

impl Watch {
    /// The first ranks, this many, were asked at `now` to prepare a load that takes this long.
    pub(crate) fn new(ranks: &[Rank], loading: usize, now: Instant, length: Duration) -> Self {
        let seen = |(number, place): (usize, &Rank)| Seen {
            rank: number + 1,
            place: place.clone(),
            loads: number < loading,
            state: State::Preparing,
            progress: Progress::default(),
            begun_within: None,
            clock_ns: 0,
            silence: Duration::ZERO,
            heard: now,
        };
        let seen = ranks.iter().enumerate().map(seen).collect();
        Self { seen, refused: None, asked: now, went: None, length }
    }

    /// Notes what the rank with this number said.
    pub(crate) fn hear(&mut self, now: Instant, rank: usize, report: Report) {
        let went = self.went;
        let Some(seen) = rank.checked_sub(1).and_then(|index| self.seen.get_mut(index)) else {
            return;
        };
        if let State::Started = seen.state {
            seen.silence = seen.silence.max(now.saturating_duration_since(seen.heard));
        }
        seen.heard = now;
        if seen.is_over() {
            return;
        }
        match report {
            Report::Ready => seen.state = State::Ready,
            Report::Awake => seen.state = State::Awake,
            Report::Started { clock_ns } => {
                seen.state = State::Started;
                seen.clock_ns = clock_ns;
                seen.begun_within = went.map(|went| now.saturating_duration_since(went));
            }
            Report::Progress(progress) => seen.progress = progress,
            Report::Done(done) => seen.state = State::Done(done),
            Report::Refused(why) => {
                let why = format!("{}: {why}", seen.name());
                if went.is_none() {
                    self.refused = Some(why.clone());
                }
                seen.state = State::Lost(why);
            }
            Report::CanLoad(_) | Report::Mpi(_) => {}
        }
    }

    /// Notes that the ranks were told to go.
    pub(crate) fn go(&mut self, now: Instant) {
        self.went = Some(now);
    }

    /// Counts ranks as lost that have sent nothing for too long, or are late.
    pub(crate) fn look(&mut self, now: Instant) {
        let since = |then: Instant| now.saturating_duration_since(then);
        let is_late_to_begin = since(self.asked) >= BEGIN_LIMIT;
        let is_late = self.went.is_some_and(|went| since(went) >= self.length + RESULT_LIMIT);
        let is_past_barrier = self.seen.iter().any(|seen| seen.begun_within.is_some());
        for seen in &mut self.seen {
            // Past the barrier, one that does not load has nothing to say.
            if seen.is_over() || (!seen.loads && is_past_barrier) {
                continue;
            }
            let is_lost = match seen.state {
                State::Preparing => is_late_to_begin,
                // Where others are not ready, these are not to blame.
                State::Ready | State::Awake => self.went.is_some() && is_late_to_begin,
                _ => is_late,
            };
            if is_lost || since(seen.heard) >= LOST {
                seen.state = State::Lost(format!("{}: no result", seen.name()));
            }
        }
    }

    /// Notes that `mpirun` has ended, and with it all ranks; `died` is the one that it names. Where it
    /// names none, it is who said nothing for longer than the others; else all are lost for this
    /// reason.
    pub(crate) fn end(&mut self, now: Instant, died: Option<usize>, why: &str) {
        let silent = |seen: &Seen| now.saturating_duration_since(seen.heard) >= SILENT;
        let is_to_blame: Vec<bool> = self
            .seen
            .iter()
            .map(|seen| died.map_or(silent(seen), |rank| rank == seen.rank))
            .collect();
        let is_one_to_blame = is_to_blame.contains(&true) && is_to_blame.contains(&false);
        for (seen, is_to_blame) in self.seen.iter_mut().zip(is_to_blame) {
            if seen.is_over() || !seen.loads && !is_to_blame {
                continue;
            }
            if !is_one_to_blame {
                seen.state = State::Lost(why.to_owned());
            } else if is_to_blame {
                seen.state = State::Lost(format!("{}: no result", seen.name()));
            }
        }
        // The one to blame had given its result.
        if self.lost().is_empty() {
            for seen in self.seen.iter_mut().filter(|seen| seen.loads && !seen.is_over()) {
                seen.state = State::Lost(why.to_owned());
            }
        }
    }
    pub(crate) fn are_all_ready(&self) -> bool {
        self.seen.iter().all(|seen| matches!(seen.state, State::Ready))
    }

    /// Whether all look often, so that they begin soon after they are told to.
    pub(crate) fn are_all_awake(&self) -> bool {
        self.seen.iter().all(|seen| matches!(seen.state, State::Awake))
    }

    /// Whether all have begun, and may have ended since.
    pub(crate) fn have_all_begun(&self) -> bool {
        self.loading().all(|seen| seen.begun_within.is_some())
    }

    pub(crate) fn are_all_done(&self) -> bool {
        self.loading().all(|seen| matches!(seen.state, State::Done(_)))
    }

    /// The ranks that are lost, each with why.
    pub(crate) fn lost(&self) -> Vec<(usize, String)> {
        let lost = self.seen.iter().filter_map(|seen| match &seen.state {
            State::Lost(why) => Some((seen.rank, why.clone())),
            _ => None,
        });
        lost.collect()
    }

    pub(crate) fn progress(&self) -> Progress {
        self.seen.iter().map(|seen| seen.progress).sum()
    }

    /// When the load began by toll's clock: in the middle of the time in which each rank did.
    pub(crate) fn began(&self) -> Option<Instant> {
        let latest = self.seen.iter().filter_map(|seen| seen.begun_within).max()?;
        Some(self.went? + latest / 2)
    }

    /// Those that load.
    pub(crate) fn into_ranks(self) -> impl Iterator<Item = Seen> {
        self.seen.into_iter().filter(|seen| seen.loads)
    }

    fn loading(&self) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(|seen| seen.loads)
    }
}

impl Seen {
    pub(crate) fn name(&self) -> String {
        rank_name(self.rank, &self.place.host)
    }

    /// Whether nothing more is expected of it.
    fn is_over(&self) -> bool {
        matches!(self.state, State::Done(_) | State::Lost(_))
    }

    pub(crate) fn begun_within(&self) -> Nanos {
        nanos(self.begun_within.unwrap_or_default())
    }

    pub(crate) fn silence(&self) -> Nanos {
        nanos(self.silence)
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
