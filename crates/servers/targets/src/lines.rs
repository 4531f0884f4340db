//! Lines from the bytes of a pipe, between toll and its programs on other machines.

/// The longest line, which is what many CPUs did in a long window.
const LONGEST: usize = 64 << 20;

/// The beginning of a line that has not ended.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// The lines that these bytes end, without the empty ones.
    ///
    /// # Errors
    /// The beginning of a line that is longer than any is.
    pub fn add(&mut self, bytes: &[u8]) -> Result<Vec<String>, String> {
        self.0.extend_from_slice(bytes);
        let mut lines = Vec::new();
        // Only what has just come can end a line.
        let from = self.0.len() - bytes.len();
        if let Some(end) = self.0[from..].iter().rposition(|byte| *byte == b'\n') {
            let rest = self.0.split_off(from + end + 1);
            let whole = std::mem::replace(&mut self.0, rest);
            let text = String::from_utf8_lossy(&whole);
            lines.extend(text.lines().filter(|line| !line.is_empty()).map(str::to_owned));
        }
        match self.0.len() > LONGEST {
            true => Err(shortened(&String::from_utf8_lossy(&self.0[..1000]))),
            false => Ok(lines),
        }
    }

    /// What came after the last line.
    pub fn rest(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| String::from_utf8_lossy(&self.0).into_owned())
    }
}

/// The beginning of a text, for an error of one line.
pub fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let short: String = text.chars().take(MOST).map(plain).collect();
    match text.chars().nth(MOST) {
        Some(_) => short + "...",
        None => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_pieces_or_together_and_empty_ones_are_none() {
        let mut lines = Lines::default();
        assert_eq!(lines.add(b"one").unwrap(), [] as [&str; 0]);
        assert_eq!(lines.add(b" more\n\ntwo\r\nthr").unwrap(), ["one more", "two"]);
        assert_eq!(lines.rest().as_deref(), Some("thr"));
        assert_eq!(lines.add(b"ee\n").unwrap(), ["three"]);
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn what_has_no_end_is_no_line() {
        let mut lines = Lines::default();
        let begin = lines.add(&vec![b'x'; LONGEST + 1]).unwrap_err();
        assert!(begin.ends_with("xxx...") && begin.len() < 100, "{begin}");
        assert_eq!(shortened("a\u{7}b"), "a b");
    }
}
