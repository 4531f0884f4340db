//! What toll's client is to reach beside the others, and whether it did here.

use std::fmt::{self, Write};

use peers::Peer;
use units::percent;

use crate::Sample;
use crate::rows::{Kind, Maker, Row};
use crate::table::{cost, rate, significant, spread};

/// Something that a row of work is to show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// The other's client costs at least so many times toll's.
    Cheaper(Peer, f64),
    /// toll makes the server do no less a second than the other does.
    NoSlower(Peer),
    /// The same work with this server costs toll's client within a tenth as much.
    Alike(Kind),
    /// The server's CPU is busy for at least this share.
    Busy(f64),
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cheaper(peer, times) => {
                write!(f, "{peer}'s client CPU over toll's: {} or more", times_of(*times))
            }
            Self::NoSlower(peer) => write!(f, "toll's rate over {peer}'s: 1x or more"),
            Self::Alike(kind) => write!(f, "client CPU over that with {kind}: 0.9x to 1.1x"),
            Self::Busy(share) => write!(f, "server busy under toll: {} or more", percent(*share)),
        }
    }
}

impl Goal {
    /// What was measured, a figure a round.
    fn figures(self, rows: &[Row], place: usize, samples: &[Sample]) -> Vec<f64> {
        let toll = (place, Maker::Toll);
        let ratios = |over: (usize, Maker), under: (usize, Maker), of: Of| {
            paired(rows, samples, over, under, of)
        };
        match self {
            Self::Cheaper(peer, _) => ratios((place, Maker::Peer(peer)), toll, cost),
            Self::NoSlower(peer) => {
                ratios(toll, (place, Maker::Peer(peer)), |row, line| Some(rate(row, line)))
            }
            Self::Alike(kind) => {
                let of = &rows[place];
                let other = rows.iter().position(|row| {
                    let of = (of.object, of.operation, of.arrival);
                    row.kind == kind && (row.object, row.operation, row.arrival) == of
                });
                other.map_or_else(Vec::new, |other| ratios(toll, (other, Maker::Toll), cost))
            }
            Self::Busy(_) => samples
                .iter()
                .filter(|sample| (sample.row, sample.maker) == toll && sample.line.valid)
                .filter_map(|sample| sample.line.verdict.evidence.server_busy)
                .collect(),
        }
    }

    fn is_reached(self, figure: f64) -> bool {
        match self {
            Self::Cheaper(_, times) => figure >= times,
            Self::NoSlower(_) => figure >= 1.0,
            Self::Alike(_) => (0.9..=1.1).contains(&figure),
            Self::Busy(share) => figure >= share,
        }
    }

    fn in_words(self, figure: f64) -> String {
        match self {
            Self::Busy(_) => percent(figure),
            Self::Cheaper(..) | Self::NoSlower(_) | Self::Alike(_) => times_of(figure),
        }
    }
}

type Of = fn(&Row, &trial::Line) -> Option<f64>;

/// The quotients of two clients' figures, from trials of the same round that were valid.
pub(crate) fn paired(
    rows: &[Row],
    samples: &[Sample],
    over: (usize, Maker),
    under: (usize, Maker),
    of: Of,
) -> Vec<f64> {
    let figure = |which: (usize, Maker), round: u32| {
        let sample = samples
            .iter()
            .find(|s| (s.row, s.maker) == which && s.round == round && s.line.valid)?;
        of(&rows[which.0], &sample.line)
    };
    let rounds = samples.iter().map(|sample| sample.round + 1).max().unwrap_or(0);
    (0..rounds).filter_map(|round| Some(figure(over, round)? / figure(under, round)?)).collect()
}

/// A line for each goal of the rows that were measured, ending in a newline.
pub(crate) fn of(rows: &[Row], samples: &[Sample]) -> String {
    let mut text = format!("{:<68}{:<48}{:>26}  reached\n", "what toll is to reach", "", "here");
    for (place, row) in rows.iter().enumerate() {
        for goal in row.goals {
            let figures = goal.figures(rows, place, samples);
            let reached = match stats::median(&figures) {
                Ok(median) if goal.is_reached(median) => "yes",
                Ok(_) => "no",
                Err(_) => "?",
            };
            let here = spread(&figures, |figure| goal.in_words(figure));
            // Writing to a string cannot fail.
            let _ =
                writeln!(text, "{:<68}{:<48}{here:>26}  {reached}", row.title, goal.to_string());
        }
    }
    text
}

fn times_of(ratio: f64) -> String {
    format!("{}x", significant(ratio))
}
