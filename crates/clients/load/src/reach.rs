//! Which of the addresses of a server's name is loaded.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long each of several addresses has to take a connection.
const LIMIT: Duration = Duration::from_secs(2);

/// The address to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub address: SocketAddr,
    /// Those before it, each with why it took no connection.
    pub refused: Vec<String>,
}

/// The first of a name's addresses that takes a connection, in the resolver's order. A single one is not
/// tried, since the probe says more about it.
///
/// # Errors
/// None of them does: each, with why.
pub fn reach(addresses: &[SocketAddr]) -> Result<Reached, String> {
    let mut refused = Vec::new();
    for &address in addresses {
        let tried = match addresses {
            [_] => Ok(()),
            _ => TcpStream::connect_timeout(&address, LIMIT).map(drop),
        };
        match tried {
            Ok(()) => return Ok(Reached { address, refused }),
            Err(error) => refused.push(format!("{address}: {error}")),
        }
    }
    Err(refused.join("; "))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_next_address_is_tried_and_each_refusal_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let gone = TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap();
        let of =
            |addresses: &[SocketAddr]| reach(addresses).map(|at| (at.address, at.refused.len()));
        assert_eq!(of(&[there, gone]), Ok((there, 0)));
        assert_eq!(of(&[gone, gone, there]), Ok((there, 2)));
        assert_eq!(of(&[gone]), Ok((gone, 0)));
        let none = of(&[gone, gone]).unwrap_err();
        assert_eq!(none.matches(&gone.to_string()).count(), 2, "{none}");
    }
}
