//! Lines of words.

use textwrap::{Options, WordSplitter};
use unicode_width::UnicodeWidthStr;

/// The words after `label`, in lines of at most `width` columns; further lines begin under the
/// first word. A word that is longer than a line, such as a URL, stays whole.
pub fn wrapped(label: &str, words: &str, width: usize) -> Vec<String> {
    if words.trim().is_empty() {
        return vec![label.trim_end().to_owned()];
    }
    // A label that leaves no room would put each letter on a line of its own.
    let indent = " ".repeat(label.width().min(width / 2));
    let options = Options::new(width)
        .initial_indent(label)
        .subsequent_indent(&indent)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    let lines = textwrap::wrap(words, options);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::ops::Not;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn further_lines_begin_under_the_first_word() {
        assert_eq!(
            wrapped("  But: ", "12 µs are × long enough", 18),
            ["  But: 12 µs are ×", "       long enough"]
        );
        assert_eq!(wrapped("", "abcdefgh ij", 5), ["abcdefgh", "ij"]);
        assert_eq!(wrapped("a: ", "", 10), ["a:"]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_word_is_cut(
            words in "[a-zµ×界 ]{0,80}", width in 4usize..40
        ) {
            let lines = wrapped("- ", &words, width);
            for line in &lines {
                let is_one_word = line.trim_start().trim_start_matches("- ").contains(' ').not();
                prop_assert!(line.width() <= width || is_one_word, "{line:?}");
            }
            let split = |text: &str| {
                text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            };
            prop_assert_eq!(split(&lines.join("\n")), split(&format!("- {words}")));
        }
    }
}
