//! What a request is, beside its path, and which answers are right.

use std::num::NonZeroU16;
use std::path::Path;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::SerializeDisplay;
use units::Bytes;
use wire::reception::Answers;

/// The longest body. Each connection reads it from the same memory.
const LONGEST_BODY: u64 = 256 << 20;

/// A method of HTTP (RFC 9110, section 9; RFC 5789).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
#[value(rename_all = "UPPERCASE")]
pub enum Method {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Method {
    /// Whether its requests have content (RFC 9110, section 8.6).
    pub fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }

    /// Whether a request may be sent again where its answer did not come (RFC 9110, section 9.2.2).
    pub(crate) fn is_idempotent(self) -> bool {
        !matches!(self, Self::Post | Self::Patch)
    }
}

/// The statuses that are right. Written `204`, or `200, 404`; in a study file, one may be a number.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, derive_more::Display)]
#[display("{}", _0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
pub struct Statuses(Vec<NonZeroU16>);

impl Statuses {
    /// These answers, to HEAD or to another method.
    pub(crate) fn answers(&self, is_head: bool) -> Answers {
        let all: Vec<u16> = self.0.iter().map(|status| status.get()).collect();
        Answers::with(&all, is_head)
    }

    /// Whether it is 200 alone.
    pub fn is_usual(&self) -> bool {
        matches!(&self.0[..], [only] if only.get() == 200)
    }
}

impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| {
            Err(format!("`{}` {why}; write a status such as 204, or 200, 404", text.escape_debug()))
        };
        let mut statuses = Vec::new();
        for item in text.split(',').map(str::trim) {
            let is_final = |status: &NonZeroU16| (200..600).contains(&status.get());
            let is_number = item.len() == 3 && item.bytes().all(|byte| byte.is_ascii_digit());
            let status = is_number.then(|| item.parse().ok()).flatten();
            let Some(status) = status.filter(is_final) else {
                return wrong(format!(
                    "has `{}`, which is no status from 200 to 599",
                    item.escape_debug()
                ));
            };
            if statuses.contains(&status) {
                return wrong(format!("has {status} twice"));
            }
            statuses.push(status);
        }
        match statuses.len() <= Answers::MOST_STATUSES {
            true => Ok(Self(statuses)),
            false => wrong(format!("has more than {} statuses", Answers::MOST_STATUSES)),
        }
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::number_or_text::parse(deserializer)
    }
}

/// The size of a request's body in this file.
///
/// # Errors
/// It cannot be sent; why, and what to do.
pub(crate) fn body_size(file: &Path) -> Result<Bytes, String> {
    let failed = |why: String| format!("{}: {why}; give a file that can be read", file.display());
    let metadata = std::fs::metadata(file).map_err(|error| failed(error.to_string()))?;
    if !metadata.is_file() {
        return Err(failed("is not a file".to_owned()));
    }
    match metadata.len() {
        size @ ..=LONGEST_BODY => Ok(Bytes(size)),
        size => Err(format!(
            "{}: {} is too large for a body; give a file of at most {}",
            file.display(),
            Bytes(size),
            Bytes(LONGEST_BODY)
        )),
    }
}

/// A request's body.
///
/// # Errors
/// As [`body_size`].
pub(crate) fn body(file: &Path) -> Result<Vec<u8>, String> {
    body_size(file)?;
    std::fs::read(file)
        .map_err(|error| format!("{}: {error}; give a file that can be read", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_written_as_they_are_parsed() {
        for text in ["200", "204", "200, 404", "301, 302, 303, 307, 308"] {
            assert_eq!(text.parse::<Statuses>().unwrap().to_string(), text);
        }
        let usual = |text: &str| text.parse::<Statuses>().unwrap().is_usual();
        assert!(usual("200") && !usual("204") && !usual("200, 204"));
        let wrong = [
            "",
            "ok",
            "0",
            "20",
            "100",
            "199",
            "600",
            "2000",
            "+200",
            "200,",
            "200, 200",
            "200 204",
            "200,201,202,203,204,205,206,207,208",
        ];
        support::assert_golden!(wrong.map(|text| (text, text.parse::<Statuses>().unwrap_err())));
    }

    #[test]
    fn methods_are_named_alike_on_the_command_line_and_in_requests() {
        for method in Method::value_variants() {
            assert_eq!(Method::from_str(&method.to_string(), false), Ok(*method));
        }
        assert!(Method::Put.has_body() && !Method::Head.has_body() && !Method::Delete.has_body());
    }

    #[test]
    fn a_body_is_a_file_that_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("body");
        assert!(body(&file).unwrap_err().contains("No such file"));
        assert!(body(folder.path()).unwrap_err().contains("is not a file"));
        std::fs::write(&file, "hello").unwrap();
        assert_eq!((body(&file), body_size(&file)), (Ok(b"hello".to_vec()), Ok(Bytes(5))));
        std::fs::File::create(&file).unwrap().set_len(LONGEST_BODY + 1).unwrap();
        assert!(body(&file).unwrap_err().contains("is too large"));
    }
}
