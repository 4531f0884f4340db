//! The description of a load. What `[load]` of a study says and what the flags of `toll load` say is
//! read into one struct, [`Plan`]; a new option is a field of it.

mod check;
mod choices;
mod conflicts;
mod derived;

use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{ArgAction, Parser as _, ValueHint};
use congestion::CongestionControl;
use cpus::CpuList;
use keys::Suggested;
use objects::HostName;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tls::{Group, OrPlain, SUITES, Suite, Version};
use units::{Bytes, Nanos};

pub use choices::{Client, Close, Http, KeyExchangeMode, Operation, Receive, Wakeups};

use crate::{
    Arrival, Count, Header, Method, OneIn, Percent, RequestsPerConnection, Source, Statuses,
};

/// What the clients of a load do. What is `None` is left open.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// CPUs of the load, a thread pinned to each. [default: the second CPU that toll may use, or its only
    /// one]
    // `toll load` has a flag of its own, whose default depends on the server's process.
    #[arg(skip = CpuList::from(0))]
    pub cpus: CpuList,

    /// What makes the load: toll, wrk, ab, h2load, shb or s_time
    ///
    /// s_time is openssl s_time -new, for handshakes. The CPU time of both sides is measured as usual,
    /// but the counts are those of the other program: toll verifies nothing then, and has no latencies.
    #[arg(long, value_name = "PROGRAM", default_value_t = Client::Toll, hide_possible_values = true, help_heading = LOAD)]
    pub client: Client,

    /// handshakes, one-request-per-connection, requests or session
    ///
    /// What to do: handshakes (without a request), one-request-per-connection, requests (on kept
    /// connections), or session (each connection is a user who walks the pages of --session).
    #[arg(long, value_name = "WHAT", default_value_t = Operation::Requests, hide_possible_values = true, help_heading = LOAD)]
    pub operation: Operation,

    /// Requests after which the client ends a connection: 8, or a list
    ///
    /// A list such as '1 20%, 8 60%, 100 20%' gives each count its share of the connections, and each
    /// connection draws its own by the seed. With --operation requests. The client does not announce the
    /// end, and opens the next connection when the next request is due [default: connections are kept].
    // In studies: Handshakes and requests are counted apart: `connection-rate` is a metric.
    // [default: connections are kept]
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = LOAD)]
    pub requests_per_connection: Option<RequestsPerConnection>,

    /// The pages that users walk, petstore or a session file
    ///
    /// With --operation session.
    // In studies: A [session file](sessions.md). [default: none, which a session needs]
    #[arg(long, value_name = "FILE", hide_short_help = true, value_hint = ValueHint::FilePath, help_heading = LOAD)]
    pub session: Option<PathBuf>,

    /// The value of {page} in a session file
    ///
    /// In bytes: how large its pages should be [default: 16KiB].
    #[arg(long, value_name = "SIZE", hide_short_help = true, help_heading = LOAD)]
    pub page: Option<Bytes>,

    /// How many times each user walks the pages
    ///
    /// All of them count, and the load ends with the last one [default: until the load's end].
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = LOAD)]
    pub walks: Option<NonZeroU32>,

    /// GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS
    ///
    /// The method of each request [default: GET].
    #[arg(long, value_name = "METHOD", hide_possible_values = true, ignore_case = true, hide_short_help = true, help_heading = LOAD)]
    pub method: Option<Method>,

    /// The status of a right answer, such as 204, or a list
    ///
    /// Other answers have failed. Generated objects (/bytes/SIZE) are compared where a GET expects 200
    /// alone [default: 200].
    #[arg(long, value_name = "STATUS", hide_short_help = true, help_heading = LOAD)]
    pub expect: Option<Statuses>,

    /// A file to send with each POST, PUT or PATCH
    ///
    /// With Content-Length; give its type with -H. An answer that comes before all of it was sent
    /// completes the operation, and is counted [default: none].
    #[arg(long, value_name = "FILE", hide_short_help = true, value_hint = ValueHint::FilePath, help_heading = LOAD)]
    pub body: Option<PathBuf>,

    /// A field to send with each request, such as 'X-Tenant: 7'
    ///
    /// Repeatable. Not Host, Range, Connection, Content-Length or Accept-Encoding, which would change
    /// what is counted. It is kept in the receipt as it is.
    // In studies: Several are a list. [default: none]
    #[arg(short = 'H', long, value_name = "NAME: VALUE", help_heading = LOAD)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub header: Vec<Header>,

    /// Where connections come from, an address or an interface of this machine
    ///
    /// Repeatable, or a list with commas: connections are spread over them
    /// [default: the kernel chooses; on loopback many addresses, where one would run short of ports].
    // In studies: With an address, routing chooses the interface; with an interface, the kernel chooses the
    // address. Of other clients only `ab` takes one, an address.
    #[arg(long, value_name = "ADDRESS|INTERFACE", value_delimiter = ',', hide_short_help = true, help_heading = LOAD)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<Source>,

    /// Begin this many operations and end, or `instructions`
    ///
    /// Completed and failed operations count. The load ends after --duration at the latest. For closed
    /// loops, without a warm-up. With `instructions`, what is counted is the user-space instructions of the
    /// server per operation, by callgrind, which the server must run in; with `instructions-by-perf` by the
    /// processor's counters. There is no rate and no latency then [default: until --duration is over].
    // In studies: toll starts the server in callgrind
    // ([what is counted](figures.md#what-do-counts-of-instructions-say)).
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = LOAD)]
    pub count: Option<Count>,

    /// Connections that are open at once
    ///
    /// With an open loop, the most that are used.
    #[arg(short, long, value_name = "N", default_value_t = 64, help_heading = LOAD)]
    pub connections: usize,

    /// The version of HTTP: 1.1, 2 or 3
    ///
    /// 2 is agreed on in the handshake (ALPN), and spoken at once over plain HTTP (prior knowledge). 3 is spoken over
    /// QUIC, at the UDP port of the URL. Over 2 with several streams, and over 3, all is decrypted [default: 1.1].
    // In studies: Written `"2"`. [default: `1.1`]
    #[arg(long, value_name = "VERSION", hide_possible_values = true, hide_short_help = true, help_heading = LOAD)]
    pub http: Option<Http>,

    /// How many operations each connection carries at once, over HTTP/2 and HTTP/3
    ///
    /// Each is a stream, so that connections x streams are open at once [default: 1].
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = LOAD)]
    pub streams: Option<NonZeroU32>,

    /// The longest datagrams of HTTP/3, in bytes: 1200 to 65527
    ///
    /// UDP's header is not in it. The client sends no longer ones, and asks the server not to
    /// (max_udp_payload_size) [default: 1452, what Ethernet carries].
    // In studies: A path that carries less is a mismatch.
    #[arg(long, value_name = "BYTES", hide_short_help = true, help_heading = LOAD)]
    pub max_udp_payload: Option<NonZeroU16>,

    /// With `[[rank]]`: how many of the ranks make the load, from the first on
    /// ([many-hosts.md](many-hosts.md)). [default: all]
    // `toll load` has no other hosts.
    #[arg(skip)]
    pub ranks: Option<NonZeroU32>,

    /// The only TLS version to offer, 1.2 or 1.3; none is plain HTTP
    ///
    /// [default: that of the suite, or both]
    #[arg(long, value_name = "VERSION", value_parser = Suggested::<OrPlain<Version>>::new(versions), hide_possible_values = true, help_heading = TLS)]
    pub tls: Option<OrPlain<Version>>,

    /// The only cipher suite to offer; none is plain HTTP
    ///
    /// By its IANA or OpenSSL name [default: those of the client library].
    #[arg(long, value_name = "SUITE", value_parser = Suggested::<OrPlain<&'static Suite>>::new(suites), hide_possible_values = true, help_heading = TLS)]
    pub suite: Option<OrPlain<&'static Suite>>,

    /// The server name to send in the ClientHello (SNI), instead of the URL's host
    ///
    /// The certificate is checked for it. Host and what is asked for stay those of the URL
    /// [default: the URL's host; none where that is an address].
    // In studies: [default: the URL's host; none where that is an address]
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = TLS)]
    pub sni: Option<HostName>,

    /// A file of server names, of which each connection draws one
    ///
    /// A name on each line. It is sent in the ClientHello (SNI) and in Host, and the certificate is
    /// checked for it [default: the URL's host].
    // In studies: [default: the names of the target, or the URL's host]
    #[arg(long, value_name = "FILE", hide_short_help = true, value_hint = ValueHint::FilePath, help_heading = LOAD)]
    pub names: Option<PathBuf>,

    /// The only group to offer for the key exchange, such as x25519
    ///
    /// x25519, secp256r1, secp384r1, secp521r1, X25519MLKEM768, SecP256r1MLKEM768 or MLKEM1024 [default: one of the
    /// first four].
    // In studies: Those with ML-KEM are of TLS 1.3; `rustls-aws-lc` and OpenSSL have them, the latter from 3.5 on,
    // and cells of other libraries are skipped with a line.
    #[arg(long, value_name = "GROUP", value_parser = Suggested::<Group>::new(groups), hide_possible_values = true, help_heading = TLS)]
    pub group: Option<Group>,

    /// Offer encrypt-then-MAC (RFC 7366) with a CBC suite
    ///
    /// [default: off]
    // In studies: The target must be set to agree. [default: not offered]
    #[arg(long, value_name = "on|off", action = ArgAction::Set, value_parser = keys::on_or_off(), hide_possible_values = true, hide_short_help = true, help_heading = TLS)]
    pub encrypt_then_mac: Option<bool>,

    /// The client's part in the key exchange: fixed, fresh or retried
    ///
    /// fixed: one share, with static RSA one premaster secret, for all handshakes; this saves work of
    /// the client, and the server's work stays the same. retried: the same, but the server has to ask for the share
    /// (HelloRetryRequest), in full handshakes of TLS 1.3
    /// [default: fixed].
    // In studies: [default: `fixed`]
    #[arg(long, value_name = "HOW", hide_possible_values = true, hide_short_help = true, help_heading = TLS)]
    pub key_exchange: Option<KeyExchangeMode>,

    /// The share of connections that resume a session, such as 70%
    ///
    /// The server must give tickets, or in TLS 1.2 keep sessions.
    // In studies: By `tickets` or `session-cache` of the target; with `count`, tickets are collected before
    // the count.
    #[arg(long, value_name = "PERCENT", default_value_t = Percent::default(), hide_short_help = true, help_heading = TLS)]
    pub resumption: Percent,

    /// How to receive bodies over TLS: walk or decrypt
    ///
    /// walk: drop the records between the head and the last record in the kernel
    /// [default: walk; with --operation session and over HTTP/2 with several streams decrypt].
    #[arg(long, value_name = "HOW", hide_possible_values = true, help_heading = TLS)]
    pub receive: Option<Receive>,

    /// The share of responses and signatures to verify, such as 1/8
    ///
    /// The share of responses to decrypt whole, and of signatures to verify [default: 1/64].
    // In studies: `1/1` is all.
    #[arg(long, value_name = "1/K", hide_short_help = true, help_heading = TLS)]
    pub verify: Option<OneIn>,

    /// When operations begin: closed, poisson 2000/s, paced 4s ...
    ///
    /// closed (each connection as soon as its last response ends), "closed, think 5ms" (that long
    /// after it), poisson 2000/s or uniform 2000/s (at that rate, whether or not answers come; latency
    /// counts from then), paced 4s (each connection every 4 s), paced 2Gb/s (each connection as often
    /// as all together need to ask for that much).
    #[arg(long, value_name = "WHEN", default_value_t = Arrival::CLOSED, help_heading = LOAD)]
    pub arrival: Arrival,

    /// How long the load grows before the warm-up
    ///
    /// Connection by connection (an open loop: in its rate); it shrinks again after the window.
    #[arg(long, value_name = "TIME", value_parser = Nanos::or_seconds, default_value_t = Nanos(0), hide_short_help = true, help_heading = LOAD)]
    pub ramp: Nanos,

    /// How long to load before the measured window begins
    ///
    /// Must be 0s with --client [default: 1s; with --client, --walks or --count 0s].
    #[arg(long, value_name = "TIME", value_parser = Nanos::or_seconds, help_heading = LOAD)]
    pub warmup: Option<Nanos>,

    /// How long to measure
    #[arg(short, long, value_name = "TIME", value_parser = Nanos::or_seconds, default_value_t = Nanos(10_000_000_000), help_heading = LOAD)]
    pub duration: Nanos,

    /// When load threads wake up: coalesced, 1/32, 1/8, 1/4, each or none
    ///
    /// coalesced: a thread of a closed loop with many operations under way pauses up to 2 ms, so that
    /// one wake-up serves several sockets; latencies are up to the pause too long. 1/32, 1/8, 1/4: the same with
    /// pauses of that share of an operation, not chosen in the warm-up. each: for each socket that
    /// is ready. none: they poll and never sleep, so that a server on this machine wakes nobody; give them
    /// CPUs of their own [default: coalesced; in a study each where a latency is the metric or the limit].
    // In studies: ([how](client.md#how-exact-are-latencies), [what it does to the
    // server](figures.md#what-do-the-clients-wake-ups-cost-the-server)) [default: `coalesced`; `each` where a latency
    // is an answer's metric or the limit of a search, and in loops that are not closed]
    #[arg(long, value_name = "WHEN", hide_possible_values = true, hide_short_help = true, help_heading = LOAD)]
    pub wakeups: Option<Wakeups>,

    /// An operation without progress for this long has failed
    #[arg(long, value_name = "TIME", value_parser = Nanos::or_seconds, default_value_t = Nanos(10_000_000_000), hide_short_help = true, help_heading = LOAD)]
    pub timeout: Nanos,

    /// An operation that takes longer than this in all has failed, whatever its progress
    ///
    /// A page is an operation of a session. The opening of its connection is a part of it
    /// [default: 60 times the timeout].
    // In studies: [default: 60 times `timeout`]
    #[arg(long, value_name = "TIME", value_parser = Nanos::or_seconds, hide_short_help = true, help_heading = LOAD)]
    pub operation_timeout: Option<Nanos>,

    /// How to end connections: fin or rst
    ///
    /// rst is a reset, which leaves no TIME-WAIT on either side; with one-request-per-connection the
    /// server is then not asked to close.
    // In studies: ([why](client.md#how-do-connections-open-and-close))
    #[arg(long, value_name = "HOW", default_value_t = Close::Fin, hide_possible_values = true, hide_short_help = true, help_heading = LOAD)]
    pub close: Close,

    /// Congestion control of the client's sockets, by the kernel's name
    ///
    /// [default: the system's; to a loopback address one that does not pace, in place of BBR]
    // In studies: Other clients than toll's have the system's. [default: as for `target.congestion`]
    #[arg(long, value_name = "NAME", value_parser = Suggested::<CongestionControl>::new(congestion::available), hide_possible_values = true, hide_short_help = true, help_heading = LOAD)]
    pub congestion: Option<CongestionControl>,

    /// Accept the certificates in this PEM file
    ///
    /// [default: the system's]
    // In studies: [default: the certificate that toll made; with `server = "address"` the system's
    // authorities]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = TLS)]
    pub ca: Option<PathBuf>,

    /// The client's certificate, a PEM file, for servers that ask for one
    ///
    /// With its chain, if it has one; and --client-key. A signature is work of the client in each full
    /// handshake.
    // In studies: [default: none; where `target.client-certificate` is set, one that toll makes]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = TLS)]
    pub client_certificate: Option<PathBuf>,

    /// The private key of --client-certificate, a PEM file
    ///
    /// RSA from 2048 bits on, ECDSA or Ed25519, not encrypted.
    // In studies: With ranks it goes to their machines through Open MPI, which does not encrypt, so give one
    // that is made for the measurement. [default: as for `client-certificate`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = TLS)]
    pub client_key: Option<PathBuf>,

    /// Accept any certificate; signatures are still sampled
    #[arg(long, help_heading = TLS)]
    pub insecure: bool,
}

/// The headings of the flags.
const LOAD: &str = "Load";
const TLS: &str = "TLS";

// What completion offers.

fn versions() -> Vec<String> {
    ["1.2", "1.3", "none"].map(str::to_owned).into()
}

fn suites() -> Vec<String> {
    SUITES.iter().map(|suite| suite.name).chain(["none"]).map(str::to_owned).collect()
}

fn groups() -> Vec<String> {
    Group::ALL.iter().map(|group| group.name().to_owned()).collect()
}

/// The longest load, a day.
pub(crate) const LONGEST: Nanos = Nanos(86_400_000_000_000);

impl Default for Plan {
    /// As no flags make it.
    fn default() -> Self {
        #[derive(clap::Parser)]
        struct Flags {
            #[command(flatten)]
            plan: Plan,
        }
        static DEFAULT: LazyLock<Plan> = LazyLock::new(|| Flags::parse_from([""]).plan);
        DEFAULT.clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use clap::ValueEnum;

    use super::*;

    pub(crate) fn suite(name: &str) -> Option<OrPlain<&'static Suite>> {
        Some(OrPlain::Tls(Suite::parse(name).unwrap()))
    }

    #[test]
    fn the_key_exchange_is_fixed_and_a_group_may_decide_the_version() {
        assert_eq!(Plan::default().key_exchange(), KeyExchangeMode::Fixed);
        let hybrid = Plan { group: Some(Group::X25519MlKem768), ..Plan::default() };
        assert_eq!(hybrid.only_version(), Some(Version::Tls13));
    }

    #[test]
    fn values_that_no_load_can_have_are_named_by_their_keys() {
        let wrong = |plan: Plan| plan.check().unwrap_err().key;
        let plan = Plan::default;
        assert!(plan().check().is_ok());
        assert_eq!(wrong(Plan { connections: 0, ..plan() }), "connections");
        assert!(Plan { connections: 1_000_000, ..plan() }.check().is_ok());
        assert_eq!(wrong(Plan { connections: usize::MAX, ..plan() }), "connections");
        assert_eq!(wrong(Plan { duration: Nanos(0), ..plan() }), "duration");
        assert_eq!(wrong(Plan { ramp: LONGEST, ..plan() }), "duration");
        assert_eq!(wrong(Plan { timeout: Nanos(0), ..plan() }), "timeout");
        let never = Some(Nanos(0));
        assert_eq!(wrong(Plan { operation_timeout: never, ..plan() }), "operation-timeout");
        let source = vec!["nosuch0".parse().unwrap()];
        assert_eq!(wrong(Plan { source, ..plan() }), "source");
        let retried = Plan { key_exchange: Some(KeyExchangeMode::Retried), ..plan() };
        assert_eq!(wrong(retried.clone()), "key-exchange");
        let retried = Plan { tls: Some(OrPlain::Tls(Version::Tls13)), ..retried };
        assert!(retried.check().is_ok());
        let resumption = "50%".parse().unwrap();
        assert_eq!(wrong(Plan { resumption, ..retried }), "key-exchange");
        let congestion = Some("nosuch".parse().unwrap());
        assert_eq!(wrong(Plan { congestion, ..plan() }), "congestion");
    }

    #[test]
    fn other_programs_have_ways_of_their_own() {
        let wrk = Plan { client: Client::Wrk, ..Plan::default() };
        assert_eq!(wrk.conflicts(), []);
        assert_eq!((wrk.receive(), wrk.warmup()), (Receive::Decrypt, Nanos(0)));
        let walk = Plan { receive: Some(Receive::Walk), close: Close::Rst, ..wrk };
        let conflicts = walk.conflicts();
        let keys: Vec<_> = conflicts.iter().map(|conflict| conflict.key).collect();
        assert_eq!(keys, ["close", "receive"]);
    }

    #[test]
    fn sessions_have_pages_and_nothing_else_has() {
        let petstore = Some(PathBuf::from("petstore"));
        let plain = Plan { operation: Operation::Session, ..Plan::default() };
        assert_eq!(plain.check().unwrap_err().key, "session");
        let session = Plan { session: petstore.clone(), ..plain };
        assert!(session.check().is_ok());
        assert_eq!((session.conflicts(), session.receive()), (vec![], Receive::Decrypt));
        let missing = Plan { session: Some("/no/such/file".into()), ..session.clone() };
        assert_eq!(missing.check().unwrap_err().key, "session");
        let keys = |plan: Plan| -> Vec<_> {
            plan.conflicts().into_iter().map(|conflict| (conflict.cause, conflict.key)).collect()
        };
        let walks = NonZeroU32::new(20);
        for (plan, conflict) in [
            (Plan { session: petstore, ..Plan::default() }, ("operation", "session")),
            (Plan { page: Some(Bytes(1)), ..Plan::default() }, ("operation", "page")),
            (Plan { walks, ..Plan::default() }, ("operation", "walks")),
            (Plan { receive: Some(Receive::Walk), ..session.clone() }, ("operation", "receive")),
            (Plan { client: Client::Wrk, ..session.clone() }, ("operation", "client")),
            (
                Plan { arrival: "uniform 5/s".parse().unwrap(), ..session.clone() },
                ("operation", "arrival"),
            ),
            (Plan { walks, warmup: Some(Nanos(1)), ..session.clone() }, ("walks", "warmup")),
        ] {
            assert_eq!(keys(plan), [conflict]);
        }
        assert_eq!(Plan { walks, ..session }.warmup(), Nanos(0));
    }

    #[test]
    fn a_number_of_operations_goes_with_closed_loops_of_toll() {
        let counted = Plan { count: Count::of(9), ..Plan::default() };
        assert_eq!((counted.conflicts(), counted.warmup()), (vec![], Nanos(0)));
        let session = Some(PathBuf::from("petstore"));
        for (plan, key) in [
            (Plan { client: Client::Ab, ..counted.clone() }, "client"),
            (Plan { operation: Operation::Session, session, ..counted.clone() }, "operation"),
            (Plan { arrival: "uniform 5/s".parse().unwrap(), ..counted.clone() }, "arrival"),
            (Plan { ramp: Nanos(1), ..counted.clone() }, "ramp"),
            (Plan { warmup: Some(Nanos(1)), ..counted.clone() }, "warmup"),
        ] {
            let conflicts = plan.conflicts();
            let keys: Vec<_> = conflicts.iter().map(|found| (found.cause, found.key)).collect();
            assert_eq!(keys, [("count", key)]);
        }
    }

    #[test]
    fn only_requests_of_toll_end_connections_after_a_number() {
        let ending = Plan { requests_per_connection: "8".parse().ok(), ..Plan::default() };
        assert_eq!((ending.conflicts(), ending.keeps_connections()), (vec![], false));
        let open = Plan { arrival: "paced 4s".parse().unwrap(), ..ending.clone() };
        assert_eq!(open.conflicts(), []);
        for (plan, cause) in [
            (Plan { operation: Operation::Handshakes, ..ending.clone() }, "operation"),
            (Plan { operation: Operation::OneRequestPerConnection, ..ending.clone() }, "operation"),
            (Plan { client: Client::H2load, ..ending }, "client"),
        ] {
            let conflicts = plan.conflicts();
            let keys: Vec<_> = conflicts.iter().map(|found| (found.cause, found.key)).collect();
            assert_eq!(keys, [(cause, "requests-per-connection")]);
        }
    }

    #[test]
    fn other_requests_than_get_go_with_toll_s_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let body = Some(file.path().to_owned());
        let put = Plan { method: Some(Method::Put), body, ..Plan::default() };
        assert_eq!((put.check(), put.conflicts()), (Ok(()), vec![]));
        assert!(!put.expects_objects() && Plan::default().expects_objects());
        assert_eq!(Plan { method: None, ..put.clone() }.check().unwrap_err().key, "body");
        let missing = Some("/no/such/file".into());
        assert_eq!(Plan { body: missing, ..put.clone() }.check().unwrap_err().key, "body");
        let expect = "204".parse().ok();
        assert!(!Plan { expect: expect.clone(), ..Plan::default() }.expects_objects());
        let with = |plan: Plan| {
            let conflicts = plan.conflicts();
            conflicts.iter().map(|found| (found.cause, found.key)).collect::<Vec<_>>()
        };
        let both = Plan { expect, ..put };
        assert_eq!(
            with(Plan { client: Client::Ab, ..both.clone() }),
            [("client", "method"), ("client", "expect"), ("client", "body")]
        );
        assert_eq!(with(Plan { operation: Operation::Handshakes, ..both.clone() }).len(), 3);
        assert_eq!(with(Plan { ranks: NonZeroU32::new(2), ..both }), [("ranks", "body")]);
    }

    #[test]
    fn a_list_of_names_goes_with_requests_and_handshakes_of_toll() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let named = Plan { names: Some(file.path().to_owned()), ..Plan::default() };
        assert_eq!(named.check().unwrap_err().key, "names");
        std::fs::write(file.path(), "a.example\nb.example\n").unwrap();
        assert_eq!((named.check(), named.conflicts()), (Ok(()), vec![]));
        let resumption = "50%".parse().unwrap();
        let resuming = Plan { resumption, ranks: NonZeroU32::new(2), ..named.clone() };
        assert_eq!((resuming.check(), resuming.conflicts()), (Ok(()), vec![]));
        let sni = "a.example".parse().ok();
        let session = Some(PathBuf::from("petstore"));
        for (plan, conflict) in [
            (Plan { client: Client::Wrk, ..named.clone() }, ("names", "client")),
            (Plan { sni, ..named.clone() }, ("names", "sni")),
            (Plan { operation: Operation::Session, session, ..named }, ("names", "operation")),
        ] {
            let conflicts = plan.conflicts();
            let keys: Vec<_> = conflicts.iter().map(|found| (found.cause, found.key)).collect();
            assert_eq!(keys, [conflict]);
        }
    }

    #[test]
    fn headers_go_with_requests() {
        let with = |header: &str, operation| {
            let session = (operation == Operation::Session).then(|| PathBuf::from("petstore"));
            let header = vec![header.parse().unwrap()];
            let conflicts = Plan { header, operation, session, ..Plan::default() }.conflicts();
            conflicts.iter().map(|found| (found.cause, found.key)).collect::<Vec<_>>()
        };
        assert_eq!(with("Cookie: a=1", Operation::Requests), []);
        assert_eq!(with("X: 1", Operation::Session), []);
        assert_eq!(with("cookie: a=1", Operation::Session), [("operation", "header")]);
        assert_eq!(with("X: 1", Operation::Handshakes), [("operation", "header")]);
    }

    #[test]
    fn names_are_alike_on_the_command_line_and_in_files() {
        for client in Client::value_variants() {
            let name = client.to_string();
            assert_eq!(Client::from_str(&name, false), Ok(*client));
            assert_eq!(keys::values(&Plan { client: *client, ..Plan::default() })[1].1, name);
        }
        for operation in Operation::value_variants() {
            assert_eq!(Operation::from_str(&operation.to_string(), false), Ok(*operation));
        }
    }
}
