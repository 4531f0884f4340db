//! Which figures are the better ones.

/// What a metric says of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What all of it does in a second. More is better, as far as the server was the limit.
    Throughput,
    /// What it does in a second of its CPU time. More is better.
    PerCpu,
    /// The share of another cell's figure that is lost. Less is better.
    Tax,
    /// What one operation or byte takes, or what all of them keep busy. Less is better.
    Cost,
    /// Core cycles of an algorithm. Less is better, and compared they say how many times as fast it is.
    Cycles,
    /// How busy something was, which is neither good nor bad.
    State,
}

/// Which of two figures is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

impl Better {
    /// By which share of an earlier figure a later one is worse, of the later over the earlier: 5% where a rate is 0.95
    /// times what it was, or a cost 1.05 times. It is negative where the later one is better.
    pub fn regression(self, later_over_earlier: f64) -> f64 {
        match self {
            Self::Higher => 1.0 - later_over_earlier,
            Self::Lower => later_over_earlier - 1.0,
        }
    }
}

impl Kind {
    /// Which figures are the better ones; `None` where neither are.
    pub(super) fn better(self) -> Option<Better> {
        match self {
            Self::Throughput | Self::PerCpu => Some(Better::Higher),
            Self::Tax | Self::Cost | Self::Cycles => Some(Better::Lower),
            Self::State => None,
        }
    }
}
