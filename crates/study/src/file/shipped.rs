//! The studies that toll brings along, and finding the one that a command line names.

use std::path::Path;

use cpus::CpuList;

use super::StudyError;
use super::error::one_line;
use super::suggest::did_you_mean;
use crate::study::Study;

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

shipped!("quick", "gcm-vs-cbc", "primitives");

/// The names of the studies that toll brings along, each with its question.
#[must_use]
pub fn shipped() -> Vec<(&'static str, String)> {
    SHIPPED.iter().map(|shipped| (shipped.name, shipped.question())).collect()
}

impl Shipped {
    fn question(&self) -> String {
        let table = self.text.parse::<toml::Table>().unwrap_or_default();
        table.get("question").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    }
}

impl Study {
    /// The study that an argument names: a shipped one, or else the file at that path, which ends
    /// with `.toml`.
    ///
    /// # Errors
    /// One line: there is no such study, its file cannot be read, or what is wrong in it.
    pub fn find(argument: &str, allowed: &CpuList) -> Result<Self, StudyError> {
        Self::find_at(argument, allowed, None)
    }

    /// As [`find`](Self::find), in the form of a `[scale.NAME]` of its file.
    ///
    /// # Errors
    /// As there; the study has no such scale.
    pub fn find_at(
        argument: &str,
        allowed: &CpuList,
        scale: Option<&str>,
    ) -> Result<Self, StudyError> {
        if let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == argument) {
            let file = format!("{argument}.toml");
            return Self::parse_at(&file, shipped.text, allowed, scale);
        }
        let names = SHIPPED.iter().map(|shipped| shipped.name);
        if Path::new(argument).extension().is_none_or(|extension| extension != "toml") {
            return Err(StudyError::Unknown(format!(
                "`{}` is no study that toll brings along{} (one of your own is named by its path, \
                 such as ./my-study.toml)",
                one_line(argument),
                did_you_mean(argument, "there are:", names)
            )));
        }
        match std::fs::read_to_string(argument) {
            Ok(text) => Self::parse_at(argument, &text, allowed, scale),
            Err(source) => Err(StudyError::Unreadable {
                path: one_line(argument),
                source,
                shipped: names.collect::<Vec<_>>().join(", "),
            }),
        }
    }
}
