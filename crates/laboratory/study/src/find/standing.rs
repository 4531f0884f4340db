//! Where a search stands, by its lines in the journal: the one place from which a run, a continued run and a
//! report know it.
//!
//! Only a trial that does what was asked can show that the limit breaks. Steps that are not valid for another
//! reason than too much load count like those that break it, so that the search goes to smaller loads, but where
//! no trial shows more, the search is not valid: that is no answer. A step whose server or load ended says nothing; it
//! is made again, and after [`MOST_LOST`] of them the search is given up too. A load that cannot be made breaks the
//! limit until a trial has that load or a larger one.
//!
//! A continued run makes the step again that a search was given up for, and the smallest load that could not be made.

use std::collections::BTreeMap;

use journal::{ImpossibleStep, Role, TrialLine};

use super::{Find, Next, Seen};

/// Steps in a row whose server or load ended, after which no more are made.
const MOST_LOST: usize = 2;

/// A search with what its lines say.
#[derive(Debug, Clone)]
pub struct Search {
    find: Find,
    seen: Vec<Seen>,
    /// The loads that cannot be made, and why.
    impossible: BTreeMap<u64, String>,
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
    /// Its trials are not valid, so nothing is known: why the last of them is not, and which load would show more.
    Invalid(String, u64),
}

impl Search {
    /// Of one cell, whose lines these are, in their order.
    pub fn of<'a>(
        find: Find,
        trials: impl IntoIterator<Item = &'a TrialLine>,
        not_made: impl IntoIterator<Item = &'a ImpossibleStep>,
    ) -> Self {
        let (seen, impossible, why) = (Vec::new(), BTreeMap::new(), String::new());
        let mut search = Self { find, seen, impossible, has_shown: false, lost: 0, why };
        let mut steps = not_made.into_iter().peekable();
        for trial in trials {
            while let Some(step) = steps.next_if(|step| step.order <= trial.place.order) {
                search.note_impossible(step);
            }
            search.note(trial);
        }
        steps.for_each(|step| search.note_impossible(step));
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
        // What is not as asked has no figure.
        let watched = sought.seen().filter(|_| reasons.iter().all(|why| why.is_of_overload()));
        let shows = line.valid || watched.is_some();
        if shows && !self.has_shown {
            self.has_shown = true;
            self.seen.clear();
        }
        self.lost = 0;
        self.impossible.retain(|impossible, _| *impossible > load);
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
        if let Some(load) = self.find.over.load(&step.load) {
            self.impossible.insert(load, step.why.clone());
        }
    }

    /// The loads that cannot be made here, and why.
    pub fn impossible(&self) -> &BTreeMap<u64, String> {
        &self.impossible
    }

    /// The smallest load that could not be made, where nothing else ends the search there or below.
    pub fn ended_by_impossible(&self) -> Option<u64> {
        let (load, _) = self.impossible.first_key_value()?;
        let is_open = |seen: &Seen| seen.holds || seen.load > *load;
        (self.lost < MOST_LOST && self.seen.iter().all(is_open)).then_some(*load)
    }

    pub fn standing(&self) -> Standing {
        let invalid = |next| Standing::Invalid(self.why.clone(), next);
        match self.find.bounds().next(&self.seen()) {
            Next::Try(load) if self.lost >= MOST_LOST => invalid(load),
            Next::Infeasible if !self.has_shown => invalid(self.find.from),
            Next::Try(load) => Standing::Try(load),
            Next::Hold(load) => Standing::Hold(load),
            Next::Infeasible => {
                let watched = self.seen.iter().filter_map(|seen| seen.watched);
                Standing::Infeasible(watched.min_by(f64::total_cmp))
            }
        }
    }

    /// What trials showed, and each load that cannot be made as sure as one that was tried twice.
    fn seen(&self) -> Vec<Seen> {
        let broken = |load: &u64| {
            [Seen { load: *load, figure: 0.0, watched: None, holds: false, is_held: false }; 2]
        };
        self.seen.iter().copied().chain(self.impossible.keys().flat_map(broken)).collect()
    }

    /// What the next load above `load` showed, over the limit, if that broke it.
    pub fn beyond(&self, load: u64) -> Option<f64> {
        self.find.bounds().beyond(&self.seen(), load)
    }
}
