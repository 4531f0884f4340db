//! The changes that surely pay, made together: measured in parts of their own, and the traffic loaded with them.

use journal::{Results, TrialLine};
use stats::{Direction, Estimate};

use super::arguments::Arguments;
use super::bench::{Bench, of_plan};
use super::by_round::Rounds;
use super::cells::{CORRECTIONS, Case, Cells, Changed, Rates, Window};
use super::lever_outcome::{Levers, Scale, Step, Together};
use super::offers::Offer;
use super::savings::difference;
use super::tried::Tried;
use crate::Failure;

/// The changes of a combination, each with what is measured after it.
pub(super) struct Combination<'a> {
    offers: Vec<&'a Offer>,
    steps: Vec<Changed>,
    traffic: String,
    /// Cores that the changes save one by one.
    alone: f64,
}

impl<'a> Combination<'a> {
    /// Of those that surely pay: of each kind the one that saves the most, the largest saving first; what contradicts
    /// those before it is left out. Its cases are added. `None` where nothing pays.
    pub(super) fn choose(tried: &'a Tried, levers: &Levers, cells: &mut Cells) -> Option<Self> {
        let mut offers: Vec<&Offer> = Vec::new();
        let mut steps = Vec::new();
        let mut alone = 0.0;
        for saving in levers.sure(Direction::Above) {
            let (offer, _) = &tried.offers[saving.place];
            if offers.iter().any(|of| of.lever == offer.lever) {
                continue;
            }
            let with = [&offers[..], &[offer]].concat();
            let mut more = cells.clone();
            let Ok(changed) = more.add(&name(with.len()), &with) else { continue };
            let mut whole = more.clone();
            let Ok(traffic) = whole.add_traffic("together", &with, &changed) else { continue };
            let rates = [(traffic.clone(), 1_000.0)].into();
            let whole = whole.only(|case| case.name == traffic);
            if of_plan(&whole.open_loop(&Window::Pilot, 1, &rates)).is_err() {
                continue;
            }
            *cells = more;
            offers = with;
            steps.push(changed);
            alone += saving.cores.median;
        }
        let last = steps.last()?;
        let traffic = cells.add_traffic("together", &offers, last).ok()?;
        Some(Self { offers, steps, traffic, alone })
    }

    /// Whether a case is one of those that it is measured by, with today's parts.
    fn has(&self, today: &Changed, case: &Case) -> bool {
        let places = self.steps.iter().map(|step| &step.places).chain([&today.places]);
        case.name == self.traffic
            || places.into_iter().any(|of| of.cases().any(|name| name == case.name))
    }

    /// Measures it, with the rates that are known of cases that it shares; the trials, and whether they are all.
    /// Empty where it was interrupted before.
    pub(super) fn measure(
        &self,
        arguments: &Arguments,
        cells: &Cells,
        known: &Rates,
        bench: &mut Bench<'_>,
        results: &Results,
    ) -> Result<(Vec<TrialLine>, bool), Failure> {
        let today = cells.unchanged("");
        let wanted = cells.only(|case| self.has(&today, case));
        let interrupted = || Ok((Vec::new(), false));
        let Some((_, mut rates)) = bench.first_rates(&wanted)? else { return interrupted() };
        rates.extend(known.clone());
        for trials in CORRECTIONS {
            let mut new = wanted.only(|case| !known.contains_key(&case.name));
            let pilot = bench.pilot(&new.open_loop(&Window::Pilot, trials, &rates))?;
            let Some(pilot) = pilot else { return interrupted() };
            rates.extend(new.rates(&pilot)?);
            if let Some(why) = new.dropped.into_values().next() {
                return Err(Failure::measurement(why));
            }
        }
        let study = wanted.open_loop(&Window::Measured, arguments.trials, &rates);
        bench.measure(&study, results)
    }

    /// What came of it.
    ///
    /// # Errors
    /// A part has no valid trial.
    pub(super) fn outcome(
        &self,
        cells: &Cells,
        scale: Scale,
        lines: &[TrialLine],
    ) -> Result<Together, Failure> {
        let rounds = Rounds::of(lines);
        let today = cells.unchanged("");
        let none = || Failure::measurement("no round has a valid trial of each of its parts");
        let mut steps = Vec::new();
        let mut before = &today;
        for (offer, step) in self.offers.iter().zip(&self.steps) {
            let adds = difference(&rounds, before, step, scale).ok_or_else(none)?;
            steps.push(Step { change: offer.change.clone(), adds: adds.estimate });
            before = step;
        }
        let all = rounds.costs(before).into_iter();
        let cores: Vec<f64> =
            all.map(|(_, costs)| scale.cores(&costs, &before.shape.traffic)).collect();
        Ok(Together {
            sum: self.alone,
            steps,
            cores: Estimate::of(&cores).map_err(|_| none())?,
            saved: difference(&rounds, &today, before, scale).ok_or_else(none)?.estimate,
            check: rounds.check(&self.traffic, before)?,
            not_so_busy: rounds
                .other_busy(cells.cases.iter().filter(|case| self.has(&today, case))),
        })
    }
}

/// What the names of the cases of a step begin with.
fn name(step: usize) -> String {
    format!("together-{step}")
}
