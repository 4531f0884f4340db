//! The client's part in the key exchange (RFC 5246, section 7.4.7; RFC 8422, section 5.7).

use std::sync::{Arc, Mutex, PoisonError};

use openssl::pkey::Public;
use openssl::rsa::{Padding, Rsa};
use rustls::crypto::{SecureRandom, SupportedKxGroup};

use crate::handshake::certificates::AcceptedCertificate;
use crate::handshake::encoding::{message, put_vector8, put_vector16};
use crate::handshake::numbers::kind;
use crate::randomness::Buffered;

/// What the client sends, and the premaster secret that both sides have then.
pub(super) struct ClientKeyExchange {
    /// The message with its header.
    pub(super) message: Vec<u8>,
    pub(super) premaster: Vec<u8>,
}

impl ClientKeyExchange {
    /// The answer to a server's share; `None` where that is not valid in its group.
    pub(super) fn ephemeral(group: &dyn SupportedKxGroup, share: &[u8]) -> Option<Self> {
        let completed = group.start_and_complete(share).ok()?;
        let mut body = Vec::with_capacity(1 + completed.pub_key.len());
        put_vector8(&mut body, &completed.pub_key);
        Some(Self::new(&body, completed.secret.secret_bytes().to_vec()))
    }

    /// A new premaster secret, encrypted to this key; `None` where that is impossible.
    fn encrypted(key: &Rsa<Public>) -> Option<Self> {
        // The offered version and 46 random bytes (RFC 5246, section 7.4.7.1).
        let mut premaster = vec![3; 48];
        Buffered.fill(&mut premaster[2..]).ok()?;
        let mut encrypted = vec![0; key.size() as usize];
        let length = key.public_encrypt(&premaster, &mut encrypted, Padding::PKCS1).ok()?;
        let mut body = Vec::with_capacity(2 + length);
        put_vector16(&mut body, encrypted.get(..length)?);
        Some(Self::new(&body, premaster))
    }

    fn new(body: &[u8], premaster: Vec<u8>) -> Self {
        Self { message: message(kind::CLIENT_KEY_EXCHANGE, body), premaster }
    }
}

/// The premaster secrets of static RSA: where the key exchange is fixed, one for each key of a server.
pub(super) struct StaticRsa {
    is_fixed: bool,
    last: Mutex<Option<(Arc<AcceptedCertificate>, Arc<ClientKeyExchange>)>>,
}

impl StaticRsa {
    pub(super) fn new(is_fixed: bool) -> Self {
        Self { is_fixed, last: Mutex::new(None) }
    }

    /// One that is encrypted to the key of this certificate; `None` where that key cannot.
    pub(super) fn exchange(
        &self,
        server: &Arc<AcceptedCertificate>,
    ) -> Option<Arc<ClientKeyExchange>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, exchange)) = &*last
            && self.is_fixed
            && Arc::ptr_eq(of, server)
        {
            return Some(exchange.clone());
        }
        let exchange = Arc::new(ClientKeyExchange::encrypted(&server.public.rsa()?)?);
        *last = Some((server.clone(), exchange.clone()));
        Some(exchange)
    }
}
