//! A plan for a person: cores first, then whether the check bears them out.

use stats::Estimate;
use units::{BitsPerSecond, PerSecond, decimal, places};

use super::{Check, PlanOutcome};
use crate::screen;

pub(super) fn of(outcome: &PlanOutcome) -> String {
    let PlanOutcome { plan, traffic: wanted, .. } = outcome;
    let mut text = String::new();
    let mut paragraph = |words: String| text += &format!("{}\n", screen::wrapped(&words));
    if !outcome.check.holds() {
        paragraph(format!("No plan: {}.", failed(&outcome.check)));
    }
    let share = |part: f64| percent(part / plan.parts.all());
    paragraph(format!(
        "{} at {} busy ({}, {}): handshakes {}, bytes {}, requests {}.",
        cores(&plan.cores),
        percent(plan.busy),
        outcome.server,
        outcome.certificate_key,
        share(plan.parts.handshakes),
        share(plan.parts.bytes),
        share(plan.parts.requests),
    ));
    if outcome.check.holds() {
        paragraph(format!(
            "Checked with this traffic at {} of a core: its parts give {} of the CPU time that it takes.",
            percent(outcome.check.busy),
            ratio(&outcome.check)
        ));
    }
    paragraph(match &outcome.quarter.refused {
        Some(why) => format!("A quarter of it is no check: {why}."),
        None => format!(
            "At {} of a core they give {}: costs are those of a core as busy as is planned.",
            percent(outcome.quarter.busy),
            ratio(&outcome.quarter)
        ),
    });
    for saving in &outcome.savings {
        let interval = &saving.cores.interval;
        paragraph(match interval.low > 0.0 {
            true => format!("Saves {}: {}.", cores(&saving.cores), saving.choice),
            false => format!("No significant saving: {}.", saving.choice),
        });
    }
    let traffic = &wanted.traffic;
    let minute = wanted.minute.as_ref().map(|minute| format!(", the minute {minute}"));
    paragraph(format!(
        "Traffic: {} new connections ({} resumed), {} requests on each, {} in all, {} of bodies{}.",
        PerSecond(traffic.connections_per_s),
        percent(traffic.resumed),
        number(traffic.requests_per_connection),
        PerSecond(traffic.requests_per_s()),
        BitsPerSecond(traffic.bits_per_s()),
        minute.unwrap_or_default(),
    ));
    if let Some(price) = outcome.price_per_hour {
        let terabytes = traffic.bits_per_s() / 8.0 * 3_600.0 / 1e12;
        paragraph(format!("{} per hour, {} per TB.", number(price), number(price / terabytes)));
    }
    for what in &outcome.not_measured {
        paragraph(format!("Not measured: {what}."));
    }
    text
}

fn failed(check: &Check) -> String {
    let busy = percent(check.busy);
    match &check.refused {
        Some(why) => format!("at {busy} of a core {why}, so the traffic is no check"),
        None => {
            format!("at {busy} of a core its parts give {} of what the traffic takes", ratio(check))
        }
    }
}

fn ratio(check: &Check) -> String {
    let Estimate { median, interval, .. } = &check.predicted_over_measured;
    format!("{} [{}, {}]", percent(*median), percent(interval.low), percent(interval.high))
}

/// `4.6 [4.3, 5.0] cores`.
fn cores(of: &Estimate) -> String {
    let places = places(of.median, 2);
    let number = |value| decimal(value, places);
    format!(
        "{} [{}, {}] cores",
        number(of.median),
        number(of.interval.low),
        number(of.interval.high)
    )
}

fn number(value: f64) -> String {
    decimal(value, places(value, 2))
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}
