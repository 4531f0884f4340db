//! What stdout can show.

use std::io::IsTerminal;

use report::Style;

/// How many columns a line may have; in a pipe or a file as many as it needs.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    columns.unwrap_or(usize::MAX)
}

/// The lines of a text, none of which is longer than that.
pub(crate) fn wrapped(text: &str) -> String {
    report::wrapped("", text, width()).join("\n")
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
