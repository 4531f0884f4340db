//! What must hold whatever a peer sends: the bodies of the fuzz targets.
//!
//! `cargo fuzz` runs them on the inputs that it generates (`crates/testing/wire-peer/fuzz`). The tests here run
//! them on the targets' seeds and on mutations of these. Each takes any bytes and panics where an
//! invariant is broken, also where counts are wrong.

mod handshakes;
mod heads;
mod input;
mod pages;
mod records;
mod script;
mod tls12;

pub use handshakes::{certificate, handshake};
pub use heads::heads;
pub use pages::pages;
pub use records::records;
pub use tls12::tls12;

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Numbers of mutations with which a test takes about a second.
    const FEW: usize = 400;
    const MANY: usize = 4000;

    fn smoke(target: &str, body: fn(&[u8]), mutations: usize) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
        let seeds = mutation::seeds(&folder).unwrap();
        for input in mutation::mutated(&seeds, mutations) {
            if std::panic::catch_unwind(|| body(&input)).is_err() {
                panic!("{target} fails on {input:?}");
            }
        }
    }

    #[test]
    fn records() {
        smoke("records", super::records, FEW);
    }

    #[test]
    fn heads() {
        smoke("heads", super::heads, MANY);
    }

    #[test]
    fn pages() {
        smoke("pages", super::pages, MANY);
    }

    #[test]
    fn tls12() {
        smoke("tls12", super::tls12, MANY);
    }

    #[test]
    fn handshake() {
        smoke("handshake", super::handshake, FEW);
    }

    #[test]
    fn certificate() {
        smoke("certificate", super::certificate, MANY);
    }
}
