//! Fresh keys of P-521, which rustls's providers lack. A server whose certificate has such a key takes it in
//! TLS 1.2 only from clients that offer the group (RFC 8422, section 5.1).

use aws_lc_rs::agreement::{
    ECDH_P521, EphemeralPrivateKey, PublicKey, UnparsedPublicKey, agree_ephemeral,
};
use aws_lc_rs::rand::SystemRandom;
use rustls::crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};

#[derive(Debug)]
pub(super) struct FreshP521;

struct Started {
    private: EphemeralPrivateKey,
    public: PublicKey,
}

impl SupportedKxGroup for FreshP521 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let private = EphemeralPrivateKey::generate(&ECDH_P521, &SystemRandom::new())
            .map_err(|_| GetRandomFailed)?;
        let public = private.compute_public_key().map_err(|_| GetRandomFailed)?;
        Ok(Box::new(Started { private, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

impl ActiveKeyExchange for Started {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let server = UnparsedPublicKey::new(&ECDH_P521, share);
        let wrong = Error::from(PeerMisbehaved::InvalidKeyShare);
        agree_ephemeral(self.private, server, wrong, |secret| Ok(SharedSecret::from(secret)))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_ref()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}
