//! What to do about a server that is not authenticated.

use units::Bytes;
use wire::ErrorKind;
use wire::handshake::{ClientCertificate, Distrust, Trust};

use crate::Plan;

/// As much of a client's certificates as servers on OpenSSL take unless told otherwise
/// (SSL_CTX_set_max_cert_list(3)).
const USUAL_CHAIN: Bytes = Bytes(100 << 10);

/// What to do where the server may have refused the client's certificates for their length.
pub(super) fn on_long_chain(kind: ErrorKind, plan: &Plan) -> Option<String> {
    if !matches!(kind, ErrorKind::Alert | ErrorKind::Reset | ErrorKind::EarlyClose) {
        return None;
    }
    let (certificate, key) = (plan.client_certificate.as_ref()?, plan.client_key.as_ref()?);
    let length = Bytes(ClientCertificate::read(certificate, key).ok()?.length() as u64);
    (length > USUAL_CHAIN).then(|| {
        format!(
            "the client's certificates are {length} long, and servers on OpenSSL take {USUAL_CHAIN} of them unless \
             told otherwise (SSL_CTX_set_max_cert_list); give a shorter chain"
        )
    })
}

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
