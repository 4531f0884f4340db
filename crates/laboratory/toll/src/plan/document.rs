//! `[plan]` in a file: keys that equal the flags.

use clap::Parser;
use toml::{Table, Value};

use super::arguments::Arguments;

/// The only version of such files.
const SCHEMA: i64 = 1;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct OfFile {
    #[command(flatten)]
    plan: Arguments,
}

pub(super) fn is_plan(text: &str) -> bool {
    text.parse().is_ok_and(|file: Table| file.contains_key("plan"))
}

/// The plan that a file asks for: its keys are read as the flags of their names.
pub(super) fn parse(text: &str) -> Result<Arguments, String> {
    let file: Result<Table, toml::de::Error> = text.parse();
    let file = file.map_err(|error| format!("it is no TOML: {}", error.message()))?;
    if file.get("schema").and_then(Value::as_integer) != Some(SCHEMA) {
        return Err(format!("it does not begin with schema = {SCHEMA}"));
    }
    let Some(Value::Table(plan)) = file.get("plan") else {
        return Err("it has no table [plan]".to_owned());
    };
    if let Some(key) = file.keys().find(|key| !matches!(key.as_str(), "schema" | "plan")) {
        return Err(format!("`{key}` is no part of a plan, which has schema and [plan]"));
    }
    let mut flags = Vec::new();
    for (key, value) in plan {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => return Err(format!("{key} is neither a text nor a number")),
        };
        flags.push(format!("--{key}={value}"));
    }
    OfFile::try_parse_from(flags).map(|of| of.plan).map_err(|error| {
        let text = error.to_string();
        // Its first line, as of a command line, then how to use it.
        let why = text.lines().next().unwrap_or_default();
        format!("[plan]: {}", why.trim_start_matches("error: "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_flags() {
        let text = "schema = 1\n[plan]\nnew-connections = '3000/s'\nresumed = '60%'\n\
                    requests-per-connection = 8\nlatency = 'p99<=50ms'\n";
        let plan = parse(text).unwrap();
        assert_eq!(
            (plan.requests_per_connection.unwrap().get(), plan.resumed.unwrap().get()),
            (8, 60)
        );
        assert!(plan.latency.is_some() && plan.new_connections.is_some() && plan.file.is_none());
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        let plan = |keys: &str| format!("schema = 1\n[plan]\n{keys}\n");
        assert!(is_plan(&plan("")) && !is_plan("schema = 1\n") && !is_plan("x"));
        for (text, about) in [
            ("x".to_owned(), "TOML"),
            ("[plan]\n".to_owned(), "schema"),
            ("schema = 1\n".to_owned(), "[plan]"),
            (format!("seed = 7\n{}", plan("")), "seed"),
            (plan("new-connections = 3000"), "3000"),
            (plan("new-connections = '5/s'\nresumedd = '1%'"), "--resumedd"),
            (plan("new-connections = ['5/s']"), "new-connections"),
            (plan(""), "required"),
            (plan("file = 'other.toml'"), "--file"),
        ] {
            let why = parse(&text).err().unwrap_or_default();
            assert!(why.contains(about) && why.lines().count() == 1, "{text}: {why}");
        }
    }
}
