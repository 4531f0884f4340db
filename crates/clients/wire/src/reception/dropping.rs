//! The records that are dropped: which they are, and what is known of them.

use super::given::Given;
use super::learned::Learned;
use super::lost::{lost, unopened};
use super::step::{Step, peek_length};
use super::stride::Dropped;
use super::{Framing, Proof, Reception};
use crate::record::{Header, RecordError, content_type};
use crate::{ErrorKind, Failure};

impl Reception {
    /// Takes dropped bytes, at most as many as [`Want::Skip`](super::Want::Skip) asked for.
    #[inline]
    pub fn skipped(&mut self, count: u64) -> Result<Given, Failure> {
        match &mut self.framing {
            Framing::Plain => {
                let Some(response) = &mut self.response else { return Ok(Given::More) };
                response.drop_body(count);
                self.walk.dropped += count;
                self.complete_if_done()
            }
            Framing::Tls { opener, step, .. } => {
                self.walk.wire += count;
                match *step {
                    Step::Drop { left, length } => {
                        let left =
                            left.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
                        if left > 0 {
                            *step = Step::Drop { left, length };
                        } else if opener.tail() > 0 {
                            *step = Step::Tail { length };
                        } else {
                            *step = Step::Header;
                            let plaintext = opener.most_plaintext(length).unwrap_or(0) as u64;
                            self.dropped_record(Dropped { length, plaintext });
                        }
                    }
                    Step::Pass(stride) => {
                        let (records, rest) = stride.pass(count);
                        *step = rest.map_or(Step::Header, Step::Pass);
                        for _ in 0..records {
                            self.dropped_record(stride.record);
                        }
                    }
                    Step::Header | Step::Peek { .. } | Step::Open(_) | Step::Tail { .. } => {}
                }
                Ok(Given::More)
            }
        }
    }

    /// What to do with the record after this header.
    #[inline]
    pub(super) fn after_header(&mut self, header: Header) -> Result<Step, Failure> {
        let Framing::Tls { opener, .. } = &self.framing else { return Ok(Step::Header) };
        let learned = &self.learned;
        let Some(most) = opener.most_plaintext(header.length) else {
            if header.content_type == content_type::ALERT && header.length == 2 {
                return Err(Failure::new(ErrorKind::Alert, "an alert without encryption"));
            }
            return Err(lost("a record too short for its own authentication"));
        };
        if opener.is_too_long(header.length) {
            return Err(unopened(RecordError::TooLong));
        }
        if header.content_type != content_type::APPLICATION_DATA
            || self.walk.whole
            || self.walk.is_early
            || self.messages.is_within()
            || self.proof == Proof::Asked
        {
            return Ok(Step::Open(header));
        }
        let awaits_head = self.response.as_ref().is_some_and(|response| !response.has_begun());
        if awaits_head
            && Learned::is_long(most)
            && let Some(length) = peek_length(opener, learned)
        {
            return Ok(Step::Peek { header, length });
        }
        // A record that may hold the last byte of the body is opened.
        let left = self.body_left().unwrap_or(0);
        if most as u64 >= left {
            return Ok(Step::Open(header));
        }
        let step = Step::dropping(opener, learned, header.length, 0, left, 0);
        self.walk.has_strided |= matches!(step, Some(Step::Pass(_)));
        Ok(step.unwrap_or(Step::Open(header)))
    }

    /// How to drop the rest of a record after the head at its beginning. The record's first
    /// `length` bytes hold this plaintext. `None` where the record must be opened.
    #[inline]
    pub(super) fn after_head(
        &mut self,
        header: Header,
        length: usize,
        plaintext: &[u8],
    ) -> Option<Step> {
        let Framing::Tls { opener, .. } = &self.framing else { return None };
        let learned = &self.learned;
        let response = self.response.as_ref()?.peeked(plaintext, learned.last_head())?;
        let (left, peeked) = (response.left()?, plaintext.len() as u64);
        // A record that may hold the last byte of the body is opened.
        let most = opener.most_plaintext(header.length)? as u64;
        if most.saturating_sub(peeked) >= left {
            return None;
        }
        let step = Step::dropping(opener, learned, header.length, length, left, peeked)?;
        self.walk.has_strided |= matches!(step, Step::Pass(_));
        self.walk.has_peeked = true;
        self.walk.peeked = peeked;
        // Body bytes after the head are compared, but they count as dropped, not as opened.
        self.walk.dropped = response.body();
        self.response = Some(response);
        Some(step)
    }

    #[inline]
    pub(super) fn dropped_record(&mut self, record: Dropped) {
        if let Framing::Tls { opener, .. } = &mut self.framing {
            opener.pass();
        }
        let peeked = std::mem::take(&mut self.walk.peeked);
        if peeked == 0 {
            self.walk.middle.add(record);
        }
        let unseen = record.plaintext.saturating_sub(peeked);
        self.walk.dropped += unseen;
        if let Some(response) = &mut self.response {
            response.drop_body(unseen);
        }
    }
}
