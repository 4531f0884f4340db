use observe::tuning::Change;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    #[serde(rename = "item")]
    pub name: &'static str,
    /// What was seen, one line; empty where it could not be looked at.
    pub seen: String,
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// What an item means for a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Judgement {
    /// Nothing that would spoil one.
    Ok,
    /// It moves figures, or limits some loads.
    Warning(Trouble),
    /// Figures taken so are wrong, or cannot be taken.
    Bad(Trouble),
    /// It is not known, or this machine does not have it.
    NotAvailable { why: String },
}

/// Why something matters, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// What it does to a measurement, one sentence without its full stop.
    pub why: String,
    pub fix: Fix,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// A setting, which toll can make and take back.
    Setting {
        /// The same as a command, for root's shell.
        command: String,
        /// What is to be written where.
        changes: Vec<Change>,
    },
    /// A command that only the user can give.
    Command(String),
    /// What no command does.
    Advice(String),
}

/// What was seen, and what it means; or why it is not known.
pub(crate) type Found = Result<(String, Judgement), String>;

pub(crate) fn ok(seen: impl Into<String>) -> Found {
    Ok((seen.into(), Judgement::Ok))
}

pub(crate) fn warning(seen: impl Into<String>, why: &str, fix: Fix) -> Found {
    Ok((seen.into(), Judgement::Warning(Trouble { why: why.to_owned(), fix })))
}

pub(crate) fn bad(seen: impl Into<String>, why: &str, fix: Fix) -> Found {
    Ok((seen.into(), Judgement::Bad(Trouble { why: why.to_owned(), fix })))
}

/// Trouble only where `is_wrong`, and then a warning unless it `is_bad`.
pub(crate) fn graded(seen: String, is_wrong: bool, is_bad: bool, why: &str, fix: Fix) -> Found {
    match (is_wrong, is_bad) {
        (false, _) => ok(seen),
        (true, false) => warning(seen, why, fix),
        (true, true) => bad(seen, why, fix),
    }
}

impl Item {
    pub(crate) fn of(name: &'static str, found: Found) -> Self {
        let unknown = |why| (String::new(), Judgement::NotAvailable { why });
        let (seen, judgement) = found.unwrap_or_else(unknown);
        Self { name, seen, judgement }
    }

    /// What is wrong, where something is.
    pub fn trouble(&self) -> Option<&Trouble> {
        match &self.judgement {
            Judgement::Warning(trouble) | Judgement::Bad(trouble) => Some(trouble),
            Judgement::Ok | Judgement::NotAvailable { .. } => None,
        }
    }

    /// The settings that would fix it; none where no setting does.
    pub fn changes(&self) -> &[Change] {
        match self.trouble().map(|trouble| &trouble.fix) {
            Some(Fix::Setting { changes, .. }) => changes,
            _ => &[],
        }
    }
}

impl Fix {
    pub(crate) fn advice(what: &str) -> Self {
        Self::Advice(what.to_owned())
    }

    /// Settings of `/proc/sys`, by their names and values.
    pub(crate) fn sysctl(settings: &[(&str, &str)]) -> Self {
        let command = settings.iter().map(|(name, value)| format!(" {name}=\"{value}\""));
        let change = |&(name, value): &(&str, &str)| Change {
            file: format!("/proc/sys/{}", name.replace('.', "/")),
            to: value.to_owned(),
        };
        Self::Setting {
            command: format!("sysctl -w{}", command.collect::<String>()),
            changes: settings.iter().map(change).collect(),
        }
    }

    /// One value into files of `/sys` that a shell knows by `pattern`.
    pub(crate) fn files(pattern: &str, files: impl IntoIterator<Item = String>, to: &str) -> Self {
        let change = |file| Change { file, to: to.to_owned() };
        Self::Setting {
            command: format!("echo {to} | tee {pattern}"),
            changes: files.into_iter().map(change).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_read_the_state_and_what_helps() {
        let fix = Fix::sysctl(&[("net.ipv4.tcp_tw_reuse", "1")]);
        let item = Item::of("time-wait", warning("tcp_tw_reuse 0", "it matters", fix));
        assert_eq!(
            serde_json::to_string(&item).unwrap(),
            concat!(
                r#"{"item":"time-wait","seen":"tcp_tw_reuse 0","state":"warning","#,
                r#""why":"it matters","fix":{"setting":{"#,
                r#""command":"sysctl -w net.ipv4.tcp_tw_reuse=\"1\"","#,
                r#""changes":[{"file":"/proc/sys/net/ipv4/tcp_tw_reuse","to":"1"}]}}}"#
            )
        );
        assert_eq!(
            serde_json::to_string(&Item::of("turbo", Err("none".to_owned()))).unwrap(),
            r#"{"item":"turbo","seen":"","state":"not-available","why":"none"}"#
        );
        assert_eq!(
            serde_json::to_string(&Item::of("clock", ok("tsc"))).unwrap(),
            r#"{"item":"clock","seen":"tsc","state":"ok"}"#
        );
    }
}
