//! How a load grows before its warm-up and shrinks after its window.

/// Equal ramps up and down; a length of 0 means none. Times are in ns since the load's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp {
    length: u64,
    /// When it begins to shrink, where that is known.
    down: Option<u64>,
}

impl Ramp {
    /// No ramp: the whole load from start to end.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self { length: 0, down: None };

    pub(crate) fn new(length: u64, down: Option<u64>) -> Self {
        Self { length, down }
    }

    pub(super) fn is_none(&self) -> bool {
        self.length == 0
    }

    /// When connection `number` of `all` joins the load.
    pub(super) fn joins(&self, number: usize, all: usize) -> u64 {
        (u128::from(self.length) * number as u128 / all as u128) as u64
    }

    /// When it leaves the load, in the same order; `None` where it stays until the end.
    pub(super) fn leaves(&self, number: usize, all: usize) -> Option<u64> {
        let down = self.down.filter(|_| !self.is_none())?;
        Some(down.saturating_add(self.joins(number, all)))
    }

    /// When as many operations of an open loop have come as come in `full` ns at its full rate, if
    /// the rate grows and shrinks linearly; `None` where the load ends before.
    ///
    /// Until t within the ramp up, t²/2L has come; the ramp down is its mirror image.
    pub(super) fn at(&self, full: f64) -> Option<f64> {
        let length = self.length as f64;
        if full < length / 2.0 {
            return Some((2.0 * length * full).sqrt());
        }
        let at = full + length / 2.0;
        let Some(down) = self.down.map(|down| down as f64).filter(|_| !self.is_none()) else {
            return Some(at);
        };
        if at <= down {
            return Some(at);
        }
        let left = length * length - 2.0 * length * (at - down);
        (left > 0.0).then(|| down + length - left.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn connections_come_and_go_in_turn() {
        let ramp = Ramp::new(2 * SECOND, Some(10 * SECOND));
        let joins: Vec<u64> = (0..4).map(|number| ramp.joins(number, 4)).collect();
        assert_eq!(joins, [0, SECOND / 2, SECOND, 3 * SECOND / 2]);
        assert_eq!(ramp.leaves(0, 4), Some(10 * SECOND));
        assert_eq!(ramp.leaves(3, 4), Some(11 * SECOND + SECOND / 2));
        assert_eq!((Ramp::NONE.joins(3, 4), Ramp::NONE.leaves(3, 4)), (0, None));
        assert_eq!(Ramp::new(0, Some(5)).leaves(3, 4), None);
        assert_eq!(Ramp::new(SECOND, None).leaves(3, 4), None);
    }

    #[test]
    fn a_ramp_has_half_the_operations_of_the_full_rate() {
        let ramp = Ramp::new(2 * SECOND, Some(10 * SECOND));
        let second = SECOND as f64;
        let near = |at: Option<f64>, expected: f64| (at.unwrap() - expected * second).abs() < 10.0;
        assert!(near(ramp.at(0.0), 0.0));
        // By the middle of a ramp, a quarter of its operations have come.
        assert!(near(ramp.at(0.25 * second), 1.0));
        assert!(near(ramp.at(second), 2.0));
        assert!(near(ramp.at(5.0 * second), 6.0));
        assert!(near(ramp.at(9.0 * second), 10.0));
        assert!(near(ramp.at(9.75 * second), 11.0));
        assert_eq!(ramp.at(10.0 * second), None);
        assert_eq!(Ramp::NONE.at(123.0), Some(123.0));
    }

    proptest! {
        #[test]
        fn what_comes_later_is_later(
            length in 0u64..100 * SECOND,
            hold in 0u64..100 * SECOND,
            mut fulls in proptest::collection::vec(0u64..300 * SECOND, 2..50),
        ) {
            let ramp = Ramp::new(length, Some(length + hold));
            fulls.sort_unstable();
            let ats: Vec<_> = fulls.iter().map(|full| ramp.at(*full as f64)).collect();
            for pair in ats.windows(2) {
                match pair {
                    [Some(one), Some(next)] => prop_assert!(one <= next),
                    [None, Some(_)] => prop_assert!(false, "it came after the end"),
                    _ => {}
                }
            }
            let end = (2 * length + hold) as f64;
            if length > 0 {
                prop_assert!(ats.iter().flatten().all(|at| (0.0..=end).contains(at)));
                // Both ramps together are worth one ramp's length at the full rate.
                let all = (length + hold) as f64;
                prop_assert_eq!(ats.iter().filter(|at| at.is_none()).count(),
                    fulls.iter().filter(|full| **full as f64 >= all).count());
            }
        }
    }
}
