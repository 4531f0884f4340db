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

/// With a capital at its beginning and a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut rest = text.chars();
    let Some(first) = rest.next() else { return String::new() };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
