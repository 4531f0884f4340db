//! Whether a part of a head has come over HTTP/2, and since when, by the frames alone (RFC 9113 4.1, 6.2, 6.10). What
//! decodes them says so only when a head is whole.

use std::time::Instant;

/// What a client's connection begins with.
const PREFACE: usize = 24;

const FRAME_HEAD: usize = 9;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

#[derive(Debug)]
pub(crate) struct HeadWatch {
    /// Of the preface, what has not come.
    preface: usize,
    head: [u8; FRAME_HEAD],
    /// How much of the frame's head has come.
    begun: usize,
    /// Of the frame's payload, what has not come.
    left: usize,
    /// Whether a block of fields goes on with the next frame.
    is_open: bool,
    since: Option<Instant>,
}

impl Default for HeadWatch {
    fn default() -> Self {
        let head = [0; FRAME_HEAD];
        Self { preface: PREFACE, head, begun: 0, left: 0, is_open: false, since: None }
    }
}

impl HeadWatch {
    /// When the part that is there began to come; `None` where there is none.
    pub(crate) fn begun(&self) -> Option<Instant> {
        self.since
    }

    /// Takes what has come, at this time.
    pub(crate) fn take(&mut self, mut bytes: &[u8], now: Instant) {
        while !bytes.is_empty() {
            let count = bytes.len().min(match () {
                () if self.preface > 0 => self.preface,
                () if self.left > 0 => self.left,
                () => FRAME_HEAD - self.begun,
            });
            let (part, rest) = bytes.split_at(count);
            bytes = rest;
            if self.preface > 0 {
                self.preface -= count;
            } else if self.left > 0 {
                self.left -= count;
            } else {
                self.head[self.begun..self.begun + count].copy_from_slice(part);
                self.begun += count;
                if self.begun < FRAME_HEAD {
                    break;
                }
                let [a, b, c, kind, flags, ..] = self.head;
                self.left = u32::from_be_bytes([0, a, b, c]) as usize;
                self.is_open = match kind {
                    HEADERS | CONTINUATION => flags & END_HEADERS == 0,
                    _ => false,
                };
            }
            if self.begun == FRAME_HEAD && self.left == 0 {
                self.begun = 0;
            }
            if !self.is_within() {
                self.since = None;
            }
        }
        if self.is_within() {
            self.since.get_or_insert(now);
        }
    }

    /// Whether more of a head has to come: of one of fields, or of a frame, which may begin one.
    fn is_within(&self) -> bool {
        let is_of_fields = matches!(self.head[3], HEADERS | CONTINUATION);
        match self.begun {
            0 => self.preface > 0 || self.is_open,
            FRAME_HEAD => is_of_fields,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
        let [_, a, b, c] = (payload as u32).to_be_bytes();
        [&[a, b, c, kind, flags, 0, 0, 0, 1][..], &vec![7; payload]].concat()
    }

    #[test]
    fn a_head_has_begun_from_its_first_byte_to_its_last() {
        let start = Instant::now();
        let preface = vec![b'P'; PREFACE];
        // Each with how many bytes at its end may come without a head that is on its way: a body's, and nothing.
        let parts = [
            (preface, 0),
            (frame(4, 0, 12), 12),
            (frame(HEADERS, END_HEADERS, 30), 0),
            (frame(0, 1, 500), 500),
            (
                [
                    frame(HEADERS, 0, 20),
                    frame(CONTINUATION, 0, 0),
                    frame(CONTINUATION, END_HEADERS, 3),
                ]
                .concat(),
                0,
            ),
            (frame(0, 1, 0), 0),
        ];
        let mut watch = HeadWatch::default();
        let mut now = start;
        for (bytes, free) in &parts {
            let begun = now + Duration::from_millis(1);
            for (at, byte) in bytes.iter().enumerate() {
                now += Duration::from_millis(1);
                watch.take(&[*byte], now);
                let is_within = at + 1 < bytes.len() - free;
                assert_eq!(watch.begun(), is_within.then_some(begun), "{at} of {bytes:?}");
            }
        }
        // The same at once, with a part of the next head: that one begins now.
        let all: Vec<u8> = parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let mut watch = HeadWatch::default();
        watch.take(&all[..10], start);
        assert_eq!(watch.begun(), Some(start));
        watch.take(&all[10..], now);
        assert_eq!(watch.begun(), None);
        let next = [frame(0, 0, 5), frame(HEADERS, END_HEADERS, 9)[..12].to_vec()].concat();
        watch.take(&next, now);
        assert_eq!(watch.begun(), Some(now));
    }
}
