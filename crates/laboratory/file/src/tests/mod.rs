//! Study files as their writers meet them: what cells they make, what is refused and in which words,
//! what is documented.

mod cells;
mod claims;
mod clients;
mod documents;
mod find;
mod guide;
mod headlines;
mod hosts;
mod primitives;
mod properties;
mod ranks;
mod refused;
mod servers;
mod vary;

use cpus::{CpuList, Topology};

use crate::{StudyError, StudyFile};
use study::Study;
use support::{assert_golden, insta};

const QUICK: &str = include_str!("../../../../../studies/quick.toml");

/// CPUs of which each is a core.
fn machine(cpus: &str) -> Topology {
    Topology::from(cpus.parse::<CpuList>().unwrap())
}

/// Two CPUs.
fn allowed() -> Topology {
    machine("0-1")
}

fn parse(text: &str) -> Study {
    crate::parse("test.toml", text, &allowed(), None)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Why a text is refused: one line, without the file's name.
fn refusal(text: &str) -> String {
    let message = crate::parse("test.toml", text, &allowed(), None).unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message:?}");
    let rest = message.strip_prefix("test.toml").unwrap_or_else(|| panic!("{message}"));
    rest.trim_start_matches([',', ':', ' ']).to_owned()
}

/// The line at which a refusal finds its cause.
fn line(refusal: &str) -> Option<usize> {
    refusal.strip_prefix("line ")?.split_once(':')?.0.parse().ok()
}

/// A study of one case with all that is needed; it takes `lines` under `[load]` and `case` in the
/// case, which begin at lines 8 and 8 + the number of `lines` + 2.
fn with(lines: &[&str], case: &[&str]) -> String {
    let head = "schema = 1\nquestion = \"?\"\n[target]\nserver = \"embedded\"\n\n[load]\n\
                operation = \"requests\"";
    let case = [&["[[case]]", "name = \"bulk\""], case].concat();
    [&[head], lines, &case].concat().join("\n")
}

/// The study as it is read from the `cells.json` of its results.
fn read_back(study: &Study) -> Study {
    serde_json::from_str(&serde_json::to_string(study).unwrap()).unwrap()
}

/// The study that an argument names.
fn shipped_at(name: &str, allowed: &str, scale: Option<&str>) -> Study {
    let file = StudyFile::find(name).unwrap();
    file.read(&machine(allowed), scale).unwrap_or_else(|error| panic!("{error}"))
}
