//! Golden files: what toll says to each of many inputs, reviewed as a diff of one file. They are written
//! with `INSTA_UPDATE=always`.

use std::fmt::Display;

/// Compares what was said to each of the rows' inputs with the golden file of the test.
#[macro_export]
macro_rules! assert_golden {
    ($rows:expr) => {{
        let golden = $crate::golden($rows);
        $crate::insta::assert_snapshot!(golden);
    }};
}

/// The text of a golden file: each input, and indented under it what was said to it.
pub fn golden<I: Display, S: Display>(rows: impl IntoIterator<Item = (I, S)>) -> String {
    let mut text = String::new();
    for (input, said) in rows {
        let input = input.to_string();
        let lines = input.lines().filter(|line| !line.is_empty());
        let said = said.to_string();
        let said = said.lines().map(|line| format!("    {line}"));
        for line in lines.map(str::to_owned).chain(said) {
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}
