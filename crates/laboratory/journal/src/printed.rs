//! Trials as `toll load --json` prints them: those of a load that is kept have their place in its run, a single one
//! has none.

use serde_json::{Value, json};
use trial::SCHEMA;

use crate::entry::{Entry, TrialLine};

/// The case of a load; two loads are compared, whatever they are called.
pub const LOAD: &str = "load";

/// Why a text is not that of trials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrintedError {
    #[error("{0} is cut off ({1}); write the file again with toll load --json")]
    Cut(String, String),
    #[error("not JSON ({0})")]
    NotJson(String),
    #[error("JSON, but no trial of toll load --json: {0} has no `receipt`")]
    Other(String),
    #[error(
        "{0} has schema {1}, and only schema {SCHEMA} is known here; measure again with this toll"
    )]
    Schema(String, u64),
    #[error("{0} is damaged: {1}; write the file again with toll load --json")]
    Damaged(String, String),
    #[error("there is nothing in it; write the file again with toll load --json")]
    Empty,
}

/// All trials of a text, one after the other, alone or in lists.
///
/// # Errors
/// Something in it is no trial, or cannot have been measured.
pub fn printed_trials(text: &str) -> Result<Vec<TrialLine>, PrintedError> {
    let mut trials = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let which = format!("trial {}", trials.len() + 1);
        let value = value.map_err(|error| match error.is_eof() {
            true => PrintedError::Cut(which, error.to_string()),
            false => PrintedError::NotJson(error.to_string()),
        })?;
        let all = match value {
            Value::Array(all) => all,
            one => vec![one],
        };
        for value in all {
            trials.push(trial(value, trials.len())?);
        }
    }
    if trials.is_empty() { Err(PrintedError::Empty) } else { Ok(trials) }
}

fn trial(mut value: Value, order: usize) -> Result<TrialLine, PrintedError> {
    let which = format!("trial {}", order + 1);
    let Some(fields) = value.as_object_mut().filter(|fields| fields.contains_key("receipt")) else {
        return Err(PrintedError::Other(format!("value {}", order + 1)));
    };
    if let Some(schema) = fields.get("schema").and_then(Value::as_u64)
        && schema != u64::from(SCHEMA)
    {
        return Err(PrintedError::Schema(which, schema));
    }
    if !fields.contains_key("case") {
        let place = json!({
            "case": LOAD, "cell": LOAD, "params": {}, "role": "measure", "round": order, "order": order
        });
        fields.extend(place.as_object().cloned().unwrap_or_default());
    }
    match Entry::read(value) {
        Ok(Entry::Trial(trial)) => Ok(*trial),
        Ok(_) => Err(PrintedError::Other(which)),
        Err(why) => Err(PrintedError::Damaged(which, why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::example;

    /// As a single load prints it.
    fn printed() -> String {
        serde_json::to_string(&example().line).unwrap()
    }

    #[test]
    fn trials_are_read_one_a_line_in_lists_and_with_their_place() {
        let one = printed();
        let orders = |text: &str| -> Vec<(String, u32)> {
            let trials = printed_trials(text).unwrap().into_iter();
            trials.map(|of| (of.place.case, of.place.round)).collect()
        };
        let two = vec![("load".to_owned(), 0), ("load".to_owned(), 1)];
        assert_eq!(orders(&format!("{one}\n{one}\n")), two);
        assert_eq!(orders(&format!("[{one},\n{one}]")), two);
        let kept = serde_json::to_string(&example()).unwrap();
        assert_eq!(orders(&kept), [("bulk".to_owned(), 2)]);
    }

    #[test]
    fn what_is_no_trial_is_refused_by_what_it_is() {
        let one = printed();
        let of = |text: &str| printed_trials(text).unwrap_err();
        assert!(matches!(of(&one[..one.len() / 2]), PrintedError::Cut(..)));
        assert!(matches!(of(&format!("{one}\n{}", &one[..9])), PrintedError::Cut(..)));
        assert!(matches!(of("<html>"), PrintedError::NotJson(_)));
        for other in ["{}", "[1]", "{\"jobs\":[]}", "7", "{\"schema\":4,\"study\":\"x\"}"] {
            assert!(matches!(of(other), PrintedError::Other(_)), "{other}");
        }
        for empty in ["", "\n", "[]"] {
            assert_eq!(of(empty), PrintedError::Empty, "{empty:?}");
        }
        let changed = |change: fn(&mut Value)| {
            let mut value = serde_json::from_str(&one).unwrap();
            change(&mut value);
            of(&value.to_string())
        };
        assert!(matches!(changed(|v| v["schema"] = 9.into()), PrintedError::Schema(_, 9)));
        for damage in
            [|v: &mut Value| v["rate_per_s"] = 1e9.into(), |v: &mut Value| v["receipt"] = 7.into()]
        {
            assert!(matches!(changed(damage), PrintedError::Damaged(..)));
        }
    }
}
