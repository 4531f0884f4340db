//! How many connections are opened ahead of their first operations at the same time.

use std::collections::VecDeque;

/// Enough to keep a server busy, few enough for its accept queue.
const MOST: usize = 64;

/// For how long an opening counts of which nothing tells that the server has accepted it: over plain HTTP/1.1
/// the kernel completes a connect before that. In ns; so at most 6,400 per second are opened in this way.
const UNPROVEN: u64 = 10_000_000;

/// See the module. An opening counts until the server has proven that it accepted: by the end of the TLS
/// handshake, over plain HTTP/2 by its SETTINGS.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    /// Those that the server is to prove.
    under_way: usize,
    /// When those end to count that it cannot prove.
    until: VecDeque<u64>,
}

impl Openings {
    /// One begins; whether it `is_proven` by the server later.
    pub(crate) fn begins(&mut self, now: u64, is_proven: bool) {
        match is_proven {
            true => self.under_way += 1,
            false => self.until.push_back(now + UNPROVEN),
        }
    }

    /// One was proven, or has failed.
    pub(crate) fn ends(&mut self) {
        self.under_way -= 1;
    }

    /// From when on another may begin; `None` where the end of one is awaited first.
    pub(crate) fn next(&mut self, now: u64) -> Option<u64> {
        while self.until.front().is_some_and(|until| *until <= now) {
            self.until.pop_front();
        }
        match self.under_way + self.until.len() {
            ..MOST => Some(now),
            _ => self.until.front().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_count_until_they_are_proven_or_for_a_while() {
        let mut openings = Openings::default();
        for _ in 0..MOST {
            assert_eq!(openings.next(5), Some(5));
            openings.begins(5, true);
        }
        assert_eq!(openings.next(u64::MAX), None);
        openings.ends();
        assert_eq!(openings.next(6), Some(6));
        openings.begins(6, false);
        assert_eq!(openings.next(7), Some(6 + UNPROVEN));
        assert_eq!(openings.next(6 + UNPROVEN), Some(6 + UNPROVEN));
    }
}
