//! The lanes of a call, and what each comes to.

/// How many operations one call does.
pub const LANES: usize = 8;

/// The lane of an operation whose result is not there, or is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The library refused the operation, with this status.
    #[error("crypto_mb refused an operation with status {0}")]
    Refused(u8),
    /// The public key does not lead back to what the private one was given, or the result is none that can be.
    #[error("crypto_mb gave a wrong result")]
    Wrong,
}

/// `mbx_status`: four bits for each lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statuses(pub(crate) u32);

impl Statuses {
    pub(crate) fn of_lane(self, lane: usize) -> Result<(), Fault> {
        match (self.0 >> (4 * lane)) & 0xf {
            0 => Ok(()),
            status => Err(Fault::Refused(status as u8)),
        }
    }
}

/// The addresses of up to eight buffers; lanes without one are null, which the library leaves alone.
pub(crate) fn lanes<T, P>(
    of: impl IntoIterator<Item = T>,
    place: impl Fn(T) -> *const P,
) -> [*const P; LANES] {
    let mut lanes = [std::ptr::null(); LANES];
    for (lane, one) in lanes.iter_mut().zip(of) {
        *lane = place(one);
    }
    lanes
}
