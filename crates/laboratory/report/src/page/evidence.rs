//! Evidence as a list, from the names that its fields have in the journal. So a field that is added
//! there is shown here.

use serde_json::Value;
use trial::Evidence;
use units::{percent, thousands};

/// The evidence by name; fractions are shares of one.
pub(super) fn shares_and_counts(evidence: &Evidence) -> Vec<(String, String)> {
    let fields = serde_json::to_value(evidence).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    fields.map(|(name, value)| (name.replace('_', " "), in_words(value))).collect()
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(count) => thousands(count),
            None => percent(number.as_f64().unwrap_or_default()),
        },
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{} {}", name.replace('_', " "), in_words(value))
            };
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_in_percent_or_counts() {
        let evidence =
            Evidence { completed: 2640, server_busy: Some(0.9864), ..Evidence::default() };
        let words = shares_and_counts(&evidence);
        assert!(words.contains(&("completed".into(), "2,640".into())), "{words:?}");
        assert!(words.contains(&("server busy".into(), "98.6%".into())), "{words:?}");
    }
}
