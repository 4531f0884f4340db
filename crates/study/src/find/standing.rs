//! Where a search stands, by its lines in the journal: the one place from which a run, a continued run and a
//! report know it.
//!
//! Only a trial that does what was asked can show that the limit breaks. Steps that are not valid for another
//! reason than too much load count like those that break it, so that the search goes to smaller loads, but where
//! no trial shows more, the search is not valid: that is no answer, and a continued run takes it up again. A step
//! whose server or load ended says nothing; it is made again, and after [`MOST_LOST`] of them the search is given
//! up too.

use journal::{ImpossibleStep, Role, TrialLine};

use super::{Find, Next, Seen};

/// Steps in a row whose server or load ended, after which no more are made.
const MOST_LOST: usize = 2;

/// A search with what its lines say.
#[derive(Debug, Clone)]
pub struct Search {
    find: Find,
    seen: Vec<Seen>,
    /// Whether a trial has shown whether the limit holds.
    has_shown: bool,
    /// How many of the last steps say nothing.
    lost: usize,
    /// Why the last trial that is not valid is not.
    why: String,
}

/// What is to be done next in a search, or what came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// A step at this load.
    Try(u64),
    /// This load is held.
    Hold(u64),
    /// No load meets the limit. With the best that was seen of what the limit is on, if any trial showed it.
    Infeasible(Option<f64>),
    /// Its trials are not valid, so nothing is known: why the last of them is not.
    Invalid(String),
}

impl Search {
    #[must_use]
    pub fn new(find: Find) -> Self {
        Self { find, seen: Vec::new(), has_shown: false, lost: 0, why: String::new() }
    }

    /// Of one cell, whose lines these are.
    pub fn of<'a>(
        find: Find,
        trials: impl IntoIterator<Item = &'a TrialLine>,
        impossible: impl IntoIterator<Item = &'a ImpossibleStep>,
    ) -> Self {
        let mut search = Self::new(find);
        trials.into_iter().for_each(|trial| search.note(trial));
        impossible.into_iter().for_each(|step| search.note_impossible(step));
        search
    }

    /// Notes a trial of the cell.
    pub fn note(&mut self, trial: &TrialLine) {
        let TrialLine { place, line } = trial;
        let Some(sought) = &place.find else { return };
        let Some(load) = self.find.over.load(&sought.load) else { return };
        let is_held = place.role == Role::Measure;
        let reasons = line.invalid();
        self.why = line.why_invalid().unwrap_or_default();
        if reasons.iter().any(|why| why.is_a_loss()) {
            self.lost += usize::from(!is_held);
            return;
        }
        // One that was held is made again.
        if is_held && !line.valid && !reasons.iter().any(|why| why.is_of_overload()) {
            return;
        }
        let watched = sought.seen();
        let shows =
            line.valid || (watched.is_some() && reasons.iter().all(|why| why.is_of_overload()));
        if shows && !self.has_shown {
            self.has_shown = true;
            self.seen.clear();
        }
        self.lost = 0;
        self.seen.push(Seen {
            load,
            figure: self.find.maximize.value(line).unwrap_or_default(),
            watched,
            holds: sought.holds,
            is_held,
        });
    }

    /// Notes a load that cannot be made here.
    pub fn note_impossible(&mut self, step: &ImpossibleStep) {
        let Some(load) = self.find.over.load(&step.load) else { return };
        self.lost = 0;
        let broken = Seen { load, figure: 0.0, watched: None, holds: false, is_held: false };
        // As sure as a load that was tried twice.
        self.seen.extend([broken, broken]);
    }

    /// Takes it up again where it was given up.
    pub fn take_up_again(&mut self) {
        self.lost = 0;
        if !self.has_shown {
            self.seen.clear();
        }
    }

    #[must_use]
    pub fn standing(&self) -> Standing {
        match self.find.bounds().next(&self.seen) {
            Next::Try(_) if self.lost >= MOST_LOST => Standing::Invalid(self.why.clone()),
            Next::Infeasible if !self.has_shown => Standing::Invalid(self.why.clone()),
            Next::Try(load) => Standing::Try(load),
            Next::Hold(load) => Standing::Hold(load),
            Next::Infeasible => {
                let watched = self.seen.iter().filter_map(|seen| seen.watched);
                Standing::Infeasible(watched.min_by(f64::total_cmp))
            }
        }
    }

    /// What the next load above `load` showed, over the limit, if that broke it.
    #[must_use]
    pub fn beyond(&self, load: u64) -> Option<f64> {
        self.find.bounds().beyond(&self.seen, load)
    }
}
