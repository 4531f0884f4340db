//! Doubts that hold for several answers, once.

use units::counted;

use crate::findings::ShownAnswer;
use crate::wording::grouped;

/// The answers, each doubt only with the first that has it, and how many tables it is of: a reader counts these, of
/// which some have no headline.
pub(super) fn once(mut answers: Vec<ShownAnswer>) -> Vec<ShownAnswer> {
    let all = answers.iter().enumerate().flat_map(|(place, answer)| {
        answer.doubts.iter().map(move |doubt| (reason(doubt).to_owned(), place))
    });
    let mut in_answers = grouped(all);
    in_answers.iter_mut().for_each(|(_, places)| places.dedup());
    for (place, answer) in answers.iter_mut().enumerate() {
        let first = |doubt: String| {
            let (_, places) = in_answers.iter().find(|(of, _)| of == reason(&doubt))?;
            match places.as_slice() {
                [first, ..] if *first != place => None,
                [_] => Some(doubt),
                several => {
                    let text = doubt.trim_end_matches('.');
                    Some(format!(
                        "{text} (the same in {}).",
                        counted(several.len() as u64 - 1, "more table")
                    ))
                }
            }
        };
        answer.doubts = std::mem::take(&mut answer.doubts).into_iter().filter_map(first).collect();
    }
    answers
}

/// What a doubt comes from and what to do, without the cells and the numbers of trials that it is of.
fn reason(text: &str) -> &str {
    match text.split_once(": ") {
        Some((_, rest)) if text.starts_with("In ") => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(doubts: &[&str]) -> ShownAnswer {
        ShownAnswer {
            doubts: doubts.iter().map(ToString::to_string).collect(),
            ..ShownAnswer::default()
        }
    }

    #[test]
    fn a_doubt_about_several_answers_is_told_once() {
        let answers = once(vec![
            answer(&[
                "In 2 of 7 trials with A the client was the limit: give it more CPUs.",
                "Own.",
            ]),
            answer(&["In all 7 trials with B the client was the limit: give it more CPUs."]),
            answer(&["Other."]),
        ]);
        let doubts: Vec<Vec<String>> = answers.into_iter().map(|answer| answer.doubts).collect();
        let merged = "In 2 of 7 trials with A the client was the limit: give it more CPUs (the same in 1 more table).";
        assert_eq!(doubts, [vec![merged, "Own."], vec![], vec!["Other."]]);
    }
}
