//! How the load of a cell was found, from the journal.

use serde::Serialize;

use journal::{ImpossibleStep, Role, TrialLine};
use study::find::{Find, Search, Standing};
use study::{Cell, Metric};

/// How the load of a cell was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchPath {
    /// What was maximized.
    pub maximize: Metric,
    /// The key that was searched over: `load.connections`.
    pub over: &'static str,
    /// What had to hold: `first-byte-max <= 2s`.
    pub limit: String,
    /// What came of it.
    pub end: SearchEnd,
    /// Every trial of the cell at every load, in the order in which they ran.
    pub path: Vec<SearchStep>,
    /// Loads that could not be made here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub impossible: Vec<ImpossibleLoad>,
}

/// A load that could not be made here, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImpossibleLoad {
    /// As a value of the key that was searched over.
    pub load: String,
    pub why: String,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum SearchEnd {
    /// The load that is measured.
    Found {
        /// As a value of the key that was searched over.
        load: String,
    },
    /// No load keeps within the limit.
    Infeasible {
        /// The best that was seen of what the limit is on, in words; `None` where no trial showed it.
        best: Option<String>,
    },
    /// It was given up, because its trials are not valid; nothing is known of the limit.
    Invalid {
        /// Why the last of them is not.
        why: String,
    },
    /// The run ended before the search.
    Unfinished,
}

/// One trial on the path of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchStep {
    /// Its place in the order of trials.
    pub order: u32,
    /// As a value of the key that was searched over.
    pub load: String,
    /// The same as a number: connections, or operations per second.
    pub at: f64,
    /// What is maximized: bits or operations per second.
    pub figure: f64,
    /// What the limit is on, in words.
    pub seen: Option<String>,
    /// Whether the trial is valid and the limit held.
    pub holds: bool,
    /// Whether it was held for long, to measure.
    pub is_held: bool,
    /// Why its trial is not valid, where that is for another reason than too much load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
}

impl SearchEnd {
    /// `infeasible (best 3.2s)`, where no load keeps within the limit.
    pub fn infeasible(&self) -> Option<String> {
        match self {
            Self::Infeasible { best: Some(best) } => Some(format!("infeasible (best {best})")),
            Self::Infeasible { best: None } => Some("infeasible".to_owned()),
            Self::Found { .. } | Self::Invalid { .. } | Self::Unfinished => None,
        }
    }

    /// Why nothing is known, where the search was given up.
    pub fn invalid(&self) -> Option<&str> {
        match self {
            Self::Invalid { why } => Some(why),
            _ => None,
        }
    }
}

impl SearchPath {
    /// Of a cell whose lines are these, in the order in which they ran; `None` where its load is
    /// given.
    pub(super) fn of(
        cell: &Cell,
        lines: &[&TrialLine],
        impossible: &[ImpossibleStep],
    ) -> Option<Self> {
        let find = cell.find?;
        let impossible = impossible.iter().filter(|step| step.cell == cell.name);
        let search = Search::of(find, lines.iter().copied(), impossible);
        let end = match search.standing() {
            Standing::Hold(load) => SearchEnd::Found { load: find.over.value(load) },
            Standing::Try(_) => SearchEnd::Unfinished,
            Standing::Invalid(why, _) => SearchEnd::Invalid { why },
            Standing::Infeasible(best) => {
                SearchEnd::Infeasible { best: best.map(|best| find.ceiling.watched.in_words(best)) }
            }
        };
        let impossible = search.impossible().iter();
        let impossible = impossible
            .map(|(load, why)| ImpossibleLoad { load: find.over.value(*load), why: why.clone() });
        Some(Self {
            maximize: find.maximize,
            over: find.over.key(),
            limit: find.ceiling.to_string(),
            end,
            path: lines.iter().filter_map(|line| SearchStep::of(&find, line)).collect(),
            impossible: impossible.collect(),
        })
    }

    /// Whether a line is of the load that was found.
    pub(super) fn has(&self, trial: &TrialLine) -> bool {
        match (&self.end, &trial.place.find) {
            (SearchEnd::Found { load: found }, Some(sought)) => sought.load == *found,
            _ => false,
        }
    }
}

impl SearchStep {
    fn of(find: &Find, trial: &TrialLine) -> Option<Self> {
        let TrialLine { place, line } = trial;
        let sought = place.find.as_ref()?;
        Some(Self {
            order: place.order,
            load: sought.load.clone(),
            at: find.over.number(find.over.load(&sought.load)?),
            figure: find.maximize.value(line).unwrap_or_default(),
            seen: sought.seen().map(|seen| find.ceiling.watched.in_words(seen)),
            holds: sought.holds,
            is_held: place.role == Role::Measure,
            invalid: line
                .why_invalid()
                .filter(|_| !line.invalid().iter().all(|why| why.is_of_overload())),
        })
    }
}
