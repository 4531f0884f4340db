//! Doubts that hold for several answers, once.

use units::counted;

use crate::caveat::Caveat;
use crate::findings::ShownAnswer;

/// The answers, each doubt only with the first that has it, and how many tables it is of: a reader counts these, of
/// which some have no headline.
pub(super) fn once(mut answers: Vec<ShownAnswer>) -> Vec<ShownAnswer> {
    let all: Vec<Vec<Caveat>> = answers.iter().map(|answer| answer.doubts.clone()).collect();
    let has = |doubt: &Caveat, of: &[Caveat]| of.iter().any(|other| other.is_like(doubt));
    for (place, answer) in answers.iter_mut().enumerate() {
        answer.doubts.retain(|doubt| !all[..place].iter().any(|of| has(doubt, of)));
        for doubt in &mut answer.doubts {
            let more = all[place + 1..].iter().filter(|of| has(doubt, of)).count() as u64;
            if more > 0 {
                let text = doubt.text.trim_end_matches('.');
                doubt.text = format!("{text} (the same in {}).", counted(more, "more table"));
            }
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::Limit;

    #[test]
    fn a_doubt_about_several_answers_is_told_once() {
        let of_client = |text: &str| Caveat {
            limit: Some((Limit::ClientCpu, "give it more CPUs")),
            ..Caveat::from(text.to_owned())
        };
        let other = |text: &str| Caveat::from(text.to_owned());
        let answers = [
            vec![
                of_client("In 2 of 7 trials with A the client was the limit: give it more CPUs."),
                other("In A=1: the same."),
            ],
            vec![
                of_client("In all 7 trials with B the client was the limit: give it more CPUs."),
                other("In A=2: the same."),
            ],
            vec![other("In A=1: the same.")],
        ];
        let shown = |doubts| ShownAnswer { doubts, ..ShownAnswer::default() };
        let shown = once(answers.map(shown).into());
        let doubts = shown.iter().map(|answer| answer.doubts.iter().map(|of| &*of.text).collect());
        let merged = "In 2 of 7 trials with A the client was the limit: give it more CPUs (the same in 1 more table).";
        let one = "In A=1: the same (the same in 1 more table).";
        let expected = [vec![merged, one], vec!["In A=2: the same."], vec![]];
        assert_eq!(doubts.collect::<Vec<Vec<&str>>>(), expected);
    }
}
