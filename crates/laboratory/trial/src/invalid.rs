//! When a trial is valid, and why not.

use units::thousands;

use crate::evidence::Evidence;
use crate::limit::Limit;
use crate::mismatch::{CONNECTIONS_UP, Mismatch};
use crate::nouns::Nouns;
use crate::operations::Operations;
use crate::trial_record::TrialRecord;
use crate::verdict::Verdict;

/// Why the figures of a trial are not those of what was asked for. The order is that of weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WhyInvalid<'a> {
    /// It was interrupted before its window began.
    InWarmUp,
    /// The target could not go on.
    TargetLost(&'a str),
    /// Load threads or ranks ended early: what they measured is missing.
    LoadLost(&'a str),
    /// What was got is not what was asked for.
    Mismatch(&'a Mismatch),
    /// Something that was checked on a sample was wrong.
    Wrong,
    /// Too many operations failed.
    Failed,
    /// No operation completed.
    NothingCompleted,
    /// The journal says so, and its line has none of these.
    Recorded,
}

impl WhyInvalid<'_> {
    /// Whether the server or the load ended, so that nothing is known.
    pub fn is_a_loss(self) -> bool {
        matches!(self, Self::InWarmUp | Self::TargetLost(_) | Self::LoadLost(_))
    }

    /// Whether figures were measured all the same, which are those of something else than was asked for.
    pub fn has_figures(self) -> bool {
        matches!(self, Self::Mismatch(_) | Self::Failed)
    }

    /// Whether too much load gives it, of a server that does what was asked.
    pub fn is_of_overload(self) -> bool {
        matches!(self, Self::Failed | Self::NothingCompleted)
    }
}

impl TrialRecord {
    /// With whether it is valid.
    pub(crate) fn judged(self) -> Self {
        Self { valid: self.faults().is_empty(), ..self }
    }

    /// Why the figures are not those of what was asked for, the gravest first; empty where they are.
    pub fn invalid(&self) -> Vec<WhyInvalid<'_>> {
        match self.faults() {
            _ if self.valid => Vec::new(),
            faults if faults.is_empty() => vec![WhyInvalid::Recorded],
            faults => faults,
        }
    }

    /// The rule: a trial is valid that has none of these.
    pub(crate) fn faults(&self) -> Vec<WhyInvalid<'_>> {
        if self.ended_in_warm_up() {
            return vec![WhyInvalid::InWarmUp];
        }
        let target = self.target_error.as_deref().map(WhyInvalid::TargetLost);
        let load = self.load_error.as_deref().map(WhyInvalid::LoadLost);
        let mismatches = self.receipt.mismatch.iter().map(WhyInvalid::Mismatch);
        // Objects larger than the window count by their bytes, which are proven one by one.
        let has_completed = self.operations.completed > 0 || self.bytes.body > 0;
        let is_any_wrong = || self.evidence().is_some_and(Evidence::is_any_wrong);
        let operations = match self.limit() {
            Some(Limit::Errors) if is_any_wrong() => Some(WhyInvalid::Wrong),
            Some(Limit::Errors) => Some(WhyInvalid::Failed),
            // One that failed cost the server something else than those that are counted.
            None if self.failed() > 0 => Some(WhyInvalid::Failed),
            _ => (!has_completed).then_some(WhyInvalid::NothingCompleted),
        };
        target.into_iter().chain(load).chain(mismatches).chain(operations).collect()
    }

    /// Whether it is not valid for a cause that may be gone when it is made again: connections were not up, or operations
    /// failed while the hypervisor took the CPUs.
    pub fn may_pass(&self) -> bool {
        let was_stolen = self.evidence().is_some_and(Evidence::has_steal);
        let passes = |why: &WhyInvalid<'_>| match why {
            WhyInvalid::Mismatch(mismatch) => mismatch.what == CONNECTIONS_UP,
            why => why.is_of_overload() && was_stolen,
        };
        let invalid = self.invalid();
        !self.interrupted && !invalid.is_empty() && invalid.iter().all(passes)
    }

    /// The gravest reason, in a sentence without its full stop; `None` of a valid trial.
    pub fn why_invalid(&self) -> Option<String> {
        let invalid = self.invalid();
        let why = *invalid.first()?;
        let is_of_errors =
            matches!(why, WhyInvalid::Wrong | WhyInvalid::Failed | WhyInvalid::Recorded);
        let first = self.first_error().filter(|_| is_of_errors).map(|words| format!(": {words}"));
        Some(self.fault_in_words(why) + &first.unwrap_or_default())
    }

    /// The same of one of them.
    pub(crate) fn fault_in_words(&self, why: WhyInvalid<'_>) -> String {
        match why {
            WhyInvalid::InWarmUp => "it was interrupted before its window began".to_owned(),
            WhyInvalid::TargetLost(why) | WhyInvalid::LoadLost(why) => why.to_owned(),
            WhyInvalid::Mismatch(mismatch) => mismatch.to_string(),
            WhyInvalid::NothingCompleted => {
                format!("no {} completed; {}", self.nouns().operation, self.reason())
            }
            WhyInvalid::Wrong | WhyInvalid::Failed | WhyInvalid::Recorded => self.reason(),
        }
    }

    /// What was seen of the first error of the most frequent kind.
    fn first_error(&self) -> Option<&str> {
        let Operations { errors, first_errors, .. } = &self.operations;
        let (kind, _) = errors.iter().max_by_key(|(_, count)| **count)?;
        first_errors.get(kind).map(String::as_str).filter(|words| !words.is_empty())
    }

    /// What to do for a better or a higher figure, in a sentence without its full stop.
    pub fn remedy(&self) -> &'static str {
        let has_ended_early = self.target_error.is_some() || self.load_error.is_some();
        match has_ended_early && self.operations.completed == 0 {
            true => "find out why the server or the load ended",
            false => self.verdict.as_ref().map_or("look at the errors", Verdict::remedy),
        }
    }

    /// Whether it was stopped before its window began: there is nothing to judge then, neither the
    /// server nor the limit.
    pub fn ended_in_warm_up(&self) -> bool {
        self.interrupted && self.window_ns == 0
    }

    /// Those of this trial's load.
    pub fn nouns(&self) -> Nouns {
        if self.walks.is_some() { Nouns::OF_SESSION } else { Nouns::USUAL }
    }

    /// What limited the trial and by which figures, in a sentence without its full stop.
    pub fn reason(&self) -> String {
        let nouns = self.nouns();
        let reason = match &self.verdict {
            Some(verdict) => verdict.reason(nouns),
            None => format!(
                "{} of {} {}s failed",
                thousands(self.failed()),
                thousands(self.failed() + self.operations.completed),
                nouns.operation
            ),
        };
        match self.operations.unended.values().next() {
            Some(awaited) => format!("{reason}: {awaited}"),
            None => reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mismatch::Mismatch;
    use crate::testing::example;
    use load::WalkCounts;

    fn why(change: impl FnOnce(&mut TrialRecord)) -> String {
        let mut line = TrialRecord { valid: false, ..example() };
        change(&mut line);
        line.why_invalid().unwrap()
    }

    #[test]
    fn what_failed_most_is_quoted() {
        let words = why(|line| {
            line.verdict = None;
            line.operations.errors = [("status", 120), ("reset", 3)].map(of).into();
            let first = [("status", "503 Service Unavailable"), ("reset", "closed")];
            line.operations.first_errors =
                first.map(|(kind, words)| (kind.to_owned(), words.to_owned())).into();
        });
        assert!(words.ends_with(": 503 Service Unavailable"), "{words}");
        fn of((kind, count): (&str, u64)) -> (String, u64) {
            (kind.to_owned(), count)
        }
    }

    #[test]
    fn what_may_pass_is_late_connections_and_what_the_hypervisor_took() {
        let may_pass = |whats: &[&str], change: fn(&mut TrialRecord)| {
            let mut line = TrialRecord { valid: false, ..example() };
            let of = |what: &&str| Mismatch::new(what, "64", "40");
            line.receipt.mismatch = whats.iter().map(of).collect();
            change(&mut line);
            line.may_pass()
        };
        let stolen: fn(&mut TrialRecord) =
            |line| line.verdict_mut().evidence.steal = crate::testing::share(0.2);
        assert!(may_pass(&["connections up"], |_| {}));
        assert!(!may_pass(&["suite"], |_| {}) && !may_pass(&["connections up", "suite"], |_| {}));
        // A window that is too short for each connection's turn is so again.
        assert!(!may_pass(&["connections"], |_| {}));
        assert!(!may_pass(&["suite"], stolen) && !may_pass(&[], |line| line.valid = true));
        assert!(!may_pass(&[], |line| (line.operations.completed, line.bytes.body) = (0, 0)));
        assert!(may_pass(&[], |line| {
            (line.operations.completed, line.bytes.body) = (0, 0);
            line.verdict_mut().evidence.steal = crate::testing::share(0.2);
        }));
        assert!(!may_pass(&["connections up"], |line| line.interrupted = true));
        assert!(!may_pass(&[], |line| {
            line.verdict_mut().evidence.steal = crate::testing::share(0.2);
            line.target_error = Some("nginx died".into());
        }));
    }

    #[test]
    fn a_valid_trial_has_no_reason() {
        assert_eq!(example().why_invalid(), None);
    }

    #[test]
    fn a_load_that_ended_is_not_to_be_measured_longer() {
        let mut line = TrialRecord { valid: false, ..example() };
        (line.operations.completed, line.verdict) = (0, Some(Verdict::of(Evidence::default())));
        assert!(line.remedy().contains("--duration"), "{}", line.remedy());
        line.load_error = Some("wrk ended with exit status: 1".into());
        assert!(!line.remedy().contains("--duration"), "{}", line.remedy());
    }

    #[test]
    fn each_reason_is_told_the_gravest_first() {
        let mismatch =
            Mismatch { what: "suite".into(), asked: "A".into(), obtained: "B in 64".into() };
        let mismatched = |line: &mut TrialRecord| line.receipt.mismatch.push(mismatch.clone());
        let rows = [("mismatched", why(mismatched))];
        let lost = |line: &mut TrialRecord| {
            mismatched(line);
            line.load_error = Some("a load thread ended early: no epoll".into());
        };
        assert!(why(lost).contains("no epoll"));
        let died = |line: &mut TrialRecord| {
            lost(line);
            line.target_error = Some("nginx died".into());
        };
        assert_eq!(why(died), "nginx died");
        let failed = |line: &mut TrialRecord| line.verdict_mut().limit = Limit::Errors;
        let starved =
            |line: &mut TrialRecord| (line.operations.completed, line.bytes.body) = (0, 0);
        let of_session = |change: &dyn Fn(&mut TrialRecord)| {
            why(|line| {
                line.walks = Some(WalkCounts { completed: 3, failed: 1 });
                change(line);
            })
        };
        let in_warm_up = |line: &mut TrialRecord| {
            (line.interrupted, line.window_ns, line.operations.completed) = (true, 0, 0);
            line.verdict_mut().limit = Limit::Errors;
        };
        support::assert_golden!(rows.into_iter().chain([
            ("failed", why(failed)),
            ("starved", why(starved)),
            ("failed, of a session", of_session(&failed)),
            ("starved, of a session", of_session(&starved)),
            ("interrupted in the warm-up", why(in_warm_up)),
        ]));
    }
}
