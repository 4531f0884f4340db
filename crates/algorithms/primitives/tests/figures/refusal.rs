//! A library that is wrong gets no figure.

use std::sync::atomic::AtomicBool;

use cpus::CpuList;
use primitives::bench::Bench;
use primitives::row::Reason;
use primitives::{About, Algorithm, Cache, Library, Material, Routine, Unavailable, library};

/// Behind the trait stands another library, one bit of whose results is turned.
struct OneBitWrong(Box<dyn Library>);

impl Library for OneBitWrong {
    fn about(&self) -> About<'_> {
        About { id: "one-bit-wrong", title: "One bit wrong", origin: "one-bit-wrong" }
    }

    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
        Ok(match self.0.prepare(algorithm, material)? {
            Routine::Apart(mut step) => Routine::Apart(Box::new(move |input, output| {
                let bytes = step(input, output)?;
                if let Some(last) = output[..bytes].last_mut() {
                    *last ^= 1;
                }
                Ok(bytes)
            })),
            Routine::InPlace { front, mut seal } => Routine::InPlace {
                front,
                seal: Box::new(move |buffer| {
                    seal(buffer)?;
                    buffer[front] ^= 1;
                    Ok(())
                }),
            },
            Routine::Many { lanes, mut run } => Routine::Many {
                lanes,
                run: Box::new(move |messages, digests| {
                    run(messages, digests)?;
                    // Of one lane only: a check of the first alone would not see it.
                    digests[digests.len() - 1] ^= 1;
                    Ok(())
                }),
            },
        })
    }
}

/// Accepts everything, and is fast at it.
struct AcceptsAll;

impl Library for AcceptsAll {
    fn about(&self) -> About<'_> {
        About { id: "accepts-all", title: "Accepts all", origin: "accepts-all" }
    }

    fn prepare(&self, _: Algorithm, _: &Material) -> Result<Routine, Unavailable> {
        Ok(Routine::Apart(Box::new(|_, _| Ok(0))))
    }
}

fn open(name: &str) -> Box<dyn Library> {
    library::open(name).unwrap()
}

/// Why there is no figure for an algorithm of a library.
fn refusal(library: Box<dyn Library>, algorithm: &str) -> String {
    let libraries = [library];
    let checkers = ["openssl", "rustcrypto", "aws-lc"].map(open);
    let request = Bench {
        algorithms: &[algorithm.parse().unwrap()],
        libraries: &libraries,
        checkers: &checkers,
        sizes: &[64],
        cache: Cache::Warm,
        cpus: &CpuList::allowed().unwrap().first(1),
        samples: 3,
    };
    let outcome = request.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
    outcome.rows[0].outcome.no_figure().unwrap().why.clone()
}

#[test]
fn a_wrong_result_has_no_figure() {
    for (right, algorithm) in [
        ("openssl", "AES-128-GCM"),
        ("openssl", "AES-128-CBC encrypt"),
        ("openssl", "AES-128-CBC-HMAC-SHA1"),
        ("ring", "AES-128-GCM"),
        ("rustcrypto", "SHA-256"),
        ("multibuffer", "SHA-256"),
        ("aws-lc", "RSA-2048 sign"),
        ("aws-lc", "ECDSA P-256 sign"),
        ("rustcrypto", "X25519 exchange"),
        ("aws-lc", "ML-KEM-768 generate"),
        ("rustcrypto", "ML-KEM-768 generate"),
        ("aws-lc", "ML-KEM-768 encapsulate"),
        ("aws-lc", "X25519MLKEM768 server"),
        ("ring", "TLS 1.3 key schedule"),
    ] {
        let said = refusal(Box::new(OneBitWrong(open(right))), algorithm);
        assert!(said.starts_with("no figure: its result is not that of "), "{algorithm}: {said}");
    }
}

#[test]
fn a_verifier_that_accepts_everything_has_no_figure() {
    for algorithm in ["RSA-2048 verify", "ECDSA P-384 verify", "Ed25519 verify"] {
        let said = refusal(Box::new(AcceptsAll), algorithm);
        assert_eq!(said, "no figure: it accepts a damaged signature", "{algorithm}");
    }
}

#[test]
fn what_nobody_can_confirm_has_no_figure() {
    let libraries = [open("openssl")];
    let request = Bench {
        algorithms: &["SHA-1".parse().unwrap()],
        libraries: &libraries,
        checkers: &[],
        sizes: &[64],
        cache: Cache::Warm,
        cpus: &CpuList::allowed().unwrap().first(1),
        samples: 3,
    };
    let outcome = request.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
    let said = outcome.rows[0].outcome.no_figure().unwrap();
    assert_eq!(said.reason, Reason::Refused);
    assert_eq!(said.why, "no figure: there is no second library here to check its result");
}
