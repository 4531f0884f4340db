//! A difference with its direction.
//!
//! What is taken and what is given are the same number with another sign. Words such as "costs" and
//! "more" state that sign, so a number next to them has none. Here the two are chosen
//! together: there is no way to the amount that does not name its direction.

use crate::figure::Figure;

/// Where a difference lies, by its whole interval; an amount is above zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Signed {
    /// Above zero by so much.
    Above(Figure),
    /// Below zero by so much.
    Below(Figure),
    /// The interval contains zero. The figure has its sign.
    Around(Figure),
}

impl Signed {
    pub(crate) fn of(difference: &Figure) -> Self {
        let interval = difference.estimate.interval;
        // The samples of a figure are finite, and so are their opposites.
        let opposite = difference.map(|difference| -difference);
        match opposite {
            _ if interval.low > 0.0 => Self::Above(difference.clone()),
            Some(amount) if interval.high < 0.0 => Self::Below(amount),
            _ => Self::Around(difference.clone()),
        }
    }

    /// The same, where there are as many trials as an interval takes; with fewer no direction is shown.
    pub(crate) fn of_sure(difference: &Figure) -> Self {
        match difference.is_sure() {
            true => Self::of(difference),
            false => Self::Around(difference.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: &[f64]) -> (Signed, Signed) {
        let figure = Figure::of(samples.to_vec()).unwrap();
        (Signed::of(&figure), Signed::of_sure(&figure))
    }

    #[test]
    fn the_direction_is_that_of_the_whole_interval() {
        let median = |of: &Signed| match of {
            Signed::Above(amount) => (1, amount.median()),
            Signed::Below(amount) => (-1, amount.median()),
            Signed::Around(figure) => (0, figure.median()),
        };
        for (sample, direction, amount) in [(0.13, 1, 0.13), (-0.13, -1, 0.13), (0.0, 0, 0.0)] {
            let (signed, sure) = of(&[sample; 6]);
            assert_eq!(
                (median(&signed), median(&sure)),
                ((direction, amount), (direction, amount))
            );
        }
        let across = [-0.2, -0.1, -0.1, -0.1, -0.1, 0.1];
        assert_eq!(median(&of(&across).0), (0, -0.1));
        // Five trials have a direction, and none that is sure.
        let (signed, sure) = of(&[-0.13; 5]);
        assert_eq!((median(&signed), median(&sure)), ((-1, 0.13), (0, -0.13)));
    }
}
