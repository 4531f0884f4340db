//! Figures that follow from those of an answer's cells: what a share of resumed connections saves, what
//! offload costs, how many cores do what a device does.

use serde::Serialize;
use stats::Decision;
use units::Quantity;

use crate::figure::{Decided, Figure};

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Derived {
    /// `offload, asynchronous minus inline`.
    pub name: String,
    /// Of which cells, in words; empty where it is of all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// `ns`, `share`.
    pub unit: &'static str,
    #[serde(skip)]
    pub quantity: Quantity,
    pub figure: Figure,
    /// Whether it is a difference; `None` of figures that are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

impl Derived {
    pub(super) fn new(name: &str, of: String, quantity: Quantity, figure: Figure) -> Self {
        let unit = match quantity {
            Quantity::Nanos => "ns",
            Quantity::Share => "share",
            Quantity::Cpus => "cores",
            _ => "",
        };
        Self { name: name.to_owned(), of, unit, quantity, figure, decision: None }
    }

    /// Of cells that have this value of a key, in words.
    pub(super) fn at(self, place: &str) -> Self {
        let of =
            if self.of.is_empty() { place.to_owned() } else { format!("{}, {place}", self.of) };
        Self { of, ..self }
    }

    /// A difference, which is decided.
    pub(super) fn difference(name: &str, of: String, quantity: Quantity, by: Decided) -> Self {
        Self { decision: Some(by.decision), ..Self::new(name, of, quantity, by.figure) }
    }
}
