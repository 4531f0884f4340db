//! The embedded HTTPS server under test.
//!
//! One thread a CPU, each pinned, each with its own epoll and its own listening sockets
//! (`SO_REUSEPORT`), so that threads share nothing on the way of a request. TLS is that of
//! OpenSSL or rustls, or of a library that is opened. What makes it cheap: encrypted records are gathered and leave in few, large sends;
//! generated objects are encrypted straight from memory; one `epoll_ctl` a connection.
//!
//! It serves `GET` and `HEAD` over HTTP/1.1, HTTP/1.0, HTTP/2 and HTTP/3 (RFC 9110, 9112, 9113, 9114): files from a
//! folder, and the generated objects of the crate `objects`.

mod answer;
mod connection;
mod content;
mod epoll;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod head_watch;
mod input;
mod library;
mod listener;
mod multiplexed;
mod nobody;
mod quic;
mod request;
mod response;
mod settings;
mod transfer;
mod wire;
mod worker;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use congestion::CongestionControl;
use counters::CounterRow;
use cpus::CpuList;
use offload::Accelerator;
use tls::{Mac, Stack, Suite};

pub use error::ServerError;
pub use nobody::become_nobody;
pub use settings::{AcceleratorSource, CertificateSource, Settings};

use content::Contents;
use library::{AnyLibrary, TlsContext};
use listener::Listeners;
use quic::{QuicSettings, UdpSockets};
use worker::{Sockets, Worker};

/// A server whose sockets listen and whose certificate is loaded; it answers once it runs.
pub struct Server {
    library: AnyLibrary,
    service: Service,
}

/// Takes what the operator of a server should know, a sentence, from any of its threads.
pub type Report<'a> = dyn Fn(&str) + Sync + 'a;

/// What a server is, whichever its TLS library.
struct Service {
    settings: Settings,
    /// Where the private key is used, if not on the CPU.
    accelerator: Option<&'static Accelerator>,
    contents: Contents,
    tls: Vec<Listeners>,
    plain: Vec<Listeners>,
    /// HTTP/3, and its sockets by address.
    quic: Option<(QuicSettings, Vec<UdpSockets>)>,
    /// A row of the file of counters for each thread; none where there is no such file.
    rows: Vec<CounterRow>,
}

impl Server {
    /// Makes everything that can fail: the TLS context, the sockets, the certificate's file.
    /// Connections queue from here on and are answered when [`Server::run`] is called.
    ///
    /// # Errors
    /// One line: a suite that the settings cannot serve, a busy port, an unreadable certificate
    /// or folder, a CPU that is not there.
    pub fn bind(settings: Settings) -> Result<Self, ServerError> {
        settings.cpus.check_allowed().map_err(ServerError::Cpus)?;
        let is_refused = |suite: &Suite| settings.send.is_kernels() && suite.mac != Mac::Aead;
        if let Some(suite) = settings.suites.iter().copied().find(|suite| is_refused(suite)) {
            return Err(ServerError::SuiteKernel(suite));
        }
        let congestion = settings.congestion.as_ref();
        congestion.map_or(Ok(()), CongestionControl::check).map_err(ServerError::Congestion)?;
        let contents = Contents::new(settings.root.as_deref())?;
        listener::raise_descriptor_limit();
        let threads = settings.cpus.len();
        let bind = |address: &SocketAddr| Listeners::bind(*address, threads, congestion);
        let (tls, udp) = bind_tls(&settings, threads)?;
        let plain = settings.listen_plain.iter().map(bind).collect::<Result<_, _>>()?;
        // After the ports are known to be free, for making a key may take seconds.
        let identity = settings.certificate.load()?;
        let refused = |source| ServerError::OpenSsl { what: "the accelerator", source };
        let accelerator = match &settings.accelerator {
            Some(AcceleratorSource::Model(model)) => {
                Some(offload::install(model).map_err(refused)?)
            }
            Some(AcceleratorSource::MultiBuffer(batching)) => {
                Some(offload::install_multi_buffer(batching)?)
            }
            Some(AcceleratorSource::Provider(provider, _)) => {
                provider.check().map_err(ServerError::Provider)?;
                offload::load(provider).map_err(refused)?;
                None
            }
            None => None,
        };
        let library = AnyLibrary::new(&settings, &identity)?;
        let quic = match settings.quic {
            true => Some((library.quic(&settings)?, udp)),
            false => None,
        };
        if let Some(path) = &settings.write_certificate {
            let is_new = !path.exists();
            std::fs::write(path, &identity.certificate_pem).map_err(|source| {
                if is_new {
                    // A disk that is full is not to keep half a file.
                    let _ = std::fs::remove_file(path);
                }
                ServerError::WriteCertificate { path: path.clone(), source }
            })?;
        }
        let rows = settings.counters.as_ref().map(|path| {
            counters::create(path, threads)
                .and_then(|()| CounterRow::open(path))
                .map_err(|source| ServerError::Counters { path: path.clone(), source })
        });
        let rows = rows.transpose()?.unwrap_or_default();
        if let Some(row) = rows.first().filter(|_| accelerator.is_some()) {
            // All threads share it, as they share the accelerator.
            offload::count_in(vec![*row]);
        }
        // The stream is made now, so that the first request does not pay for it.
        let _ = objects::slice(0);
        let service = Service { settings, accelerator, contents, tls, plain, quic, rows };
        Ok(Self { library, service })
    }

    /// The addresses of HTTPS; a port is the one that the system chose where 0 was asked for.
    pub fn tls_addresses(&self) -> Vec<SocketAddr> {
        self.service.tls.iter().map(Listeners::address).collect()
    }

    /// The addresses of plain HTTP.
    pub fn plain_addresses(&self) -> Vec<SocketAddr> {
        self.service.plain.iter().map(Listeners::address).collect()
    }

    /// Whether HTTP/3 is served where HTTPS is.
    pub fn has_quic(&self) -> bool {
        self.service.quic.is_some()
    }

    /// The TLS library that it runs on.
    pub fn library(&self) -> Stack {
        self.service.settings.library
    }

    /// What that says of itself where it is no part of toll: its name and version, and the suites and groups that it
    /// does not have.
    pub fn opened(&self) -> Option<(&str, &[&'static str])> {
        self.library.opened()
    }

    /// The library that private keys are used by, with its version, where it is not the TLS library.
    pub fn accelerator(&self) -> Option<&'static str> {
        self.service.accelerator.and_then(Accelerator::library)
    }

    /// Serves until `stop` is true, which is noticed within a quarter of a second; then finishes
    /// the requests in flight, for at most five seconds, and returns.
    ///
    /// The calling thread is one of those that serve, and stays pinned to its CPU: a server on one
    /// CPU is a process of one thread, in which the C library takes no locks.
    ///
    /// `report` is given what its operator should know meanwhile.
    ///
    /// # Errors
    /// A thread that cannot be started or pinned, or whose epoll fails.
    pub fn run(self, stop: &AtomicBool, report: &Report<'_>) -> Result<(), ServerError> {
        match &self.library {
            AnyLibrary::OpenSsl(libraries) => self.service.run(libraries, stop, report),
            AnyLibrary::Kernel(library) => self.service.run(from_ref(library), stop, report),
            AnyLibrary::Rustls(library) => self.service.run(from_ref(library), stop, report),
            AnyLibrary::Opened(library) => self.service.run(from_ref(library), stop, report),
        }
    }
}

impl Service {
    /// Serves with a thread on each CPU: each with its library, or all with the one that there is.
    fn run(
        self,
        libraries: &[impl TlsContext],
        stop: &AtomicBool,
        report: &Report<'_>,
    ) -> Result<(), ServerError> {
        let Self { settings, accelerator, contents, tls, plain, quic, rows } = self;
        let each = |of: Vec<Listeners>| of.into_iter().map(Listeners::into_iter).collect();
        let (mut tls, mut plain): (Vec<_>, Vec<_>) = (each(tls), each(plain));
        let mut rows = rows.into_iter();
        let failed = AtomicBool::new(false);
        let (settings, contents, failed, quic) = (&settings, &contents, &failed, &quic);
        let mut workers = Vec::new();
        let cpus = settings.cpus.as_slice().iter().enumerate();
        for ((thread, &cpu), library) in cpus.zip(libraries.iter().cycle()) {
            let own = |of: &mut Vec<std::vec::IntoIter<OwnedFd>>| -> Vec<OwnedFd> {
                of.iter_mut().filter_map(Iterator::next).collect()
            };
            let sockets = Sockets { tls: own(&mut tls), plain: own(&mut plain), thread };
            let row = rows.next();
            workers.push(move || {
                let serve = || {
                    cpus::pin_current_thread(&CpuList::from(cpu))?;
                    let quic = quic.as_ref();
                    let worker =
                        Worker::new(settings, library, accelerator, contents, sockets, quic, row)?;
                    worker.run(|| stop.load(Relaxed) || failed.load(Relaxed), report)
                };
                let outcome = serve();
                // One thread alone would serve only some of the connections.
                failed.fetch_or(outcome.is_err(), Relaxed);
                outcome
            });
        }
        let own = workers.pop();
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for worker in workers {
                let thread = thread::Builder::new().name("serve".to_owned());
                let thread = thread.spawn_scoped(scope, worker);
                failed.fetch_or(thread.is_err(), Relaxed);
                threads.push(thread);
            }
            let own = own.map_or(Ok(()), |worker| worker());
            threads
                .into_iter()
                .try_fold((), |(), thread| {
                    thread.and_then(|thread| {
                        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    })
                })
                .and(own)
                .map_err(|source| ServerError::Thread { source })
        })
    }
}

/// How often a free port is chosen anew where only TCP's is free.
const ATTEMPTS: usize = 16;

/// The sockets of HTTPS over TCP, and those of HTTP/3 at the same ports, if it is served.
fn bind_tls(
    settings: &Settings,
    threads: usize,
) -> Result<(Vec<Listeners>, Vec<UdpSockets>), ServerError> {
    let (mut tls, mut udp) = (Vec::new(), Vec::new());
    for address in &settings.listen {
        let mut attempts = 0;
        loop {
            let tcp = Listeners::bind(*address, threads, settings.congestion.as_ref())?;
            if !settings.quic {
                tls.push(tcp);
                break;
            }
            attempts += 1;
            match UdpSockets::bind(tcp.address(), threads) {
                Err(ServerError::Busy(_)) if address.port() == 0 && attempts < ATTEMPTS => {}
                sockets => {
                    udp.push(sockets?);
                    tls.push(tcp);
                    break;
                }
            }
        }
    }
    Ok((tls, udp))
}
