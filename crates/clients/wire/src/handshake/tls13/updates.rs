//! New keys on an established connection (RFC 8446, sections 4.6.3 and 7.2).

use std::sync::Arc;

use super::constants::Constants;
use super::mac::MacKey;
use super::state::State;
use crate::Failure;
use crate::handshake::established::{PostHandshake, Side};
use crate::record::Protection;

/// The secrets for application data of the client and of the server.
pub(super) struct Updates<S: State> {
    pub(super) constants: Arc<Constants<S>>,
    pub(super) secrets: [MacKey<S>; 2],
}

impl<S: State> PostHandshake for Updates<S> {
    fn take_ticket(&mut self, _: &[u8]) -> Result<(), Failure> {
        // This client never resumes.
        Ok(())
    }

    fn next_protection(&mut self, side: Side) -> Option<Protection> {
        let [client, server] = &mut self.secrets;
        let secret = match side {
            Side::Client => client,
            Side::Server => server,
        };
        let (next, key) = self.constants.next(secret);
        *secret = next;
        key.protection()
    }
}
