use super::error::Flaw;
use super::fields::Source;

/// What keeps a text from being TOML. Quotes that are lacking are by far the most frequent mistake,
/// and the parser takes what stands there for a mistyped number or date.
pub(super) fn flaw(source: Source<'_>, error: &toml::de::Error) -> Flaw {
    let span = error.span().unwrap_or_default();
    let place = (span.start, span.end);
    let line = source.line(span.start);
    if let Some((key, value)) = without_quotes(source, span.start) {
        let what = format!("{key} = {value} lacks its quotes; write {key} = \"{value}\"");
        return Flaw::at(line, what);
    }
    let here = match source.written(place) {
        text if text.is_empty() => text,
        text => format!(" (here: {text})"),
    };
    Flaw::at(line, format!("this is not TOML: {}{here}", error.message()))
}

/// Key and value of the line with this offset, if the value is a bare word and the offset in it.
fn without_quotes<'a>(source: Source<'a>, offset: usize) -> Option<(&'a str, &'a str)> {
    let before = source.text.get(..offset)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let (key, value) = source.text.get(start..)?.lines().next()?.split_once('=')?;
    let value = value.split('#').next().unwrap_or(value).trim();
    let fits = |c: char| c.is_alphanumeric() || "-_.,:/%".contains(c);
    let is_bare = value.chars().all(fits) && value.contains(|c: char| !c.is_ascii_digit());
    let is_behind_key = start + key.len() < offset;
    (is_bare && is_behind_key && !key.trim().is_empty()).then_some((key.trim(), value))
}
