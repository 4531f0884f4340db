//! What a server prefers, by one handshake of toll's own with it, on loopback.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use observe::Fact;
use openssl::pkey::Id;
use openssl::ssl::{SslConnector, SslMethod, SslRef, SslVerifyMode};
use serde::{Deserialize, Serialize};
use tls::{CertificateKey, Group};

/// How long each step of it may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was negotiated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preferred {
    pub address: SocketAddr,
    /// `TLSv1.3`.
    pub version: String,
    /// By its IANA name.
    pub suite: String,
    /// `None` where the key exchange has none, or OpenSSL does not show it.
    pub group: Option<Group>,
    pub certificate_key: CertificateKey,
}

impl Preferred {
    pub(crate) fn is_tls13(&self) -> bool {
        self.version == "TLSv1.3"
    }
}

/// Asks the first of the addresses at which the process `pid` listens that is on loopback, of its own network
/// namespace, and speaks TLS.
pub(crate) fn ask(pid: u32, listening: Vec<SocketAddr>, name: Option<String>) -> Fact<Preferred> {
    let asked = observe::within_network_of(pid, move || {
        ask_here(&listening, name.as_deref()).or_why().map_err(io::Error::other)
    });
    asked.map_or_else(Fact::unknown, Fact::Known)
}

fn ask_here(listening: &[SocketAddr], name: Option<&str>) -> Fact<Preferred> {
    let on_loopback = |address: &SocketAddr| match address.ip() {
        ip if ip.is_loopback() => Some(*address),
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Some((Ipv4Addr::LOCALHOST, address.port()).into()),
        // It takes IPv4 too, where the kernel has no IPv6 on loopback.
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Some((Ipv6Addr::LOCALHOST, address.port()).into()),
        _ => None,
    };
    let mut all: Vec<SocketAddr> = listening.iter().filter_map(on_loopback).collect();
    // Where servers usually have TLS, first.
    all.sort_by_key(|address| (![443, 8443].contains(&address.port()), address.port()));
    let mut why = "it does not listen on loopback".to_owned();
    // Some servers refuse clients that name nobody.
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let names = match name {
        Some(name) => vec![Some(name)],
        None => vec![None, Some("localhost"), Some(&*host)],
    };
    for address in all {
        for name in &names {
            match handshake(address, *name).map_err(|error| error.to_string()) {
                Ok(preferred) => return Fact::Known(preferred),
                Err(error) => {
                    let is_refused = error.contains("alert");
                    why = format!("no handshake at {address}: {error}");
                    if !is_refused {
                        break;
                    }
                    why += "; --server-name has the name that clients ask for";
                }
            }
        }
    }
    Fact::unknown(why)
}

fn handshake(address: SocketAddr, name: Option<&str>) -> Result<Preferred, Box<dyn Error>> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
        set(&stream, Some(PATIENCE))?;
    }
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    // Whose certificate it is does not matter here: nothing is sent.
    builder.set_verify(SslVerifyMode::NONE);
    let client = builder.build().configure()?;
    let client = client.verify_hostname(false).use_server_name_indication(name.is_some());
    let mut stream = client.connect(name.unwrap_or("localhost"), stream)?;
    let preferred = negotiated(stream.ssl(), address).ok_or("its certificate cannot be read")?;
    // The server may be gone already.
    let _ = stream.shutdown();
    Ok(preferred)
}

fn negotiated(ssl: &SslRef, address: SocketAddr) -> Option<Preferred> {
    let certificate = ssl.peer_certificate()?.to_der().ok()?;
    let suite = ssl.current_cipher()?;
    let group = ssl.peer_tmp_key().ok().and_then(|key| match key.id() {
        Id::X25519 => Some(Group::X25519),
        Id::EC => [Group::Secp256r1, Group::Secp384r1, Group::Secp521r1]
            .into_iter()
            .find(|group| group.name().contains(&key.bits().to_string())),
        _ => None,
    });
    Some(Preferred {
        address,
        version: ssl.version_str().to_owned(),
        suite: suite.standard_name().unwrap_or_else(|| suite.name()).to_owned(),
        group,
        certificate_key: CertificateKey::of_certificate(&certificate)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn only_loopback_is_asked_and_a_server_without_tls_is_said_to_have_none() {
        let why =
            |at: &[SocketAddr]| ask(std::process::id(), at.to_vec(), None).or_why().unwrap_err();
        assert!(why(&["192.0.2.1:443".parse().unwrap()]).contains("loopback"));
        let plain = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = plain.local_addr().unwrap();
        let answers = std::thread::spawn(move || drop(plain.accept()));
        assert!(why(&[address]).contains(&address.to_string()));
        answers.join().unwrap();
    }
}
