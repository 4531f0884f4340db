use std::ops::Range;

use super::http::{HEAD_TOO_LONG, LONGEST_HEAD, grpc_failure, status};
use crate::Failure;

/// Decodes the chunked transfer coding (RFC 9112, section 7.1).
pub(super) struct Chunks {
    state: State,
    /// What its trailers say of a call of gRPC that failed.
    refusal: Option<Failure>,
}

enum State {
    /// Within the line that gives a chunk's size; the part of it that has come.
    Size(Vec<u8>),
    Data {
        left: u64,
    },
    /// At the line break after a chunk's data, before or after its CR, which may be missing.
    DataEnd {
        has_cr: bool,
    },
    /// Within the trailer; the part of its line under way that has come, and the length of all.
    Trailer {
        line: Vec<u8>,
        total: usize,
    },
    Done,
}

/// The longest accepted size line, with its extensions.
const LONGEST_LINE: usize = 4096;

impl Default for Chunks {
    fn default() -> Self {
        Self { state: State::Size(Vec::new()), refusal: None }
    }
}

impl Chunks {
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Why it is no success, though it came whole.
    pub(super) fn refusal(&mut self) -> Option<Failure> {
        self.refusal.take()
    }

    /// Takes some of `bytes`; returns how many were used, and which of them are data.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(usize, Range<usize>), Failure> {
        match &mut self.state {
            State::Size(line) => {
                let (used, is_whole) = take_line(line, bytes);
                if line.len() > LONGEST_LINE {
                    return Err(status("a chunk's size line is too long"));
                }
                if is_whole {
                    self.state =
                        match chunk_size(line).ok_or_else(|| status("a chunk without a size"))? {
                            0 => State::Trailer { line: Vec::new(), total: 0 },
                            left => State::Data { left },
                        };
                }
                Ok((used, 0..0))
            }
            State::Data { left } => {
                let used = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= used as u64;
                if *left == 0 {
                    self.state = State::DataEnd { has_cr: false };
                }
                Ok((used, 0..used))
            }
            State::DataEnd { has_cr } => {
                self.state = match bytes {
                    [b'\n', ..] => State::Size(Vec::new()),
                    [b'\r', ..] if !*has_cr => State::DataEnd { has_cr: true },
                    _ => return Err(status("a chunk longer than its size")),
                };
                Ok((1, 0..0))
            }
            State::Trailer { line, total } => {
                let (used, is_whole) = take_line(line, bytes);
                *total += used;
                if *total > LONGEST_HEAD {
                    return Err(Failure::long_head(HEAD_TOO_LONG));
                }
                if is_whole {
                    let field = std::mem::take(line);
                    let field = field.trim_ascii_end();
                    if field.is_empty() {
                        self.state = State::Done;
                    } else if let Some(colon) = field.iter().position(|byte| *byte == b':') {
                        self.refusal = self.refusal.take().or_else(|| {
                            grpc_failure(&field[..colon], field[colon + 1..].trim_ascii())
                        });
                    }
                }
                Ok((used, 0..0))
            }
            State::Done => Ok((0, 0..0)),
        }
    }
}

/// Appends what comes of a line; returns how many bytes that were, and whether the line is whole.
fn take_line(line: &mut Vec<u8>, bytes: &[u8]) -> (usize, bool) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let used = end.map_or(bytes.len(), |end| end + 1);
    line.extend_from_slice(&bytes[..used]);
    (used, end.is_some())
}

/// The number before the line's end or its extensions, which white space may precede (section 7.1.1).
fn chunk_size(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let end =
        size.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
    let digits = std::str::from_utf8(&size[..end]).unwrap_or_default();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool, usize), Failure> {
        let (mut chunks, mut data, mut left_over) = (Chunks::default(), Vec::new(), 0);
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() && !chunks.is_done() {
                let (used, range) = chunks.take(rest)?;
                data.extend_from_slice(&rest[range]);
                rest = &rest[used..];
            }
            left_over += rest.len();
        }
        Ok((data, chunks.is_done(), left_over))
    }

    #[test]
    fn extensions_and_trailers_are_skipped() {
        let text = b"4;name=x\r\nWiki\r\n5\r\npedia\r\n0\r\nExpires: never\r\n\r\nrest";
        assert_eq!(decode(&[text]), Ok((b"Wikipedia".to_vec(), true, 4)));
    }

    #[test]
    fn lines_may_end_with_lf_alone_and_sizes_with_white_space() {
        let text = b"4 \t\nWiki\n5 ;x=1\r\npedia\r\n000\nExpires: never\n\nrest";
        assert_eq!(decode(&[text]), Ok((b"Wikipedia".to_vec(), true, 4)));
    }

    #[test]
    fn wrong_sizes_are_errors() {
        assert!(decode(&[b"3\r\nWiki\r\n"]).is_err());
        assert!(decode(&[b"4\r\nWiki\r\r\n0\r\n\r\n"]).is_err());
        assert!(decode(&[b"x\r\n"]).is_err());
        for size in ["", "+4", "-4", " 4", "0x4", "4 4", "4_", "10000000000000000"] {
            let text = format!("{size}\r\nWiki\r\n0\r\n\r\n");
            assert!(decode(&[text.as_bytes()]).is_err(), "`{size}`");
        }
        assert!(decode(&[&[b'1'; 5000]]).is_err());
    }

    proptest! {
        #[test]
        fn cuts_anywhere_change_nothing(
            sizes in proptest::collection::vec(1usize..50, 0..6),
            cut in 1usize..40,
        ) {
            let mut text = Vec::new();
            for size in &sizes {
                text.extend_from_slice(format!("{size:x}\r\n").as_bytes());
                text.extend(std::iter::repeat_n(b'a', *size));
                text.extend_from_slice(b"\r\n");
            }
            text.extend_from_slice(b"0\r\n\r\n");
            let pieces: Vec<&[u8]> = text.chunks(cut).collect();
            prop_assert_eq!(decode(&pieces), Ok((vec![b'a'; sizes.iter().sum()], true, 0)));
        }

        #[test]
        fn no_bytes_of_a_peer_panic(bytes: Vec<u8>) {
            let _ = decode(&[&bytes]);
        }
    }
}
