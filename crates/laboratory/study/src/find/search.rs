//! The search itself: which load is tried next, from those that were tried.
//!
//! A pure function of what was seen, so that an interrupted search resumes from the journal.
//! The load is doubled from the smallest one until the limit breaks, the largest load is reached, or
//! two doublings bring no more. Then it is bisected: toward the limit where the figure still grows
//! there, around the most where that is a hump, and toward the smallest load that does nearly the
//! most, since a plateau is wide and a smaller load has the shorter queues.
//!
//! Noise is met in three ways. A load that breaks the limit, or that holds it by less than
//! [`NEAR`], is tried again, and the majority of up to three tries decides. Loads closer together than
//! [`APART`] count as equal. Figures within the plateau's width are equal.
//!
//! A limit that holds in a step may break when the load is held for long. Then the search steps back
//! from there by a tenth, the next time by a fifth, and so on, tries that load, and that is held.

use std::collections::BTreeMap;

/// A tenth: nearer to the limit, a trial proves neither that it holds nor that it breaks.
const NEAR: f64 = 0.1;

/// Hundredths: a load is searched for between two that differ by more.
const APART: u64 = 105;

/// Hundredths: a load that breaks the limit is the reason for one that is so near below it.
const NEXT: u64 = 120;

/// Doublings without a larger figure after which no more is expected.
const IDLE_DOUBLINGS: usize = 2;

/// Tries beside those that double the load.
const BISECTING: u64 = 16;

/// Tries that each step back may take.
const STEPPING_BACK: u64 = 4;

/// What a search knows besides what was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The smallest load.
    pub from: u64,
    /// The largest, above it.
    pub to: u64,
    /// The most that the watched figure may be.
    pub most: f64,
    /// The share below the largest figure that is as good.
    pub plateau: f64,
}

/// A trial that a search has seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    pub load: u64,
    /// What is maximized.
    pub figure: f64,
    /// What the limit is on; `None` where the trial did not show it.
    pub watched: Option<f64>,
    /// Whether the limit held.
    pub holds: bool,
    /// Whether it was held for long, to measure; otherwise it was a step.
    pub is_held: bool,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A step at this load.
    Try(u64),
    /// The search is over: this load is held.
    Hold(u64),
    /// The search is over: no load meets the limit.
    Infeasible,
}

/// What is known of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    /// The limit holds, with this figure.
    Holds(f64),
    Breaks,
    Open,
}

impl Bounds {
    /// What is to be done after `seen`, in the order of the trials.
    pub fn next(&self, seen: &[Seen]) -> Next {
        let known = self.known(seen);
        let is_spent = seen.iter().filter(|seen| !seen.is_held).count() as u64 >= self.budget(seen);
        if !is_spent {
            if let Some((load, _)) = known.iter().find(|(_, known)| **known == Known::Open) {
                return Next::Try(*load);
            }
            if !known.contains_key(&self.from) {
                return Next::Try(self.from);
            }
        }
        let broken =
            known.iter().find(|(_, known)| **known == Known::Breaks).map(|(load, _)| *load);
        let ceiling = broken.unwrap_or(u64::MAX);
        let back = self.step_back(seen);
        let highest = back.unwrap_or(u64::MAX).min(ceiling.saturating_sub(1));
        if back.is_some_and(|back| back == 0) {
            return Next::Infeasible;
        }
        let feasible: Vec<(u64, f64)> = known
            .range(..=highest)
            .filter_map(|(load, known)| match known {
                Known::Holds(figure) => Some((*load, *figure)),
                Known::Breaks | Known::Open => None,
            })
            .collect();
        if !is_spent {
            if let Some(back) = back.filter(|back| *back < ceiling && !known.contains_key(back)) {
                return Next::Try(back);
            }
            // Above a load that was stepped back from nothing is looked for.
            let above = broken.filter(|_| back.is_none_or(|back| ceiling <= back));
            if let Some(load) = self.refined(&feasible, above, broken.is_none() && back.is_none()) {
                return Next::Try(load);
            }
        }
        match self.smallest(&feasible) {
            Some(at) => Next::Hold(feasible[at].0),
            None => Next::Infeasible,
        }
    }

    /// At most this many steps are tried before the first load is held.
    pub fn most_steps(&self) -> u64 {
        let doublings = u64::from((self.to / self.from.max(1)).max(1).ilog2()) + 2;
        2 * doublings + BISECTING
    }

    /// What the smallest load above `load` that breaks the limit showed, over the limit. `None` where
    /// there is none, where it is not known, or where that load is far above and others between hold
    /// the limit: then `load` is the smallest of a plateau, and not the last before the limit.
    pub fn beyond(&self, seen: &[Seen], load: u64) -> Option<f64> {
        let mut above = self.known(seen).into_iter().filter(|(other, _)| *other > load).peekable();
        let is_next = above.peek().is_some_and(|(_, known)| *known == Known::Breaks);
        let (broken, _) = above.find(|(_, known)| *known == Known::Breaks)?;
        let is_near = u128::from(broken) * 100 <= u128::from(load) * u128::from(NEXT);
        let of_it = seen.iter().filter(|seen| seen.load == broken && !seen.holds);
        let watched = of_it.filter_map(|seen| seen.watched).max_by(f64::total_cmp)?;
        ((is_next || is_near) && self.most > 0.0).then(|| watched / self.most)
    }

    fn budget(&self, seen: &[Seen]) -> u64 {
        self.most_steps() + STEPPING_BACK * held_breaks(seen).count() as u64
    }

    /// What the tries of each load say together.
    fn known(&self, seen: &[Seen]) -> BTreeMap<u64, Known> {
        let mut tries: BTreeMap<u64, Vec<&Seen>> = BTreeMap::new();
        for seen in seen {
            tries.entry(seen.load).or_default().push(seen);
        }
        tries.into_iter().map(|(load, tries)| (load, self.judged(&tries))).collect()
    }

    fn judged(&self, tries: &[&Seen]) -> Known {
        if tries.iter().any(|seen| seen.is_held && !seen.holds) {
            return Known::Breaks;
        }
        let holding: Vec<&&Seen> =
            tries.iter().filter(|seen| seen.holds && !seen.is_held).collect();
        let breaking = tries.iter().filter(|seen| !seen.holds).count();
        let is_clear = |seen: &Seen| {
            seen.watched.is_some_and(|watched| watched <= self.most * (1.0 - NEAR))
                || self.most == 0.0
        };
        if breaking >= 2 {
            Known::Breaks
        } else if holding.len() >= 2 || (breaking == 0 && holding.iter().any(|seen| is_clear(seen)))
        {
            Known::Holds(middle(holding.iter().map(|seen| seen.figure).collect()))
        } else {
            Known::Open
        }
    }

    /// Where a load that was held broke the limit: the load to go back to, below all that broke so.
    /// 0 where there is none.
    fn step_back(&self, seen: &[Seen]) -> Option<u64> {
        let lowest = held_breaks(seen).map(|seen| seen.load).min()?;
        if lowest <= self.from {
            return Some(0);
        }
        let tenths = 1u64 << (held_breaks(seen).count() - 1).min(4);
        let back = lowest - (lowest * tenths.min(10)).div_ceil(10);
        Some(back.clamp(self.from, lowest - 1))
    }

    /// The load that would show more, if there is one. `broken` is the smallest that breaks the
    /// limit.
    fn refined(&self, feasible: &[(u64, f64)], broken: Option<u64>, may_grow: bool) -> Option<u64> {
        let &(highest, _) = feasible.last()?;
        if may_grow && highest < self.to && !self.is_idle(feasible) {
            return Some(highest.saturating_mul(2).min(self.to));
        }
        let at = self.smallest(feasible)?;
        let (load, _) = feasible[at];
        let above = match feasible.get(at + 1) {
            None => broken,
            // The most is here, and the neighbours do less: it may be between.
            Some((above, figure)) => (*figure < self.enough(feasible)).then_some(*above),
        };
        let below = at.checked_sub(1).map(|below| feasible[below].0);
        above
            .and_then(|above| between(load, above))
            .or_else(|| self.within_top(&feasible[at..]))
            .or_else(|| below.and_then(|below| between(below, load)))
    }

    /// A load between two that do as much, where more load does less: the most may lie there.
    fn within_top(&self, feasible: &[(u64, f64)]) -> Option<u64> {
        let enough = self.enough(feasible);
        let top = feasible.iter().take_while(|(_, figure)| *figure >= enough).count();
        let falls = top < feasible.len();
        feasible[..top].windows(2).find_map(|pair| between(pair[0].0, pair[1].0)).filter(|_| falls)
    }

    /// Whether the last doublings gained nothing.
    fn is_idle(&self, feasible: &[(u64, f64)]) -> bool {
        let Some(before) = feasible.len().checked_sub(IDLE_DOUBLINGS).filter(|n| *n > 0) else {
            return false;
        };
        let most = |points: &[(u64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
        most(&feasible[before..]) <= most(&feasible[..before]) * (1.0 + self.plateau)
    }

    /// A figure that is as good as the largest.
    fn enough(&self, feasible: &[(u64, f64)]) -> f64 {
        feasible.iter().map(|point| point.1).fold(0.0, f64::max) * (1.0 - self.plateau)
    }

    /// The place of the smallest load that does nearly the most.
    fn smallest(&self, feasible: &[(u64, f64)]) -> Option<usize> {
        let enough = self.enough(feasible);
        feasible.iter().position(|(_, figure)| *figure >= enough)
    }
}

fn held_breaks(seen: &[Seen]) -> impl Iterator<Item = &Seen> {
    seen.iter().filter(|seen| seen.is_held && !seen.holds)
}

/// The upper of the two middle ones where their number is even.
fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// A load between two that are far enough apart: their geometric mean, with three digits where that
/// is still between.
fn between(low: u64, high: u64) -> Option<u64> {
    if u128::from(high) * 100 <= u128::from(low) * u128::from(APART) || high <= low + 1 {
        return None;
    }
    let mean = ((low as f64) * (high as f64)).sqrt() as u64;
    let mean = mean.clamp(low + 1, high - 1);
    let unit = 10u64.pow(mean.max(1).ilog10().saturating_sub(2));
    let round = (mean + unit / 2) / unit * unit;
    Some(if low < round && round < high { round } else { mean })
}

#[cfg(test)]
mod tests;
