//! What is found out for several libraries in the same way.

use openssl::x509::X509;
use tls::AskClient;

use crate::error::ServerError;
use crate::settings::Settings;

/// OpenSSL 3.5, the first with ML-KEM and ML-DSA; its lists of groups may have names that it does not know.
pub(super) const FIRST_WITH_ML_KEM: i64 = 0x3050_0000;

/// The certificates of the authorities of clients, where those are asked for a certificate.
pub(super) fn client_authorities(settings: &Settings) -> Result<Vec<X509>, ServerError> {
    if settings.ask_client == AskClient::None {
        return Ok(Vec::new());
    }
    let Some(path) = &settings.client_authorities else {
        return Err(ServerError::NoClientAuthorities(settings.ask_client));
    };
    let refused = |why: String| ServerError::ClientAuthorities { path: path.clone(), why };
    let pem = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
    let found = X509::stack_from_pem(&pem).map_err(|error| refused(error.to_string()))?;
    match found.is_empty() {
        true => Err(refused("no certificate in PEM form".to_owned())),
        false => Ok(found),
    }
}
