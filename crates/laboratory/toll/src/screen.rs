//! What stdout can show.

use std::io::IsTerminal;

use report::Style;

/// How many columns a line may have; in a pipe or a file as many as it needs.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    columns.unwrap_or(usize::MAX)
}

/// The lines of a text, none of which is longer than that; what is wrapped has the indentation of its line.
pub(crate) fn wrapped(text: &str) -> String {
    let width = width();
    by_line(text, |indent, words| report::wrapped(indent, words, width).join("\n"))
}

/// What becomes of the lines of a text, each given as its indentation and its words.
fn by_line(text: &str, of: impl Fn(&str, &str) -> String) -> String {
    let lines = text.split('\n').map(|line| {
        let (indent, words) = line.split_at(line.len() - line.trim_start().len());
        of(indent, words)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether it shows colours, and the user wants them (no-color.org).
pub(crate) fn style() -> Style {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match std::io::stdout().is_terminal() && !is_dumb && !no_colour {
        true => Style::Colour,
        false => Style::Plain,
    }
}

/// The text in the characters of the locale: where they are not UTF-8, bars are `#` and separators are commas.
pub(crate) fn in_its_characters(text: String) -> String {
    match is_utf8(|name| std::env::var(name).ok()) {
        true => text,
        false => in_ascii(&text),
    }
}

fn in_ascii(text: &str) -> String {
    by_line(text, |indent, words| {
        // A line may begin with a separator, or end with one.
        let words = words.strip_prefix("· ").unwrap_or(words);
        format!("{indent}{words}").replace(" ·", ",").replace('█', "#")
    })
}

/// Whether the locale's characters are UTF-8: the first variable that is set decides (POSIX, section
/// 8.2).
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides_over_the_characters() {
        let with = |set: &[(&str, &str)]| {
            is_utf8(|name| {
                let value = set.iter().find(|(other, _)| *other == name)?.1;
                Some(value.to_owned())
            })
        };
        assert!(with(&[("LANG", "en_US.UTF-8")]) && with(&[("LC_ALL", ""), ("LANG", "C.utf8")]));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]) && !with(&[]));
        assert_eq!(in_ascii("TLS 1.3 · x25519\n60.0  ██"), "TLS 1.3, x25519\n60.0  ##");
        assert_eq!(in_ascii("TLS 1.3 ·\n  · x25519"), "TLS 1.3,\n  x25519");
    }
}
