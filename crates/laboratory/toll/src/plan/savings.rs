//! What levers save: the parts that each touches in place of today's, round by round.

use answer::figure::{Decided, Figure};
use journal::TrialLine;

use super::by_round::Rounds;
use super::cells::{self, Changed};
use super::lever_outcome::{Levers, Saving, Scale};
use super::offers::Offer;
use super::tried::Tried;

fn saving(place: usize, offer: &Offer, saved: &Decided) -> Saving {
    let Offer { lever, change, actor, configuration, left_out, .. } = offer.clone();
    Saving {
        lever,
        change,
        actor,
        configuration,
        left_out,
        cores: saved.figure.estimate,
        decision: saved.decision,
        place,
    }
}

/// `today` is the server as it is; a change whose trials were not what they were to be is no saving.
pub(super) fn of(
    tried: &Tried,
    rounds: &Rounds<'_>,
    today: &Changed,
    scale: Scale,
    lines: &[TrialLine],
) -> Levers {
    let mut not_here = tried.not_here.clone();
    let mut family = Vec::new();
    for (place, (offer, changed)) in tried.offers.iter().enumerate() {
        match difference(rounds, today, changed, scale) {
            Some(saved) => family.push((place, saved)),
            None => {
                let why = changed.places.cases().find_map(|case| cells::why_invalid(lines, case));
                let why = why.unwrap_or_else(|| "no round has all of its parts".to_owned());
                not_here.push(format!("{} ({why})", offer.change));
            }
        }
    }
    let of = |(place, saved): (usize, Decided)| saving(place, &tried.offers[place].0, &saved);
    let mut savings: Vec<Saving> = Decided::decide(family, 0.0).into_iter().map(of).collect();
    savings.sort_by(|a, b| b.cores.median.total_cmp(&a.cores.median));
    let no_time = tried.no_time.clone();
    Levers { savings, not_here, no_time, together: None, no_combination: None }
}

/// The cores of one server less those of another, in each round that has both; `None` where none has.
pub(super) fn difference(
    rounds: &Rounds<'_>,
    before: &Changed,
    after: &Changed,
    scale: Scale,
) -> Option<Figure> {
    let cores = |of: &Changed| -> Vec<(u32, f64)> {
        let each = rounds.costs(of).into_iter();
        each.map(|(round, costs)| (round, scale.cores(&costs, &of.shape.traffic))).collect()
    };
    answer::figure::difference(&cores(before), &cores(after))
}

#[cfg(test)]
mod tests {
    use stats::Direction::{Above, Below};

    use super::super::arguments::Arguments;
    use super::super::cells::Cells;
    use super::super::offers::offers;
    use super::super::outcome::PlanOutcome;
    use super::super::page;
    use super::super::rounds::{self, tests};
    use super::super::together::Combination;
    use super::super::traffic::PlannedTraffic;
    use super::super::words;
    use super::*;
    use stats::Decision;

    const FLAGS: [&str; 4] = [
        "--levers",
        "certificate-key,group,requests-per-connection",
        "--requests-per-connection-to",
        "16",
    ];

    struct Bed {
        arguments: Arguments,
        wanted: PlannedTraffic,
        cells: Cells,
        tried: Tried,
    }

    fn bed() -> Bed {
        let arguments = tests::arguments(&FLAGS);
        let wanted = PlannedTraffic::of(&arguments, None).unwrap();
        let mut cells = Cells::new(&arguments, &wanted).unwrap();
        let mut tried = Tried::default();
        for offer in offers(&arguments, &wanted.shape()).0 {
            let changed = cells.add(&offer.name, &[&offer]).unwrap();
            tried.offers.push((offer, changed));
        }
        Bed { arguments, wanted, cells, tried }
    }

    /// What a connection of a case takes with its request, in us, in a round.
    fn took(case: &str, round: u32) -> u64 {
        match case {
            of if of.contains("p-256-certificate") => 111,
            of if of.contains("p-384") || of.contains("rsa-3072") => 411,
            // As today's, a little more or less.
            of if of.contains("resumed") => 60 + u64::from(round % 3),
            _ => 210 + u64::from(round % 3),
        }
    }

    /// Trials of today's parts and of those that changes touch.
    fn lines(bed: &Bed, rounds: u32) -> Vec<TrialLine> {
        let mut all = tests::lines(rounds, 1.0);
        all.retain(|of| bed.cells.cases.iter().any(|case| case.name == of.place.case));
        for case in bed.cells.cases.iter().map(|case| &case.name) {
            if all.iter().all(|of| of.place.case != *case) {
                let of_round =
                    |round| tests::line(case, round, 1_000, took(case, round) * 1_000, 0.5);
                all.extend((0..rounds).map(of_round));
            }
        }
        all
    }

    fn outcome(bed: &Bed, lines: &[TrialLine]) -> PlanOutcome {
        let Bed { arguments, wanted, cells, tried } = bed;
        rounds::outcome(arguments, wanted, cells, Some(tried), lines, &[]).unwrap()
    }

    #[test]
    fn parts_that_a_change_leaves_alone_are_measured_once() {
        let bed = bed();
        let new: Vec<&str> = bed.cells.cases.iter().map(|case| &*case.name).skip(5).collect();
        // A certificate is in full handshakes, a group in all, and keep-alive in none.
        let of = |kind: &str| new.iter().filter(|name| name.starts_with(kind)).count();
        assert_eq!((of("certificate-key"), of("group"), new.len()), (3, 4, 7), "{new:?}");
        let of_names = bed.cells.only(|case| case.name.contains("p-256-certificate"));
        assert!(of_names.closed_loop().contains("target.certificate-key = \"ecdsa:p256\""));
        // What changes nothing is today's.
        let mut cells = bed.cells.clone();
        assert_eq!(cells.add("none", &[]).unwrap(), cells.unchanged(""));
    }

    #[test]
    fn savings_are_decided_together_and_the_best_are_measured_together() {
        let mut bed = bed();
        let measured = lines(&bed, 7);
        let mut found = outcome(&bed, &measured);
        let levers = found.levers.as_mut().unwrap();
        let of = |direction| levers.sure(direction).map(|of| (&*of.change, of.cores.median));
        let sure: Vec<(&str, f64)> = of(Above).collect();
        // 500 connections of 110 us less, and 400 full handshakes of 100 us less, at half a core each.
        assert!(sure[0].0.contains("keep-alive") && (sure[0].1 - 0.11).abs() < 1e-9, "{sure:?}");
        assert!(sure[1].0.contains("P-256 cert") && (sure[1].1 - 0.08).abs() < 1e-9, "{sure:?}");
        assert_eq!((sure.len(), of(Below).count()), (2, 2));
        let groups = levers.savings.iter().filter(|of| of.lever == "group");
        assert!(groups.map(|of| of.decision).all(|of| of == Decision::NoDifference));
        let Bed { cells, tried, .. } = &mut bed;
        let together = Combination::choose(tried, levers, cells).unwrap();
        let traffic = |beside: f64| {
            let us = (39_000.0 * beside) as u64;
            let of_round = |round| tests::line("together-traffic", round, 1_600, us, 0.5);
            [measured.clone(), (0..7).map(of_round).collect()].concat()
        };
        let scale = found.scale;
        let made = together.outcome(cells, scale, &traffic(1.0)).unwrap();
        // With half the connections a certificate saves half.
        assert!(
            (made.cores.median - 0.39).abs() < 1e-9 && (made.sum - 0.19).abs() < 1e-9,
            "{made:?}"
        );
        let adds: Vec<f64> = made.steps.iter().map(|step| step.adds.median).collect();
        assert!((adds[0] - 0.11).abs() < 1e-9 && (adds[1] - 0.04).abs() < 1e-9, "{adds:?}");
        assert!(made.check.holds());
        // Each of its parts was measured with the changes one by one.
        assert!(cells.cases.iter().all(|case| !case.name.starts_with("together-1")));
        let dearer = together.outcome(cells, scale, &traffic(1.3)).unwrap();
        assert!(!dearer.check.holds());
        levers.together = Some(made);
        let holds = words::of(&found, false);
        // The page says what to do only where its check held.
        let advice = |found: &PlanOutcome| page::shown(found).headline.unwrap().advice;
        assert!(advice(&found).is_some_and(|of| of.contains("keep-alive") && of.contains("P-256")));
        found.levers.as_mut().unwrap().together = Some(dearer);
        assert_eq!(advice(&found), None);
        support::assert_golden!([("it holds", holds), ("it takes more", words::of(&found, false))]);
    }

    #[test]
    fn what_was_not_what_it_was_to_be_is_no_saving() {
        let bed = bed();
        let mut measured = lines(&bed, 7);
        for of in measured.iter_mut().filter(|of| of.place.case.contains("p-256-certificate")) {
            of.line.valid = false;
            of.line.load_error = Some("another certificate".to_owned());
        }
        let levers = outcome(&bed, &measured).levers.unwrap();
        assert!(levers.savings.iter().all(|of| !of.change.contains("P-256 cert")));
        assert!(levers.not_here.concat().contains("another certificate"), "{:?}", levers.not_here);
        // Of few rounds nothing is claimed.
        let few = outcome(&bed, &lines(&bed, 3)).levers.unwrap();
        assert_eq!((few.sure(Above).count(), few.sure(Below).count()), (0, 0));
        let mut cells = bed.cells.clone();
        assert!(Combination::choose(&bed.tried, &few, &mut cells).is_none());
    }
}
