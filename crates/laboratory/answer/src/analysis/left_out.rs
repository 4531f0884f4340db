//! Rounds that a figure leaves out: how many, and why.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::ScalingError;
use units::counted;

/// Why a round is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum WhyLeftOut {
    #[error("it has too few numbers of cores")]
    TooFewCores,
    #[error("one of its figures is not above 0")]
    NotPositive,
    #[error("its points do not follow the law")]
    Misfit,
    #[error("a server did not report what its cipher costs")]
    NoCost,
    #[error("the ciphers differ")]
    OtherCipher,
    #[error("the cipher would save more than all CPU time of the server")]
    MoreThanTheServer,
}

impl From<ScalingError> for WhyLeftOut {
    fn from(error: ScalingError) -> Self {
        match error {
            ScalingError::TooFew(_) => Self::TooFewCores,
            ScalingError::NotPositive(_) => Self::NotPositive,
            ScalingError::Misfit(_) => Self::Misfit,
        }
    }
}

/// The rounds that are left out of a figure, by why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LeftOut(pub BTreeMap<WhyLeftOut, usize>);

impl LeftOut {
    /// What rounds give; those that give nothing are counted.
    pub(super) fn count<T, W: Into<WhyLeftOut>>(
        &mut self,
        rounds: impl IntoIterator<Item = Result<T, W>>,
    ) -> Vec<T> {
        let given = rounds.into_iter().filter_map(|round| {
            let count = |why: W| *self.0.entry(why.into()).or_default() += 1;
            round.map_err(count).ok()
        });
        given.collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In a sentence, of so many rounds; `None` where none is left out.
    pub(super) fn sentence(&self, figure: &str, rounds: usize) -> Option<String> {
        let each = |(why, count): (&WhyLeftOut, &usize)| format!("in {count} {why}");
        let why: Vec<String> = self.0.iter().map(each).collect();
        let all: usize = self.0.values().sum();
        let of = counted(rounds as u64, "round");
        (!self.is_empty())
            .then(|| format!("{figure} leaves out {all} of {of}: {}.", why.join(", ")))
    }
}
