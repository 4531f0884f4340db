//! Measures the studies of a plan.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use experiment::{Ended, Event};
use journal::{Results, TrialLine};
use study::Study;

use super::cells::{CORRECTIONS, Cells, Rates, Window};
use crate::progress::RunProgress;
use crate::{Exit, Failure, machine};

pub(super) struct Bench<'a> {
    /// Of the pilots, which nobody keeps.
    folder: &'a Path,
    pilots: u32,
    is_silent: bool,
    interrupted: &'a AtomicBool,
}

impl<'a> Bench<'a> {
    pub(super) fn new(folder: &'a Path, is_silent: bool, interrupted: &'a AtomicBool) -> Self {
        Self { folder, pilots: 0, is_silent, interrupted }
    }

    /// The trials of a study that only says what to measure; `None` where it was interrupted.
    pub(super) fn pilot(&mut self, study: &str) -> Result<Option<Vec<TrialLine>>, Failure> {
        let results = results_in(self.folder, &format!("pilot-{}", self.pilots))?;
        self.pilots += 1;
        let (lines, is_whole) = self.measure(study, &results)?;
        Ok(is_whole.then_some(lines))
    }

    /// What each part takes in a closed loop, and the rates that follow from it; `None` where it was interrupted. Such
    /// a pilot is short and may be disturbed, so that it has a second try.
    ///
    /// # Errors
    /// What the machine or the server lacks for them.
    pub(super) fn first_rates(
        &mut self,
        cells: &Cells,
    ) -> Result<Option<(Vec<TrialLine>, Rates)>, Failure> {
        match self.one_first_rates(cells) {
            Err(failure) if failure.exit == Exit::Failed => self.one_first_rates(cells),
            found => found,
        }
    }

    fn one_first_rates(
        &mut self,
        cells: &Cells,
    ) -> Result<Option<(Vec<TrialLine>, Rates)>, Failure> {
        let Some(lines) = self.pilot(&cells.closed_loop())? else { return Ok(None) };
        let mut cells = cells.clone();
        let rates = cells.rates(&lines)?;
        match cells.dropped.into_values().next() {
            Some(why) => Err(Failure::measurement(why)),
            None => Ok(Some((lines, rates))),
        }
    }

    /// The rates that pilots in an open loop correct, one after the other; `None` where it was interrupted. Cases that
    /// may be lacking are dropped where they cannot be loaded.
    ///
    /// # Errors
    /// A case that may not be lacking has no valid trial.
    pub(super) fn corrected(
        &mut self,
        cells: &mut Cells,
        mut rates: Rates,
    ) -> Result<Option<Rates>, Failure> {
        for trials in CORRECTIONS {
            let pilot = self.pilot(&cells.open_loop(&Window::Pilot, trials, &rates))?;
            let Some(pilot) = pilot else { return Ok(None) };
            rates = cells.rates(&pilot)?;
        }
        Ok(Some(rates))
    }

    /// Measures a study; its trials, and whether they are all that it asks for.
    pub(super) fn measure(
        &self,
        text: &str,
        results: &Results,
    ) -> Result<(Vec<TrialLine>, bool), Failure> {
        let study = of_plan(text)?;
        let _lock = results.lock().map_err(Failure::request)?;
        results.write_study(text, &study).map_err(Failure::measurement)?;
        let experiments = experiment::of(&study);
        machine::write(&experiments, results)?;
        let mut is_whole = true;
        for experiment in experiments {
            experiment.check()?;
            let mut progress = RunProgress::new(!self.is_silent);
            let mut tell = |event: Event<'_>| match event {
                Event::Lacks(text) => progress.beside(|| crate::note(text)),
                Event::Progress { left, words } => progress.show(left, words),
                Event::Says(_) | Event::Started(_) | Event::Finished { .. } => {}
            };
            is_whole &= experiment.run(results, self.interrupted, &mut tell)? != Ended::Interrupted;
        }
        Ok((results.entries().map_err(Failure::measurement)?.trials, is_whole))
    }
}

pub(super) fn results_in(parent: &Path, name: &str) -> Result<Results, Failure> {
    Results::create(parent, name, SystemTime::now()).map_err(Failure::request)
}

/// The study of the traffic on several cores; `None` where this machine has one beside the client's.
pub(super) fn on_several_cores(
    cells: &Cells,
    trials: u32,
    rates: &Rates,
) -> Result<Option<String>, Failure> {
    let several = cells.several_cores(trials, rates);
    Ok((of_plan(&several)?.cells.len() > 1).then_some(several))
}

/// The study that a text is.
pub(super) fn of_plan(text: &str) -> Result<Study, Failure> {
    file::parse("plan.toml", text, &crate::topology()?, None).map_err(Failure::request)
}
