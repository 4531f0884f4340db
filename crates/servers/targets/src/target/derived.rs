//! What follows from the keys of a target.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use cpus::CpuList;
use objects::{Files, Storage};
use offload::{Batching, Description, Kind, Way};

use super::Target;
use crate::{Backend, TlsLibrary, library};

impl Target {
    /// The modelled accelerator of its private keys, where it has one.
    pub fn accelerator(&self) -> Option<Description> {
        let preferred = || self.server.completions.first().copied();
        (self.accelerator == Kind::Model).then(|| Description {
            way: self.offload,
            completed_by: self.accelerator_completion.or_else(preferred).unwrap_or_default(),
            rates: self.accelerator_rate.clone(),
            latency: self.accelerator_latency,
            queue: self.accelerator_queue,
            engines: self.accelerator_count,
        })
    }

    /// How Intel's multi-buffer library is used, where it has its private keys.
    pub fn batching(&self) -> Option<Batching> {
        let (way, wait) = (self.offload, self.batch_wait);
        (self.accelerator == Kind::MultiBuffer).then_some(Batching { way, wait })
    }

    /// Whether something other than its TLS library uses the private keys.
    pub fn has_device(&self) -> bool {
        self.accelerator != Kind::None || self.provider.is_some()
    }

    /// Whether handshakes wait for private keys while the server does other work.
    pub(crate) fn pauses_handshakes(&self) -> bool {
        self.has_device() && self.offload == Way::Asynchronous
    }

    /// The folder that its OpenSSL comes from, where that is not the system's.
    pub fn library_folder(&self) -> Option<PathBuf> {
        match self.library {
            TlsLibrary::Built => Some(library::built_folder()),
            TlsLibrary::Own(_) => self.library_path.folder().cloned(),
        }
    }

    /// How requests go to its backend, where it has one.
    pub fn backend(&self) -> Option<Backend> {
        self.backend.or(self.server.backend)
    }

    /// Whether it serves other files than the objects that all servers have.
    pub(super) fn has_files(&self) -> bool {
        self.storage == Storage::Disk || self.files.get() > 1
    }

    /// These files.
    pub fn files(&self) -> Option<Files> {
        let sizes = self.object.sizes().filter(|_| self.has_files())?;
        let [size] = sizes[..] else { return None };
        Some(Files { storage: self.storage, size, count: self.files })
    }

    /// The CPUs that the server is pinned to, where toll does that.
    pub fn pinned_to(&self) -> Option<&CpuList> {
        self.server.is_started().then_some(&self.cpus)
    }

    /// Those of them that are this machine's.
    pub fn pinned_here(&self) -> Option<&CpuList> {
        self.pinned_to().filter(|_| self.host.is_none())
    }

    /// The addresses at which it listens.
    pub fn addresses(&self) -> Vec<IpAddr> {
        match self.listen.is_empty() {
            true => vec![Ipv4Addr::LOCALHOST.into()],
            false => self.listen.clone(),
        }
    }
}
