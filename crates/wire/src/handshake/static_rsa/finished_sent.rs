//! The state after the client's Finished: the server's is awaited.

use super::flight::kind;
use super::secrets::Master;
use crate::handshake::Side;
use crate::handshake::refusal::Refusal;
use crate::handshake::transcript::Transcript;
use crate::handshake::{Established, Negotiated, Remarks};
use crate::record::{Opener, Sealer};

/// The keys, not confirmed until the server's Finished.
pub(super) struct FinishedSent {
    pub(super) opener: Opener,
    pub(super) sealer: Sealer,
    pub(super) master: Master,
    pub(super) negotiated: Negotiated,
    pub(super) remarks: Remarks,
    /// Whether the server's records are protected from now on.
    pub(super) has_changed: bool,
}

impl FinishedSent {
    /// Checks that a message, with its header of four bytes, is the server's Finished after this
    /// transcript.
    pub(super) fn check(&self, message: &[u8], transcript: &Transcript) -> Result<(), Refusal> {
        match message[0] {
            kind::FINISHED if self.has_changed => {
                let expected = self.master.finished(Side::Server, &transcript.hash());
                if expected != message[4..] {
                    return Err(Refusal::unauthentic(
                        "a Finished that does not match the handshake",
                    ));
                }
                Ok(())
            }
            kind => Err(Refusal::unexpected(format!("a message of type {kind}"))),
        }
    }

    /// The result, once the server's Finished has confirmed the keys.
    pub(super) fn established(self) -> Established {
        Established {
            opener: self.opener,
            sealer: self.sealer,
            negotiated: self.negotiated,
            remarks: self.remarks,
            protocol: None,
            post_handshake: None,
        }
    }
}
