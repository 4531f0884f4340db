//! The client has sent its Finished: the server's is awaited.

use super::flight::kind;
use super::secrets::{Master, Side};
use crate::handshake::refusal::Refusal;
use crate::handshake::transcript::Transcript;
use crate::handshake::{Established, Negotiated};
use crate::record::{Opener, Sealer};

/// Keys that both have, if the server's Finished proves it.
pub(super) struct Agreed {
    pub(super) opener: Opener,
    pub(super) sealer: Sealer,
    pub(super) master: Master,
    pub(super) negotiated: Negotiated,
    /// Whether the server's records are protected from now on.
    pub(super) has_changed: bool,
}

impl Agreed {
    /// Takes a message with its header of four bytes, which must be the server's Finished behind this
    /// transcript.
    pub(super) fn check(&self, message: &[u8], transcript: &Transcript) -> Result<(), Refusal> {
        match message[0] {
            kind::FINISHED if self.has_changed => {
                let expected = self.master.finished(Side::Server, &transcript.hash());
                if expected != message[4..] {
                    return Err(Refusal::unauthentic("a Finished that is not the handshake's"));
                }
                Ok(())
            }
            kind => Err(Refusal::unexpected(format!("a message of type {kind}"))),
        }
    }

    /// What the server's Finished has proven.
    pub(super) fn established(self) -> Established {
        Established {
            opener: self.opener,
            sealer: self.sealer,
            negotiated: self.negotiated,
            // The server signs nothing: that it has the key shows in its Finished.
            is_signature_verified: false,
            post_handshake: None,
        }
    }
}
