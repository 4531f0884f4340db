//! What a line of the journal is.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trial::TrialRecord;

use crate::params::Params;
use crate::primitive::{BoundLine, RowLine};
use crate::sought::{ImpossibleStep, Sought};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role")]
pub enum Entry {
    /// A row of a table of primitives in one round.
    #[serde(rename = "primitive")]
    Row(RowLine),
    /// What the instructions of the processor allow.
    #[serde(rename = "bound")]
    Bound(BoundLine),
    /// A step of a search that could not be made.
    #[serde(rename = "impossible")]
    Impossible(ImpossibleStep),
    /// A trial, which has a role of its own.
    #[serde(untagged)]
    Trial(Box<TrialLine>),
}

/// A trial of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialLine {
    #[serde(flatten)]
    pub place: Place,
    #[serde(flatten)]
    pub line: TrialRecord,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub case: String,
    /// The cell's name, unique in the study.
    pub cell: String,
    /// The name of the server in `targets.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What the cell's combination sets, by the keys of the study file.
    pub params: Params,
    pub role: Role,
    /// The load that it was given and whether the limit held, where the load is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find: Option<Sought>,
    /// Which repetition it was, from 0.
    pub round: u32,
    /// Whether it repeats the trial of this round, which was disturbed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Which process of its server it was measured at, from 0. In a journal of an earlier version it
    /// is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// Its place in the order in which trials ran, from 0.
    pub order: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// To find the load at which to measure.
    Search,
    /// To be part of the answer.
    Measure,
    /// To know where the server's CPU time goes. Sampling it takes CPU time, so its rate is in no
    /// answer.
    Profile,
}

impl Entry {
    /// Reads a line, or says why it is none.
    pub(crate) fn read(value: Value) -> Result<Self, String> {
        Ok(match value.get("role").and_then(Value::as_str) {
            Some("primitive") => Self::Row(typed(value)?),
            Some("bound") => Self::Bound(typed(value)?),
            Some("impossible") => Self::Impossible(typed(value)?),
            _ => {
                let TrialLine { place, line } = typed(value)?;
                if let Some(why) = line.contradiction() {
                    return Err(why);
                }
                Self::Trial(Box::new(TrialLine { place, line: line.with_rates() }))
            }
        })
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| in_words(&error))
}

/// Without serde's "at line 1 column 7": the line is named already.
pub(crate) fn in_words(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::testing::EXAMPLE;

    #[test]
    fn a_trial_is_one_object_with_its_place() {
        let value: Value = serde_json::from_str(EXAMPLE).unwrap();
        let entry = Entry::read(value.clone()).unwrap();
        let Entry::Trial(trial) = &entry else { panic!("{entry:?}") };
        let place = &trial.place;
        assert_eq!((place.case.as_str(), place.round, place.role), ("bulk", 2, Role::Measure));
        assert_eq!(serde_json::to_value(&entry).unwrap(), value);
    }

    /// As the last version wrote them: a row without a figure had no reason.
    #[test]
    fn primitives_are_read_by_their_role_those_of_the_last_version_too() {
        let row = r#"{"schema":1,"role":"primitive","table":"t","algorithm":"RSA-2048 sign","library":"ring","hardware":"all","cache":"warm","threads":1,"round":0,"order":3,"started_unix_ms":1,"library_title":"ring 0.17","cycles_source":"counter","no_figure":"not available: no"}"#;
        let bound = r#"{"schema":1,"role":"bound","of":"GHASH","cycles_per_byte":0.1,"arithmetic":"a","round":0,"order":2}"#;
        let impossible = r#"{"schema":1,"role":"impossible","case":"bulk","cell":"bulk-0001","over":"load.connections","load":"32","why":"too few","order":4}"#;
        for text in [row, bound, impossible] {
            let value: Value = serde_json::from_str(text).unwrap();
            let mut written = serde_json::to_value(Entry::read(value.clone()).unwrap()).unwrap();
            written.as_object_mut().unwrap().remove("reason");
            assert_eq!(written, value);
        }
    }
}
