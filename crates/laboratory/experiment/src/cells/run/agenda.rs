//! What a run does next, from the study and what the journal holds: a pure function of both, so that
//! a resumed run does what the whole one would have done.
//!
//! A study with an `until` has more rounds where its intervals are too wide at a look ([`stats::looks`]),
//! and repeats each disturbed trial once: after its round, as the ratios of a round are of trials that
//! lie close together. Every study does that with a trial that is not valid for a cause that may pass, unless that
//! was in vain in its cell before.
//!
//! First the searches, cell by cell in an order that follows from the seed; then the rounds, all cells
//! in each. Where a maximum does not hold, its search resumes at once, and the rounds that it had
//! are measured again at the load that is found then.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::cells::length::{Length, of_trial};
use crate::cells::order::interleaved;
use journal::{Entries, ImpossibleStep, Role, TrialLine};
use stats::looks;
use study::find::{Find, Search, Standing};
use study::{Cell, Forecast, Study, preparations, restart_takes};
use targets::Restart;
use units::Nanos;

/// The next trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NextTrial {
    /// The cell's index in the study.
    pub(crate) cell: usize,
    pub(crate) role: Role,
    /// Which repetition it is; of a search, which step.
    pub(crate) round: u32,
    /// The load, where it is searched for.
    pub(crate) load: Option<u64>,
    /// Whether it repeats a trial that was disturbed, or not valid for a cause that may pass.
    pub(crate) again: bool,
}

pub(super) struct Agenda<'a> {
    study: &'a Study,
    /// The cells in the order in which they are searched.
    searches: Vec<usize>,
    /// The cells of each round, in its order.
    rounds: Vec<Vec<usize>>,
    /// For each server that is started again each round, its cells.
    restarted: Vec<Vec<usize>>,
    cells: Vec<CellProgress>,
    /// How many rounds there are until the next look.
    wanted: u32,
    length: Length,
    /// What repeated trials have taken.
    repeated: Duration,
}

/// What is known of a cell.
#[derive(Default)]
struct CellProgress {
    is_left_out: bool,
    /// Where the load is searched for.
    search: Option<Search>,
    steps: u32,
    /// Rounds that have a valid trial, each with its load.
    done: BTreeSet<(u32, Option<u64>)>,
    /// Rounds whose trial was disturbed and was not repeated yet.
    disturbed: BTreeSet<(u32, Option<u64>)>,
    /// Rounds whose trial was not valid for a cause that may pass, and was not repeated yet.
    unlucky: BTreeSet<(u32, Option<u64>)>,
    /// Whether such a trial was repeated in vain.
    is_beyond_luck: bool,
    /// Whether its server's CPU time was sampled, or cannot be.
    is_sampled: bool,
    /// Whether this run has made a trial of it.
    has_begun: bool,
    /// Whether this run could not make a step of its search.
    is_at_its_most: bool,
    /// Rounds of which this run has made a trial, valid or not.
    tried: BTreeSet<(u32, Option<u64>)>,
}

impl<'a> Agenda<'a> {
    pub(super) fn new(study: &'a Study, entries: &Entries) -> Self {
        let Entries { trials, impossible, .. } = entries;
        let begun = trials.iter().filter(|trial| trial.place.role == Role::Measure);
        let begun = begun.map(|trial| trial.place.round + 1).max().unwrap_or(0);
        let wanted = match study.until {
            Some(_) => looks(study.trials).find(|look| *look >= begun).unwrap_or(begun),
            None => study.trials,
        };
        let searches = interleaved(study.cells.len(), 1, study.seed).concat();
        let cells = study.cells.iter().map(|_| CellProgress::default()).collect();
        let servers = study.servers().into_iter().map(|(_, cells)| cells);
        let restarted = servers
            .flat_map(|cells| match study.restart(&cells) {
                Restart::Never => Vec::new(),
                Restart::Round => vec![cells],
                Restart::Trial => cells.into_iter().map(|cell| vec![cell]).collect(),
            })
            .collect();
        let mut agenda = Self {
            study,
            searches,
            rounds: interleaved(study.cells.len(), wanted, study.seed),
            restarted,
            cells,
            wanted,
            length: Length::of(study),
            repeated: Duration::ZERO,
        };
        // A profile that is not valid is taken again.
        let is_kept = |trial: &&TrialLine| trial.place.role != Role::Profile || trial.line.valid;
        for trial in trials.iter().filter(is_kept) {
            agenda.note(trial);
        }
        for (cell, progress) in study.cells.iter().zip(&mut agenda.cells) {
            // Trials of an earlier run that are not valid are made again.
            progress.tried.clear();
            progress.unlucky.clear();
            progress.has_begun = false;
            let trials = trials.iter().filter(|trial| trial.place.cell == cell.name);
            let impossible = impossible.iter().filter(|step| step.cell == cell.name);
            progress.search = cell.find.map(|find| Search::of(find, trials, impossible));
        }
        agenda
    }

    /// Notes a trial of the journal.
    pub(super) fn note(&mut self, trial: &TrialLine) {
        let TrialLine { place, line } = trial;
        let Some(index) = self.index(&place.cell) else { return };
        let progress = &mut self.cells[index];
        progress.has_begun = true;
        if let Some(search) = &mut progress.search {
            search.note(trial);
        }
        let find = self.study.cells[index].find.as_ref();
        let load = find.and_then(|find| find.over.load(&place.find.as_ref()?.load));
        match place.role {
            Role::Search => progress.steps += 1,
            Role::Profile => progress.is_sampled = true,
            Role::Measure if place.again => {
                let round = (place.round, load);
                if progress.disturbed.remove(&round) {
                    self.repeated += of_trial(&self.study.cells[index]);
                } else {
                    progress.unlucky.remove(&round);
                    progress.is_beyond_luck |= !line.valid;
                }
                if line.valid {
                    progress.done.insert(round);
                }
            }
            Role::Measure => {
                progress.tried.insert((place.round, load));
                if line.valid {
                    progress.done.insert((place.round, load));
                }
                if line.valid && line.is_disturbed() {
                    progress.disturbed.insert((place.round, load));
                }
                if line.may_pass() {
                    progress.unlucky.insert((place.round, load));
                }
            }
        }
    }

    /// Notes a step that this run could not make.
    pub(super) fn note_impossible(&mut self, cell: usize, step: &ImpossibleStep) {
        let progress = &mut self.cells[cell];
        progress.is_at_its_most = true;
        if let Some(search) = &mut progress.search {
            search.note_impossible(step);
        }
    }

    fn index(&self, cell: &str) -> Option<usize> {
        self.study.cells.iter().position(|of| of.name == cell)
    }

    /// Leaves a cell out, whose server is missing.
    pub(super) fn leave_out(&mut self, cell: usize) {
        self.cells[cell].is_left_out = true;
    }

    /// Whether anything is left to do for a cell.
    pub(super) fn wants(&self, cell: usize) -> bool {
        let ahead = self.ahead_of(cell);
        // Where this run has something to do, it may have more rounds of every cell.
        let grows = self.study.until.is_some() && !matches!(self.state(cell), State::Over);
        ahead.held + ahead.searching + ahead.sampling > 0 || (grows && self.next().is_some())
    }

    pub(super) fn next(&self) -> Option<NextTrial> {
        let search = self.searches.iter().find_map(|&cell| match self.state(cell) {
            State::Search(load) => {
                let round = self.cells[cell].steps;
                Some(NextTrial { cell, role: Role::Search, round, load: Some(load), again: false })
            }
            State::Hold(_) | State::Over => None,
        });
        search.or_else(|| {
            (0..self.end()).zip(&self.rounds).find_map(|(round, cells)| {
                let open = cells.iter().find_map(|&cell| self.open(round, cell));
                open.or_else(|| cells.iter().find_map(|&cell| self.again(round, cell)))
            })
        })
    }

    /// Where all is measured: the next cell whose server's CPU time is to be sampled, in an order that
    /// follows from the seed.
    pub(super) fn next_profile(&self) -> Option<NextTrial> {
        self.searches.iter().find_map(|&cell| match self.state(cell) {
            State::Hold(load) if self.is_to_be_sampled(cell) => {
                Some(NextTrial { cell, role: Role::Profile, round: 0, load, again: false })
            }
            _ => None,
        })
    }

    /// Notes that the CPU time of a cell's server cannot be sampled.
    pub(super) fn cannot_sample(&mut self, cell: usize) {
        self.cells[cell].is_sampled = true;
    }

    fn is_to_be_sampled(&self, cell: usize) -> bool {
        self.study.profile.is_some() && !self.cells[cell].is_sampled
    }

    /// Adds rounds until the next look; `false` where there is no time for another one.
    pub(super) fn grow(&mut self) -> bool {
        if self.length.most_rounds(self.repeated) <= self.wanted {
            return false;
        }
        let next = looks(self.study.trials).find(|look| *look > self.wanted);
        self.wanted = next.unwrap_or(self.wanted);
        self.rounds = interleaved(self.study.cells.len(), self.wanted, self.study.seed);
        true
    }

    /// How many rounds are to be measured.
    fn end(&self) -> u32 {
        self.wanted.min(self.length.most_rounds(self.repeated))
    }

    /// The trial of a cell in a round, where it was not made yet.
    fn open(&self, round: u32, cell: usize) -> Option<NextTrial> {
        match self.state(cell) {
            State::Hold(load) if !self.cells[cell].has((round, load)) => {
                Some(NextTrial { cell, role: Role::Measure, round, load, again: false })
            }
            _ => None,
        }
    }

    /// The repetition of a trial that was not valid by bad luck, or of a disturbed one, where there is time for it.
    fn again(&self, round: u32, cell: usize) -> Option<NextTrial> {
        let State::Hold(load) = self.state(cell) else { return None };
        let takes = of_trial(&self.study.cells[cell]);
        let progress = &self.cells[cell];
        let is_unlucky = progress.unlucky.contains(&(round, load)) && !progress.is_beyond_luck;
        let is_due = is_unlucky
            || progress.disturbed.contains(&(round, load))
                && self.length.has_time_to_repeat(round, self.repeated + takes);
        is_due.then_some(NextTrial { cell, role: Role::Measure, round, load, again: true })
    }

    /// Where a trial measures a load that was found: what the next larger load that was tried showed,
    /// over the limit, if that broke it. To four decimals.
    pub(super) fn beyond(&self, task: &NextTrial) -> Option<f64> {
        let search = self.cells[task.cell].search.as_ref();
        let beyond = search.filter(|_| task.role == Role::Measure)?.beyond(task.load?)?;
        Some((beyond * 1e4).round() / 1e4)
    }

    /// All that is still to be done, at most.
    pub(super) fn ahead(&self) -> Forecast {
        let cells = || 0..self.cells.len();
        let of = |is: &dyn Fn(usize) -> bool| -> Vec<&Cell> {
            cells().filter(|cell| is(*cell)).map(|cell| &self.study.cells[cell]).collect()
        };
        let (wanted, begun) =
            (of(&|cell| self.wants(cell)), of(&|cell| self.cells[cell].has_begun));
        let trials = cells().map(|cell| self.ahead_of(cell)).sum::<Forecast>();
        trials + preparations(&wanted, &begun) + self.restarting()
    }

    /// How long the remaining restarts take: one for each round but the one that a server is in or starts
    /// with.
    fn restarting(&self) -> Nanos {
        let of = |cells: &Vec<usize>| {
            let open: BTreeSet<u32> =
                cells.iter().flat_map(|cell| self.open_rounds(*cell)).collect();
            let tried =
                |cell: &usize| self.cells[*cell].tried.iter().map(|(round, _)| *round).max();
            let now = cells.iter().filter_map(tried).max().or(open.first().copied());
            let restarts = open.iter().filter(|round| Some(**round) != now).count() as u64;
            let cells: Vec<&Cell> = cells.iter().map(|cell| &self.study.cells[*cell]).collect();
            restart_takes(&cells).0.saturating_mul(restarts)
        };
        Nanos(self.restarted.iter().map(of).fold(0, u64::saturating_add))
    }

    /// The rounds in which a cell is to be measured yet.
    fn open_rounds(&self, cell: usize) -> Vec<u32> {
        let progress = &self.cells[cell];
        match self.state(cell) {
            State::Over => Vec::new(),
            State::Search(_) => (0..self.end()).collect(),
            State::Hold(load) => {
                (0..self.end()).filter(|round| !progress.has((*round, load))).collect()
            }
        }
    }

    fn ahead_of(&self, cell: usize) -> Forecast {
        let (spec, progress) = (&self.study.cells[cell], &self.cells[cell]);
        let (held, steps) = match self.state(cell) {
            State::Over => (0, 0),
            State::Search(_) => {
                let most = spec.find.as_ref().map_or(0, Find::most_steps);
                (self.end(), most.saturating_sub(progress.steps.into()).max(1))
            }
            State::Hold(_) => (self.open_rounds(cell).len() as u32, 0),
        };
        let is_over = matches!(self.state(cell), State::Over);
        let sampling = u64::from(!is_over && self.is_to_be_sampled(cell));
        Forecast { sampling, ..Forecast::of(spec, held.into(), steps) }
    }

    fn state(&self, cell: usize) -> State {
        let progress = &self.cells[cell];
        if progress.is_left_out {
            return State::Over;
        }
        let Some(search) = &progress.search else { return State::Hold(None) };
        let again = search.ended_by_impossible().filter(|_| !progress.is_at_its_most);
        match (search.standing(), again) {
            (Standing::Try(load), _) => State::Search(load),
            // What ended an earlier run's search may not end this one's.
            (Standing::Invalid(_, next), _) if !progress.has_begun => State::Search(next),
            (Standing::Hold(_) | Standing::Infeasible(_), Some(load)) => State::Search(load),
            (Standing::Hold(load), None) => State::Hold(Some(load)),
            (Standing::Infeasible(_) | Standing::Invalid(..), _) => State::Over,
        }
    }
}

/// How far a cell is.
enum State {
    /// Its search tries this load next.
    Search(u64),
    /// It is measured, at this load where that was searched for.
    Hold(Option<u64>),
    /// It is not measured.
    Over,
}

impl CellProgress {
    fn has(&self, trial: (u32, Option<u64>)) -> bool {
        self.done.contains(&trial) || self.tried.contains(&trial)
    }
}
