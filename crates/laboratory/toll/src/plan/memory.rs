//! What open connections take, by trials of a server that has had no load before.

use journal::TrialLine;
use serde::Serialize;
use stats::Estimate;
use study::Metric;

use super::parts::{MEMORY, estimate};

/// Memory for the connections that are open at a time.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Memory {
    pub(super) open_connections: u32,
    /// Of the server's processes for one, in bytes.
    pub(super) each_bytes: Estimate,
    /// Of the kernel in the buffers of one.
    pub(super) each_buffer_bytes: Estimate,
}

impl Memory {
    /// `None` where no trial has a figure.
    pub(super) fn of(open_connections: u32, lines: &[TrialLine]) -> Option<Self> {
        let of = |metric| estimate(lines, MEMORY, metric);
        let each_bytes = of(Metric::MemoryPerConnection)?;
        let each_buffer_bytes = of(Metric::SocketBuffersPerConnection)?;
        Some(Self { open_connections, each_bytes, each_buffer_bytes })
    }
}

#[cfg(test)]
mod tests {
    use trial::ConnectionMemory;

    use super::*;

    #[test]
    fn trials_without_a_figure_are_left_out_and_alone_they_are_none() {
        let line = |memory| {
            let mut line = journal::testing::example();
            line.place.case = MEMORY.to_owned();
            line.line.connection_memory = memory;
            line
        };
        let grown = ConnectionMemory {
            connections: 1_500,
            process_bytes: 1_500 * 30_000,
            socket_buffer_bytes: 1_500 * 512,
        };
        let found = Memory::of(40_000, &[line(Some(grown)), line(None)]).unwrap();
        assert_eq!((found.each_bytes.median, found.each_buffer_bytes.median), (30_000.0, 512.0));
        assert!(Memory::of(40_000, &[line(None)]).is_none());
    }
}
