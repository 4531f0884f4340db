//! Records and handshakes in memory: a side that does something else than was asked has no figure.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use cpus::CpuList;
use primitives::Row;
use primitives::bench::Bench;
use primitives::row::Reason;
use primitives::stack::{
    Configuration, ConnectionSpec, Endpoint, Identity, Kind, Negotiated, TlsStack,
};
use primitives::{
    About, Algorithm, Cache, Failed, Library, Material, Routine, Side, Unavailable, library,
};

/// How a library lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    /// The first handshake is full, and those behind it resume its session.
    ResumesWhatShouldBeFull,
    /// It takes no tickets, though sessions should be resumed.
    FullWhatShouldBeResumed,
    /// It negotiates another suite, and says so.
    AnotherSuite,
    /// It negotiates another suite, and says that it was the one asked for.
    AnotherSuiteInSecret,
    /// One bit of each message is turned before it is sealed.
    SealsSomethingElse,
    /// Of each message the first half is sealed, and then the second.
    SealsTwoRecords,
    /// One bit of each message is turned behind its opening.
    OpensSomethingElse,
    /// It skips every record but the first.
    OpensTheFirstOverAndOver,
}

/// Behind the trait stands an honest library.
struct Liar {
    honest: Box<dyn Library>,
    lie: Lie,
}

impl Library for Liar {
    fn about(&self) -> About<'_> {
        About { id: "liar", title: "Liar", origin: "liar" }
    }

    fn prepare(&self, _: Algorithm, _: &Material) -> Result<Routine, Unavailable> {
        Err(Unavailable::because("it does not"))
    }

    fn stack(&self) -> Result<&dyn TlsStack, Unavailable> {
        Ok(self)
    }
}

impl TlsStack for Liar {
    fn configure(
        &self,
        side: Side,
        wanted: ConnectionSpec,
        identity: &Identity,
    ) -> Result<Box<dyn Configuration>, Unavailable> {
        let mut really = wanted;
        match self.lie {
            Lie::ResumesWhatShouldBeFull => really.resumes = true,
            Lie::FullWhatShouldBeResumed if side == Side::Server => really.resumes = false,
            Lie::AnotherSuite | Lie::AnotherSuiteInSecret => {
                really.suite = tls::Suite::parse("TLS_AES_256_GCM_SHA384").unwrap();
            }
            _ => {}
        }
        let honest = self.honest.stack()?.configure(side, really, identity)?;
        Ok(Box::new(LyingConfiguration { honest, lie: self.lie, wanted, side }))
    }
}

struct LyingConfiguration {
    honest: Box<dyn Configuration>,
    lie: Lie,
    wanted: ConnectionSpec,
    side: Side,
}

impl Configuration for LyingConfiguration {
    fn connect(&self) -> Result<Box<dyn Endpoint>, Failed> {
        let (lie, wanted, side) = (self.lie, self.wanted, self.side);
        let opened = Rc::new(Cell::new(0));
        Ok(Box::new(LyingEndpoint { honest: self.honest.connect()?, lie, wanted, side, opened }))
    }
}

struct LyingEndpoint {
    honest: Box<dyn Endpoint>,
    lie: Lie,
    wanted: ConnectionSpec,
    side: Side,
    opened: Rc<Cell<usize>>,
}

impl Endpoint for LyingEndpoint {
    fn handshake(&mut self, from_peer: &[u8], to_peer: &mut Vec<u8>) -> Result<bool, Failed> {
        self.honest.handshake(from_peer, to_peer)
    }

    fn negotiated(&self) -> Result<Negotiated, Failed> {
        let said = self.honest.negotiated()?;
        Ok(match self.lie {
            Lie::AnotherSuiteInSecret => Negotiated { suite: self.wanted.suite, ..said },
            _ => said,
        })
    }

    fn keep_session(&mut self) -> Result<(), Failed> {
        self.honest.keep_session()
    }

    fn seal(&mut self, message: &[u8]) -> Result<(), Failed> {
        match self.lie {
            // The byte that proves the handshake is sealed as it is.
            Lie::SealsSomethingElse if message.len() > 1 => {
                let mut message = message.to_vec();
                message[0] ^= 1;
                self.honest.seal(&message)
            }
            Lie::SealsTwoRecords if message.len() > 1 => {
                let (first, second) = message.split_at(message.len() / 2);
                self.honest.seal(first)?;
                self.honest.seal(second)
            }
            _ => self.honest.seal(message),
        }
    }

    fn take_records(&mut self, to_peer: &mut Vec<u8>) -> Result<(), Failed> {
        self.honest.take_records(to_peer)
    }

    fn give_records(&mut self, from_peer: &[u8]) -> Result<(), Failed> {
        self.honest.give_records(from_peer)
    }

    fn open(&mut self, message: &mut [u8]) -> Result<usize, Failed> {
        self.opened.set(self.opened.get() + 1);
        // The byte of the handshake, and the first record.
        if self.lie == Lie::OpensTheFirstOverAndOver && self.opened.get() > 2 {
            return Ok(message.len());
        }
        let bytes = self.honest.open(message)?;
        if self.lie == Lie::OpensSomethingElse && self.opened.get() > 2 {
            message[bytes - 1] ^= 1;
        }
        // A client reads what came behind the handshake together with the first byte.
        if self.lie == Lie::ResumesWhatShouldBeFull && self.side == Side::Client {
            self.honest.keep_session()?;
        }
        Ok(bytes)
    }
}

/// The only row of an algorithm.
fn row(library: Box<dyn Library>, algorithm: &str, checkers: &[&str]) -> Row {
    let libraries = [library];
    let checkers: Vec<_> = checkers.iter().map(|name| library::open(name).unwrap()).collect();
    let request = Bench {
        algorithms: &[algorithm.parse().unwrap()],
        libraries: &libraries,
        checkers: &checkers,
        sizes: &[100],
        cache: Cache::Warm,
        cpus: &CpuList::allowed().unwrap().first(1),
        samples: 3,
    };
    let outcome = request.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
    outcome.rows[0].clone()
}

/// Why a lying library has no figure.
fn refusal(honest: &str, lie: Lie, algorithm: &str, checkers: &[&str]) -> String {
    let liar = Liar { honest: library::open(honest).unwrap(), lie };
    let row = row(Box::new(liar), algorithm, checkers);
    let no_figure = row.outcome.no_figure().unwrap();
    assert_eq!(no_figure.reason, Reason::Refused);
    no_figure.why.clone()
}

const STACKS: [&str; 3] = ["openssl", "rustls-ring", "rustls-aws-lc"];

#[test]
fn a_resumed_handshake_where_a_full_one_was_asked_for_has_no_figure() {
    for honest in STACKS {
        for side in ["server", "client"] {
            let algorithm = format!("TLS 1.3 P-256 full handshake {side}");
            // Both sides are its own, so they agree on the lie.
            let said = refusal(honest, Lie::ResumesWhatShouldBeFull, &algorithm, &[]);
            assert_eq!(
                said,
                "no figure: its handshake was resumed with TLS_AES_128_GCM_SHA256 and x25519, and \
                 not full with TLS_AES_128_GCM_SHA256 and x25519",
                "{honest}, {side}"
            );
        }
    }
}

#[test]
fn a_full_handshake_where_a_resumed_one_was_asked_for_has_no_figure() {
    for honest in STACKS {
        let algorithm = "TLS 1.3 resumed handshake server";
        let said =
            refusal(honest, Lie::FullWhatShouldBeResumed, algorithm, &["openssl", "rustls-ring"]);
        assert_eq!(said, "no figure: its server gave no ticket", "{honest}");
    }
}

#[test]
fn another_suite_than_was_asked_for_has_no_figure() {
    let algorithm = "TLS 1.3 P-256 full handshake server";
    for honest in STACKS {
        let said = refusal(honest, Lie::AnotherSuite, algorithm, &[]);
        assert!(said.contains("was full with TLS_AES_256_GCM_SHA384"), "{honest}: {said}");
        // With another library at the other side there is nothing to agree on.
        let said =
            refusal(honest, Lie::AnotherSuiteInSecret, algorithm, &["rustls-ring", "openssl"]);
        assert!(said.starts_with("no figure: "), "{honest}: {said}");
    }
}

#[test]
fn a_record_that_is_not_what_was_asked_for_has_no_figure() {
    let different = "no figure: a record opens to something else than was sealed";
    for honest in STACKS {
        for (lie, way, expected) in [
            (Lie::SealsSomethingElse, "seal", different),
            (Lie::SealsTwoRecords, "seal", "no figure: a message does not come as one record"),
            (Lie::OpensSomethingElse, "open", different),
            (Lie::OpensTheFirstOverAndOver, "open", different),
        ] {
            let algorithm = format!("TLS 1.3 AES-128-GCM record {way}");
            let said = refusal(honest, lie, &algorithm, &["openssl", "rustls-ring"]);
            assert_eq!(said, expected, "{honest}");
        }
    }
}

#[test]
fn honest_sides_have_figures_with_whatever_other_side() {
    for (own, checkers, other) in [
        ("openssl", &["rustls-aws-lc"][..], "with AWS-LC"),
        ("rustls-ring", &["openssl"][..], "OpenSSL"),
        ("rustls-aws-lc", &["rustls-ring"][..], "with ring"),
        ("rustls-ring", &[][..], "with ring, its own peer"),
    ] {
        for algorithm in [
            "TLS 1.3 RSA-2048 full handshake server",
            "TLS 1.3 P-256 full handshake client",
            "TLS 1.3 resumed handshake server",
            "TLS 1.3 resumed handshake client",
            "TLS 1.3 ChaCha20-Poly1305 record open",
            "TLS 1.2 AES-128-GCM record seal",
        ] {
            let row = row(library::open(own).unwrap(), algorithm, checkers);
            let measured = row.outcome.measured().unwrap_or_else(|| panic!("{row:?}"));
            assert!(
                measured.confirmed_by.ends_with(other) || measured.confirmed_by.starts_with(other)
            );
            assert!(measured.ops_per_s > 0.0);
        }
    }
}

/// What a library says of a handshake is compared as a whole.
#[test]
fn handshakes_are_told_in_words() {
    let suite = tls::Suite::parse("TLS_AES_128_GCM_SHA256").unwrap();
    let said = Negotiated { suite, group: tls::Group::X25519, kind: Kind::Resumed };
    assert_eq!(said.to_string(), "resumed with TLS_AES_128_GCM_SHA256 and x25519");
}
