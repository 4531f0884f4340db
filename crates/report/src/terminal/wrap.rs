//! Lines of words.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The words behind `label`, in lines of at most `width` columns; further lines begin under the
/// first word. A word that is longer than a line is broken.
#[must_use]
pub fn wrapped(label: &str, words: &str, width: usize) -> Vec<String> {
    // A label that leaves no room would put each letter on a line of its own.
    let indent = label.width().min(width / 2);
    let room = width.saturating_sub(indent).max(1);
    let mut lines = vec![label.to_owned()];
    // The columns that words take on the last line.
    let mut taken = label.width() - indent;
    for word in words.split_whitespace() {
        for piece in pieces(word, room) {
            let (space, columns) = (usize::from(taken > 0), piece.width());
            if taken > 0 && taken + space + columns > room {
                lines.push(" ".repeat(indent));
                taken = 0;
            }
            let line = lines.last_mut();
            if let Some(line) = line {
                if taken > 0 {
                    line.push(' ');
                    taken += 1;
                }
                line.push_str(piece);
            }
            taken += columns;
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// A word in pieces of at most `room` columns.
fn pieces(word: &str, room: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut columns) = (0, 0);
    for (at, c) in word.char_indices() {
        let more = c.width().unwrap_or(0);
        if columns + more > room && at > start {
            pieces.push(&word[start..at]);
            (start, columns) = (at, 0);
        }
        columns += more;
    }
    pieces.push(&word[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn further_lines_stand_under_the_first_word() {
        assert_eq!(
            wrapped("  But: ", "12 µs are × long enough", 18),
            ["  But: 12 µs are ×", "       long enough"]
        );
        assert_eq!(wrapped("", "abcdefgh ij", 5), ["abcde", "fgh", "ij"]);
        assert_eq!(wrapped("a: ", "", 10), ["a:"]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_character_is_lost(
            words in "[a-zµ×界 ]{0,80}", width in 4usize..40
        ) {
            let lines = wrapped("- ", &words, width);
            for line in &lines {
                prop_assert!(line.width() <= width, "{line:?}");
            }
            let without_spaces = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(without_spaces(&lines.concat()), "-".to_owned() + &without_spaces(&words));
        }
    }
}
