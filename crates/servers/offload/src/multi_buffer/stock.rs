//! Keys for one handshake each, made eight at a time before they are asked for: so their batches are always
//! full, and no handshake waits for its key.
//!
//! Each thread has its own, and gives each key out once. A process that a fork made has none of its parent's.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crypto_mb::{CryptoMb, Curve, LANES, Scalar};
use zeroize::Zeroizing;

use super::work::{Class, X25519Secret};

/// A private key and its public one, which for P-256 and P-384 is an uncompressed point without its first byte.
pub(crate) enum KeyPair {
    X25519(X25519Secret, [u8; 32]),
    Nist(Scalar, Vec<u8>),
}

#[derive(Default)]
struct Stock {
    process: u32,
    keys: BTreeMap<Class, Vec<KeyPair>>,
}

thread_local! {
    static STOCK: RefCell<Stock> = RefCell::default();
}

/// A key of the calling thread's stock. `make` fills that where it is empty; `None` where it made none.
pub(super) fn take(class: Class, make: impl FnOnce() -> Vec<KeyPair>) -> Option<KeyPair> {
    let process = std::process::id();
    let known = STOCK.with_borrow_mut(|stock| {
        if stock.process != process {
            *stock = Stock { process, ..Stock::default() };
        }
        stock.keys.get_mut(&class)?.pop()
    });
    known.or_else(|| {
        let mut made = make();
        let key = made.pop();
        STOCK.with_borrow_mut(|stock| stock.keys.insert(class, made));
        key
    })
}

/// As many keys as a batch has, less those that the library refuses.
pub(crate) fn make(library: &CryptoMb, class: Class) -> Vec<KeyPair> {
    match class {
        Class::X25519Key => x25519(library),
        Class::EcdhKey(curve) => nist(library, curve),
        _ => Vec::new(),
    }
}

fn x25519(library: &CryptoMb) -> Vec<KeyPair> {
    let mut secrets = [[0; 32]; LANES].map(Zeroizing::new);
    if secrets.iter_mut().any(|secret| getrandom::fill(&mut **secret).is_err()) {
        return Vec::new();
    }
    let public = library.x25519_public(&secrets.each_ref().map(|secret| &**secret));
    let pairs = secrets.into_iter().zip(public);
    pairs.filter_map(|(secret, public)| Some(KeyPair::X25519(secret, public.ok()?))).collect()
}

fn nist(library: &CryptoMb, curve: Curve) -> Vec<KeyPair> {
    let secrets: Result<Vec<_>, _> = (0..LANES).map(|_| Scalar::random(curve)).collect();
    let Ok(secrets) = secrets else { return Vec::new() };
    let public = library.ec_public(curve, &secrets.iter().collect::<Vec<_>>());
    let pairs = secrets.into_iter().zip(public);
    pairs.filter_map(|(secret, public)| Some(KeyPair::Nist(secret, public.ok()?))).collect()
}
