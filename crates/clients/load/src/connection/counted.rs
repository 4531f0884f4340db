//! Which body bytes of a response arrived within the window, although they are read later.

use crate::window::Edge;

/// Body bytes of one response: all so far, and those of the window.
///
/// A connection that awaits a response whole reads it in one turn. If bytes counted when they are
/// read, a window of a third of a second over 16 connections in step would be a whole number of their
/// rounds. So at both ends of the window the connection says how many bytes lie unread in its socket:
/// they came before. Those bytes include heads and record headers; so do those of the other end.
#[derive(Default)]
pub(super) struct Counted {
    body: u64,
    opened: u64,
    pub(super) window_body: u64,
    pub(super) window_opened: u64,
    /// Unread bytes that came before the window.
    early: u64,
    /// Unread bytes that came within it, once it has ended.
    late: u64,
}

impl Counted {
    /// What follows is another response of the same operation.
    pub(super) fn begin_response(&mut self) {
        (self.body, self.opened) = (0, 0);
    }

    /// Whether there are bytes of the window to prove.
    pub(super) fn has_window_body(&self) -> bool {
        self.window_body + self.late > 0
    }

    /// Whether bytes of the window are still unread, after its end.
    pub(super) fn has_unread(&self) -> bool {
        self.late > 0
    }

    /// At an end of the window this many bytes lie unread.
    pub(super) fn crosses(&mut self, edge: Edge, unread: u64) {
        match edge {
            Edge::Start => self.early = unread,
            Edge::End => self.late = unread.saturating_sub(self.early),
        }
    }

    /// So much of the response has been read, and decrypted, by now.
    pub(super) fn advance(&mut self, body: u64, opened: u64, is_within: bool) {
        let read = body - self.body;
        let early = read.min(self.early);
        self.early -= early;
        let mut counts = read - early;
        if !is_within {
            counts = counts.min(self.late);
            self.late -= counts;
        }
        self.window_body += counts;
        self.window_opened += counts.min(opened - self.opened);
        (self.body, self.opened) = (body, opened);
    }
}

#[cfg(test)]
mod tests {
    use random::Random;

    use super::*;

    const CONNECTIONS: usize = 16;
    const BODY: u64 = 1 << 20;
    const RECORD: u64 = 64 << 10;
    /// In ns.
    const WINDOW: f64 = 320e6;

    /// What the clients of a server at `rate` bytes per ns count per ns of a window. The server sends
    /// a record to each in turn, so that all responses end almost together, and are read then.
    /// `looks`: whether they look at their sockets at the window's ends.
    fn counted(rate: f64, random: &mut Random, looks: bool) -> f64 {
        let round = (CONNECTIONS as u64 * BODY) as f64 / rate;
        let start = round * (2.0 + random.uniform());
        let mut edges = vec![(start + WINDOW, Edge::End), (start, Edge::Start)];
        let mut clients: Vec<(u64, Counted)> = Vec::new();
        clients.resize_with(CONNECTIONS, Default::default);
        let (mut sent, mut total) = (0, 0);
        loop {
            let now = sent as f64 / rate;
            if let Some((_, edge)) = edges.pop_if(|(at, _)| *at <= now) {
                for (unread, client) in clients.iter_mut().filter(|_| looks) {
                    client.crosses(edge, *unread);
                }
            }
            let turn = (sent / RECORD) as usize % CONNECTIONS;
            let (unread, client) = &mut clients[turn];
            sent += RECORD;
            *unread += RECORD;
            if *unread == BODY {
                client.advance(BODY, 0, now >= start && now < start + WINDOW);
                total += std::mem::take(client).window_body;
                *unread = 0;
                if now > start + WINDOW + round {
                    return total as f64 / WINDOW;
                }
            }
        }
    }

    #[test]
    fn connections_in_step_do_not_make_the_goodput_a_whole_number_of_rounds() {
        let mut random = Random::new(1);
        let (mut sum, mut worst, mut worst_without) = (0.0, 0.0f64, 0.0f64);
        for trial in 0..200 {
            let rate = 0.8 + f64::from(trial) / 400.0;
            let error = counted(rate, &mut random, true) / rate - 1.0;
            sum += error;
            worst = worst.max(error.abs());
            let error = counted(rate, &mut random, false) / rate - 1.0;
            worst_without = worst_without.max(error.abs());
        }
        assert!((sum / 200.0).abs() < 0.0005, "{sum}");
        assert!(worst < 0.002, "{worst}");
        // A round is 16 MiB, 4% to 6% of the window.
        assert!(worst_without > 0.03, "{worst_without}");
    }

    #[test]
    fn intervals_of_trials_cover_the_known_rate() {
        let mut random = Random::new(2);
        let (mut covered, mut width, mut width_without) = (0, 0.0, 0.0);
        for _ in 0..300 {
            // A machine whose rate varies by 1% from trial to trial.
            let rates: Vec<f64> = (0..7).map(|_| 1.0 + 0.02 * (random.uniform() - 0.5)).collect();
            let mut interval = |looks| {
                let trials: Vec<f64> =
                    rates.iter().map(|rate| counted(*rate, &mut random, looks)).collect();
                stats::median_interval(&trials, stats::LEVEL).unwrap()
            };
            let (with, without) = (interval(true), interval(false));
            covered += u32::from(with.low <= 1.0 && 1.0 <= with.high);
            width += with.high - with.low;
            width_without += without.high - without.low;
        }
        assert!(covered >= 285, "{covered} of 300");
        assert!(width * 2.0 < width_without, "{width} {width_without}");
    }

    #[test]
    fn what_lay_unread_counts_where_it_came() {
        let mut counted = Counted::default();
        counted.advance(100, 100, false);
        counted.crosses(Edge::Start, 300);
        counted.advance(150, 150, true);
        assert_eq!((counted.window_body, counted.window_opened), (0, 0));
        counted.advance(600, 150, true);
        // 250 of them came before the window, none was decrypted.
        assert_eq!((counted.window_body, counted.window_opened), (200, 0));
        counted.crosses(Edge::End, 50);
        assert!(counted.has_unread());
        counted.advance(800, 350, false);
        assert_eq!((counted.window_body, counted.window_opened), (250, 50));
        assert!(!counted.has_unread());
    }

    #[test]
    fn what_lay_there_all_the_time_came_before() {
        let mut counted = Counted::default();
        counted.crosses(Edge::Start, 300);
        counted.crosses(Edge::End, 400);
        counted.advance(1000, 1000, false);
        assert_eq!(counted.window_body, 100);
    }
}
