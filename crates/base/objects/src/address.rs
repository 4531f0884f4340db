//! Which addresses may be loaded.

use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why the host's name gives no address to load.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The name has no address.
    #[error("{0}; check the host name")]
    Resolve(#[from] io::Error),
    /// One of the addresses belongs to another host.
    #[error("it is at {0}, which is not this machine's loopback")]
    Foreign(IpAddr),
}

/// The first address, if all may be loaded: other programs resolve the name themselves and may use
/// any of them.
pub(crate) fn choose(
    addresses: &[SocketAddr],
    i_operate_this_host: bool,
) -> Result<SocketAddr, AddressError> {
    let is_foreign = |address: &&SocketAddr| !address.ip().to_canonical().is_loopback();
    match addresses.iter().find(is_foreign) {
        Some(foreign) if !i_operate_this_host => Err(AddressError::Foreign(foreign.ip())),
        _ => {
            let first = addresses.first().copied();
            first.ok_or_else(|| io::Error::other("the name has no address").into())
        }
    }
}
