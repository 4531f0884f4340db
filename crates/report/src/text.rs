//! Text from other programs, made safe to print.

use std::borrow::Cow;

/// The text with every character that would act instead of being seen written as `\u{1b}`: control
/// characters (a terminal obeys them) and those that reverse the direction of writing (a reader is
/// deceived by them). Line ends and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// [`visible`], on one line: each run of white space is one space.
pub(crate) fn on_one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn acts(c: char) -> bool {
    let is_layout = matches!(c, '\n' | '\t');
    let is_direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    (c.is_control() && !is_layout) || is_direction
}

/// The labels without those of their parts that are the same in all.
pub(crate) fn without_what_is_common(labels: &[String]) -> Vec<String> {
    let Some(first) = labels.first() else { return Vec::new() };
    let first: Vec<&str> = first.split(", ").collect();
    let parts: Vec<Vec<&str>> = labels.iter().map(|label| label.split(", ").collect()).collect();
    let differs = |place: usize| parts.iter().any(|of| of.get(place) != first.get(place));
    let is_alike = parts.iter().all(|of| of.len() == first.len());
    if !is_alike || !(0..first.len()).any(differs) {
        return labels.to_owned();
    }
    let own = |of: &Vec<&str>| {
        let kept = of.iter().enumerate().filter(|(place, _)| differs(*place));
        kept.map(|(_, part)| *part).collect::<Vec<_>>().join(", ")
    };
    parts.iter().map(own).collect()
}

/// With a capital at its beginning and a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut rest = text.chars();
    let Some(first) = rest.next() else { return String::new() };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), rest.as_str())
}

/// `1 trial`, `7 trials`.
pub(crate) fn trials(count: usize) -> String {
    match count {
        1 => "1 trial".to_owned(),
        _ => format!("{} trials", units::thousands(count as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(labels: &[&str]) -> Vec<String> {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        without_what_is_common(&labels)
    }

    #[test]
    fn what_all_rows_share_is_in_no_label() {
        assert_eq!(
            own(&["CBC, 1 core, 1 MiB", "GCM, 1 core, 4 MiB"]),
            ["CBC, 1 MiB", "GCM, 4 MiB"]
        );
        // Nothing would be left, or the parts do not mean the same.
        for kept in [&["nginx"][..], &["nginx", "nginx"], &["nginx, CBC", "nginx"]] {
            assert_eq!(own(kept), kept);
        }
        assert!(own(&[]).is_empty());
    }

    #[test]
    fn what_acts_is_shown_instead() {
        assert_eq!(visible("12 µs × 3\n\tnext"), "12 µs × 3\n\tnext");
        assert_eq!(visible("\x1b[31mred\r"), r"\u{1b}[31mred\u{d}");
        assert_eq!(visible("a\u{202e}b\u{9b}"), r"a\u{202e}b\u{9b}");
        assert_eq!(on_one_line(" two\n  lines\x07 "), r"two lines\u{7}");
    }

    #[test]
    fn sentences_begin_and_end_as_such() {
        assert_eq!(sentence("the server's CPU"), "The server's CPU.");
        assert_eq!(sentence("Done. "), "Done.");
        assert_eq!(sentence(" "), "");
    }

    #[test]
    fn one_trial_is_singular() {
        assert_eq!((trials(1), trials(0)), ("1 trial".into(), "0 trials".into()));
    }
}
