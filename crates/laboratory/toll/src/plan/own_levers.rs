//! Levers of a user's own: the rows `[[plan.lever]]` of a file.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::str::FromStr;

use ::load::Percent;
use capacity::{ALL_PARTS, Actor, Kind, Part};
use keys::{did_you_mean, full};
use toml::{Table, Value};

/// A change that a file lists.
#[derive(Debug, Clone)]
pub(super) struct OwnLever {
    /// Small letters, digits and hyphens.
    pub(super) name: String,
    /// What a person reads.
    pub(super) change: String,
    pub(super) actor: Actor,
    /// The line of the server's configuration that makes it.
    pub(super) configuration: Option<String>,
    pub(super) left_out: String,
    pub(super) parts: Vec<Part>,
    /// Keys of target and load, `load.group`, and what they become.
    pub(super) settings: Vec<(String, String)>,
}

/// The keys of a row.
const KEYS: [&str; 8] =
    ["name", "change", "actor", "configuration", "left-out", "parts", "target", "load"];

/// Keys that say how a plan measures, or which server it is about.
const KEPT: [&str; 15] = [
    full::SERVER,
    "target.host",
    "target.listen",
    "target.if-missing",
    full::CPUS,
    full::CORES,
    full::OBJECT,
    full::CLIENT,
    full::CLIENT_CPUS,
    full::CONNECTIONS,
    full::OPERATION,
    full::SESSION,
    full::ARRIVAL,
    "load.warmup",
    "load.duration",
];

/// The rows, in their order.
///
/// # Errors
/// What is wrong in which of them.
pub(super) fn parse(rows: &Value) -> Result<Vec<OwnLever>, String> {
    let rows = rows.as_array().filter(|rows| rows.iter().all(Value::is_table));
    let rows = rows.ok_or("lever is no list of tables; write [[plan.lever]]")?;
    let mut found: Vec<OwnLever> = Vec::new();
    for (place, row) in rows.iter().filter_map(Value::as_table).enumerate() {
        let lever = of_row(row).map_err(|why| match row.get("name").and_then(Value::as_str) {
            Some(name) => format!("lever {name}: {why}"),
            None => format!("lever {}: {why}", place + 1),
        })?;
        if found.iter().any(|of| of.name == lever.name) {
            return Err(format!("lever {}: another has this name", lever.name));
        }
        found.push(lever);
    }
    Ok(found)
}

fn of_row(row: &Table) -> Result<OwnLever, String> {
    if let Some(key) = row.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = did_you_mean(key, "its keys are", KEYS.into_iter());
        return Err(format!("{key} is not a key of [[plan.lever]]{hint}"));
    }
    let text = |key: &str| match row.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
        Some(_) => Err(format!("{key} is no text")),
        None => Err(format!("{key} is missing; write {key} = \"...\"")),
    };
    let name = text("name")?;
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.chars().all(is_of_name) || name.parse::<Kind>().is_ok() {
        return Err(
            "its name is to be of small letters, digits and hyphens, and no lever's of toll"
                .to_owned(),
        );
    }
    let parts = match row.get("parts") {
        None => ALL_PARTS.to_vec(),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            let part = |part: &Value| {
                one_of::<Part>("parts", part.as_str().unwrap_or_default(), Part::NAMES)
            };
            parts.iter().map(part).collect::<Result<Vec<_>, String>>()?
        }
        Some(_) => return Err(format!("parts is no list of some of {}", Part::NAMES.join(", "))),
    };
    let mut settings = of_table(row, "target", keys::names::<targets::Target>())?;
    settings.extend(of_table(row, "load", keys::names::<::load::Plan>())?);
    if settings.is_empty() {
        return Err("it changes no key; write one such as target.record-size = \"4KiB\"".to_owned());
    }
    Ok(OwnLever {
        change: text("change")?,
        actor: one_of("actor", &text("actor")?, Actor::NAMES)?,
        configuration: row
            .contains_key("configuration")
            .then(|| text("configuration"))
            .transpose()?,
        left_out: text("left-out")?,
        name,
        parts,
        settings,
    })
}

fn one_of<T: FromStr>(key: &str, given: &str, known: &'static [&'static str]) -> Result<T, String> {
    given.parse().map_err(|_| {
        let hint = did_you_mean(given, "write one of", known.iter().copied());
        format!("{key}: `{given}` is not known{hint}")
    })
}

/// The keys that a row changes of target or load.
fn of_table(row: &Table, table: &str, known: &[&str]) -> Result<Vec<(String, String)>, String> {
    let keys = match row.get(table) {
        None => return Ok(Vec::new()),
        Some(Value::Table(keys)) => keys,
        Some(_) => return Err(format!("{table} is no table; write {table}.KEY = VALUE")),
    };
    let mut found = Vec::new();
    for (name, value) in keys {
        let key = format!("{table}.{name}");
        if !known.contains(&name.as_str()) {
            let hint = did_you_mean(name, "its keys are", known.iter().copied());
            return Err(format!("{key} is not a key of [{table}]{hint}"));
        }
        if KEPT.contains(&key.as_str()) {
            return Err(format!("{key} is the plan's own, and no lever; leave it out"));
        }
        let value: &dyn Display = match value {
            Value::String(text) => text,
            Value::Integer(number) => number,
            Value::Boolean(truth) => truth,
            _ => return Err(format!("{key} is neither a text nor a whole number, true or false")),
        };
        let value = value.to_string();
        // A plan computes with one value of these.
        let wrong = match key.as_str() {
            full::REQUESTS_PER_CONNECTION => value.parse::<NonZeroU32>().is_err(),
            full::RESUMPTION => value.parse::<Percent>().is_err(),
            _ => false,
        };
        if wrong {
            return Err(format!(
                "{key}: a plan has one whole number, such as 8 or 70%, not `{value}`"
            ));
        }
        found.push((key, value));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levers(rows: &str) -> Result<Vec<OwnLever>, String> {
        let file: Table = rows.parse().unwrap();
        parse(&file["lever"])
    }

    /// A row with these lines beside those that each needs.
    fn row(more: &str) -> String {
        format!(
            "[[lever]]\nname = 'own'\nchange = 'x'\nactor = 'configuration'\nleft-out = 'nobody'\n{more}\n"
        )
    }

    #[test]
    fn a_row_is_a_lever_with_its_keys() {
        let lines = "configuration = 'ssl_buffer_size 8k;'\nparts = ['requests']\ntarget.record-size = '8KiB'\nload.streams = 4";
        let found = levers(&row(lines)).unwrap().remove(0);
        let settings = [("target.record-size", "8KiB"), ("load.streams", "4")];
        assert_eq!(found.settings, settings.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!((found.actor, &*found.parts), (Actor::Configuration, &[Part::Requests][..]));
        assert_eq!(found.configuration.as_deref(), Some("ssl_buffer_size 8k;"));
        // All parts, unless it says which.
        assert_eq!(levers(&row("target.tickets = true")).unwrap()[0].parts, ALL_PARTS);
    }

    #[test]
    fn a_row_that_is_no_lever_is_refused_with_its_key() {
        let group = "load.group = 'x25519'";
        for (rows, about) in [
            (row(""), "changes no key"),
            (row("load.gruop = 'x25519'"), "did you mean group?"),
            (row("target.colour = 'red'"), "target.colour"),
            (row("target.server = 'haproxy'"), "target.server is the plan's own"),
            (row("load.group = ['x25519']"), "load.group"),
            (row("target.if-missing = 'skip'"), "target.if-missing is the plan's own"),
            (
                row(&format!("{group}\nload.requests-per-connection = '1 20%, 8 80%'")),
                "one whole number",
            ),
            (row(&format!("{group}\nload.resumption = '150%'")), "one whole number"),
            (row("load = 5"), "load is no table"),
            (row(&format!("{group}\nlines = 'x'")), "lines is not a key"),
            (row(&format!("{group}\nparts = ['request']")), "did you mean requests?"),
            (row(&format!("{group}\nparts = 'requests'")), "parts is no list"),
            (row(group).replace("'configuration'", "'me'"), "actor"),
            (row(group).replace("'own'", "'Own'"), "small letters"),
            (row(group).replace("'own'", "'suite'"), "small letters"),
            (row(group).replace("change = 'x'\n", ""), "change is missing"),
            (row(group).replace("name = 'own'\n", ""), "lever 1"),
            (row(group).repeat(2), "another has this name"),
            ("lever = 5".to_owned(), "[[plan.lever]]"),
        ] {
            let why = levers(&rows).unwrap_err();
            assert!(why.contains(about) && why.lines().count() == 1, "{rows}: {why}");
        }
    }
}
