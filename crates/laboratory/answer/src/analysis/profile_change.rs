//! How the server's work differs between two cells that an answer compares.

use profile::Class;
use serde::Serialize;
use stats::{Decision, Direction};
use units::Quantity;

use super::cycles::Cycles;
use super::point::Point;
use super::row_figure::RowFigure;
use crate::wording::{brief, capitalized};

/// Smaller differences of shares are not stated: one trial of a cell is sampled, and trials differ.
const LEAST: f64 = 0.02;

/// So many standard errors of the difference of two counted shares are beyond chance.
const STANDARD_ERRORS: f64 = 3.0;

/// The profile of a cell beside that of its baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileChange {
    pub baseline: String,
    pub cell: String,
    /// The class of work whose share differs most; `None` where none differs beyond chance.
    pub class: Option<Class>,
    /// The share of that class, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Shares>,
    /// All cryptography, from 0 to 1.
    pub crypto: Shares,
    pub sentence: String,
}

/// A share in both cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shares {
    pub baseline: f64,
    pub cell: f64,
}

impl ProfileChange {
    /// One for each pair of cells that the rules compare and whose profiles are both reliable,
    /// in the order of the rules.
    pub(super) fn all(points: &[Vec<Point>]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for point in points.iter().flatten() {
            let Some(baseline) = point.baseline() else { continue };
            let of = |entry| Self::of(point, entry, baseline);
            for change in point.others().filter_map(of) {
                let pair = [&change.cell, &change.baseline];
                // Another answer may compare the same cells, from the other one.
                let is_same =
                    |other: &Self| pair.contains(&&other.cell) && pair.contains(&&other.baseline);
                if !all.iter().any(is_same) {
                    all.push(change);
                }
            }
        }
        all
    }

    fn of(point: &Point, entry: &RowFigure, baseline: &RowFigure) -> Option<Self> {
        let reliable = |of: &RowFigure| Cycles::of(&of.row).filter(|of| of.doubts.is_empty());
        let both = Both { baseline: reliable(baseline)?, cell: reliable(entry)? };
        let most = Class::ALL
            .into_iter()
            .map(|class| (class, both.shares(|of| of == class)))
            .filter(|(_, shares)| both.decide(*shares).is_sure())
            .max_by(|(_, a), (_, b)| a.difference().total_cmp(&b.difference()));
        let crypto = both.shares(Class::is_crypto);
        let names = (&baseline.label, &entry.label);
        let context = point.context();
        let sentence = match most {
            None => format!(
                "No class of work differs by {} points or more of the server's CPU time between {} and \
                 {}{context}.",
                LEAST * 100.0,
                names.0,
                names.1
            ),
            Some((class, shares)) => {
                let is_mentioned = class.is_crypto() && crypto.in_short() == shares.in_short();
                let and_crypto = match crypto.baseline.max(crypto.cell) >= LEAST && !is_mentioned {
                    true => format!("; crypto {}", both.in_words(crypto, false)),
                    false => String::new(),
                };
                format!(
                    "From {} to {}, {} {} of the server's CPU time{context}{and_crypto}.",
                    names.0,
                    names.1,
                    class.words(),
                    both.in_words(shares, is_plural(class))
                )
            }
        };
        Some(Self {
            baseline: baseline.row.name.clone(),
            cell: entry.row.name.clone(),
            class: most.map(|(class, _)| class),
            share: most.map(|(_, shares)| shares),
            crypto,
            sentence: capitalized(&sentence),
        })
    }
}

impl Shares {
    pub(crate) fn difference(self) -> f64 {
        (self.cell - self.baseline).abs()
    }

    /// `21% → 3%`.
    pub(crate) fn in_short(self) -> String {
        format!("{} → {}", percent(self.baseline), percent(self.cell))
    }
}

/// Both profiles.
struct Both {
    baseline: Cycles,
    cell: Cycles,
}

impl Both {
    fn shares(&self, is_of: impl Fn(Class) -> bool) -> Shares {
        let sum = |cycles: &Cycles| {
            cycles.shares.iter().filter(|(class, _)| is_of(**class)).map(|(_, share)| share).sum()
        };
        Shares { baseline: sum(&self.baseline), cell: sum(&self.cell) }
    }

    /// Whether a difference is beyond chance: samples are counted, so that the variance of a share p
    /// of n samples is p (1 - p) / n.
    fn decide(&self, shares: Shares) -> Decision {
        let variance = |share: f64, samples: u64| share * (1.0 - share) / samples as f64;
        let error = variance(shares.baseline, self.baseline.samples)
            + variance(shares.cell, self.cell.samples);
        match shares.difference() > LEAST.max(STANDARD_ERRORS * error.sqrt()) {
            false => Decision::NoDifference,
            true if shares.cell > shares.baseline => Decision::Sure(Direction::Above),
            true => Decision::Sure(Direction::Below),
        }
    }

    /// `falls from 21% to 3%`, `stays at 38%`.
    fn in_words(&self, shares: Shares, is_plural: bool) -> String {
        let (from, to) = (percent(shares.baseline), percent(shares.cell));
        let s = if is_plural { "" } else { "s" };
        match self.decide(shares) {
            Decision::Sure(Direction::Above) => format!("rise{s} from {from} to {to}"),
            Decision::Sure(Direction::Below) => format!("fall{s} from {from} to {to}"),
            Decision::NoDifference | Decision::TooFew => format!("stay{s} at {to}"),
        }
    }
}

/// Whether its words are a plural.
fn is_plural(class: Class) -> bool {
    matches!(class, Class::Copies | Class::SoftirqAndDriver | Class::PageCache)
}

fn percent(share: f64) -> String {
    brief(Quantity::Share, share)
}
