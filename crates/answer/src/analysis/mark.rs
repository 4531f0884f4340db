//! Marks in words: what keeps a figure from being the server's maximum.

use super::Mark;

/// All marks, in the order of their weight.
pub const ALL: [Mark; 7] = [
    Mark::Infeasible,
    Mark::NotMeasured,
    Mark::ClientBound,
    Mark::NotServerBound,
    Mark::Spread,
    Mark::SomeInvalid,
    Mark::Incomplete,
];

/// The mark in two words.
pub fn name(mark: Mark) -> &'static str {
    match mark {
        Mark::Infeasible => "infeasible",
        Mark::NotMeasured => "not measured",
        Mark::ClientBound => "client-bound",
        Mark::NotServerBound => "not server-bound",
        Mark::Spread => "spread",
        Mark::SomeInvalid => "some invalid",
        Mark::Incomplete => "incomplete",
    }
}

/// The mark in one character, for the terminal's tables.
pub fn symbol(mark: Mark) -> &'static str {
    match mark {
        Mark::Infeasible => "/",
        Mark::NotMeasured => "x",
        Mark::ClientBound => "*",
        Mark::NotServerBound => "+",
        Mark::Spread => "?",
        Mark::SomeInvalid => "!",
        Mark::Incomplete => "~",
    }
}

/// What the mark means, in a sentence without its full stop.
pub fn meaning(mark: Mark) -> &'static str {
    match mark {
        Mark::Infeasible => "no load meets the study's limit",
        Mark::NotMeasured => "no trial is valid, so there is no figure",
        Mark::ClientBound => {
            "the client was the limit in some or all trials: the server can do more than the \
             figure shows"
        }
        Mark::NotServerBound => {
            "something other than the server's CPU was the limit in some or all trials: the figure \
             is not the server's maximum"
        }
        Mark::Spread => {
            "the rates of the trials differ by more than a quarter of their median, so other work \
             affected them"
        }
        Mark::SomeInvalid => "some trials are invalid; the figure uses the others",
        Mark::Incomplete => "there are fewer trials than the study asks for",
    }
}

/// Whether the figure is less than what the server could do.
pub fn is_not_a_maximum(mark: Mark) -> bool {
    matches!(mark, Mark::ClientBound | Mark::NotServerBound)
}
