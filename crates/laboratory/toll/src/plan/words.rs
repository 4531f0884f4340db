//! A plan for a person: cores first, then whether the check bears them out.

use answer::gate::Reached;
use capacity::Plan;
use stats::Estimate;
use units::{BitsPerSecond, Nanos, PerSecond, decimal};

use super::latency::Latency;
use super::lever_words;
use super::log;
use super::memory::Memory;
use super::outcome::{LinkUse, PlanOutcome};
use super::phrases::{cores, estimate, failed, number, other_busy, percent, ratio};
use super::traffic::{Assumed, LogOverridden};
use crate::screen;

/// With how it was measured where all is wanted.
pub(super) fn of(outcome: &PlanOutcome, is_verbose: bool) -> String {
    let calibration = calibration(outcome).into_iter().filter(|_| is_verbose);
    let paragraphs = paragraphs(outcome).into_iter().chain(calibration);
    paragraphs.map(|words| format!("{}\n", screen::wrapped(&words))).collect()
}

/// How the costs were measured.
pub(super) fn calibration(outcome: &PlanOutcome) -> Vec<String> {
    let quarter = outcome.quarter.as_ref().map(|quarter| match &quarter.refused {
        Some(why) => format!("A quarter of it is no check: {why}."),
        None => format!(
            "At {} of a core its parts, measured there too, give {}.",
            percent(quarter.busy),
            ratio(quarter)
        ),
    });
    quarter.into_iter().chain(outcome.not_so_busy.iter().map(other_busy)).collect()
}

/// Where the plan did not stand its check, that first.
pub(super) fn paragraphs(outcome: &PlanOutcome) -> Vec<String> {
    let PlanOutcome { plan, traffic: wanted, .. } = outcome;
    let mut found = Vec::new();
    let mut paragraph = |words: String| found.push(words);
    if !outcome.check.holds() {
        let least_certain =
            least_certain(plan).map(|part| format!(" The least certain part is {part}."));
        paragraph(format!(
            "No plan: {}.{}",
            failed(&outcome.check),
            least_certain.unwrap_or_default()
        ));
    }
    let share = |part: f64| percent(part / plan.parts.all());
    let handshakes = plan.parts.handshakes / plan.parts.all();
    if let Some(words) = assumed(wanted.assumed, handshakes) {
        paragraph(words);
    }
    paragraph(format!(
        "{} at {} busy ({}, {}, HTTP/{}): handshakes {}, bytes {}, requests {}.",
        whole(&plan.cores),
        percent(plan.busy),
        outcome.server_words(),
        outcome.certificate_key,
        outcome.http,
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
    let mut of_several = outcome.scaling.iter();
    if let Some(of) = of_several.find(|of| Some(of.cores) == outcome.scaled_as_on) {
        let most =
            if f64::from(of.cores) < plan.cores.median { ", the most there are here," } else { "" };
        paragraph(format!(
            "On {} cores{most} the same work takes {} times the CPU time that it takes on one; the plan has that.",
            of.cores,
            estimate(&of.over_one_core, |ratio| decimal(ratio, 2)),
        ));
    }
    if let Some(levers) = &outcome.levers {
        for words in lever_words::paragraphs(levers, outcome) {
            paragraph(words);
        }
    }
    if let Some(device) = &outcome.device {
        paragraph(device.in_words());
    }
    if let Some(Latency { limit, measured_ns, result }) = &outcome.latency {
        let are_too_few = measured_ns.is_some_and(|of| !of.has_enough_samples());
        let in_words = match result {
            Reached::Met => "is kept",
            Reached::NotMet => "is not kept",
            _ => "is neither shown to be kept nor to be broken",
        };
        let ns = |ns: f64| Nanos(ns.round() as u64).to_string();
        let measured = match measured_ns {
            Some(of) if are_too_few => format!("{}, {} trials are too few", estimate(of, ns), of.n),
            Some(of) => estimate(of, ns),
            None => "no trial of it has one".to_owned(),
        };
        let busy = percent(outcome.check.busy);
        paragraph(format!("{limit} {in_words} at {busy} of a core: {measured}."));
    }
    if let Some(Memory { open_connections, each_bytes, each_buffer_bytes }) = &outcome.memory {
        let all = |each: f64| size(each * f64::from(*open_connections));
        paragraph(format!(
            "Memory for {open_connections} open connections that wait: {} in the server ({} each), {} in buffers \
             of its sockets.",
            estimate(each_bytes, all),
            size(each_bytes.median),
            all(each_buffer_bytes.median),
        ));
    }
    if let Some(energy) = &outcome.energy {
        paragraph(format!(
            "Energy of the processors, the client's share included, beyond what they take idle: {} mJ per \
             connection with a full handshake and one request, {} J per GB.",
            estimate(&energy.joules_per_connection, |joules| number(joules * 1e3)),
            estimate(&energy.joules_per_gigabyte, number),
        ));
    }
    if let Some(quota) = outcome.cpu_quota {
        paragraph(format!(
            "Measured under a CPU quota of {quota}: the cores are of CPU time, which it does not change; as many have \
             to be allowed where the servers will run."
        ));
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
    if let Some(grown) = &wanted.grown {
        let growth = grown.growth.map(|share| format!("a growth of {}", percent(share)));
        let peak = grown.peak.map(|peak| format!("a peak of {} times the rest", number(peak)));
        let both: Vec<String> = growth.into_iter().chain(peak).collect();
        paragraph(format!(
            "That is {} times what was given, for {}: without it {} cores.",
            number(grown.factor),
            both.join(" and "),
            number(plan.cores.median / grown.factor),
        ));
    }
    paragraph(network(&outcome.links, traffic.bits_per_s()));
    if let Some(log) = &wanted.log {
        paragraph(log::in_words(log, outcome.http));
    }
    if let Some(LogOverridden { requests_per_connection, resumed }) = wanted.log_overridden {
        let requests =
            requests_per_connection.map(|of| format!("{} requests on each connection", number(of)));
        let resumed = resumed.map(|share| format!("{} resumed", percent(share)));
        let log: Vec<String> = requests.into_iter().chain(resumed).collect();
        paragraph(format!("The log has {}; what was given is used.", log.join(", ")));
    }
    if let Some(price) = outcome.price_per_hour {
        let terabytes = traffic.bits_per_s() / 8.0 * 3_600.0 / 1e12;
        // Traffic without bodies has a price of none.
        let each =
            (terabytes > 0.0).then(|| format!(", {} per TB of bodies", number(price / terabytes)));
        paragraph(format!("Price: {} per hour{}.", number(price), each.unwrap_or_default()));
    }
    for what in &outcome.not_measured {
        paragraph(format!("Not measured: {what}."));
    }
    found
}

/// What share of its interfaces this many bits of bodies per second take.
fn network(links: &[LinkUse], bits_per_s: f64) -> String {
    let link = |LinkUse { name, bits_per_s: speed, why }: &LinkUse| match speed {
        Some(speed) => format!(
            "{} of what {name} carries ({})",
            percent(bits_per_s / speed),
            BitsPerSecond(*speed)
        ),
        None => format!("what {name} carries is not known: {}", why.as_deref().unwrap_or_default()),
    };
    let links: Vec<String> = match links {
        [] => vec!["what it carries is not known: no interface but loopback is up here".to_owned()],
        links => links.iter().map(link).collect(),
    };
    format!("Network, for the bodies alone: {}.", links.join("; "))
}

/// The part whose interval is the widest, in cores.
fn least_certain(plan: &Plan) -> Option<String> {
    let width = |of: &Estimate| of.interval.high - of.interval.low;
    let parts = plan.by_part().into_iter();
    let found = parts.filter_map(|(name, cores)| Some((name, Estimate::of(&cores).ok()?)));
    let (name, widest) = found.max_by(|a, b| width(&a.1).total_cmp(&width(&b.1)))?;
    (width(&widest) > 0.0).then(|| format!("{name}: {}", cores(&widest)))
}

/// `1.9 GiB`.
fn size(bytes: f64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let of = units.into_iter().find(|(_, power)| bytes >= f64::from(1_u32 << power));
    let (unit, power) = of.unwrap_or(("B", 0));
    format!("{} {unit}", number(bytes / f64::from(1_u32 << power)))
}

/// How many requests a connection is compared with that is assumed to have one.
const MORE_REQUESTS: f64 = 10.0;

/// What nobody said, with what it does to the plan, where handshakes have this share of it.
fn assumed(of: Assumed, handshakes: f64) -> Option<String> {
    let requests = of.requests_per_connection.then(|| {
        let others = 1.0 - handshakes * (1.0 - 1.0 / MORE_REQUESTS);
        format!(
            "1 request on each connection ({MORE_REQUESTS} would need {} of these cores; give \
             --requests-per-connection)",
            percent(others)
        )
    });
    let resumed = of.resumed.then(|| "no handshake resumed (give --resumed)".to_owned());
    let all: Vec<String> = requests.into_iter().chain(resumed).collect();
    (!all.is_empty())
        .then(|| format!("Assumed, since neither options nor a log say it: {}.", all.join("; ")))
}

/// Those of a plan: nobody buys a part of one.
fn whole(of: &Estimate) -> String {
    let cores = cores(of);
    match of.interval.high < 1.0 {
        true => format!("Less than one core ({})", cores.trim_end_matches(" cores")),
        false => cores,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_an_interface_is_stated_or_why_it_is_not() {
        let link = |name: &str, bits_per_s, why: Option<&str>| LinkUse {
            name: name.to_owned(),
            bits_per_s,
            why: why.map(str::to_owned),
        };
        let known = link("eth0", Some(10e9), None);
        let unknown = link("veth1", None, Some("it is virtual"));
        support::assert_golden!([
            ("known", network(std::slice::from_ref(&known), 2.5e9)),
            ("more than it carries", network(std::slice::from_ref(&known), 12e9)),
            ("two", network(&[known, unknown], 2.5e9)),
            ("none", network(&[], 2.5e9)),
        ]);
    }
}
