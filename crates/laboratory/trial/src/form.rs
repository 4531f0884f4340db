//! How the values of a receipt are written for a person.

use serde_json::Value;
use units::{BitsPerSecond, Bytes, Nanos, percent, thousands};

/// How a value is written.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// As it is, numbers with thousands set apart.
    Plain,
    /// Names, each with how often it was seen.
    Counts,
    Size,
    Time,
    BitsPerSecond,
    Percent,
    /// Counts as they are, fractions in percent.
    Share,
}

impl Form {
    pub(crate) fn text(self, value: &Value) -> String {
        match (self, value.as_u64(), value.as_f64()) {
            (Self::Size, Some(bytes), _) => Bytes(bytes).to_string(),
            (Self::Time, Some(nanos), _) => Nanos(nanos).to_string(),
            (Self::BitsPerSecond, _, Some(rate)) => BitsPerSecond(rate).to_string(),
            (Self::Percent, Some(share), _) => format!("{share}%"),
            _ => self.in_words(value),
        }
    }

    /// That of a field within a field, by the unit that its name ends with; and the name without it.
    fn of_inner(self, name: &str) -> (&str, Self) {
        let of = |(ending, form)| Some((name.strip_suffix(ending)?, form));
        let units = [("_bps", Self::BitsPerSecond), ("_ns", Self::Time), ("_bytes", Self::Size)];
        units.into_iter().find_map(of).unwrap_or((name, self))
    }

    fn in_words(self, value: &Value) -> String {
        match value {
            Value::Null => String::new(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::String(text) => text.clone(),
            Value::Number(number) => match (number.as_u64(), self) {
                (Some(count), _) => thousands(count),
                (None, Self::Share) => percent(number.as_f64().unwrap_or_default()),
                (None, _) => format!("{:.2}", number.as_f64().unwrap_or_default()),
            },
            Value::Array(items) => joined(items.iter().map(|item| self.in_words(item))),
            Value::Object(fields) => joined(fields.iter().map(|(name, value)| {
                if let Self::Counts = self {
                    return format!("{name} ({}×)", self.in_words(value));
                }
                let (label, form) = self.of_inner(name);
                let (label, text) = (label.replace('_', " "), form.text(value));
                if value.is_object() {
                    format!("{label} ({text})")
                } else {
                    format!("{label} {text}")
                }
            })),
        }
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
