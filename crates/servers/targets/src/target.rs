//! The description of a server under test. What `[target]` of a study says is read into one struct,
//! [`Target`]; a new option is a field of it. The keys that are flags of `toll serve` too are read
//! into the same struct there.

mod check;
mod conflicts;
mod derived;

use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::LazyLock;

use clap::{ArgAction, Args as _, Command, FromArgMatches as _};
use congestion::CongestionControl;
use cpus::CpuList;
use keys::Suggested;
use objects::{HostPort, Mix, Storage, Url};
use offload::{CompletedBy, Description, Kind, ProviderPath, Rates, Way};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use tls::{
    AskClient, CertificateKey, LibraryContext, RecordSize, RecordsPerWrite, SendMode, Stack,
};
use units::{Bytes, Nanos};

use crate::known_servers::EMBEDDED;
use crate::{
    Aes, Backend, BackendConnections, CommandLine, Crypto, Directives, Environment, Host,
    LibraryPath, ProgramPath, Server, ServerPid, System, TlsLibrary, WarmUp,
};

/// A server under test. What is `None` is left open.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Target {
    /// `embedded` (built in), `nginx`, `apache`, `haproxy`, `caddy`, `tomcat`, `command` or `address` (see below).
    /// [default: an error]
    #[arg(skip = &EMBEDDED)]
    #[serde(with = "by_name")]
    pub server: &'static Server,
    /// What happens where the server or the client is not installed, or the server's TLS library refuses the
    /// key: `skip` its cells, or `fail` before anything is measured.
    #[arg(skip = IfMissing::Skip)]
    pub if_missing: IfMissing,
    /// The machine that it runs on, as ssh names it, `server` or `me@server`: toll starts it there over ssh
    /// ([remote-server.md](remote-server.md)). [default: this machine]
    #[arg(skip)]
    pub host: Option<Host>,
    /// With `host`: addresses at which the server listens there, `["10.1.1.1"]`; toll checks that each is
    /// that machine's before it sends anything, and loads the first. [default: the address at which ssh
    /// reached the machine]
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "addresses")]
    pub listen: Vec<IpAddr>,
    /// Its CPUs, a worker pinned to each: `0` or `0,2-5`. [default: the first CPU that toll may use]
    // `toll serve` has a flag of its own, whose default is all that it may use.
    #[arg(skip = CpuList::from(0))]
    pub cpus: CpuList,
    /// How many cores the server has, a count that can be swept: the first ones of `cpus`, in the order
    /// given; without `cpus`, of all that toll may use but the client's, sockets in turn, cores that the
    /// client uses last. [default: as many CPUs as `cpus` has]
    #[arg(skip)]
    pub cores: Option<NonZeroUsize>,
    /// With `cores`: `1` gives the server one CPU of each core, `2` both hyperthreads. [default: `1`]
    #[arg(skip)]
    pub threads_per_core: Option<ThreadsPerCore>,

    /// Key of a certificate that is made for this run, such as ecdsa:p256
    ///
    /// rsa:1024, rsa:2048, rsa:3072, rsa:4096, ecdsa:p256, ecdsa:p384, ed25519, ml-dsa:44, ml-dsa:65 or ml-dsa:87.
    // In studies: ML-DSA with `embedded`, and `library = "rustls-aws-lc"` or an OpenSSL from 3.5 on.
    #[arg(long, value_name = "KIND", default_value_t = CertificateKey::Rsa(2048), value_parser = Suggested::<CertificateKey>::new(certificate_keys), hide_possible_values = true, help_heading = TLS)]
    pub certificate_key: CertificateKey,

    /// Whether clients are asked for a certificate: none, ask or require
    ///
    /// ask (one is verified where the client has it), require (no client is served without one).
    // In studies: With `embedded`, `nginx`, `apache` or `haproxy`. toll makes an authority and a client
    // certificate, which its client sends then
    // ([client.md](client.md#what-does-a-client-certificate-cost)).
    #[arg(long, value_name = "HOW", default_value_t, value_parser = Suggested::<AskClient>::new(ask_client), hide_possible_values = true, hide_short_help = true, help_heading = TLS)]
    pub client_certificate: AskClient,
    /// With `client-certificate`: the key of the certificate that toll makes for the client, and of its authority, as
    /// in `certificate-key`.
    #[arg(skip = CertificateKey::EcdsaP256)]
    pub client_certificate_key: CertificateKey,

    /// TLS library: openssl, rustls-ring, rustls-aws-lc, or one that is opened, such as gnutls
    ///
    /// openssl, rustls-ring and rustls-aws-lc are built in. gnutls and wolfssl come from the system; aws-lc,
    /// boringssl, s2n-tls and a faster wolfssl from make stacks.
    // In studies: `openssl-built` is that of `make openssl`; all but OpenSSL run with `server = "embedded"`
    // ([which](libraries.md)).
    #[arg(long, value_name = "NAME", default_value_t, value_parser = Suggested::<TlsLibrary>::new(libraries), hide_possible_values = true, help_heading = TLS)]
    pub library: TlsLibrary,

    /// The size of the objects that are asked for, or several with their shares of the requests: `"1KiB 90%,
    /// 1MiB 9.5%, 16MiB 0.5%"`.
    #[arg(skip = Mix::of_size(OBJECT))]
    #[serde(deserialize_with = "generated")]
    pub object: Mix,

    /// Where nginx's files are: `memory` (tmpfs), or `disk`, in the result folder until the run ends; the
    /// kernel's cache of them is dropped before each trial
    /// ([how](figures.md#are-files-on-a-disk-read-from-there)).
    #[arg(skip)]
    pub storage: Storage,
    /// How many different files of the object's size are asked for, with nginx: each load thread asks for
    /// them in a random order of its own, for all before it repeats one.
    #[arg(skip = NonZeroU32::MIN)]
    pub files: NonZeroU32,

    /// With `haproxy` or `nginx`: how requests go to a backend, toll's server in a process of its own, `plain` or
    /// `tls` (TLS 1.3, AES-128-GCM, X25519, an ECDSA P-256 certificate). Its CPU time is not the server's
    /// ([how](#servers)). [default: `plain` with `haproxy`; with `nginx` none, it has the files]
    #[arg(skip)]
    pub backend: Option<Backend>,
    /// With a backend: whether connections to it are `kept`, or each request has a `new` one, over TLS with a full
    /// handshake.
    #[arg(skip)]
    pub backend_connections: BackendConnections,
    /// With `backend = "tls"`: whether the server verifies the backend's certificate.
    #[arg(skip = true)]
    pub backend_verify: bool,

    /// With embedded, nginx or haproxy: how many names the server has, each with a certificate of its own, all
    /// of one key. Each connection asks for one of them. [default: none; all ask for its address]
    #[arg(skip)]
    pub names: Option<NonZeroU32>,

    /// Give session tickets; off also means no resumption in TLS 1.3
    #[arg(long, value_name = "on|off", default_value = "off", action = ArgAction::Set, value_parser = keys::on_or_off(), hide_possible_values = true, help_heading = TLS)]
    pub tickets: bool,

    /// Keep sessions of TLS 1.2 for resumption by identifier
    #[arg(long, value_name = "on|off", default_value = "off", action = ArgAction::Set, value_parser = keys::on_or_off(), hide_possible_values = true, help_heading = TLS)]
    pub session_cache: bool,

    /// Agree to encrypt-then-MAC (RFC 7366) in CBC suites
    ///
    /// As OpenSSL does by itself.
    // Off in studies: published measurements of CBC are without it.
    #[arg(long, value_name = "on|off", default_value = "on", action = ArgAction::Set, value_parser = keys::on_or_off(), hide_possible_values = true, help_heading = TLS)]
    pub encrypt_then_mac: bool,

    /// Where private keys are used: none (on the CPU by OpenSSL), multi-buffer (on the CPU by Intel's
    /// library), or model (a modelled accelerator)
    ///
    /// multi-buffer does eight operations at once (RSA, ECDSA, X25519, ECDH); it needs make crypto-mb and a CPU
    /// with AVX-512 IFMA. The model answers what it has decrypted before; it needs TLS 1.2 with static RSA.
    // In studies: With `embedded`, `haproxy` or `nginx` and `library = "openssl"` ([offload.md](offload.md)).
    #[arg(long, value_name = "KIND", default_value_t, group = KEYS, help_heading = TLS)]
    pub accelerator: Kind,

    /// How the accelerator is waited for: asynchronous, synchronous or inline
    ///
    /// asynchronous (other connections are served meanwhile), synchronous (the thread does nothing
    /// else), inline (not at all: the answer is there at once).
    // In studies: With `accelerator` or `provider`; `asynchronous` not with nginx, `inline` only with
    // `accelerator`.
    #[arg(long, value_name = "WAY", default_value_t, requires = KEYS, help_heading = TLS)]
    pub offload: Way,

    /// The longest time that an operation of multi-buffer waits for others to share its batch
    #[arg(long, value_name = "TIME", default_value = "100us", requires = "accelerator", help_heading = TLS, hide_short_help = true)]
    pub batch_wait: Nanos,

    /// Operations per second of each engine of the modelled accelerator, by key
    #[arg(long, value_name = "RATES", default_value_t, requires = "accelerator", help_heading = TLS, hide_short_help = true)]
    pub accelerator_rate: Rates,

    /// Time from the beginning of an accelerator's operation to its answer
    #[arg(long, value_name = "TIME", default_value = "100us", requires = "accelerator", help_heading = TLS, hide_short_help = true)]
    pub accelerator_latency: Nanos,

    /// Operations that the accelerator holds at once
    ///
    /// Others are done on the CPU.
    #[arg(long, value_name = "N", default_value_t = Description::QUEUE, requires = "accelerator", help_heading = TLS, hide_short_help = true)]
    pub accelerator_queue: NonZeroUsize,

    /// Engines of the accelerator, which work in parallel
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN, requires = "accelerator", help_heading = TLS, hide_short_help = true)]
    pub accelerator_count: NonZeroUsize,

    /// How the server finds out about answers: poll or event
    ///
    /// poll (the server asks when the next one is due), event (each paused handshake has a descriptor
    /// that becomes readable) [default: poll; event in servers that are not toll's].
    // In studies: `poll` with `embedded` only. [default: `poll`, `event` with HAProxy]
    #[arg(long, value_name = "HOW", requires = "accelerator", help_heading = TLS, hide_short_help = true)]
    pub accelerator_completion: Option<CompletedBy>,

    /// OpenSSL provider for private keys, by name and file
    ///
    /// Such as that of a card, qatprovider=/usr/lib/ossl-modules/qatprovider.so. It is preferred for
    /// everything it implements.
    // In studies: Instead of `accelerator`; with `command` too ([offload.md](offload.md)). [default: none]
    #[arg(long, value_name = "NAME=PATH", group = KEYS, help_heading = TLS, hide_short_help = true)]
    pub provider: Option<ProviderPath>,

    /// How to encrypt and send: user, ktls-write or ktls-sendfile
    ///
    /// user (by the TLS library), ktls-write (the server writes plaintext, the kernel encrypts),
    /// ktls-sendfile (the kernel reads from a file and encrypts).
    // In studies: The last two with `embedded` and `nginx`, and GCM or ChaCha20 suites. Without a TLS layer
    // in the kernel their cells are handled by `if-missing`.
    #[arg(long, value_name = "MODE", default_value_t, value_parser = Suggested::<SendMode>::new(send_modes), hide_possible_values = true, help_heading = LOAD)]
    pub send: SendMode,

    /// With `server = "nginx"` or `"apache"`: whether files go out over plain HTTP by `sendfile` (`true`) or
    /// are read first and then written, as they are with TLS in user space (`false`); with kernel TLS `send`
    /// decides. [default: `true`]
    #[arg(skip)]
    pub sendfile: Option<bool>,

    /// Serve HTTP/3 too, over QUIC on the UDP port of the same number
    ///
    /// With rustls-ring or rustls-aws-lc. Datagrams have 1,452 bytes, or what the client takes where that is less;
    /// congestion control is quinn's CUBIC.
    // In studies: With `embedded` on rustls, `caddy`, and `nginx` and `haproxy` that were built with it; `load.http =
    // "3"` needs it.
    #[arg(long, help_heading = LOAD)]
    pub quic: bool,

    /// With QUIC: give the kernel many datagrams at once, which it cuts (UDP_SEGMENT)
    // In studies: With `embedded` or `nginx`, whose own default is off, and `quic`.
    #[arg(long, value_name = "on|off", default_value = "on", requires = "quic", action = ArgAction::Set, value_parser = keys::on_or_off(), hide_possible_values = true, hide_short_help = true, help_heading = LOAD)]
    pub gso: bool,

    /// Congestion control of the server's TCP sockets, by the kernel's name
    ///
    /// Connections have that of the socket that accepts them
    /// [default: the system's; at loopback addresses one that does not pace, in place of BBR].
    // In studies: toll sets it on the sockets that listen, of every server that it starts
    // ([figures.md](figures.md#is-the-sender-paced)); one that this kernel does not have is an error.
    // [default: the system's; at a loopback address `cubic` or `reno` in place of BBR]
    #[arg(long, value_name = "NAME", value_parser = Suggested::<CongestionControl>::new(congestion::available), hide_possible_values = true, hide_short_help = true, help_heading = LOAD)]
    pub congestion: Option<CongestionControl>,

    /// The most plaintext in a TLS record, 512B to 16KiB
    // In studies: With `embedded` and `nginx` (`ssl_buffer_size`); `sendfile` makes records of its own size.
    #[arg(long, value_name = "SIZE", default_value_t, help_heading = TLS)]
    pub record_size: RecordSize,

    /// Full records in one send, 1 to 64
    ///
    /// From 4 on, OpenSSL encrypts 4 or 8 records of a CBC suite in parallel where encrypt-then-MAC is
    /// off; nginx does not use that.
    // In studies: With `server = "embedded"`.
    #[arg(long, value_name = "N", default_value_t, help_heading = TLS, hide_short_help = true)]
    pub records_per_write: RecordsPerWrite,

    /// OpenSSL's library contexts: one that is shared by all threads, or one per-thread
    ///
    /// OpenSSL 3 looks algorithms up in a library context under locks (OSSL_LIB_CTX(3)).
    // In studies: With `server = "embedded"` on OpenSSL, `session-cache = false`, and neither accelerator
    // nor kernel TLS.
    #[arg(long, value_name = "WHOSE", default_value_t, value_parser = Suggested::<LibraryContext>::new(library_contexts), hide_possible_values = true, hide_short_help = true, help_heading = TLS)]
    pub library_context: LibraryContext,

    /// With `server = "nginx"`: directives of its `http` block, `"tcp_nodelay off; aio threads"`, which are
    /// added to those of toll or replace them; those that toll's checks need are refused.
    #[arg(skip)]
    pub directives: Directives,
    /// The file of its program, an absolute path, or `installed`: a build of yours in place of the one in the usual
    /// folders. With `nginx`, `apache`, `haproxy` or `caddy`.
    #[arg(skip)]
    pub program: ProgramPath,
    /// The release of a distribution that it comes from with all its libraries: `here` (this machine's), or one of
    /// `make systems`, `debian-13` ([how](compare-runs.md#what-does-a-newer-release-cost)). With `embedded`, `nginx`,
    /// `apache`, `haproxy` or `caddy`.
    #[arg(skip)]
    pub system: System,
    /// The folder of its `libssl.so` and `libcrypto.so`, an absolute path, or `system`.
    #[arg(skip = LibraryPath::System)]
    pub library_path: LibraryPath,
    /// Environment variables, `["OPENSSL_ia32cap=~0x200000200000000"]`, without blanks in their values; `[]`
    /// or `none`.
    #[arg(skip)]
    pub environment: Environment,
    /// For servers with a just-in-time compiler: how long the server is loaded once after it starts, before
    /// its first trial with a suite ([how](web-application.md#how-do-i-know-that-a-switch-had-an-effect)). A
    /// time, or `steady` (until its speed stays within 3%, 90 s at most). Trials of a server that is not
    /// steady by then, or after a time of 10 s or more, are marked `not-steady`. [default: open]
    #[arg(skip)]
    pub warmup: Option<WarmUp>,
    /// With `server = "tomcat"`: what its cryptography runs on, `jdk` or `nss`.
    #[arg(skip = Crypto::Jdk)]
    pub crypto: Crypto,
    /// With `server = "tomcat"`: whether that may use AES instructions, `on` or `off`.
    #[arg(skip = Aes::On)]
    pub aes: Aes,
    /// With `server = "command"`: how it is started. [default: open]
    #[arg(skip)]
    pub command: Option<CommandLine>,
    /// With `server = "address"`: what to ask for. [default: open]
    #[arg(skip)]
    pub url: Option<Url>,
    /// With `server = "address"`: where to connect to instead of the URL's host and port,
    /// `"10.0.0.1:8443"`. The URL's name stays in the ClientHello (SNI), in `Host`, and in the check of the
    /// certificate. [default: the URL's]
    #[arg(skip)]
    pub connect_to: Option<HostPort>,
    /// With `server = "address"`: its process, if it is one of this machine: the number, the path of its PID
    /// file, or the name of its program. [default: the one that listens at the address]
    #[arg(skip)]
    pub pid: Option<ServerPid>,
    /// With `server = "address"`: `true` confirms that you may load it, although one of its name's addresses
    /// is not a loopback address.
    #[arg(skip)]
    pub i_operate_this_host: bool,
}

/// The headings of the flags of `toll serve`.
const LOAD: &str = "Load";
const TLS: &str = "TLS";
/// The flags that say where private keys are used, of which one is given.
const KEYS: &str = "keys";

// What completion offers.

fn certificate_keys() -> Vec<String> {
    CertificateKey::ALL.map(|key| key.to_string()).into()
}

fn ask_client() -> Vec<String> {
    AskClient::ALL.iter().map(ToString::to_string).collect()
}

fn library_contexts() -> Vec<String> {
    LibraryContext::ALL.iter().map(ToString::to_string).collect()
}

fn libraries() -> Vec<String> {
    Stack::ALL.map(|stack| stack.to_string()).into()
}

fn send_modes() -> Vec<String> {
    SendMode::ALL.iter().map(ToString::to_string).collect()
}

const OBJECT: Bytes = Bytes(1 << 20);

/// A load thread has a client for each name.
const MOST_NAMES: u32 = 10_000;

/// A number of hyperthreads of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub enum ThreadsPerCore {
    /// One, whose sibling the server leaves idle.
    One,
    /// Both.
    Two,
}

impl ThreadsPerCore {
    /// How many.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

impl TryFrom<usize> for ThreadsPerCore {
    type Error = String;

    fn try_from(threads: usize) -> Result<Self, String> {
        let known = [Self::One, Self::Two].into_iter().find(|known| known.count() == threads);
        known.ok_or_else(|| "a core has 1 or 2 threads; write one of them".to_owned())
    }
}

impl From<ThreadsPerCore> for usize {
    fn from(threads: ThreadsPerCore) -> Self {
        threads.count()
    }
}

/// What to do where a server is not installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IfMissing {
    /// Leave its cells out, and say so.
    Skip,
    /// Measure nothing.
    Fail,
}

impl Default for Target {
    /// Each field has the default of its attribute, but for encrypt-then-MAC.
    fn default() -> Self {
        static DEFAULT: LazyLock<Target> = LazyLock::new(|| {
            let flags = Target::augment_args(Command::new("target").no_binary_name(true));
            let given = flags.get_matches_from([""; 0]);
            let target = Target::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
            Target { encrypt_then_mac: false, ..target }
        });
        DEFAULT.clone()
    }
}

/// A server by its name in study files.
mod by_name {
    use std::sync::LazyLock;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::{SERVERS, Server};

    static NAMES: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| SERVERS.iter().map(|server| server.name()).collect());

    pub(super) fn serialize<S: Serializer>(
        server: &&'static Server,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(server.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static Server, D::Error> {
        let name = String::deserialize(deserializer)?;
        crate::by_name(&name).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

/// An address, whose error says what one looks like.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Address(IpAddr);

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let no_address = |_| format!("`{text}` is not an address; write one such as 10.1.1.1");
        text.parse().map(Self).map_err(no_address)
    }
}

fn addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpAddr>, D::Error> {
    let all = Vec::<Address>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|Address(address)| address).collect())
}

/// Objects that a server which toll starts has.
fn generated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mix, D::Error> {
    let mix = Mix::deserialize(deserializer)?;
    match mix.sizes() {
        Some(_) => Ok(mix),
        None => Err(D::Error::custom(format!(
            "`{mix}` names a path, where a study has sizes such as 1MiB"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use objects::MOST_FILES;

    use super::*;

    #[test]
    fn only_embedded_and_nginx_send_with_the_kernels_tls() {
        for server in crate::SERVERS {
            let of = |send| Target { server, send, ..Target::default() }.check();
            let refusal = |send| of(send).err().filter(|wrong| wrong.key == "send");
            assert_eq!(refusal(SendMode::User), None, "{server}");
            let is_refused = !["embedded", "nginx"].contains(&server.name());
            for send in [SendMode::KtlsWrite, SendMode::KtlsSendfile] {
                assert_eq!(refusal(send).is_some(), is_refused, "{server}");
            }
        }
    }

    #[test]
    fn a_proxy_has_no_files_and_only_tls_is_verified() {
        let of = |server: &str, backend| Target {
            server: crate::by_name(server).unwrap(),
            backend,
            ..Target::default()
        };
        let useless = |target: &Target| -> Vec<_> {
            let of_backend =
                target.conflicts().into_iter().filter(|found| found.cause == "backend");
            of_backend.map(|found| found.key).collect()
        };
        let (connections, verify) = ("backend-connections", "backend-verify");
        let files = ["storage", "files", "sendfile"];
        assert_eq!(useless(&of("nginx", None)), [connections, verify]);
        assert_eq!(useless(&of("nginx", Some(Backend::Tls))), files);
        assert_eq!(useless(&of("haproxy", None)), [&files[..], &[verify]].concat());
        let sendfile = |backend| Target { send: SendMode::KtlsSendfile, ..of("nginx", backend) };
        assert_eq!(sendfile(None).check(), Ok(()));
        assert_eq!(sendfile(Some(Backend::Plain)).check().unwrap_err().key, "send");
        assert!(
            crate::by_name("apache")
                .unwrap()
                .own_keys
                .iter()
                .flat_map(|keys| *keys)
                .all(|key| *key != "backend")
        );
    }

    #[test]
    fn only_openssl_gives_its_keys_to_the_kernel() {
        let of = |library, send| {
            Target { library: TlsLibrary::Own(library), send, ..Target::default() }.check()
        };
        assert_eq!(of(Stack::RustlsRing, SendMode::User), Ok(()));
        let refusal = of(Stack::RustlsRing, SendMode::KtlsWrite).unwrap_err();
        assert_eq!(refusal.key, "send");
    }

    #[test]
    fn a_clients_key_can_sign() {
        let of = |key: &str| {
            let client_certificate_key = key.parse().unwrap();
            Target { client_certificate_key, ..Target::default() }
                .check()
                .map_err(|wrong| wrong.key)
        };
        for key in ["rsa:2048", "ecdsa:p256", "ed25519"] {
            assert_eq!(of(key), Ok(()), "{key}");
        }
        for key in ["rsa:1024", "ml-dsa:44"] {
            assert_eq!(of(key), Err("client-certificate-key"), "{key}");
        }
        let of = |server: &str| {
            let server = crate::by_name(server).unwrap();
            let certificate_key = "ml-dsa:65".parse().unwrap();
            Target { server, certificate_key, ..Target::default() }
                .check()
                .map_err(|wrong| wrong.key)
        };
        assert_eq!((of("embedded"), of("nginx")), (Ok(()), Err("certificate-key")));
    }

    #[test]
    fn different_files_have_one_size() {
        let of = |object: &str, storage, files| Target {
            object: object.parse().unwrap(),
            storage,
            files: NonZeroU32::new(files).unwrap(),
            ..Target::default()
        };
        let (memory, disk) = (Storage::Memory, Storage::Disk);
        assert_eq!(of("1MiB", memory, 1).files(), None);
        assert_eq!(of("1MiB", disk, 1).files().unwrap().path(0), "/disk/1MiB/0");
        assert_eq!(of("2KiB", memory, 9).files().unwrap().path(8), "/memory/2KiB/8");
        assert_eq!(of("1KiB 50%, 2KiB 50%", memory, 1).check(), Ok(()));
        for wrong in [of("1KiB 50%, 2KiB 50%", disk, 1), of("1KiB 50%, 2KiB 50%", memory, 2)] {
            assert_eq!(wrong.check().unwrap_err().key, "object");
        }
        assert_eq!(of("1MiB", disk, MOST_FILES + 1).check().unwrap_err().key, "files");
    }

    #[test]
    fn each_flag_of_toll_serve_is_a_key() {
        let serve = Target::augment_args(Command::new("serve"));
        let flags: Vec<_> = serve.get_arguments().filter_map(|flag| flag.get_long()).collect();
        let expected = [
            "certificate-key",
            "client-certificate",
            "library",
            "tickets",
            "session-cache",
            "encrypt-then-mac",
            "accelerator",
            "offload",
            "batch-wait",
            "accelerator-rate",
            "accelerator-latency",
            "accelerator-queue",
            "accelerator-count",
            "accelerator-completion",
            "provider",
            "send",
            "quic",
            "gso",
            "congestion",
            "record-size",
            "records-per-write",
            "library-context",
        ];
        assert_eq!(flags, expected);
        let keys = keys::names::<Target>();
        assert!(flags.iter().all(|flag| keys.contains(flag)), "{keys:?}");
    }

    #[test]
    fn what_a_host_cannot_have_is_refused() {
        let on_host = |change: fn(&mut Target)| {
            let mut target = Target { host: Some("server".parse().unwrap()), ..Target::default() };
            change(&mut target);
            target.check().map_err(|wrong| wrong.key)
        };
        assert_eq!(on_host(|_| {}), Ok(()));
        assert_eq!(on_host(|target| target.listen = vec![[10, 1, 1, 1].into()]), Ok(()));
        assert_eq!(on_host(|target| target.listen = vec![[0, 0, 0, 0].into()]), Err("listen"));
        assert_eq!(on_host(|target| target.listen = vec![[10, 1, 1, 1].into(); 2]), Err("listen"));
        assert_eq!(on_host(|target| target.cores = NonZeroUsize::new(1)), Err("cores"));
        assert_eq!(on_host(|target| target.storage = Storage::Disk), Err("storage"));
        let tomcat = |target: &mut Target| target.server = crate::by_name("tomcat").unwrap();
        assert_eq!(on_host(tomcat), Err("host"));
        let command = |target: &mut Target, line: &str| {
            target.server = crate::by_name("command").unwrap();
            target.command = Some(line.parse().unwrap());
        };
        let mut target = Target { host: Some("server".parse().unwrap()), ..Target::default() };
        command(&mut target, "serve {port}");
        assert_eq!(target.check().unwrap_err().key, "command");
        command(&mut target, "serve {address}:{port}");
        assert_eq!(target.check(), Ok(()));
    }

    #[test]
    fn addresses_need_a_host_and_are_loopback_without_one() {
        let listen = vec![[10, 1, 1, 1].into()];
        let conflicts = |host: Option<&str>| {
            let host = host.map(|host| host.parse().unwrap());
            let target = Target { host, listen: listen.clone(), ..Target::default() };
            target.conflicts().iter().any(|conflict| conflict.key == "listen")
        };
        assert!(conflicts(None) && !conflicts(Some("server")));
        assert_eq!(Target::default().addresses(), [IpAddr::from([127, 0, 0, 1])]);
        let here = Target { host: None, ..Target::default() };
        let there = Target { host: Some("server".parse().unwrap()), ..Target::default() };
        assert!(here.pinned_here().is_some() && there.pinned_here().is_none());
        assert!(there.pinned_to().is_some());
    }
}
