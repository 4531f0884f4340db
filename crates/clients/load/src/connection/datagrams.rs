//! A connection whose codec has its own transport: datagrams come, times pass, and what follows from that.

use super::{Codec, Connection, Next, Phase};
use crate::context::Context;
use wire::{ErrorKind, Failure};

impl Connection {
    /// Takes what has come, and sends what the socket had no room for.
    pub(super) fn receive_datagrams(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let Phase::Open(Codec::Http3(http3)) = &mut self.phase else { return Ok(Next::Wait) };
        if http3.is_blocked() {
            http3.send(&self.socket, context)?;
        }
        http3.receive(&self.socket, context)?;
        self.follow_datagrams(context)
    }

    /// Does what follows from what has come, or from the time.
    pub(super) fn follow_datagrams(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let Phase::Open(Codec::Http3(http3)) = &mut self.phase else { return Ok(Next::Wait) };
        let was_established = http3.is_established();
        let turned = http3.turn(context);
        let (end, is_idle) = (http3.end(), http3.is_idle());
        if !was_established && http3.is_established() {
            let known = http3.known();
            if let Some(failure) = known.as_ref().and_then(|known| known.failure.clone()) {
                return Err(failure);
            }
            let negotiated =
                known.as_ref().and_then(|known| Some((known.negotiated.as_ref()?, &known.remarks)));
            self.is_connected(context, negotiated);
        }
        turned?;
        match end {
            None => Ok(Next::Wait),
            Some(Err(failure)) => Err(failure),
            Some(Ok(())) => {
                self.is_closed_by_server = true;
                match is_idle {
                    true => Ok(Next::Close),
                    false => Err(Failure::new(ErrorKind::EarlyClose, "closed before a response")),
                }
            }
        }
    }
}
