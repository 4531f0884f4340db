//! What a server or its machine lacks for a target.

use std::net::IpAddr;

use keys::WrongValue;
use objects::{MOST_FILES, Storage};
use offload::{Batching, Way};
use tls::{CertificateKey, LibraryContext, SendMode, Stack};

use super::{MOST_NAMES, Target};
use crate::TlsLibrary;
use crate::known_servers::EMBEDDED;

impl Target {
    /// # Errors
    /// What its server lacks.
    pub fn check(&self) -> Result<(), WrongValue> {
        let server = self.server;
        self.check_host()?;
        if !server.sends.contains(&self.send) {
            return wrong(
                "send",
                format!(
                    "target.send = {}, but toll knows no way to have {server} send with the \
                     kernel's TLS; write user, or use embedded or nginx",
                    self.send
                ),
            );
        }
        if self.backend().is_some() && self.send == SendMode::KtlsSendfile {
            let why = "target.send = ktls-sendfile, but what comes from target.backend lies in no file; write \
                       ktls-write or user, or leave target.backend out";
            return wrong("send", why.to_owned());
        }
        let stacks = server.stacks;
        if !stacks.is_empty() && !stacks.contains(&self.library.stack()) {
            return wrong(
                "library",
                format!(
                    "target.library = {}, but {server} runs on OpenSSL; write openssl or \
                     openssl-built, or use embedded",
                    self.library
                ),
            );
        }
        let is_embedded = server.name() == EMBEDDED.name();
        let is_rustls = matches!(self.library.stack(), Stack::RustlsRing | Stack::RustlsAwsLc);
        if self.quic && is_embedded && !is_rustls {
            let why = format!(
                "target.quic = true, but toll's server has QUIC with rustls alone, not {}; write target.library = \
                 rustls-ring or rustls-aws-lc",
                self.library
            );
            return wrong("quic", why);
        }
        if self.send.is_kernels() && self.library.stack() != Stack::OpenSsl {
            return wrong(
                "send",
                format!(
                    "target.send = {}, but only OpenSSL gives its keys to the kernel, not {}; write \
                     user, or use target.library = openssl",
                    self.send, self.library
                ),
            );
        }
        let is_apart = self.library_context == LibraryContext::PerThread;
        let is_other =
            self.library.stack() != Stack::OpenSsl || self.has_device() || self.send.is_kernels();
        if is_apart && (is_other || self.session_cache) {
            let why = "target.library-context = per-thread, but threads with OpenSSL contexts of their own share no \
                       session cache, accelerator or kernel TLS; write target.session-cache = false and leave the \
                       others out"
                .to_owned();
            return wrong("library-context", why);
        }
        let is_ml_dsa = matches!(self.certificate_key, CertificateKey::MlDsa(_));
        let has_names = self.names.is_some();
        if is_ml_dsa && (has_names || server.is_started() && !is_embedded) {
            let why = format!(
                "target.certificate-key = {}, which toll makes for embedded alone, without names; write another \
                 key",
                self.certificate_key
            );
            return wrong("certificate-key", why);
        }
        // TLS libraries refuse to sign with smaller ones, or to verify them.
        let of_client = self.client_certificate_key;
        if matches!(of_client, CertificateKey::Rsa(..2048) | CertificateKey::MlDsa(_)) {
            let why = format!(
                "target.client-certificate-key = {}, but toll's client signs with RSA from 2048 bits on, ECDSA and \
                 Ed25519; write rsa:2048",
                of_client
            );
            return wrong("client-certificate-key", why);
        }
        // On a host, its agent checks it.
        if let Some(control) = self.congestion.as_ref().filter(|_| self.host.is_none()) {
            let why = |why| format!("target.congestion = {control}: {why}");
            control.check().map_err(|it| WrongValue { key: "congestion", why: why(it) })?;
        }
        if self.has_device() {
            self.check_offload()?;
        }
        if self.files.get() > MOST_FILES {
            let why = format!("target.files = {}; give at most {MOST_FILES}", self.files);
            return wrong("files", why);
        }
        if let Some(names) = self.names.filter(|names| names.get() > MOST_NAMES) {
            let why = format!("target.names = {names}; give at most {MOST_NAMES}");
            return wrong("names", why);
        }
        if self.names.is_some() && self.has_device() {
            let why = "target.names, but each of their certificates would load the key into the \
                       accelerator; leave the names or the accelerator out"
                .to_owned();
            return wrong("names", why);
        }
        if self.has_files() && self.files().is_none() {
            let why = format!(
                "target.object = {}, but different files and files on disk have one size; write one",
                self.object
            );
            return wrong("object", why);
        }
        let needed = [("command", self.command.is_some()), ("url", self.url.is_some())];
        match needed.iter().find(|(key, is_said)| server.has_own(key) && !is_said) {
            None => Ok(()),
            Some((key, _)) => wrong(
                "server",
                format!("target.server = {server} lacks target.{key}; write it too"),
            ),
        }
    }

    fn check_offload(&self) -> Result<(), WrongValue> {
        if self.library != TlsLibrary::default() {
            let why = format!(
                "target.library = {}, but the accelerator is one of the system's OpenSSL; write \
                 openssl, or use target.accelerator = none",
                self.library
            );
            return wrong("library", why);
        }
        let (server, completions) = (self.server, self.server.completions);
        if self.pauses_handshakes() && completions.is_empty() && server.is_configured() {
            let why = format!(
                "target.offload = {}, but {server} never pauses a handshake: its workers wait for \
                 private keys; write synchronous, or use embedded or haproxy",
                self.offload
            );
            return wrong("offload", why);
        }
        let completion = self.accelerator_completion;
        if let Some(completion) = completion.filter(|completion| !completions.contains(completion))
        {
            let why = format!(
                "target.accelerator-completion = {completion}, but {server} waits for descriptors; \
                 write event"
            );
            return wrong("accelerator-completion", why);
        }
        if self.provider.is_some() && self.offload == Way::Inline {
            let why = "target.offload = inline, but a provider answers when it does; write \
                       asynchronous or synchronous"
                .to_owned();
            return wrong("offload", why);
        }
        if let Some(batching) = self.batching() {
            self.check_batching(batching)?;
        }
        let key = self.certificate_key;
        let is_fit = match (self.accelerator(), self.batching()) {
            (Some(model), _) => model.check_key(key),
            (None, Some(batching)) => batching.check_key(key),
            (None, None) => Ok(()),
        };
        is_fit.map_err(|why| WrongValue {
            key: "certificate-key",
            why: format!(
                "target.certificate-key = {}: the accelerator {why}",
                self.certificate_key
            ),
        })
    }

    fn check_batching(&self, batching: Batching) -> Result<(), WrongValue> {
        if batching.way == Way::Inline {
            let why = "target.offload = inline, but the multi-buffer library is no model: it answers when it \
                       has computed; write asynchronous or synchronous"
                .to_owned();
            return wrong("offload", why);
        }
        if !self.server.completions.is_empty() {
            return Ok(());
        }
        let why = format!(
            "target.accelerator = multi-buffer, but {} pauses no handshake, so that it has no batches; use \
             embedded or haproxy",
            self.server
        );
        wrong("accelerator", why)
    }

    /// Refuses hosts that its server cannot run on, and addresses that cannot be loaded.
    fn check_host(&self) -> Result<(), WrongValue> {
        let Some(host) = &self.host else { return Ok(()) };
        if !self.server.listens_anywhere {
            let why = format!(
                "target.host = {host}, but {} listens on loopback only; use another server",
                self.server
            );
            return wrong("host", why);
        }
        if self.command.as_ref().is_some_and(|line| !line.has_address()) {
            let why = format!(
                "target.host = {host}, but target.command does not say where its server listens; write \
                 {{address}} where the address belongs"
            );
            return wrong("command", why);
        }
        if self.cores.is_some() {
            let why = "target.cores counts the cores of this machine; for a host write target.cpus";
            return wrong("cores", why.to_owned());
        }
        if self.storage == Storage::Disk {
            let why = format!(
                "target.storage = disk, but the disk of target.host = {host} is not known; write \
                 memory"
            );
            return wrong("storage", why);
        }
        if let Some(address) = self.listen.iter().find(|address| address.is_unspecified()) {
            let why = format!(
                "target.listen = {address} is every address of the host; write those that are to be \
                 loaded, such as 10.1.1.1"
            );
            return wrong("listen", why);
        }
        let is_twice = |(place, address): (usize, &IpAddr)| self.listen[..place].contains(address);
        match self.listen.iter().enumerate().find(|listed| is_twice(*listed)) {
            Some((_, address)) => {
                wrong("listen", format!("target.listen has {address} twice; leave one out"))
            }
            None => Ok(()),
        }
    }
}

fn wrong(key: &'static str, why: String) -> Result<(), WrongValue> {
    Err(WrongValue { key, why })
}
