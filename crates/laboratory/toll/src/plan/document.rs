//! What is planned by other words than flags: `[plan]` in a file, whose keys equal the flags, and a bill of `toll watch`.

use clap::Parser;
use toml::{Table, Value};

use super::arguments::Arguments;
use super::{kinds, own_levers};
use crate::Failure;

/// The only version of such files.
const SCHEMA: i64 = 1;

/// Rows of `[plan]` that are no flag.
const OWN_LEVERS: &str = "lever";

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
    let own_levers = match plan.get(OWN_LEVERS) {
        Some(rows) => own_levers::parse(rows).map_err(|why| format!("[plan]: {why}"))?,
        None => Vec::new(),
    };
    let mut flags = Vec::new();
    if !own_levers.is_empty() && !plan.contains_key("levers") {
        flags.push(("levers", kinds::OWN.to_owned()));
    }
    for (key, value) in plan.iter().filter(|(key, _)| *key != OWN_LEVERS) {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => return Err(format!("{key} is neither a text nor a number")),
        };
        flags.push((key.as_str(), value));
    }
    let plan = of_flags(flags).map_err(|why| format!("[plan]: {why}"))?;
    Ok(Arguments { own_levers, ..plan })
}

/// The same with the server and the traffic of the bill that is named, if one is.
pub(super) fn with_bill(arguments: Arguments) -> Result<Arguments, Failure> {
    let Some(folder) = &arguments.from else { return Ok(arguments) };
    let wrong = |why: String| Failure::request(format!("--from: {}: {why}", folder.display()));
    let bill = crate::watch::bill(folder)?;
    let bill = bill.ok_or_else(|| wrong("toll watch --out has not made it".to_owned()))?;
    let of = of_flags(watch::plan(&bill).map_err(wrong)?).map_err(wrong)?;
    if let (Some(seen), Some(_)) = (of.resumed, arguments.resumed) {
        return Err(wrong(format!("it has counted {seen} resumed; leave --resumed out")));
    }
    let object = match arguments.requests_per_connection {
        // The bill has the bytes of a connection.
        Some(requests) => {
            let bytes = of.object.mean_size().unwrap_or_default();
            let each = (bytes / f64::from(requests.get())).ceil();
            format!("{each:.0}B").parse().map_err(wrong)?
        }
        None => of.object,
    };
    Ok(Arguments {
        new_connections: of.new_connections,
        resumed: of.resumed.or(arguments.resumed),
        object,
        server: of.server,
        certificate_key: of.certificate_key,
        suite: of.suite,
        group: of.group,
        ..arguments
    })
}

/// What these flags ask for, each without its dashes and with its value.
fn of_flags<'a>(flags: impl IntoIterator<Item = (&'a str, String)>) -> Result<Arguments, String> {
    let flags = flags.into_iter().map(|(flag, value)| format!("--{flag}={value}"));
    OfFile::try_parse_from(flags).map(|of| of.plan).map_err(|error| {
        let text = error.to_string();
        // Its first line, with what that lists; then comes how to use a command line.
        let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
        let why = lines.collect::<Vec<_>>().join(" ");
        why.trim_start_matches("error: ").to_owned()
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

    /// A folder of `toll watch --out`, with the bill after a change.
    fn watched(change: impl FnOnce(&mut serde_json::Value)) -> tempfile::TempDir {
        let share = serde_json::json!({"samples": 500, "share": 0.5, "low": 0.4, "high": 0.6});
        let count = |count: u64| {
            let per_s = count as f64 / 10.0;
            serde_json::json!({"count": count, "per_s": per_s, "is_exact": true})
        };
        let mut bill = serde_json::json!({
            "schema": 2, "no_bill": null, "server": {"name": "apache2", "pid": 812}, "window_s": 10.0, "cpu_s": 5.0, "samples": 1_000,
            "lost_samples": 0, "tls": share, "parts": {}, "not_tls": {}, "not_sorted": {}, "signatures": count(750),
            "handshakes": count(1_000), "connections": count(1_000), "libraries": [], "server_cpus": "0", "levers": [],
            "sent": {"connections": 1_000, "bytes": 20_480_000, "is_short": false}, "notes": [], "own_cpu_s": 0.1,
            "prefers": {"address": "127.0.0.1:443", "version": "TLSv1.3", "suite": "TLS_AES_256_GCM_SHA384",
                "group": "x25519", "certificate_key": "ecdsa:p256"},
        });
        change(&mut bill);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bill.json"), bill.to_string()).unwrap();
        folder
    }

    fn of_bill(folder: &tempfile::TempDir) -> Result<Arguments, String> {
        of_bill_and(folder, &[])
    }

    fn of_bill_and(
        folder: &tempfile::TempDir,
        flags: &[(&str, &str)],
    ) -> Result<Arguments, String> {
        let from = folder.path().display().to_string();
        let mut asked = vec![("from", from), ("busy", "50%".to_owned())];
        asked.extend(flags.iter().map(|(flag, value)| (*flag, (*value).to_owned())));
        with_bill(of_flags(asked)?).map_err(|failure| failure.message)
    }

    #[test]
    fn a_bill_gives_server_and_traffic_and_flags_the_rest() {
        let plan = of_bill(&watched(|_| ())).unwrap();
        assert_eq!((plan.server.as_str(), plan.busy.get()), ("apache", 50));
        assert_eq!(plan.resumed.unwrap().get(), 25);
        assert_eq!(plan.new_connections.unwrap().to_string(), "100/s");
        assert_eq!(plan.object.mean_size(), Some(20.0 * 1024.0));
        assert_eq!(plan.certificate_key.to_string(), "ecdsa:p256");
        assert_eq!(plan.suite.name, "TLS_AES_256_GCM_SHA384");
    }

    #[test]
    fn the_bytes_of_a_watched_connection_are_shared_among_its_requests() {
        let plan = of_bill_and(&watched(|_| ()), &[("requests-per-connection", "8")]).unwrap();
        assert_eq!(plan.object.mean_size(), Some(2_560.0));
        assert_eq!(plan.new_connections.unwrap().to_string(), "100/s");
    }

    #[test]
    fn resumption_is_the_users_where_the_bill_does_not_know_it() {
        let resumed = ("resumed", "40%");
        let unknown = watched(|bill| {
            bill["signatures"] = serde_json::json!({"not_available_here": "no symbols"});
        });
        assert_eq!(of_bill(&unknown).unwrap().resumed, None);
        let given = of_bill_and(&unknown, &[resumed]).unwrap();
        assert_eq!(given.resumed.unwrap().get(), 40);
        // What was counted stands.
        let why = of_bill_and(&watched(|_| ()), &[resumed]).err().unwrap();
        assert!(why.contains("25%") && why.contains("--resumed"), "{why}");
        assert!(of_bill_and(&unknown, &[("object", "1KiB")]).is_err());
    }

    #[test]
    fn a_folder_without_a_bill_of_traffic_is_refused() {
        let no_folder = of_bill(&tempfile::tempdir().unwrap()).err().unwrap();
        assert!(no_folder.contains("toll watch --out"), "{no_folder}");
        for (place, value, about) in [
            ("/no_bill", "not-sorted", "no bill"),
            ("/server/name", "mail", "mail"),
            ("/samples", "many", "bill.json"),
        ] {
            let change =
                |bill: &mut serde_json::Value| *bill.pointer_mut(place).unwrap() = value.into();
            let why = of_bill(&watched(change)).err().unwrap();
            assert!(why.contains(about), "{why}");
        }
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
            (plan("new-connections = '5/s'\nkeep = 'http'"), "--levers"),
            (plan("file = 'other.toml'"), "--file"),
            (plan("new-connections = '5/s'\nlever = 5"), "[[plan.lever]]"),
            (plan("new-connections = '5/s'\n[[plan.lever]]\ncolour = 5"), "colour"),
        ] {
            let why = parse(&text).err().unwrap_or_default();
            assert!(why.contains(about) && why.lines().count() == 1, "{text}: {why}");
        }
    }
}
