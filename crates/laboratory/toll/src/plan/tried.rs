//! Which levers are tried: those that there is time for, the likeliest savings first.

use std::time::Duration;

use journal::TrialLine;
use study::Cell;

use super::arguments::Arguments;
use super::bench::{Bench, of_plan, on_several_cores};
use super::cells::{CORRECTIONS, Cells, Changed, Rates, Window};
use super::offers::{self, Offer};
use super::parts::each;
use super::traffic::PlannedTraffic;
use crate::Failure;

/// Levers that are measured, with where.
#[derive(Debug, Default)]
pub(super) struct Tried {
    pub(super) offers: Vec<(Offer, Changed)>,
    pub(super) not_here: Vec<String>,
    pub(super) no_time: Vec<String>,
    /// All that is to come, the combination too.
    pub(super) takes: Duration,
}

/// How many cases the combination is expected to add, with its own traffic.
const STEPS: u32 = 5;

/// What starting the server of a case takes until it is measured, and what its pilot in a closed loop does.
const CLOSED_PILOT: Duration = Duration::from_millis(1_200);

impl Tried {
    /// By what the parts took in a pilot; adds the cases, and their rates. `None` where it was interrupted.
    ///
    /// # Errors
    /// There is no time for any.
    pub(super) fn choose(
        arguments: &Arguments,
        wanted: &PlannedTraffic,
        (cells, rates): (&mut Cells, &mut Rates),
        pilot: &[TrialLine],
        bench: &mut Bench<'_>,
    ) -> Result<Option<Self>, Failure> {
        let shape = wanted.shape();
        let costs = cells.unchanged("").places.costs(|case| {
            let mut of_case = pilot.iter().filter(|of| of.place.case == case && of.line.valid);
            of_case.find_map(|of| each(&of.line)).ok_or(())
        });
        let (mut offers, not_here) = offers::offers(arguments, &shape);
        if let Ok(costs) = &costs {
            let likely = |offer: &Offer| offer.likely(costs, &shape);
            offers.sort_by(|a, b| likely(b).total_cmp(&likely(a)));
        }
        let mut tried = Self { not_here, ..Self::default() };
        let budget = Duration::from(arguments.time);
        for offer in offers {
            let mut with = cells.clone();
            let added = with.add(&offer.name, &[&offer]);
            let Ok(changed) = added else { continue };
            let is_new = |name: &str| !cells.cases.iter().any(|case| case.name == name);
            let new = with.only(|case| is_new(&case.name));
            // Keys that contradict each other are what this server cannot do.
            if !new.cases.is_empty() && of_plan(&new.closed_loop()).is_err() {
                continue;
            }
            let takes = takes(&with, arguments)?;
            if takes > budget {
                tried.no_time.push(offer.change);
                continue;
            }
            if !new.cases.is_empty() {
                match bench.first_rates(&new) {
                    Ok(Some((_, found))) => rates.extend(found),
                    Ok(None) => return Ok(None),
                    Err(failure) => {
                        tried.not_here.push(format!("{} ({})", offer.change, failure.message));
                        continue;
                    }
                }
            }
            tried.takes = takes;
            *cells = with;
            tried.offers.push((offer, changed));
        }
        if tried.offers.is_empty() && !tried.no_time.is_empty() {
            let least = takes(cells, arguments)?.as_secs().div_ceil(60) + 1;
            return Err(Failure::request(format!(
                "--time {}: no change fits beside the plan itself; give --time {least}min or more",
                arguments.time
            )));
        }
        Ok(Some(tried))
    }

    /// Refuses levers of the file's own that this server cannot have, or that change nothing of what is.
    ///
    /// # Errors
    /// Which of them, and why.
    pub(super) fn check_own(arguments: &Arguments, cells: &Cells) -> Result<(), Failure> {
        if arguments.own_levers.is_empty() {
            return Ok(());
        }
        let today = of_plan(&cells.closed_loop())?.cells;
        for offer in arguments.own_levers.iter().map(Offer::from) {
            let wrong = |why: &str| Failure::request(format!("lever {}: {why}", offer.lever));
            let mut with = cells.clone();
            let changed = with.add(&offer.name, &[&offer]).map_err(|why| wrong(&why))?;
            let study = of_plan(&with.closed_loop()).map_err(|failure| {
                // Its lines are no user's.
                let why = failure.message.split_once(": ").map(|(_, why)| why);
                wrong(why.unwrap_or(&failure.message))
            })?;
            let is_as_today = |cell: &Cell| {
                today.iter().any(|of| of.target == cell.target && of.load == cell.load)
            };
            let has_shape = changed.shape == cells.unchanged("").shape;
            if study.cells.iter().all(is_as_today) && has_shape {
                return Err(wrong("it changes nothing of the server and the traffic as they are"));
            }
        }
        Ok(())
    }

    /// Takes out what has lost a case since.
    pub(super) fn drop_without(&mut self, cells: &Cells) {
        let not_here = &mut self.not_here;
        self.offers.retain(|(offer, changed)| {
            let why = changed.places.cases().find_map(|case| cells.dropped.get(case));
            not_here.extend(why.map(|why| format!("{} ({why})", offer.change)));
            why.is_none()
        });
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.offers.iter().map(|(offer, _)| offer.change.clone()).collect()
    }
}

/// What measuring these cases takes from here on, with a combination of them.
///
/// # Errors
/// They are no study.
fn takes(cells: &Cells, arguments: &Arguments) -> Result<Duration, Failure> {
    // Any rate: a trial takes its window.
    let rates: Rates = cells.cases.iter().map(|case| (case.name.clone(), 1_000.0)).collect();
    let time = |text: String| -> Result<Duration, Failure> {
        let study = of_plan(&text)?;
        Ok(experiment::of(&study).iter().map(|of| of.time()).sum())
    };
    let measured = time(cells.open_loop(&Window::Measured, arguments.trials, &rates))?;
    let pilots = CORRECTIONS
        .into_iter()
        .map(|trials| time(cells.open_loop(&Window::Pilot, trials, &rates)))
        .sum::<Result<Duration, Failure>>()?;
    let several = on_several_cores(cells, arguments.trials, &rates)?.map(time).transpose()?;
    let count = cells.cases.len() as u32;
    // The parts of today's server are measured beside the combination's.
    let combination = measured / count
        * (cells.unchanged("").places.cases().count() as u32 + STEPS)
        + (pilots / count + CLOSED_PILOT) * STEPS;
    Ok(measured + pilots + several.unwrap_or_default() + combination)
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::super::parts::{FULL, REQUESTS};
    use super::*;

    /// What a file with a lever of these lines offers, and nothing else.
    fn offered(lines: &str) -> Result<Vec<Offer>, Failure> {
        let text = format!(
            "schema = 1\n[plan]\nnew-connections = '1000/s'\n[[plan.lever]]\nname = 'small'\nchange = 'x'\n\
             actor = 'configuration'\nleft-out = 'nobody'\n{lines}\n"
        );
        let arguments = document::parse(&text).unwrap();
        arguments.check()?;
        let wanted = PlannedTraffic::of(&arguments, None)?;
        Tried::check_own(&arguments, &Cells::new(&arguments, &wanted)?)?;
        Ok(offers::offers(&arguments, &wanted.shape()).0)
    }

    #[test]
    fn a_lever_of_a_file_is_offered_with_its_keys_in_its_parts() {
        let more = "configuration = 'ssl_buffer_size 4k;'\nparts = ['requests']\ntarget.record-size = '4KiB'";
        let offers = offered(more).unwrap();
        let [offer] = &*offers else { panic!("{offers:?}") };
        assert_eq!(offer.keys().collect::<Vec<_>>(), [("target.record-size", "4KiB")]);
        assert!(offer.touches(REQUESTS) && !offer.touches(FULL));
        assert_eq!(
            (&*offer.lever, offer.configuration.as_deref()),
            ("small", Some("ssl_buffer_size 4k;"))
        );
        // How connections are used is a lever too.
        assert_eq!(offered("load.requests-per-connection = 5").unwrap().len(), 1);
    }

    #[test]
    fn a_lever_that_changes_nothing_or_that_the_server_cannot_have_is_refused() {
        for (lines, about) in [
            ("target.certificate-key = 'rsa:2048'", "nothing"),
            ("load.suite = 'TLS_AES_128_GCM_SHA256'", "nothing"),
            ("load.requests-per-connection = 1", "nothing"),
            ("target.send = 'user'", "nothing"),
            ("target.record-size = 'big'", "record-size"),
        ] {
            let why = offered(lines).unwrap_err().message;
            assert!(why.starts_with("lever small: ") && why.contains(about), "{lines}: {why}");
        }
    }
}
