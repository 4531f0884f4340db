//! What of a server's bytes a person may read.

/// The most characters that are quoted.
const LONGEST: usize = 80;

/// The first line of these bytes.
pub(crate) fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// A line as it is shown.
pub(crate) fn quoted(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.trim_ascii());
    format!("`{}`", text.chars().take(LONGEST).collect::<String>())
}

/// What was seen, with the first line of these bytes where that is text.
pub(crate) fn with_text(seen: &str, bytes: &[u8]) -> String {
    let line = first_line(bytes);
    let is_text = !line.is_empty() && line.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r'));
    if is_text { format!("{seen}: {}", quoted(line)) } else { seen.to_owned() }
}
