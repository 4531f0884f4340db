//! What the tables, sentences and JSON of `toll bench` share: how it was measured, and how a figure
//! is written.

use primitives::published::{self, Published};
use primitives::row::Measured;
use primitives::sampler::{Quality, too_few_quiet};
use primitives::{Cache, Hardware, Library, Row};
use units::{decimal, places};

/// How it was measured.
pub(crate) struct Context<'a> {
    pub(crate) libraries: &'a [Box<dyn Library>],
    pub(crate) cache: Cache,
    pub(crate) threads: usize,
    pub(crate) hardware: Hardware,
    /// Quiet samples of a row on each CPU that are enough.
    pub(crate) samples: u64,
    /// Or only OpenSSL and the fastest library of each algorithm.
    pub(crate) shows_all: bool,
}

impl Context<'_> {
    /// Whether enough of a figure's samples were quiet for it to be compared with others.
    pub(crate) fn is_comparable(&self, measured: &Measured) -> bool {
        let enough = self.samples * self.threads as u64;
        measured.quality != Quality::Disturbed
            && !too_few_quiet(measured.quiet(), measured.taken(), enough)
    }
}

/// Marks a figure that is too high.
pub(crate) const MARK: &str = "!";

/// The rate of what goes over bytes.
pub(crate) fn gigabytes(measured: &Measured) -> String {
    format!("{:.2}", measured.bytes_per_s.unwrap_or_default() / 1e9)
}

/// Four digits, with one to three decimals.
pub(crate) fn significant(cycles: f64) -> String {
    decimal(cycles, places(cycles, 4).clamp(1, 3))
}

pub(crate) fn mark(measured: &Measured) -> &'static str {
    if measured.quality == Quality::Disturbed { MARK } else { "" }
}

/// The published figure that belongs beside a row: of the same size, and of as many buffers.
pub(crate) fn reference(row: &Row, measured: &Measured) -> Option<published::Reference> {
    let kind =
        if measured.messages_per_op > 1 { Published::ManyBuffers } else { Published::OneStream };
    let same_size = row.key.size_bytes == Some(published::SIZE);
    same_size.then(|| published::reference(row.key.algorithm, kind)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_digits() {
        assert_eq!(significant(0.19712), "0.197");
        assert_eq!(significant(12.3456), "12.35");
        assert_eq!(significant(123.456), "123.5");
        assert_eq!(significant(1170.12), "1,170.1");
    }
}
