//! Marks in words: what keeps a figure from being the server's maximum.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Why a figure is not to be read as the server's maximum. The order is that of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// No load keeps within the limit that the study sets.
    Infeasible,
    /// Of a figure of the whole load: in some trials something else than that load was the limit.
    NotOfferedLoad,
    /// No trial is valid, or none was done. Of a bar also: valid trials lack what the figure takes.
    NotMeasured,
    /// In some trials the client was the limit.
    ClientBound,
    /// In some trials something else than the server's CPU was the limit.
    NotServerBound,
    /// Of an algorithm: other work used the core while it was timed.
    Disturbed,
    /// The trials' rates differ widely: something else than the cell decided them.
    Spread,
    /// In some trials operations stood still, which the latencies leave out.
    StoodStill,
    /// Some trials are not valid; the figure is of the others.
    SomeInvalid,
    /// There are fewer trials than the study asks for.
    Incomplete,
}

impl Mark {
    /// All marks, in the order of their weight.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The mark in two words, in one character for the terminal's tables, and what it means, in a
    /// sentence without its full stop.
    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Infeasible => ("infeasible", "/", "no load meets the study's limit"),
            Self::NotOfferedLoad => (
                "not offered-load",
                "<",
                "something other than the load that was asked for was the limit in some or all trials: the \
                 server fell behind, or may have, so there is no figure of the whole load",
            ),
            Self::NotMeasured => ("not measured", "x", "no trial is valid, so there is no figure"),
            Self::ClientBound => (
                "client-bound",
                "*",
                "the client was the limit in some or all trials: the server can do more than the \
                 figure shows",
            ),
            Self::NotServerBound => (
                "not server-bound",
                "+",
                "something other than the server's CPU was the limit in some or all trials: the figure \
                 is not the server's maximum",
            ),
            Self::Disturbed => (
                "disturbed",
                "^",
                "too few samples were quiet in some round, so the figure is too high",
            ),
            Self::Spread => (
                "spread",
                "?",
                "the rates of the trials differ by more than a quarter of their median, so other work \
                 affected them",
            ),
            Self::StoodStill => (
                "stood still",
                "&",
                "operations had not ended in some or all trials, and had taken longer than any that did: the \
                 latencies leave them out",
            ),
            Self::SomeInvalid => {
                ("some invalid", "!", "some trials are invalid; the figure uses the others")
            }
            Self::Incomplete => {
                ("incomplete", "~", "there are fewer trials than the study asks for")
            }
        }
    }

    pub fn name(self) -> &'static str {
        self.row().0
    }

    pub fn symbol(self) -> &'static str {
        self.row().1
    }

    pub fn meaning(self) -> &'static str {
        self.row().2
    }

    /// Whether the figure is less than what the server could do.
    pub fn is_not_a_maximum(self) -> bool {
        matches!(self, Self::ClientBound | Self::NotServerBound)
    }
}
