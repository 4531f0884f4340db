//! Both sides of a connection, and the way from one to the other.

use crate::algorithm::Side;
use crate::check::Checker;
use crate::libraries::library::Library;
use crate::routine::{Failed, Unavailable};
use crate::sampler::{Instruments, Spent};
use crate::stack::{Configuration, ConnectionSpec, Endpoint, Identity, Kind, Negotiated};

/// Both sides' configurations.
pub(super) struct Ends {
    own: Box<dyn Configuration>,
    peer: Box<dyn Configuration>,
    /// Which side the own one is.
    side: Side,
    pub(super) wanted: ConnectionSpec,
    /// Whose the other side is.
    pub(super) peer_title: String,
}

/// A connection whose handshake is over.
pub(super) struct Pair {
    pub(super) own: Box<dyn Endpoint>,
    pub(super) peer: Box<dyn Endpoint>,
}

/// The most turns of each side in a handshake; TLS 1.2 takes two.
const MOST_TURNS: usize = 5;
/// Bytes for which buffers have room from the start: a flight with a certificate, and more.
const ROOM: usize = 32 << 10;

impl Ends {
    /// With a peer from another library, or where none of them can, from the same one.
    pub(super) fn new(
        library: &dyn Library,
        checker: &Checker<'_>,
        side: Side,
        wanted: ConnectionSpec,
        identity: &Identity,
    ) -> Result<Self, Unavailable> {
        let own = library.stack()?.configure(side, wanted, identity)?;
        let configure = |peer: &dyn Library| {
            peer.stack().and_then(|stack| stack.configure(side.other(), wanted, identity))
        };
        let of_others = checker
            .others(library)
            .find_map(|other| Some((configure(other).ok()?, other.title().to_owned())));
        let (peer, peer_title) = match of_others {
            Some(found) => found,
            None => (configure(library)?, format!("{}, its own peer", library.title())),
        };
        Ok(Self { own, peer, side, wanted, peer_title })
    }

    /// Connects, and proves that what came about is a handshake of that kind: both sides report it, and
    /// a byte goes each way. The time is that of the own side, until its part is over.
    pub(super) fn connect(
        &self,
        kind: Kind,
        instruments: &mut dyn Instruments,
    ) -> Result<(Pair, Spent), Failed> {
        let mut stopwatch = Stopwatch { instruments, spent: Spent::NOTHING };
        let own = stopwatch.time(|| self.own.connect())?;
        let mut pair = Pair { own, peer: self.peer.connect()? };
        pair.handshake(self.side, &mut stopwatch)?;
        let spent = stopwatch.spent;
        pair.prove(self.wanted.with(kind))?;
        if self.wanted.resumes {
            match self.side {
                Side::Client => pair.own.keep_session()?,
                Side::Server => pair.peer.keep_session()?,
            }
        }
        Ok((pair, spent))
    }
}

impl Side {
    /// The one at the other end.
    fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }
}

/// Sums up intervals.
struct Stopwatch<'a> {
    instruments: &'a mut dyn Instruments,
    spent: Spent,
}

impl Stopwatch<'_> {
    fn time<T>(&mut self, mut step: impl FnMut() -> T) -> T {
        let start = self.instruments.tick();
        let result = step();
        let end = self.instruments.tick();
        self.spent = self.spent.plus(Spent::between(start, end));
        result
    }
}

impl Pair {
    fn handshake(&mut self, side: Side, stopwatch: &mut Stopwatch<'_>) -> Result<(), Failed> {
        let (mut to_own, mut to_peer) = (Vec::with_capacity(ROOM), Vec::with_capacity(ROOM));
        let mut own_is_done = false;
        // The client speaks first.
        if side == Side::Server {
            self.peer.handshake(&[], &mut to_own)?;
        }
        for _ in 0..MOST_TURNS {
            // Tickets that come after the handshake are no part of it.
            own_is_done = match own_is_done {
                true => self.own.handshake(&to_own, &mut to_peer)?,
                false => stopwatch.time(|| self.own.handshake(&to_own, &mut to_peer))?,
            };
            to_own.clear();
            let peer_is_done = self.peer.handshake(&to_peer, &mut to_own)?;
            to_peer.clear();
            if own_is_done && peer_is_done && to_own.is_empty() {
                return Ok(());
            }
        }
        Err(Failed::because("its handshake does not come to an end"))
    }

    fn prove(&mut self, wanted: Negotiated) -> Result<(), Failed> {
        let (own, peer) = (self.own.negotiated()?, self.peer.negotiated()?);
        if own != wanted {
            return Err(Failed::because(format_args!("its handshake was {own}, and not {wanted}")));
        }
        if peer != wanted {
            return Err(Failed::because(format_args!(
                "the other side says that its handshake was {peer}, and not {wanted}"
            )));
        }
        let mut wire = Vec::with_capacity(64);
        pass(self.own.as_mut(), self.peer.as_mut(), 0x0f, &mut wire)?;
        pass(self.peer.as_mut(), self.own.as_mut(), 0xf0, &mut wire)
    }
}

/// Sends a byte from one side to the other.
fn pass(
    from: &mut dyn Endpoint,
    to: &mut dyn Endpoint,
    byte: u8,
    wire: &mut Vec<u8>,
) -> Result<(), Failed> {
    wire.clear();
    from.seal(&[byte])?;
    from.take_records(wire)?;
    to.give_records(wire)?;
    let mut came = [0; 2];
    if (to.open(&mut came)?, came[0]) == (1, byte) {
        return Ok(());
    }
    Err(Failed::because("a byte that was sent after its handshake did not arrive"))
}
