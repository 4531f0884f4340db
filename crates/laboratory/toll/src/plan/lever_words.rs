//! What would lower the cores, for a person.

use stats::{Decision, Direction, Estimate};
use units::{decimal, places};

use super::lever_outcome::{Levers, Saving, Step, Together};
use super::outcome::PlanOutcome;
use super::phrases::{self, MONTH, percent};

/// The answer first: what the best changes save together, then each by itself.
pub(super) fn paragraphs(levers: &Levers, outcome: &PlanOutcome) -> Vec<String> {
    let price = outcome.price_per_hour.map(|all| all / outcome.plan.cores.median * MONTH);
    let of_all = levers.together.iter().flat_map(|of| together(of, outcome, price));
    let mut found: Vec<String> = of_all.collect();
    if let Some(why) = &levers.no_combination {
        found.push(format!("No combination: {why}."));
    }
    if levers.sure(Direction::Above).next().is_some() {
        found.push(
            "What would lower it, each alone, measured here with this traffic (in parentheses: what has to change):"
                .to_owned(),
        );
        for saving in levers.sure(Direction::Above) {
            found.push(row(saving, price));
            found.extend(how(saving));
        }
    }
    if levers.sure(Direction::Below).next().is_some() {
        found.push("What costs more:".to_owned());
        found.extend(levers.sure(Direction::Below).map(|saving| row(saving, price)));
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
    found
}

/// What to do, where the plan and the best changes stood their checks.
pub(super) fn advice(outcome: &PlanOutcome) -> Option<String> {
    let Together { steps, cores, saved, check, .. } = outcome.levers.as_ref()?.together.as_ref()?;
    let is_shown = outcome.check.holds() && check.holds() && saved.interval.low > 0.0;
    let changes: Vec<&str> = steps.iter().map(|step| &*step.change).collect();
    is_shown.then(|| {
        let (saved, cores) = (less(saved, None), phrases::cores(cores));
        format!("{}: {saved}, which leaves {cores}.", changes.join("; "))
    })
}

/// `−0.40 [−0.60, −0.10] cores, −13 a month: ECDSA P-256 certificate (certificate)`
fn row(Saving { change, actor, cores, .. }: &Saving, price: Option<f64>) -> String {
    format!("  {}: {change} ({actor})", less(cores, price))
}

/// Whom a change leaves out, and the lines of the configuration that make it.
fn how(Saving { left_out, configuration, .. }: &Saving) -> Option<String> {
    let left_out = (left_out != "nobody").then(|| format!("Leaves out: {left_out}."));
    let lines = configuration.as_ref().map(|lines| format!("Configuration: {lines}"));
    let both: Vec<String> = left_out.into_iter().chain(lines).collect();
    (!both.is_empty()).then(|| format!("    {}", both.join(" ")))
}

fn together(of: &Together, outcome: &PlanOutcome, price: Option<f64>) -> Vec<String> {
    if !of.check.holds() {
        let others = phrases::others_busy(&of.not_so_busy);
        return vec![format!("No combination: {}.{others}", phrases::failed(&of.check))];
    }
    let (all, sum) = match &*of.steps {
        [step] => (format!("The best change, {}", step.change), String::new()),
        steps => {
            let sum = phrases::number(outcome.plan.cores.median - of.sum);
            let sum = format!("; the sum of their savings would leave {sum}");
            (format!("The best {} changes together", steps.len()), sum)
        }
    };
    let mut found = vec![format!(
        "{all}: {}, which leaves {}{sum}. Checked with this traffic at {} of a core: its parts give {} of the CPU time \
         that it takes.",
        less(&of.saved, price),
        phrases::cores(&of.cores),
        percent(of.check.busy),
        phrases::ratio(&of.check),
    )];
    if of.steps.len() > 1 {
        let step = |(place, step): (usize, &Step)| {
            format!("  {}. {}: {}", place + 1, step.change, less(&step.adds, None))
        };
        found.push("Change by change, in this order:".to_owned());
        found.extend(of.steps.iter().enumerate().map(step));
    }
    found
}

/// `−0.40 [−0.60, −0.10] cores, −13 a month`, by the price of a core in a month.
fn less(saved: &Estimate, price: Option<f64>) -> String {
    let places = places(saved.median, 2);
    let cores = phrases::estimate(&saved.map(|of| -of), |of| signed(of, places));
    let month = price.map(|price| format!(", {} a month", signed(-saved.median * price, 0)));
    format!("{cores} cores{}", month.unwrap_or_default())
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
