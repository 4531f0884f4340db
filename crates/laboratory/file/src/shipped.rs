//! The built-in studies, and finding the one that a command line names.

use std::path::Path;

use cpus::Topology;

use super::StudyError;
use super::error::{Flaw, one_line};
use ::keys::did_you_mean;
use study::Study;

struct Shipped {
    name: &'static str,
    text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),*) => {
        static SHIPPED: &[Shipped] = &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../../../../studies/", $name, ".toml")),
        }),*];
    };
}

shipped!(
    "quick",
    "gcm-vs-cbc",
    "primitives",
    "clients",
    "hardware-crypto",
    "handshakes",
    "stacks",
    "upgrade",
    "re-encryption",
    "http2",
    "http3",
    "post-quantum",
    "ktls",
    "offload",
    "memory",
    "count",
    "papers"
);

/// The names of the built-in studies, each with its question.
pub fn shipped() -> Vec<(&'static str, String)> {
    SHIPPED.iter().map(|shipped| (shipped.name, shipped.question())).collect()
}

impl Shipped {
    fn question(&self) -> String {
        let table = self.text.parse::<toml::Table>().unwrap_or_default();
        table.get("question").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    }
}

/// A study for its reader to change, with comments.
pub const NEW: &str = include_str!("new_study.toml");

/// The text of a study file.
#[derive(Debug, Clone)]
pub struct StudyFile {
    /// The file, as errors name it.
    pub(super) name: String,
    /// What it says.
    pub text: String,
}

impl StudyFile {
    /// The file that an argument names: that of a shipped study, or else the one at that path, or at that path with
    /// `.toml`.
    ///
    /// # Errors
    /// One line: there is no such study, or its file cannot be read.
    pub fn find(argument: &str) -> Result<Self, StudyError> {
        if let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == argument) {
            let name = format!("{argument}.toml");
            return Ok(Self { name, text: shipped.text.to_owned() });
        }
        let names = SHIPPED.iter().map(|shipped| shipped.name);
        let with_ending = format!("{argument}.toml");
        let is_file = |path: &&str| Path::new(path).is_file();
        let found = match argument.ends_with(".toml") {
            true => Some(argument),
            false => [argument, &with_ending].into_iter().find(is_file),
        };
        let Some(path) = found else {
            return Err(StudyError::Unknown(format!(
                "`{}` is not a built-in study{} (one of your own is named by its path, \
                 such as ./my-study.toml)",
                one_line(argument),
                did_you_mean(argument, "there are:", names)
            )));
        };
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Self { name: path.to_owned(), text }),
            Err(source) => Err(StudyError::Unreadable {
                path: one_line(path),
                source,
                shipped: names.collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// A text that `program` has written, as errors name it.
    pub fn written_by(program: &str, text: String) -> Self {
        Self { name: program.to_owned(), text }
    }

    pub(super) fn flaw(&self, what: &str) -> StudyError {
        Flaw::lacking(what).in_file(&self.name)
    }

    /// The names of its scales.
    pub fn scales(&self) -> Vec<String> {
        let table = self.text.parse::<toml::Table>().unwrap_or_default();
        let scales = table.get("scale").and_then(toml::Value::as_table);
        scales.into_iter().flat_map(|scales| scales.keys().cloned()).collect()
    }

    /// The study, in the form of a `[scale.NAME]` where one is wanted. Where it names no CPUs, the
    /// server takes the first of `machine` and the load the second.
    ///
    /// # Errors
    /// One line: what is wrong in the file; it has no such scale.
    pub fn read(&self, machine: &Topology, scale: Option<&str>) -> Result<Study, StudyError> {
        super::parse(&self.name, &self.text, machine, scale)
    }
}
