//! `[find]`: what is searched for, said for all cases, or in a case as `find.to = 64`.

use load::{Arrival, Operation, Percent};

use super::check;
use super::draft::{Draft, Origin, Reach, Said};
use super::error::Flaw;
use super::fields::{Field, Fields, Source};
use super::keys::toml_text;
use super::suggest::did_you_mean;
use super::words::Time;
use crate::find::{Ceiling, Find, Maximize, Over, Watched};
use crate::study::{LoadClient, LoadSpec};

pub(super) const NAME: &str = "find";

pub(super) const KEYS: [&str; 8] =
    ["maximize", "over", "from", "to", "while", "step", "hold", "plateau"];

/// What holds where a study does not say it.
const OVER: &str = "load.connections";
const STEP: &str = "3s";
const PLATEAU: &str = "2%";

/// What is said of a search, key by key.
#[derive(Debug, Clone, Default)]
pub(super) struct FindDraft {
    /// Where it was last said.
    origin: Option<Origin>,
    maximize: Option<Said<Maximize>>,
    over: Option<Said<Key>>,
    from: Option<Said<Load>>,
    to: Option<Said<Load>>,
    ceiling: Option<Said<Ceiling>>,
    step: Option<Said<Time>>,
    hold: Option<Said<Time>>,
    plateau: Option<Said<Percent>>,
}

/// The key that is searched over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Connections,
    Arrival,
}

/// An end of the range, in the form of either key.
#[derive(Debug, Clone, Copy)]
enum Load {
    Connections(u64),
    Arrival(Arrival),
}

impl FindDraft {
    /// Whether anything is searched for.
    pub(super) fn is_said(&self) -> bool {
        self.origin.is_some()
    }

    /// Puts all keys of a `[find]` table into this.
    pub(super) fn apply(
        &mut self,
        source: Source<'_>,
        field: &Field<'_>,
        origin: fn(usize) -> Origin,
    ) -> Result<(), Flaw> {
        let fields = Fields::all(source, field.table()?, &format!("{NAME}."));
        fields.check_known("a find", &KEYS)?;
        for field in fields.iter() {
            self.read(field, origin(field.line))?;
        }
        self.origin = Some(origin(field.line));
        Ok(())
    }

    fn read(&mut self, field: &Field<'_>, origin: Origin) -> Result<(), Flaw> {
        match field.key {
            "maximize" => self.maximize = said(maximize(field)?, origin),
            "over" => self.over = said(over(field)?, origin),
            "from" => self.from = said(load(field)?, origin),
            "to" => self.to = said(load(field)?, origin),
            "while" => self.ceiling = said(parsed(field)?, origin),
            "step" => self.step = said(time(field)?, origin),
            "hold" => self.hold = said(time(field)?, origin),
            _ => self.plateau = said(parsed(field)?, origin),
        }
        Ok(())
    }

    /// The search of a cell, whose load it takes over; `None` where nothing is searched for.
    pub(super) fn finish(&self, draft: &Draft, load: &mut LoadSpec) -> Result<Option<Find>, Flaw> {
        let Some(origin) = self.origin else { return Ok(None) };
        let lacking = |key: &str, value: &str| {
            origin.flaw(format!("find has no {key}; write {key} = {value}"))
        };
        let maximize = self.maximize.as_ref().ok_or_else(|| lacking("maximize", "\"goodput\""))?;
        let ceiling = self.ceiling.as_ref().ok_or_else(|| lacking("while", LIMIT))?;
        let key = self.over.as_ref().map_or(Key::Connections, |over| over.value);
        let (over, from, to) = match key {
            Key::Connections => self.connections(&lacking)?,
            Key::Arrival => self.arrival(&lacking)?,
        };
        if from >= to {
            let at = self.to.as_ref().map_or(origin, |to| to.origin);
            return Err(at.flaw(format!(
                "find.to = {} is not above find.from = {}; write a larger one",
                over.value(to),
                over.value(from)
            )));
        }
        check_free(draft, key)?;
        check_arrival(draft, key)?;
        over.set(load, from);
        let hold = self.hold.as_ref().map_or(load.duration, |hold| hold.value.0);
        let default_step =
            || STEP.parse().map_err(|why: units::ParseError| origin.flaw(why.to_string()));
        let step = self.step.as_ref().map_or_else(default_step, |step| Ok(step.value))?.0;
        let default_plateau = || PLATEAU.parse().map_err(|why: String| origin.flaw(why));
        let plateau = self.plateau.as_ref().map_or_else(default_plateau, |said| Ok(said.value))?;
        let find = Find {
            maximize: maximize.value,
            over,
            from,
            to,
            ceiling: ceiling.value,
            plateau,
            step,
            hold,
        };
        self.check_windows(&find, load, origin)?;
        check_maximize(maximize, load)?;
        check_ceiling(ceiling, load)?;
        Ok(Some(find))
    }

    fn connections(&self, lacking: &impl Fn(&str, &str) -> Flaw) -> Result<(Over, u64, u64), Flaw> {
        let count = |said: &Said<Load>, name: &str| match said.value {
            Load::Connections(count) => Ok(count),
            Load::Arrival(arrival) => Err(said.origin.flaw(format!(
                "find.{name} = {arrival} is no number of connections; write one such as 64, or \
                 over = \"load.arrival\""
            ))),
        };
        let from = self.from.as_ref().map_or(Ok(1), |from| count(from, "from"))?;
        let to = count(self.to.as_ref().ok_or_else(|| lacking("to", "4096"))?, "to")?;
        Ok((Over::Connections, from, to))
    }

    fn arrival(&self, lacking: &impl Fn(&str, &str) -> Flaw) -> Result<(Over, u64, u64), Flaw> {
        let open = |said: &Option<Said<Load>>, name: &str, example: &str| {
            let said = said.as_ref().ok_or_else(|| lacking(name, example))?;
            match said.value {
                Load::Arrival(Arrival::Open { rate, distribution }) => {
                    Ok((Over::Arrival(distribution), rate.thousandths(), said.origin))
                }
                _ => Err(said.origin.flaw(format!(
                    "find.{name} is no rate of arrivals; write one such as {example}"
                ))),
            }
        };
        let (over, from, _) = open(&self.from, "from", "\"poisson 100/s\"")?;
        let (other, to, origin) = open(&self.to, "to", "\"poisson 50000/s\"")?;
        match over == other {
            true => Ok((over, from, to)),
            false => Err(origin.flaw(
                "find.to has another distribution than find.from; write uniform or poisson in both",
            )),
        }
    }

    fn check_windows(&self, find: &Find, load: &LoadSpec, origin: Origin) -> Result<(), Flaw> {
        for (said, window) in [(&self.step, find.step), (&self.hold, find.hold)] {
            let load = LoadSpec { duration: window, ..load.clone() };
            let origin = said.as_ref().map_or(origin, |said| said.origin);
            check::plan(&load).check().map_err(|error| origin.flaw(error.to_string()))?;
        }
        Ok(())
    }
}

const LIMIT: &str = "\"first-byte-max <= 2s\"";

impl From<&Find> for FindDraft {
    fn from(find: &Find) -> Self {
        let origin = Origin::UNSAID;
        let load = |load| load_value(find.over, load).map(|value| Said { value, origin });
        Self {
            origin: Some(origin),
            maximize: said(find.maximize, origin),
            over: said(Key::of(find.over), origin),
            from: load(find.from),
            to: load(find.to),
            ceiling: said(find.ceiling, origin),
            step: said(Time(find.step), origin),
            hold: said(Time(find.hold), origin),
            plateau: said(find.plateau, origin),
        }
    }
}

impl FindDraft {
    /// Key and value as TOML, of what is said.
    pub(super) fn toml(&self) -> Vec<(&'static str, String)> {
        let text = |value: Option<String>| value.map(|value| toml_text(&value));
        let load = |said: &Option<Said<Load>>| {
            said.as_ref().map(|said| match said.value {
                Load::Connections(count) => count.to_string(),
                Load::Arrival(arrival) => toml_text(&arrival.to_string()),
            })
        };
        let shown = |value: Option<&dyn std::fmt::Display>| text(value.map(ToString::to_string));
        let values = [
            shown(self.maximize.as_ref().map(|said| &said.value as _)),
            text(self.over.as_ref().map(|said| said.value.name().to_owned())),
            load(&self.from),
            load(&self.to),
            shown(self.ceiling.as_ref().map(|said| &said.value as _)),
            shown(self.step.as_ref().map(|said| &said.value as _)),
            shown(self.hold.as_ref().map(|said| &said.value as _)),
            shown(self.plateau.as_ref().map(|said| &said.value as _)),
        ];
        KEYS.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The same without `hold`, which then follows from `load.duration`.
    pub(super) fn without_hold(self) -> Self {
        Self { hold: None, ..self }
    }
}

fn load_value(over: Over, load: u64) -> Option<Load> {
    match over {
        Over::Connections => Some(Load::Connections(load)),
        Over::Arrival(_) => over.value(load).parse().ok().map(Load::Arrival),
    }
}

impl Key {
    const ALL: [Self; 2] = [Self::Connections, Self::Arrival];

    fn of(over: Over) -> Self {
        match over {
            Over::Connections => Self::Connections,
            Over::Arrival(_) => Self::Arrival,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Connections => OVER,
            Self::Arrival => "load.arrival",
        }
    }
}

fn said<T>(value: T, origin: Origin) -> Option<Said<T>> {
    Some(Said { value, origin })
}

fn maximize(field: &Field<'_>) -> Result<Maximize, Flaw> {
    let text = field.text()?;
    Maximize::ALL.into_iter().find(|maximize| maximize.name() == text).ok_or_else(|| {
        let names = Maximize::ALL.iter().map(|maximize| maximize.name());
        field
            .wrong(&format!("is nothing to maximize{}", did_you_mean(text, "write one of:", names)))
    })
}

fn over(field: &Field<'_>) -> Result<Key, Flaw> {
    let text = field.text()?;
    Key::ALL.into_iter().find(|key| key.name() == text).ok_or_else(|| {
        let names = Key::ALL.iter().map(|key| key.name());
        field.wrong(&format!(
            "is nothing to search over{}",
            did_you_mean(text, "write one of:", names)
        ))
    })
}

fn load(field: &Field<'_>) -> Result<Load, Flaw> {
    use toml::de::DeValue::String;
    match field.value {
        String(_) => parsed(field).map(Load::Arrival),
        _ => field.integer(1, u32::MAX.into()).map(Load::Connections),
    }
}

fn time(field: &Field<'_>) -> Result<Time, Flaw> {
    use toml::de::DeValue::{Float, Integer};
    if let Integer(_) | Float(_) = field.value {
        let written = field.written();
        return Err(field.wrong(&format!("has no unit; write a time such as \"{written}s\"")));
    }
    parsed(field)
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(field: &Field<'_>) -> Result<T, Flaw> {
    field.text()?.parse().map_err(|why: T::Err| field.flaw(&format!("is wrong: {why}")))
}

/// Refuses a case that says itself what the search is to find.
fn check_free(draft: &Draft, key: Key) -> Result<(), Flaw> {
    let origin = match key {
        Key::Connections => draft.connections.as_ref().map(|said| said.origin),
        Key::Arrival => draft.arrival.as_ref().map(|said| said.origin),
    };
    match origin {
        Some(origin) if origin.reach > Reach::File => Err(origin
            .flaw(format!("{0} is what find searches for; leave {0} out of the case", key.name()))),
        _ => Ok(()),
    }
}

/// Refuses connections as the load where arrivals are: more of them ask for no more.
fn check_arrival(draft: &Draft, key: Key) -> Result<(), Flaw> {
    match (&draft.arrival, key) {
        (Some(Said { value: arrival @ Arrival::Open { .. }, origin }), Key::Connections) => {
            Err(origin.flaw(format!(
                "load.arrival = {arrival} is the load, whatever the connections are; write \
                 find.over = \"load.arrival\""
            )))
        }
        _ => Ok(()),
    }
}

fn check_maximize(maximize: &Said<Maximize>, load: &LoadSpec) -> Result<(), Flaw> {
    match (maximize.value, load.operation) {
        (Maximize::Goodput, Operation::Handshakes) => Err(maximize
            .origin
            .flaw("find.maximize = goodput is about bodies, but handshakes have none; write rate")),
        _ => Ok(()),
    }
}

/// Refuses a limit on what this load does not time.
fn check_ceiling(ceiling: &Said<Ceiling>, load: &LoadSpec) -> Result<(), Flaw> {
    if load.client != LoadClient::Toll && !ceiling.value.watched.is_share() {
        return Err(ceiling.origin.flaw(format!(
            "find.while = {}: with load.client = {} no latency is known; leave the client out, or \
             write a limit on errors",
            ceiling.value, load.client
        )));
    }
    let why = match (ceiling.value.watched, load.operation, load.arrival) {
        (Watched::ConnectP99 | Watched::ConnectMax, Operation::Requests, _) => {
            "requests are made on kept connections, which are opened before the window; write \
             operation = \"one-request-per-connection\", or a limit on the first byte"
        }
        (Watched::FirstByteP99 | Watched::FirstByteMax, Operation::Handshakes, _) => {
            "handshakes have no response; write a limit on connect-max or whole-max"
        }
        (Watched::DeadlineMisses, _, Arrival::Closed { .. } | Arrival::Open { .. }) => {
            "only paced arrivals have deadlines; write load.arrival = \"paced 4s\", or another limit"
        }
        _ => return Ok(()),
    };
    Err(ceiling.origin.flaw(format!("find.while = {}: {why}", ceiling.value)))
}
