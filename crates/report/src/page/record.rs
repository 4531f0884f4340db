//! Receipts and evidence as lists, from the names that their fields have in the journal. So a field
//! that is added there is shown here.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};
use trial::{Evidence, Receipt};
use units::{percent, thousands};

/// One line of a receipt.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Entry {
    what: String,
    asked: String,
    obtained: String,
    is_mismatch: bool,
}

/// What was asked and what was obtained, by name.
pub(super) fn receipt(receipt: &Receipt) -> Vec<Entry> {
    let (asked, obtained) = (fields(&receipt.asked), fields(&receipt.obtained));
    let names: BTreeSet<&String> = asked.keys().chain(obtained.keys()).collect();
    let words = |fields: &Map<String, Value>, name: &String| {
        fields.get(name).map(in_words).unwrap_or_default()
    };
    let entry = |name: &String| Entry {
        what: name.replace('_', " "),
        asked: words(&asked, name),
        obtained: words(&obtained, name),
        is_mismatch: receipt.mismatch.iter().any(|mismatch| mismatch.what == *name),
    };
    names.into_iter().map(entry).collect()
}

/// The evidence by name; fractions are shares of one.
pub(super) fn shares_and_counts(evidence: &Evidence) -> Vec<(String, String)> {
    let in_words = |value: &Value| match value {
        Value::Number(number) if number.is_f64() => percent(number.as_f64().unwrap_or_default()),
        other => in_words(other),
    };
    let fields = fields(evidence);
    fields.iter().map(|(name, value)| (name.replace('_', " "), in_words(value))).collect()
}

fn fields(value: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(count) => thousands(count),
            None => format!("{:.2}", number.as_f64().unwrap_or_default()),
        },
        Value::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Object(counts) => {
            let count = |(name, count): (&String, &Value)| format!("{name} ({}×)", in_words(count));
            counts.iter().map(count).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asked_and_obtained_are_side_by_side() {
        let given: Receipt = serde_json::from_str(
            r#"{"asked":{"tls":"1.3","connections":64},
                "obtained":{"tls":{"1.2":2,"1.3":1000},"encrypt_then_mac":false},
                "mismatch":[{"what":"tls","asked":"1.3","obtained":"1.2 in 2 handshakes"}]}"#,
        )
        .unwrap();
        let entry = |what: &str, asked: &str, obtained: &str, is_mismatch| Entry {
            what: what.into(),
            asked: asked.into(),
            obtained: obtained.into(),
            is_mismatch,
        };
        assert_eq!(
            receipt(&given),
            [
                entry("connections", "64", "", false),
                entry("encrypt then mac", "", "no", false),
                entry("tls", "1.3", "1.2 (2×), 1.3 (1,000×)", true),
            ]
        );
    }

    #[test]
    fn evidence_is_in_percent_or_counts() {
        let evidence =
            Evidence { completed: 2640, server_busy: Some(0.9864), ..Evidence::default() };
        let words = shares_and_counts(&evidence);
        assert!(words.contains(&("completed".into(), "2,640".into())), "{words:?}");
        assert!(words.contains(&("server busy".into(), "98.6%".into())), "{words:?}");
    }
}
