//! A relay of datagrams between the client and a server, which loses, adds and moves what a test says.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use super::running::Running;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    Client,
    Server,
}

/// Where a rule passes datagrams on.
pub struct Ends<'r> {
    front: &'r UdpSocket,
    back: &'r UdpSocket,
    /// The relay's, for the client.
    pub address: SocketAddr,
    /// The last address that the client has sent from.
    pub client: SocketAddr,
}

impl Ends<'_> {
    /// Passes on what came from this sender, or might have.
    pub fn pass(&self, sender: Sender, datagram: &[u8]) {
        // Who has closed its socket needs no more datagrams.
        let _ = match sender {
            Sender::Client => self.back.send(datagram),
            Sender::Server => self.front.send_to(datagram, self.client),
        };
    }
}

/// It runs until it is dropped, and serves one connection of the client at a time.
pub struct Relay {
    /// For the client.
    pub address: SocketAddr,
    _running: Running,
}

impl Relay {
    /// The rule does with each datagram as it likes.
    pub fn start(
        server: SocketAddr,
        mut rule: impl FnMut(&Ends<'_>, Sender, &[u8]) + Send + 'static,
    ) -> Self {
        let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (front, back) = (socket(), socket());
        let address = front.local_addr().unwrap();
        back.connect(server).unwrap();
        front.set_nonblocking(true).unwrap();
        back.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let running = Running::start(move |is_over| {
            let mut bytes = vec![0; 65_535];
            let mut ends = Ends { front: &front, back: &back, address, client: address };
            while !is_over.load(SeqCst) {
                while let Ok((length, client)) = front.recv_from(&mut bytes) {
                    ends.client = client;
                    rule(&ends, Sender::Client, &bytes[..length]);
                }
                if let Ok(length) = back.recv(&mut bytes) {
                    rule(&ends, Sender::Server, &bytes[..length]);
                }
            }
        });
        Self { address, _running: running }
    }
}
