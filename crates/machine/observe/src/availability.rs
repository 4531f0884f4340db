use std::fmt;

use serde::{Deserialize, Serialize};

const NOT_AVAILABLE: &str = "not available here: ";

/// Whether this machine has something; if not, why.
///
/// In JSON a string: `"available"`, or `"not available here: why"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Availability {
    /// It was tried and works.
    Available,
    /// It does not work, with the reason.
    NotAvailable(String),
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Available => f.write_str("available"),
            Self::NotAvailable(why) => write!(f, "{NOT_AVAILABLE}{why}"),
        }
    }
}

impl From<Availability> for String {
    fn from(availability: Availability) -> Self {
        availability.to_string()
    }
}

impl TryFrom<String> for Availability {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.strip_prefix(NOT_AVAILABLE) {
            Some(why) => Ok(Self::NotAvailable(why.to_owned())),
            None if text == "available" => Ok(Self::Available),
            None => Err(format!("`{text}` is neither `available` nor `{NOT_AVAILABLE}why`")),
        }
    }
}

/// A fact of the machine, or the reason why it cannot be read.
///
/// In JSON the value itself, or `{"not_available_here": "why"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact<T> {
    Known(T),
    Unknown { not_available_here: String },
}

impl<T> Fact<T> {
    pub fn unknown(why: impl fmt::Display) -> Self {
        Self::Unknown { not_available_here: why.to_string() }
    }

    /// The value, or the reason why it cannot be read.
    ///
    /// # Errors
    /// The reason.
    pub fn or_why(self) -> Result<T, String> {
        match self {
            Self::Known(value) => Ok(value),
            Self::Unknown { not_available_here } => Err(not_available_here),
        }
    }

    /// The same fact seen otherwise.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Fact::Known(change(value)))
    }

    /// The fact that follows from this one.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        self.or_why().map_or_else(Fact::unknown, next)
    }

    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown { .. } => None,
        }
    }
}

impl<T, E: fmt::Display> From<Result<T, E>> for Fact<T> {
    fn from(result: Result<T, E>) -> Self {
        result.map_or_else(Self::unknown, Self::Known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_survive_json() {
        for (availability, json) in [
            (Availability::Available, r#""available""#),
            (
                Availability::NotAvailable("no such file".into()),
                r#""not available here: no such file""#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&availability).unwrap(), json);
            assert_eq!(serde_json::from_str::<Availability>(json).unwrap(), availability);
        }
        for (fact, json) in [
            (Fact::Known(7), "7"),
            (Fact::unknown("no such file"), r#"{"not_available_here":"no such file"}"#),
        ] {
            assert_eq!(serde_json::to_string(&fact).unwrap(), json);
            assert_eq!(serde_json::from_str::<Fact<u64>>(json).unwrap(), fact);
        }
        assert!(serde_json::from_str::<Availability>(r#""perhaps""#).is_err());
    }
}
