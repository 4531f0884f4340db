//! What open connections take of the memory of a server's machine.

use observe::OpenSockets;
use serde::{Deserialize, Serialize};

/// The fewest connections of which the memory of one is told. Beside them a server's memory moves by some
/// hundred KiB, for pages that it maps for the first time and caches that grow: a fifth of a KiB of each.
pub const LEAST_CONNECTIONS: u64 = 1_000;

/// What a server had at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReading {
    /// Proportional set sizes of its processes together.
    pub process_bytes: u64,
    pub sockets: OpenSockets,
}

/// By how much a server's memory grew with its connections, of the first load of its processes: memory that
/// connections free stays with a process, and so later ones seem to need less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionMemory {
    /// Those that were open at its end of them when it was looked at, shortly before the window's end.
    pub connections: u64,
    /// Of its processes: the sum of their proportional set sizes.
    pub process_bytes: u64,
    /// Of the kernel, in the buffers of its ends of them.
    pub socket_buffer_bytes: u64,
}

impl ConnectionMemory {
    /// `None` where there were too few to tell it from what else moves, or the server did not grow.
    pub fn since(before: &MemoryReading, now: &MemoryReading) -> Option<Self> {
        let connections = now.sockets.count.checked_sub(before.sockets.count)?;
        let process_bytes = now.process_bytes.checked_sub(before.process_bytes)?;
        let buffers = |of: &MemoryReading| of.sockets.buffer_bytes;
        (connections >= LEAST_CONNECTIONS).then(|| Self {
            connections,
            process_bytes,
            socket_buffer_bytes: buffers(now).saturating_sub(buffers(before)),
        })
    }

    /// Of one connection in the server's processes, in bytes.
    pub fn each(&self) -> f64 {
        self.process_bytes as f64 / self.connections as f64
    }

    /// Of one in the buffers of the kernel.
    pub fn each_in_buffers(&self) -> f64 {
        self.socket_buffer_bytes as f64 / self.connections as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(process_bytes: u64, count: u64, buffer_bytes: u64) -> MemoryReading {
        MemoryReading { process_bytes, sockets: OpenSockets { count, buffer_bytes } }
    }

    #[test]
    fn growth_is_shared_among_the_connections_that_came() {
        let found =
            ConnectionMemory::since(&reading(5 << 20, 10, 0), &reading(45 << 20, 2_010, 4_000));
        let found = found.unwrap();
        assert_eq!(
            (found.connections, found.each(), found.each_in_buffers()),
            (2_000, 20_971.52, 2.0)
        );
    }

    #[test]
    fn too_few_connections_and_a_server_that_shrinks_have_no_figure() {
        let before = reading(5 << 20, 0, 0);
        assert_eq!(
            ConnectionMemory::since(&before, &reading(50 << 20, LEAST_CONNECTIONS - 1, 0)),
            None
        );
        assert_eq!(ConnectionMemory::since(&before, &reading(4 << 20, 5_000, 0)), None);
        assert_eq!(ConnectionMemory::since(&reading(0, 5_000, 0), &reading(9, 10, 0)), None);
    }
}
