//! What responses are given of the content of records, and of plain HTTP.

use super::given::Given;
use super::lost::lost;
use super::response::Response;
use super::{Framing, Reception, http};
use crate::record::HEADER;
use crate::{ErrorKind, Failure};

impl Reception {
    #[inline]
    pub(super) fn plaintext(&mut self, content: &[u8]) -> Result<Given, Failure> {
        if content.is_empty() {
            return Ok(Given::More);
        }
        let Some(response) = &mut self.response else {
            // The header of the current record has been counted already.
            let is_over = self.over_from.is_some_and(|from| self.walk.wire >= from + HEADER as u64);
            return if is_over { Ok(Given::More) } else { http::unrequested(content) };
        };
        let is_counted = self.walk.dropped > 0 && matches!(self.framing, Framing::Tls { .. });
        let is_first = !response.has_begun();
        response.take(content, self.learned.last_head()).map_err(|failure| match failure.kind {
            // Either the sender is wrong, or padding or a ticket made the count wrong. A walk
            // cannot know which.
            ErrorKind::Content | ErrorKind::LongBody if is_counted => {
                lost(&format!("after {} dropped bytes: {}", self.walk.dropped, failure.seen))
            }
            _ => failure,
        })?;
        // What the server says of it is read.
        self.walk.whole |= response.is_refusal();
        let learned = &self.learned;
        if let (true, Framing::Plain) = (is_first, &self.framing)
            && let Some(head) = response.head_length()
        {
            learned.learn_plain_head(head);
        }
        if let (true, Framing::Tls { .. }) = (is_first, &self.framing) {
            // The header of the current record has been counted already.
            learned.learn_before_response(self.walk.wire.saturating_sub(HEADER as u64));
            let goes_on = response.left().is_some_and(|left| left > 0) && !response.is_refusal();
            match response.head_length().filter(|_| goes_on) {
                Some(head) => learned.learn_head(head, content.len()),
                None => learned.forget_heads(),
            }
        }
        self.complete_if_done()
    }

    #[inline]
    pub(super) fn complete_if_done(&mut self) -> Result<Given, Failure> {
        let Some(mut completed) = self.response.as_ref().and_then(Response::completed) else {
            return Ok(Given::More);
        };
        self.has_answered = true;
        (self.refusal, self.kept) = self.response.take().map_or((None, None), Response::into_parts);
        if let Some(refusal) = self.refusal.take_if(|_| completed.closes) {
            return Err(refusal);
        }
        if self.refusal.is_some() {
            self.walk.dropped = 0;
            return Ok(Given::Refused);
        }
        completed.opened = completed.body - self.walk.dropped;
        completed.compared &= self.walk.dropped == 0;
        completed.peeked = self.walk.has_peeked;
        self.walk.dropped = 0;
        if let Framing::Tls { .. } = &self.framing {
            self.learned.learn_records(self.walk.middle);
        }
        Ok(Given::Complete(completed))
    }
}
