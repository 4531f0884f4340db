//! The key schedule of TLS 1.3 without a pre-shared key (RFC 8446, section 7.1).
//!
//! Secrets are kept as keys of HMACs, because all of them are used as such. Values that do not
//! depend on each other are derived in one call, so that their blocks are hashed together.

use std::sync::Arc;

use ring::hmac;
use tls::{PrfHash, Suite};

use super::constants::{Constants, TrafficKey, expanding};
use super::mac::{MacKey, message};
use super::state::State;
use super::updates::Updates;
use crate::handshake::established::PostHandshake;
use crate::handshake::transcript::Hashed;

/// What all handshakes with one suite share.
pub(super) enum Beginning {
    Sha256(Arc<Constants<[u32; 8]>>),
    Sha384(Arc<Constants<[u64; 8]>>),
}

/// A handshake's keys, from the transcript to ServerHello.
pub(super) struct HandshakeKeys {
    pub(super) client: TrafficKey,
    pub(super) server: TrafficKey,
    pub(super) secrets: Secrets,
}

/// The secrets of a handshake under way.
pub(super) enum Secrets {
    Sha256(SecretsOf<[u32; 8]>),
    Sha384(SecretsOf<[u64; 8]>),
}

/// The hashes of a transcript from which a handshake is finished.
pub(super) struct Transcripts {
    /// Up to the server's CertificateVerify.
    pub(super) signed: Hashed,
    /// Up to the server's Finished.
    pub(super) finished: Hashed,
    /// Up to the client's last message before its Finished.
    pub(super) last: Hashed,
}

/// What finishes a handshake.
pub(super) struct Finish {
    /// What the server's Finished must contain (RFC 8446, section 4.4.4).
    pub(super) by_server: Hashed,
    /// What the client's Finished contains.
    pub(super) by_client: Hashed,
    /// For the client's application data.
    pub(super) client: TrafficKey,
    /// For the server's application data.
    pub(super) server: TrafficKey,
    /// Follows KeyUpdates, where that is wanted.
    pub(super) updates: Option<Box<dyn PostHandshake>>,
}

impl Beginning {
    /// `None` where the suite is not one of TLS 1.3.
    pub(super) fn new(suite: &Suite) -> Option<Self> {
        Some(match suite.prf {
            PrfHash::Sha256 => Self::Sha256(Arc::new(Constants::new(suite)?)),
            PrfHash::Sha384 => Self::Sha384(Arc::new(Constants::new(suite)?)),
        })
    }

    /// The handshake's keys, from the shared secret of the key exchange and the transcript to
    /// ServerHello.
    pub(super) fn handshake(&self, shared: &[u8], hello: &Hashed) -> HandshakeKeys {
        match self {
            Self::Sha256(constants) => {
                let (client, server, secrets) = SecretsOf::new(constants, shared, hello);
                HandshakeKeys { client, server, secrets: Secrets::Sha256(secrets) }
            }
            Self::Sha384(constants) => {
                let (client, server, secrets) = SecretsOf::new(constants, shared, hello);
                HandshakeKeys { client, server, secrets: Secrets::Sha384(secrets) }
            }
        }
    }
}

impl Secrets {
    /// Finishes the handshake; `follows` where KeyUpdates are followed.
    pub(super) fn finish(&self, transcripts: &Transcripts, follows: bool) -> Finish {
        match self {
            Self::Sha256(secrets) => secrets.finish(transcripts, follows),
            Self::Sha384(secrets) => secrets.finish(transcripts, follows),
        }
    }
}

/// See [`Secrets`].
pub(super) struct SecretsOf<S: State> {
    constants: Arc<Constants<S>>,
    client_finished: MacKey<S>,
    server_finished: MacKey<S>,
    master: MacKey<S>,
}

impl<S: State> SecretsOf<S> {
    /// The client's and the server's key for the handshake, and the secrets for what follows.
    fn new(
        constants: &Arc<Constants<S>>,
        shared: &[u8],
        hello: &Hashed,
    ) -> (TrafficKey, TrafficKey, Self) {
        let Constants { salt, derived, key, iv, finished, zeros, .. } = &**constants;
        let handshake = MacKey::<S>::new(Hashed::from(hmac::sign(salt, shared).as_ref()));
        let [client, server] = [&b"c hs traffic"[..], b"s hs traffic"]
            .map(|label| expanding::<S>(label, hello.as_ref(), S::OUTPUT));
        let [client, server, salt] = MacKey::<S>::all(MacKey::sign_all([
            (&handshake, &client),
            (&handshake, &server),
            (&handshake, derived),
        ]));
        let [client_key, client_iv, client_last, server_key, server_iv, server_last, master] =
            MacKey::sign_all([
                (&client, key),
                (&client, iv),
                (&client, finished),
                (&server, key),
                (&server, iv),
                (&server, finished),
                (&salt, zeros),
            ]);
        let [client_finished, server_finished, master] =
            MacKey::all([client_last, server_last, master]);
        (
            constants.traffic_key(client_key, client_iv),
            constants.traffic_key(server_key, server_iv),
            Self { constants: constants.clone(), client_finished, server_finished, master },
        )
    }

    /// See [`Secrets::finish`].
    fn finish(&self, transcripts: &Transcripts, follows: bool) -> Finish {
        let Transcripts { signed, finished, last } = transcripts;
        let [client, server] = [&b"c ap traffic"[..], b"s ap traffic"]
            .map(|label| expanding::<S>(label, finished.as_ref(), S::OUTPUT));
        let [by_server, by_client, client, server] = MacKey::sign_all([
            (&self.server_finished, &message::<S>(&[signed.as_ref()])),
            (&self.client_finished, &message::<S>(&[last.as_ref()])),
            (&self.master, &client),
            (&self.master, &server),
        ]);
        let secrets = MacKey::<S>::all([client, server]);
        let [client, server] = &secrets;
        let constants = &self.constants;
        let Constants { key, iv, .. } = &**constants;
        let [client_key, client_iv, server_key, server_iv] =
            MacKey::sign_all([(client, key), (client, iv), (server, key), (server, iv)]);
        Finish {
            by_server,
            by_client,
            client: constants.traffic_key(client_key, client_iv),
            server: constants.traffic_key(server_key, server_iv),
            updates: follows.then(|| {
                let updates = Updates { constants: constants.clone(), secrets };
                Box::new(updates) as Box<dyn PostHandshake>
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::bytes;

    /// The values of RFC 8448, section 3.
    #[test]
    fn the_published_handshake_gives_the_published_keys() {
        let shared = bytes("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d");
        let hashed = |hex| Hashed::from(&bytes(hex)[..]);
        let hello = hashed("860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8");
        let suite = Suite::by_code_point(0x1301).unwrap();
        let handshake = Beginning::new(suite).unwrap().handshake(&shared, &hello);
        let is = |made: &TrafficKey, key: &str, iv: &str| {
            assert_eq!(made.key.as_ref(), bytes(key));
            assert_eq!(made.iv.as_ref(), bytes(iv));
        };
        is(&handshake.server, "3fce516009c21727d0f2e4e86ee403bc", "5d313eb2671276ee13000b30");
        is(&handshake.client, "dbfaa693d1762c5b666af5d950258d01", "5bd3c71b836e0b76bb73265f");

        let finished = hashed("9608102a0f1ccc6db6250b7b7e417b1a000eaada3daae4777a7686c9ff83df13");
        let transcripts = Transcripts {
            signed: hashed("edb7725fa7a3473b031ec8ef65a2485493900138a2b91291407d7951a06110ed"),
            finished,
            last: finished,
        };
        let finish = handshake.secrets.finish(&transcripts, false);
        is(&finish.server, "9f02283b6c9c07efc26bb9f2ac92e356", "cf782b88dd83549aadf1e984");
        is(&finish.client, "17422dda596ed5d9acd890e3c63f5051", "5b78923dee08579033e523d9");
        assert_eq!(
            finish.by_server.as_ref(),
            bytes("9b9b141d906337fbd2cbdce71df4deda4ab42c309572cb7fffee5454b78f0718")
        );
        assert_eq!(
            finish.by_client.as_ref(),
            bytes("a8ec436d677634ae525ac1fcebe11a039ec17694fac6e98527b642f2edd5ce61")
        );
    }
}
