//! Keys that a server has no use for.

use keys::{Conflict, Force};
use offload::{Kind, Way};

use super::Target;
use crate::{Backend, System, TlsLibrary};

impl Target {
    /// The keys that its server has no use for, whatever their values are.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        let mut add = |cause, why: &str, keys: &[&'static str]| {
            conflicts.extend(keys.iter().map(|key| Conflict {
                cause,
                why: why.to_owned(),
                key,
                force: Force::Opposite,
            }));
        };
        for key in keys::names::<Self>().iter().filter(|key| !self.server.uses(key)) {
            add("server", "has no use for that key", &[key]);
        }
        let is_opened = self.library.stack().file().is_some();
        if self.library != TlsLibrary::default() && !is_opened {
            add("library", "says where it comes from", &["library-path"]);
        }
        if self.system != System::Here {
            let why = "comes with programs and libraries of its own, on this machine";
            add(
                "system",
                why,
                &["host", "program", "library", "library-path", "accelerator", "provider"],
            );
        }
        if self.host.is_none() {
            add("host", "is this machine, whose servers listen on loopback", &["listen"]);
        }
        if self.backend().is_none() {
            let keys = ["backend-connections", "backend-verify"];
            add("backend", "is left open, so that the server has the files", &keys);
        } else {
            add("backend", "passes requests on", &["storage", "files", "sendfile"]);
        }
        if self.backend() == Some(Backend::Plain) {
            add("backend", "shows no certificate", &["backend-verify"]);
        }
        if !self.quic {
            add("quic", "serves no HTTP/3", &["gso"]);
        }
        if self.send.is_kernels() {
            add("send", "decides whether sendfile is used", &["sendfile"]);
        }
        let device = [
            "accelerator-rate",
            "accelerator-latency",
            "accelerator-queue",
            "accelerator-count",
            "accelerator-completion",
        ];
        if self.accelerator != Kind::MultiBuffer {
            add("accelerator", "does not compute in batches", &["batch-wait"]);
        }
        if self.accelerator == Kind::None {
            let why = "uses private keys on the CPU";
            if self.provider.is_none() {
                add("accelerator", why, &["offload"]);
            }
            add("accelerator", why, &device);
        } else {
            add("accelerator", "has a provider of its own", &["provider"]);
            if self.accelerator == Kind::MultiBuffer {
                add("accelerator", "is as fast as the CPU", &device);
            }
            match self.offload {
                _ if self.accelerator == Kind::MultiBuffer => {}
                Way::Asynchronous => {}
                Way::Synchronous => add("offload", "pauses no handshake", &device[4..]),
                Way::Inline => add("offload", "answers at once, without a device", &device),
            }
        }
        conflicts
    }
}
