//! `[find]`: what is searched for, said for all cases, or in a case as `find.to = 64`.

use ::keys::full;
use load::{Arrival, Client, Operation, Pace, Percent, Plan};
use study::find::{Ceiling, Find, Over, Watched};
use units::Nanos;

use super::draft::Draft;
use super::error::Flaw;
use super::merged::Level;
use super::search_keys::{Load, OverKey, SearchKeys};
use study::Metric;
use study::metric::Kind;

const STEP: Nanos = Nanos(3_000_000_000);
const PLATEAU: u8 = 2;
const LIMIT: &str = "\"first-byte-max <= 2s\"";

/// The search of a cell, whose load it takes over; `None` where nothing is searched for.
pub(super) fn finish(draft: &Draft<'_>, plan: &mut Plan) -> Result<Option<Find>, Flaw> {
    let Some(line) = draft.find_line else { return Ok(None) };
    let search: SearchKeys = draft.find.read()?;
    let lacking = |key: &str, value: &str| {
        Flaw::at(line, format!("find has no {key}; write {key} = {value}"))
    };
    let maximize = search.maximize.ok_or_else(|| lacking("maximize", "\"goodput\""))?;
    let ceiling = search.ceiling.ok_or_else(|| lacking("while", LIMIT))?;
    let (least, key, example) = match search.over {
        OverKey::Connections => (Some(Load::Connections(1)), full::CONNECTIONS, "4096"),
        OverKey::Arrival => (None, full::ARRIVAL, "\"poisson 50000/s\""),
    };
    let end = |name: &str, end: Option<Load>| match (search.over, end, draft.find.field(name)) {
        (OverKey::Connections, Some(Load::Connections(count)), _) => Ok((Over::Connections, count)),
        (OverKey::Arrival, Some(Load::Arrival(Arrival::Open { rate, distribution })), _) => {
            Ok((Over::Arrival(distribution), rate.thousandths()))
        }
        (.., Some(field)) => Err(field.wrong(&format!(
            "is not a value of {key}, which is searched over; write one such as {example}"
        ))),
        (.., None) => Err(lacking(name, example)),
    };
    let ((over, from), (other, to)) = (end("from", search.from.or(least))?, end("to", search.to)?);
    if over != other {
        let what =
            "find.to has another distribution than find.from; write uniform or poisson in both";
        return Err(draft.find.flaw("to", what));
    }
    if from >= to {
        let what = format!(
            "find.to = {} is not above find.from = {}; write a larger one",
            over.value(to),
            over.value(from)
        );
        return Err(draft.find.flaw("to", what));
    }
    check_free(draft, search.over, plan)?;
    over.set(plan, from);
    let find = Find {
        maximize,
        over,
        from,
        to,
        ceiling,
        plateau: search.plateau.or(Percent::new(PLATEAU)).unwrap_or_default(),
        step: search.step.unwrap_or(STEP),
        hold: search.hold.unwrap_or(plan.duration),
    };
    for (key, duration) in [("step", find.step), ("hold", find.hold)] {
        let checked = Plan { duration, ..plan.clone() }.check();
        checked.map_err(|wrong| match draft.find.has(key) {
            true => draft.find.flaw(key, format!("find.{key}: {}", wrong.why)),
            false => draft.load.wrong(wrong),
        })?;
    }
    if maximize.row().kind != Kind::Throughput || Metric::OF_ALGORITHMS.contains(&maximize) {
        return Err(draft.find.flaw(
            "maximize",
            format!("find.maximize = {maximize} is not a throughput; write goodput or rate"),
        ));
    }
    if maximize.row().is_of_bodies && plan.operation == Operation::Handshakes {
        return Err(draft.find.flaw(
            "maximize",
            "find.maximize = goodput is about bodies, but handshakes have none; write rate",
        ));
    }
    check_ceiling(ceiling, plan)
        .map_err(|why| draft.find.flaw("while", format!("find.while = {ceiling}: {why}")))?;
    Ok(Some(find))
}

/// Refuses a case that says itself what the search is to find, and connections as the load where
/// arrivals are: more of them ask for no more.
fn check_free(draft: &Draft<'_>, key: OverKey, plan: &Plan) -> Result<(), Flaw> {
    let name = match key {
        OverKey::Connections => "connections",
        OverKey::Arrival => "arrival",
    };
    if draft.load.level(name) > Level::File {
        let what =
            format!("load.{name} is what find searches for; leave load.{name} out of the case");
        return Err(draft.load.flaw(name, what));
    }
    if let Some(count) = plan.count {
        let what = format!(
            "load.count = {count} ends a load before a search has seen it; leave load.count out, or \
             find"
        );
        return Err(draft.load.flaw("count", what));
    }
    let is_load =
        matches!(plan.arrival, Arrival::Open { .. } | Arrival::Paced { pace: Pace::Rate(_) });
    if is_load && name == "connections" {
        let what = format!(
            "load.arrival = {} is the load, whatever the connections are; write find.over = \
             \"load.arrival\", or a time such as load.arrival = \"paced 4s\"",
            plan.arrival
        );
        return Err(draft.load.flaw("arrival", what));
    }
    Ok(())
}

/// Refuses a limit on what this load does not time.
fn check_ceiling(ceiling: Ceiling, plan: &Plan) -> Result<(), String> {
    if plan.client != Client::Toll && !ceiling.watched.is_share() {
        return Err(format!(
            "with load.client = {} no latency is known; leave the client out, or write a limit on \
             errors",
            plan.client
        ));
    }
    match (ceiling.watched, plan.operation, plan.arrival) {
        (
            Watched::ConnectP99 | Watched::ConnectMax,
            Operation::Requests | Operation::Session,
            _,
        ) if plan.keeps_connections() => Err(
            "requests and pages are asked for on kept connections, which are opened before the window; write \
             operation = \"one-request-per-connection\", or a limit on the first byte"
                .to_owned(),
        ),
        (Watched::FirstByteP99 | Watched::FirstByteMax, Operation::Handshakes, _) => Err(
            "handshakes have no response; write a limit on connect-max or whole-max".to_owned(),
        ),
        (Watched::DeadlineMisses, _, Arrival::Closed { .. } | Arrival::Open { .. }) => Err(
            "only paced arrivals have deadlines; write load.arrival = \"paced 4s\", or another limit"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}
