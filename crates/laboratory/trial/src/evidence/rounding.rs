//! How exact shares are.

/// To four decimals: more would be noise in the journal. Never a negative zero.
pub(super) fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4 + 0.0
}
