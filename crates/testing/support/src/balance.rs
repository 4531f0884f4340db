use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

/// A balancer that gives each of these servers a connection in its turn; of one server a relay, as docker-proxy is.
pub fn balance(servers: &[SocketAddr]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let servers = servers.to_owned();
    std::thread::spawn(move || {
        for (client, server) in listener.incoming().zip(servers.iter().cycle()) {
            let pair = [client.unwrap(), TcpStream::connect(server).unwrap()];
            let copies = pair.each_ref().map(|of| of.try_clone().unwrap());
            for (mut from, mut to) in pair.into_iter().zip(copies.into_iter().rev()) {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}
