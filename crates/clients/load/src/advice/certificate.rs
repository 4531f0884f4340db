//! What to do about a server that is not authenticated.

use wire::handshake::{Distrust, Trust};

/// Only what can help: a certificate that has expired is not helped by its authority's.
pub(super) fn on_certificate(seen: &str, trust: &Trust) -> &'static str {
    let fault = Distrust::of(seen);
    match (trust, fault) {
        (Trust::Anyone, _) => {
            "any certificate is accepted, so what the server signs or sends is wrong; does openssl \
             s_client connect?"
        }
        (_, Some(Distrust::Expired)) => {
            "renew it, or measure with --insecure, which accepts any certificate"
        }
        (_, Some(Distrust::NotYetValid)) => {
            "is the clock of this machine right? --insecure accepts any certificate"
        }
        (_, Some(Distrust::OtherName)) => {
            "give a URL with one of its names, or --insecure to accept any certificate"
        }
        (_, Some(Distrust::NoName)) => {
            "make one with a subjectAltName (openssl req -addext subjectAltName=DNS:NAME,IP:ADDRESS), \
             or give --insecure to accept any certificate"
        }
        (Trust::System | Trust::File(_), _) => {
            "give its authority's certificate or its own with --ca FILE, or --insecure to accept any"
        }
    }
}
