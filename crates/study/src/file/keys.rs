//! The keys of targets and loads: one table says how each is written, what holds where it is not,
//! and where its value goes.

use std::fmt;
use std::str::FromStr;

use super::draft::{Draft, Origin, Said};
use super::error::Flaw;
use super::fields::Field;
use super::suggest::did_you_mean;

/// A key of a target or a load.
pub(super) struct Key {
    pub(super) table: Table,
    /// Without its table.
    pub(super) name: &'static str,
    /// With its table, as it is swept and as cells name it.
    pub(super) full: &'static str,
    form: Form,
    otherwise: Otherwise,
    set: fn(&mut Draft, &str, Origin) -> Result<(), String>,
    show: fn(&Draft) -> Option<String>,
}

/// What a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Target,
    Load,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    /// Text of a number and its unit.
    Size,
    /// Text of a number and its unit.
    Time,
    Flag,
    /// A whole number, at least 1.
    Count,
    /// Text of words, or a list of them.
    Words,
}

/// What holds where a study does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// The study is wrong.
    Needed,
    /// Server and client choose.
    Open,
    Value(&'static str),
    /// Of those that this process may use.
    FirstCpu,
    /// Of those that this process may use; the first where it is the only one.
    SecondCpu,
}

macro_rules! keys {
    ($($table:ident $full:literal $form:ident $otherwise:expr => $field:ident;)*) => {
        /// All keys, in the order in which they are written out.
        pub(super) static KEYS: &[Key] = &[$(Key {
            table: Table::$table,
            name: after_point($full),
            full: $full,
            form: Form::$form,
            otherwise: $otherwise,
            set: |draft, text, origin| store(&mut draft.$field, text, origin),
            show: |draft| shown(&draft.$field),
        }),*];
    };
}

use Otherwise::{FirstCpu, Needed, Open, SecondCpu, Value};

keys! {
    Target "target.server" Text Needed => server;
    Target "target.if-missing" Text Value("skip") => if_missing;
    Target "target.cpus" Text FirstCpu => target_cpus;
    Target "target.cores" Count Open => cores;
    Target "target.certificate-key" Text Value("rsa:2048") => certificate_key;
    Target "target.object" Size Value("1MiB") => object;
    Target "target.tickets" Flag Value("false") => tickets;
    Target "target.session-cache" Flag Value("false") => session_cache;
    Target "target.encrypt-then-mac" Flag Value("false") => target_encrypt_then_mac;
    Target "target.library-path" Text Value("system") => library_path;
    Target "target.environment" Words Value("none") => environment;
    Target "target.command" Text Open => command;
    Target "target.url" Text Open => url;
    Target "target.pid" Count Open => pid;
    Target "target.i-operate-this-host" Flag Value("false") => i_operate_this_host;
    Load "load.cpus" Text SecondCpu => load_cpus;
    Load "load.client" Text Value("toll") => client;
    Load "load.operation" Text Value("requests") => operation;
    Load "load.connections" Count Value("64") => connections;
    Load "load.tls" Text Open => tls;
    Load "load.suite" Text Open => suite;
    Load "load.group" Text Open => group;
    Load "load.encrypt-then-mac" Flag Open => encrypt_then_mac;
    Load "load.key-exchange" Text Open => key_exchange;
    Load "load.resumption" Text Value("0%") => resumption;
    Load "load.receive" Text Value("walk") => receive;
    Load "load.verify" Text Value("1/64") => verify;
    Load "load.arrival" Text Value("closed") => arrival;
    Load "load.ramp" Time Value("0s") => ramp;
    Load "load.warmup" Time Value("1s") => warmup;
    Load "load.duration" Time Value("10s") => duration;
    Load "load.timeout" Time Value("10s") => timeout;
    Load "load.close" Text Value("fin") => close;
    Load "load.ca" Text Open => ca;
    Load "load.insecure" Flag Value("false") => insecure;
}

/// The one key that tells how a study is run, and not what is measured.
const NOT_SWEPT: &str = "target.if-missing";

impl Table {
    pub(super) const ALL: [Self; 2] = [Self::Target, Self::Load];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Load => "load",
        }
    }

    pub(super) fn keys(self) -> impl Iterator<Item = &'static Key> + Clone {
        KEYS.iter().filter(move |key| key.table == self)
    }
}

impl Key {
    /// The key that a study sweeps by this name.
    ///
    /// # Errors
    /// A sentence that follows the name.
    pub(super) fn swept(name: &str) -> Result<&'static Self, String> {
        let swept = || KEYS.iter().filter(|key| key.full != NOT_SWEPT);
        match swept().find(|key| key.full == name) {
            Some(key) => Ok(key),
            None if name == NOT_SWEPT => Err("cannot be swept; write it once".to_owned()),
            None => {
                let names = swept().map(|key| key.full);
                Err(format!("is nothing to sweep{}", did_you_mean(name, "that is", names)))
            }
        }
    }

    /// Puts what a field says into a draft.
    pub(super) fn read(
        &self,
        field: &Field<'_>,
        draft: &mut Draft,
        origin: Origin,
    ) -> Result<(), Flaw> {
        let text = self.form.text(self, field)?;
        self.set(draft, &text, origin).map_err(|why| Flaw::at(field.line, why))
    }

    /// Puts a value into a draft.
    ///
    /// # Errors
    /// A sentence that begins with the key's name.
    pub(super) fn set(&self, draft: &mut Draft, text: &str, origin: Origin) -> Result<(), String> {
        (self.set)(draft, text, origin).map_err(|why| format!("{}: {why}", self.full))
    }

    /// The value that a draft has, as it is written; `None` where it is left open.
    pub(super) fn show(&self, draft: &Draft) -> Option<String> {
        (self.show)(draft)
    }

    /// The text that stands for this value in cells and answers: one for all its aliases.
    pub(super) fn canonical(&self, field: &Field<'_>) -> Result<String, Flaw> {
        let mut draft = Draft::default();
        self.read(field, &mut draft, Origin::file(field.line))?;
        self.show(&draft).ok_or_else(|| field.flaw("has no value"))
    }

    /// What holds where a study does not say it.
    pub(super) fn otherwise(&self) -> Otherwise {
        self.otherwise
    }

    /// A value as TOML.
    pub(super) fn toml(&self, value: &str) -> String {
        match self.form {
            Form::Flag | Form::Count => value.to_owned(),
            Form::Text | Form::Size | Form::Time | Form::Words => toml_text(value),
        }
    }
}

/// A text as TOML.
pub(super) fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl Form {
    /// A field's value as text, if it is written in this form.
    fn text(self, key: &Key, field: &Field<'_>) -> Result<String, Flaw> {
        use toml::de::DeValue::{Array, Float, Integer};
        let is_number = matches!(field.value, Integer(_) | Float(_));
        match self {
            Self::Words => field.words(),
            _ if matches!(field.value, Array(_)) => Err(field.flaw(&format!(
                "is a list; to try several values write sweep.\"{}\" = [...] in a case",
                key.full
            ))),
            Self::Size if is_number => Err(without_unit(field, "a size", "MiB")),
            Self::Time if is_number => Err(without_unit(field, "a time", "ms")),
            Self::Text | Self::Size | Self::Time => field.text().map(str::to_owned),
            Self::Flag => field.flag().map(|flag| flag.to_string()),
            Self::Count => field.integer(1, u32::MAX.into()).map(|count| count.to_string()),
        }
    }
}

fn without_unit(field: &Field<'_>, what: &str, unit: &str) -> Flaw {
    let written = field.written();
    field.wrong(&format!("has no unit; write {what} such as \"{written}{unit}\""))
}

fn store<T: FromStr<Err: fmt::Display>>(
    slot: &mut Option<Said<T>>,
    text: &str,
    origin: Origin,
) -> Result<(), String> {
    let value = text.parse().map_err(|error: T::Err| error.to_string())?;
    *slot = Some(Said { value, origin });
    Ok(())
}

fn shown<T: fmt::Display>(said: &Option<Said<T>>) -> Option<String> {
    said.as_ref().map(|said| said.value.to_string())
}

/// What follows the first point, in a constant.
const fn after_point(full: &'static str) -> &'static str {
    let mut rest = full.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte == b'.' {
            break;
        }
    }
    full.split_at(full.len() - rest.len()).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_by_table_and_name() {
        for key in KEYS {
            assert_eq!(key.full, format!("{}.{}", key.table.name(), key.name));
            assert_eq!(Key::swept(key.full).is_ok(), key.full != NOT_SWEPT);
        }
    }

    #[test]
    fn values_that_hold_by_themselves_are_written_as_they_are_shown() {
        for key in KEYS {
            let Value(text) = key.otherwise() else { continue };
            let mut draft = Draft::default();
            key.set(&mut draft, text, Origin::UNSAID).unwrap();
            assert_eq!(key.show(&draft).as_deref(), Some(text), "{}", key.full);
        }
    }
}
