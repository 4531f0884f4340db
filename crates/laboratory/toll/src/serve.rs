use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueHint;
use cpus::CpuList;
use keys::Suggested;
use server::{AcceleratorSource, CertificateSource, Server, Settings};
use targets::{Target, TlsLibrary};
use tls::{Group, Stack, Suite, Version};
use units::Nanos;

use crate::{Exit, Failure, LOAD, OUTPUT, TARGET, TLS, interrupt};

/// Serve objects over HTTPS and HTTP: the built-in server under test.
///
/// It serves the generated objects /bytes/SIZE, such as /bytes/16MiB, and the files of --root.
/// Ctrl-C ends it after the requests in flight; a second Ctrl-C ends it at once.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES, after_help = crate::MORE)]
pub(crate) struct Arguments {
    /// Where to listen for HTTPS, one or more; port 0 takes a free port
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',', default_value = "127.0.0.1:8443", help_heading = TARGET)]
    listen: Vec<SocketAddr>,

    /// Where to listen for plain HTTP too
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',', help_heading = TARGET)]
    listen_plain: Vec<SocketAddr>,

    /// CPUs to serve on, a thread pinned to each, such as 0 or 0,2-5
    ///
    /// [default: all allowed]
    #[arg(long, value_name = "LIST", help_heading = TARGET)]
    cpus: Option<CpuList>,

    /// Folder of files to serve
    ///
    /// A file comes before the generated object of the same path.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = TARGET)]
    root: Option<PathBuf>,

    /// TLS versions to offer: 1.2, 1.3 or both
    ///
    /// [default: those of --suites, or both]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggested::<Version>::new(versions), hide_possible_values = true, help_heading = TLS)]
    tls: Vec<Version>,

    /// Cipher suites to offer, the preferred one first
    ///
    /// By IANA or OpenSSL names [default: the library's].
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggested::<&'static Suite>::new(suites), hide_possible_values = true, help_heading = TLS)]
    suites: Vec<&'static Suite>,

    /// Groups to offer, the preferred one first
    ///
    /// [default: the library's]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggested::<Group>::new(groups), hide_possible_values = true, help_heading = TLS)]
    groups: Vec<Group>,

    #[command(flatten)]
    target: Target,

    /// Certificate, or chain with the leaf first, in PEM form
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "certificate_key", value_hint = ValueHint::FilePath, help_heading = TLS)]
    certificate: Option<PathBuf>,

    /// Private key of --certificate, in PEM form
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath, help_heading = TLS)]
    key: Option<PathBuf>,

    /// Authorities of clients that --client-certificate asks, in PEM form
    #[arg(long, value_name = "FILE", requires = "client_certificate", hide_short_help = true, value_hint = ValueHint::FilePath, help_heading = TLS)]
    client_ca: Option<PathBuf>,

    /// A folder with a certificate NAME.crt for each further name, all of the same key
    ///
    /// A client that asks for NAME (SNI) gets that certificate.
    #[arg(long, value_name = "FOLDER", requires = "key", conflicts_with_all = ["accelerator", "provider"], value_hint = ValueHint::DirPath, hide_short_help = true, help_heading = TLS)]
    names: Option<PathBuf>,

    /// Write the certificate to this file, for clients to trust
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    write_certificate: Option<PathBuf>,

    /// Count what is sent, in this file
    ///
    /// It has 512 bytes per thread, 64 numbers of 64 bits: a version, which is even while no connection is
    /// open; connections by mode; calls and bytes of write and sendfile; 1 where there is an accelerator, or 2
    /// where it computes in batches, seven counts of it, and 45 of batches. `od -A n -v -w512 -t u8 FILE`
    /// prints them.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    counters: Option<PathBuf>,

    /// Serve as the user nobody (65534)
    ///
    /// From when ports, key and files are open, which needs root. Files of --root must be open to all.
    #[arg(long, help_heading = LOAD, hide_short_help = true)]
    as_nobody: bool,

    /// How long a connection may be without progress
    ///
    /// It may be idle, sending the head of a request, or not reading for that long.
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = LOAD)]
    timeout: Nanos,

    /// Print where the server listens as one line of JSON
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

// What completion offers.

fn versions() -> Vec<String> {
    ["1.2", "1.3"].map(str::to_owned).into()
}

fn suites() -> Vec<String> {
    tls::SUITES.iter().map(|suite| suite.name.to_owned()).collect()
}

fn groups() -> Vec<String> {
    Group::ALL.map(|group| group.name().to_owned()).into()
}

const EXAMPLES: &str = "\
Examples:
  toll serve --cpus 0 --write-certificate cert.pem
      on one CPU, for clients with --ca cert.pem or --cacert cert.pem
  toll serve --certificate-key ecdsa:p256 --tls 1.3 --groups x25519
      what handshakes cost with an ECDSA certificate
  toll serve --library rustls-aws-lc --groups X25519MLKEM768
      rustls instead of OpenSSL, with a post-quantum key exchange
  toll serve --quic --library rustls-ring
      HTTP/3 beside HTTP/1.1 and 2
  toll serve --root /srv/www --listen 127.0.0.1:8443 --listen-plain 127.0.0.1:8080
      files of your own, over TLS and without
  toll serve --send ktls-sendfile --root /srv/www --counters counters
      files that the kernel encrypts, and how many connections sent so
  toll serve --suites AES128-SHA --accelerator model --offload asynchronous
      handshakes whose private key is on a modelled accelerator
  toll serve --accelerator multi-buffer
      private keys by Intel's library, eight operations at once (make crypto-mb)
  toll serve --suites AES128-SHA --encrypt-then-mac off --records-per-write 3
      AES-CBC as published measurements have it";

pub(crate) fn main(arguments: Arguments) -> Result<Exit, Failure> {
    let (json, as_nobody) = (arguments.json, arguments.as_nobody);
    let stop = interrupt::flag()?;
    let server = Server::bind(arguments.settings()?).map_err(Failure::request)?;
    if as_nobody {
        server::become_nobody().map_err(Failure::request)?;
    }
    announce(&server, json);
    server.run(&stop, &|text| crate::note(text)).map_err(Failure::measurement)?;
    Ok(Exit::Done)
}

impl Arguments {
    fn settings(self) -> Result<Settings, Failure> {
        let cpus = match self.cpus {
            Some(cpus) => cpus,
            None => crate::allowed_cpus()?,
        };
        if self.timeout.0 == 0 {
            return Err(Failure::request(
                "--timeout 0s would end every connection; use a time such as 30s",
            ));
        }
        let target = self.target;
        let TlsLibrary::Own(library) = target.library else {
            return Err(Failure::request(
                "--library openssl-built is for studies; run LD_LIBRARY_PATH=target/openssl/lib toll serve",
            ));
        };
        if let Some(lacking) = check::kernel_tls_lacking().filter(|_| target.send.is_kernels()) {
            return Err(Failure::request(format!(
                "--send {}: {lacking}, or leave it out",
                target.send
            )));
        }
        let certificate = match (self.certificate, self.key) {
            (Some(certificate), Some(key)) => CertificateSource::Files { certificate, key },
            _ => CertificateSource::Fresh(target.certificate_key),
        };
        Ok(Settings {
            listen: self.listen,
            listen_plain: self.listen_plain,
            quic: target.quic,
            gso: target.gso,
            congestion: target.congestion.clone(),
            cpus,
            root: self.root,
            library,
            versions: self.tls,
            suites: self.suites,
            groups: self.groups,
            certificate,
            ask_client: target.client_certificate,
            client_authorities: self.client_ca,
            names: self.names,
            write_certificate: self.write_certificate,
            tickets: target.tickets,
            session_cache: target.session_cache,
            encrypt_then_mac: target.encrypt_then_mac,
            accelerator: accelerator(&target),
            send: target.send,
            counters: self.counters,
            record_size: target.record_size,
            records_per_write: target.records_per_write,
            library_context: target.library_context,
            timeout: self.timeout.into(),
        })
    }
}

fn accelerator(target: &Target) -> Option<AcceleratorSource> {
    let provider = target.provider.clone();
    let provider = provider.map(|path| AcceleratorSource::Provider(path, target.offload));
    let model = || target.accelerator().map(AcceleratorSource::Model);
    provider.or_else(model).or(target.batching().map(AcceleratorSource::MultiBuffer))
}

/// The library with its version, such as `OpenSSL 3.0.22 25 Aug 2026` or `rustls 0.23.46 with ring`.
fn version(library: Stack) -> String {
    match library {
        Stack::OpenSsl => tls::openssl_version().to_owned(),
        _ => primitives::library::open(library.name())
            .map_or_else(|_| library.to_string(), |library| library.title().to_owned()),
    }
}

fn announce(server: &Server, json: bool) {
    let (tls, plain) = (server.tls_addresses(), server.plain_addresses());
    let (opened, lacks) = server.opened().unzip();
    let version = opened.map_or_else(|| version(server.library()), str::to_owned);
    let text = if json {
        serde_json::json!({
            "tls": tls.first(),
            "plain": plain.first(),
            "pid": std::process::id(),
            "library": server.library(),
            "accelerator": server.accelerator(),
            "version": version,
            "lacks": lacks.unwrap_or_default(),
        })
        .to_string()
    } else {
        let urls =
            |scheme, of: Vec<SocketAddr>| of.into_iter().map(move |at| format!("{scheme}://{at}"));
        let urls: Vec<String> = urls("https", tls).chain(urls("http", plain)).collect();
        let quic = if server.has_quic() { ", HTTP/3 among them," } else { "" };
        format!(
            "Serving {}{quic} with {version}. Ctrl-C ends it. Try:\n  \
             curl --insecure --output /dev/null {}/bytes/16MiB",
            urls.join(" and "),
            urls[0]
        )
    };
    // A reader that has gone away is no reason not to serve.
    let mut stdout = std::io::stdout().lock();
    let _: std::io::Result<()> = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}
