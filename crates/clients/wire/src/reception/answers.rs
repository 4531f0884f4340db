use super::http::is_bodyless;

/// Which answers to a request are right, and how they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    /// The statuses, up to the first 0.
    statuses: [u16; Self::MOST_STATUSES],
    /// Whether it is HEAD that they answer, so that no body follows (RFC 9112, section 6.3).
    is_head: bool,
}

impl Answers {
    /// How many statuses may be right.
    pub const MOST_STATUSES: usize = 7;

    /// 200 with its body.
    pub const USUAL: Self = Self { statuses: [200, 0, 0, 0, 0, 0, 0], is_head: false };

    /// Answers with one of these statuses, of which those beyond [`Self::MOST_STATUSES`] are left out.
    pub fn with(of: &[u16], is_head: bool) -> Self {
        let mut statuses = [0; Self::MOST_STATUSES];
        statuses.iter_mut().zip(of).for_each(|(place, status)| *place = *status);
        Self { statuses, is_head }
    }

    /// Whether this status is right.
    #[inline]
    pub fn admit(&self, code: u16) -> bool {
        self.statuses[0] == code || self.statuses[1..].contains(&code)
    }

    /// Whether an answer with this status has no body, whatever it promises (RFC 9110, section 6.4.1).
    pub fn is_empty(&self, code: u16) -> bool {
        self.is_head || is_bodyless(code)
    }
}
