//! The receipt as a list: what was asked and what was got, field by field, in words.
//!
//! A terminal and a page show this list. Facts go by the names that they have in the journal, so what
//! is listed is what is kept.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::facts::FACTS;
use crate::form::Form;
use crate::receipt::Receipt;

/// One field of a receipt.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ReceiptRow {
    pub what: &'static str,
    /// Empty where it was left open, or cannot be asked for.
    pub asked: String,
    /// Empty where it is not known.
    pub obtained: String,
    /// Whether this is not what was asked for.
    pub is_mismatch: bool,
}

/// The fields of [`Obtained`](crate::Obtained) that server and client agree on, whatever was asked: a server that is
/// set up in another way shows it there.
const NEGOTIATED: [&str; 9] = [
    "http",
    "tls",
    "suite",
    "group",
    "signature_scheme",
    "certificate_key",
    "system",
    "library",
    "quic_api",
];

impl Receipt {
    /// What was negotiated, by its labels in the list, each value once; what is not known is left out.
    pub fn negotiated(&self) -> impl Iterator<Item = (&'static str, Vec<String>)> {
        let obtained = fields(&self.obtained);
        let of_negotiated = FACTS.iter().filter(|(name, ..)| NEGOTIATED.contains(name));
        of_negotiated.filter_map(move |(name, label, form)| {
            let values = match obtained.get(*name)? {
                Value::Object(counts) => counts.keys().cloned().collect(),
                Value::Array(items) => items.iter().map(|item| form.text(item)).collect(),
                one => vec![form.text(one)],
            };
            Some((*label, values))
        })
    }

    /// All fields that are there.
    pub fn rows(&self) -> Vec<ReceiptRow> {
        let (asked, obtained) = (fields(&self.asked), fields(&self.obtained));
        let row = |(name, label, form): &(&str, &'static str, Form)| {
            let text = |fields: &Map<String, Value>| fields.get(*name).map(|of| form.text(of));
            let (asked, obtained) = (text(&asked), text(&obtained));
            (asked.is_some() || obtained.is_some()).then(|| ReceiptRow {
                what: label,
                asked: asked.unwrap_or_default(),
                obtained: obtained.unwrap_or_default(),
                is_mismatch: self.mismatch.iter().any(|mismatch| mismatch.is_about(name)),
            })
        };
        FACTS.iter().filter_map(row).collect()
    }
}

fn fields(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use units::BitsPerSecond;

    use super::*;

    #[test]
    fn no_two_facts_share_a_label() {
        let labels: BTreeSet<_> = FACTS.iter().map(|(_, label, _)| *label).collect();
        assert_eq!(labels.len(), FACTS.len());
    }

    #[test]
    fn asked_and_obtained_are_side_by_side() {
        let receipt: Receipt = serde_json::from_str(
            r#"{"asked":{"tls":"1.3","connections":64,"ramp_ns":2000000,"resumption_percent":50},
                "obtained":{"tls":{"1.2":2,"1.3":1000},"encrypt_then_mac":false,
                            "orders":{"before":1000,"after":2000},"pace_bps":8000000,
                            "pacing":{"connections":62,"least_bps":249722865112.4},
                            "client_quota":{"cpus":0.5,"throttled_ns":2000000,"throttled_periods":3,"group":"/a"}},
                "mismatch":[{"what":"tls","asked":"1.3","obtained":"1.2 in 2 handshakes"}]}"#,
        )
        .unwrap();
        let row = |what, asked: &str, obtained: &str, is_mismatch| ReceiptRow {
            what,
            asked: asked.to_owned(),
            obtained: obtained.to_owned(),
            is_mismatch,
        };
        assert_eq!(
            receipt.rows(),
            [
                row("connections", "64", "", false),
                row("pace", "", &BitsPerSecond(8e6).to_string(), false),
                row("ramp", "2ms", "", false),
                row("TLS", "1.3", "1.2 (2×), 1.3 (1,000×)", true),
                row("encrypt-then-MAC", "", "no", false),
                row("resumption", "50%", "", false),
                row("held back", "", "connections 62, least 249.72 Gb/s", false),
                row(
                    "client's CPU quota",
                    "",
                    "cpus 0.50, group /a, throttled 2ms, throttled periods 3",
                    false,
                ),
                row("orders", "", "after 2,000, before 1,000", false),
            ]
        );
    }
}
