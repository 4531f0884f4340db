//! What would lower the cores, for a person.

use stats::{Decision, Direction, Estimate};
use units::{decimal, places};

use super::lever_outcome::{Levers, Saving, Step, Together};
use super::outcome::PlanOutcome;
use super::phrases::{self, MONTH, percent};

pub(super) fn paragraphs(levers: &Levers, outcome: &PlanOutcome) -> Vec<String> {
    let mut found = Vec::new();
    let price = outcome.price_per_hour.map(|all| all / outcome.plan.cores.median * MONTH);
    let row = |saving: &Saving| row(saving, price);
    if levers.sure(Direction::Above).next().is_some() {
        found.push("What would lower it, each measured here with this traffic:".to_owned());
        found.extend(levers.sure(Direction::Above).map(row));
    }
    if levers.sure(Direction::Below).next().is_some() {
        found.push("What costs more:".to_owned());
        found.extend(levers.sure(Direction::Below).map(row));
    }
    let of = |decision| {
        let all = levers.savings.iter().filter(move |saving| saving.decision == decision);
        all.map(|saving| saving.change.clone()).collect::<Vec<_>>()
    };
    let lists = [
        ("Not shown to help", of(Decision::NoDifference)),
        ("Too few rounds to show a saving", of(Decision::TooFew)),
        ("Not here", levers.not_here.clone()),
        ("No time for (--time)", levers.no_time.clone()),
    ];
    let lists = lists.into_iter().filter(|(_, changes)| !changes.is_empty());
    found.extend(lists.map(|(title, changes)| format!("{title}: {}.", changes.join("; "))));
    if let Some(why) = &levers.no_combination {
        found.push(format!("No combination: {why}."));
    }
    found.extend(levers.together.iter().flat_map(|of| together(of, outcome)));
    found
}

/// `−0.40 [−0.60, −0.10] cores, −13 a month: ECDSA P-256 certificate (certificate). Leaves out: ...`
fn row(saving: &Saving, price: Option<f64>) -> String {
    let Saving { change, actor, configuration, left_out, cores, .. } = saving;
    let places = places(cores.median, 2);
    let [median, low, high] =
        [cores.median, cores.interval.high, cores.interval.low].map(|of| signed(-of, places));
    let month = price.map(|price| format!(", {} a month", signed(-cores.median * price, 0)));
    let line = configuration.as_ref().map(|line| format!(" As: {line}"));
    format!(
        "  {median} [{low}, {high}] cores{}: {change} ({actor}). Leaves out: {left_out}.{}",
        month.unwrap_or_default(),
        line.unwrap_or_default(),
    )
}

fn together(of: &Together, outcome: &PlanOutcome) -> Vec<String> {
    let busy = percent(of.check.busy);
    let mut found = Vec::new();
    match of.check.holds() {
        true => {
            let sum = outcome.plan.cores.median - of.sum;
            let sum = match of.steps.len() {
                1 => String::new(),
                _ => format!(", where the sum of their savings leaves {}", phrases::number(sum)),
            };
            let all = match of.steps.len() {
                1 => "The first of these".to_owned(),
                number => format!("The best {number} together"),
            };
            found.push(format!(
                "{all}: {}{sum}. Loaded with this traffic at {busy} of a core: its parts give {}.",
                phrases::cores(&of.cores),
                phrases::ratio(&of.check)
            ));
        }
        false => {
            let mut why = format!("No combination: {}.", phrases::failed(&of.check));
            for other in &of.not_so_busy {
                why = format!("{why} {}", phrases::other_busy(other));
            }
            found.push(why);
        }
    }
    let step = |(place, step): (usize, &Step)| {
        let Estimate { median, interval, .. } = step.adds;
        let places = places(median, 2);
        let [median, low, high] =
            [median, interval.high, interval.low].map(|of| signed(-of, places));
        format!("  {}. {}: {median} [{low}, {high}]", place + 1, step.change)
    };
    if of.check.holds() && of.steps.len() > 1 {
        found.push("In this order each still adds, in cores:".to_owned());
        found.extend(of.steps.iter().enumerate().map(step));
    }
    found
}

/// With its sign, as it is written in print.
fn signed(value: f64, places: i32) -> String {
    let text = decimal(value, places);
    match text.strip_prefix('-') {
        Some(text) => format!("−{text}"),
        None if text.contains(|c| matches!(c, '1'..='9')) => format!("+{text}"),
        None => text,
    }
}
