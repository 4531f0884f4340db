//! Doubts that hold for several answers, once.

use crate::findings::{Answer, Remark};
use crate::wording::grouped;

/// The answers, each doubt only with the first that has it, and in how many others it is.
pub(super) fn once(mut answers: Vec<Answer>) -> Vec<Answer> {
    let all = answers.iter().enumerate().flat_map(|(place, answer)| {
        let caveats = answer.remarks.iter().filter(|remark| remark.is_caveat);
        caveats.map(move |remark| (reason(&remark.text).to_owned(), place))
    });
    let mut in_answers = grouped(all);
    in_answers.iter_mut().for_each(|(_, places)| places.dedup());
    for (place, answer) in answers.iter_mut().enumerate() {
        let told = |remark: Remark| {
            let found = in_answers.iter().find(|(of, _)| of == reason(&remark.text));
            match found.filter(|_| remark.is_caveat) {
                Some((_, places)) if places[0] != place => None,
                Some((_, places)) if places.len() > 1 => {
                    let text = remark.text.trim_end_matches('.');
                    let text = format!("{text} (in {} answers).", places.len());
                    Some(Remark { text, ..remark })
                }
                _ => Some(remark),
            }
        };
        answer.remarks = std::mem::take(&mut answer.remarks).into_iter().filter_map(told).collect();
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

    fn answer(caveats: &[&str]) -> Answer {
        let remarks = caveats.iter().copied().map(Remark::caveat).collect();
        Answer { remarks, ..Answer::default() }
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
        let texts: Vec<Vec<&str>> = answers
            .iter()
            .map(|answer| answer.remarks.iter().map(|remark| remark.text.as_str()).collect())
            .collect();
        let merged =
            "In 2 of 7 trials with A the client was the limit: give it more CPUs (in 2 answers).";
        assert_eq!(texts, [vec![merged, "Own."], vec![], vec!["Other."]]);
    }

    #[test]
    fn what_to_do_is_no_doubt() {
        let remark = Remark::new("What to do", "Use it.");
        let answer = Answer { remarks: vec![remark], ..Answer::default() };
        assert_eq!(once(vec![answer.clone(), answer.clone()]), [answer.clone(), answer]);
    }
}
