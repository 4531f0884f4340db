//! Rows and tables, as a screen shows them.

use report::{Column, Style, wrapped};

use crate::screen::Screen;

const LABEL: usize = 14;

/// Longer lines of words are hard to read.
const MOST_WORDS: usize = 100;

/// Select Graphic Rendition (ECMA-48, section 8.3.117).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Usual,
    Bold,
    Warning,
}

/// The text so far.
pub(super) struct Page {
    screen: Screen,
    text: String,
}

impl Page {
    pub(super) fn new(screen: Screen) -> Self {
        Self { screen, text: String::new() }
    }

    pub(super) fn text(self) -> String {
        self.text
    }

    /// At most one blank line, however often it is asked for.
    pub(super) fn blank(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    pub(super) fn row(&mut self, label: &str, words: &str) {
        self.words(label, words, Look::Usual);
    }

    /// Words after a label, wrapped between words. What is for a program may be as long as it is.
    pub(super) fn words(&mut self, label: &str, words: &str, look: Look) {
        let label = match label {
            "" => String::new(),
            label => format!("{label:<LABEL$}"),
        };
        let is_terminal = self.screen.width < usize::MAX;
        let width = if is_terminal { self.screen.width.min(MOST_WORDS) } else { usize::MAX };
        for line in wrapped(&label, words, width) {
            let code = match look {
                Look::Usual => None,
                Look::Bold => Some(1),
                Look::Warning => Some(33),
            };
            self.text += &match code.filter(|_| self.screen.style == Style::Colour) {
                Some(code) => format!("\x1b[{code}m{line}\x1b[0m\n"),
                None => format!("{line}\n"),
            };
        }
    }

    /// A table and a blank line after it; nothing where it has no rows.
    pub(super) fn table(&mut self, columns: Vec<Column>) {
        if columns.first().is_some_and(|column| !column.cells.is_empty()) {
            self.text += &report::table(columns, self.screen.width, self.screen.style);
        }
    }
}
