//! Records of one side, in batches: those of a batch are timed together, and the other side's part of
//! it comes before or after.

use super::handshakes::Untimed;
use super::pair::{Ends, Pair};
use crate::algorithm::Way;
use crate::check::Checker;
use crate::libraries::library::Library;
use crate::material::message;
use crate::routine::Failed;
use crate::sampler::{Instruments, Spent, Subject};
use crate::stack::Kind;
use crate::work::Work;

/// Bytes of messages in a batch: enough for the clock's readings not to matter, and little enough for
/// the second-level cache.
const BATCH: usize = 64 << 10;
/// Records of a batch at most.
const MOST: usize = 64;
/// Records after which a new connection is made: far below 2^24.5, up to where AES-GCM may seal under
/// one key (RFC 8446, 5.5).
const RENEW: u64 = 1 << 20;

/// One record after the other, through one connection after the other.
pub(super) struct Records {
    ends: Ends,
    pair: Pair,
    way: Way,
    messages: Vec<Vec<u8>>,
    /// What comes out where records are opened.
    opened: Vec<Vec<u8>>,
    wire: Vec<u8>,
    /// Records of this connection.
    records: u64,
    renew: u64,
}

impl Records {
    /// Of messages of that size.
    pub(super) fn new(ends: Ends, way: Way, size: usize) -> Result<Self, Failed> {
        let batch = (BATCH / size).min(MOST);
        let (pair, _) = ends.connect(Kind::Full, &mut Untimed)?;
        let mut records = Self {
            ends,
            pair,
            way,
            messages: (0..batch).map(|lane| message(size, lane)).collect(),
            opened: vec![vec![0; size]; batch],
            wire: Vec::with_capacity(2 * BATCH),
            records: 0,
            renew: RENEW,
        };
        records.batch(1, &mut Untimed)?;
        Ok(records)
    }

    /// Seals `count` messages and opens them; one of the two is timed.
    fn batch(&mut self, count: usize, instruments: &mut dyn Instruments) -> Result<Spent, Failed> {
        if self.records + count as u64 > self.renew {
            self.pair = self.ends.connect(Kind::Full, &mut Untimed)?.0;
            self.records = 0;
        }
        self.records += count as u64;
        let messages = &self.messages[..count];
        let opened = &mut self.opened[..count];
        let (own, peer) = (self.pair.own.as_mut(), self.pair.peer.as_mut());
        let (from, to) = match self.way {
            Way::Seal => (own, peer),
            Way::Open => (peer, own),
        };
        let start = instruments.tick();
        messages.iter().try_for_each(|message| from.seal(message))?;
        let sealing = Spent::between(start, instruments.tick());
        self.wire.clear();
        from.take_records(&mut self.wire)?;
        if records_in(&self.wire) != Some(count) {
            return Err(Failed::because("a message does not come as one record"));
        }
        to.give_records(&self.wire)?;
        let start = instruments.tick();
        let mut bytes = 0;
        for message in opened.iter_mut() {
            bytes += to.open(message)?;
        }
        let opening = Spent::between(start, instruments.tick());
        if bytes != count * messages[0].len() || opened != messages {
            return Err(Failed::because("a record opens to something else than was sealed"));
        }
        Ok(match self.way {
            Way::Seal => sealing,
            Way::Open => opening,
        })
    }
}

/// How many whole records of application data these bytes are; `None` if they are anything else.
fn records_in(mut wire: &[u8]) -> Option<usize> {
    const APPLICATION_DATA: u8 = 23;
    let mut count = 0;
    while let Some((header, rest)) = wire.split_at_checked(5) {
        if header[0] != APPLICATION_DATA {
            return None;
        }
        let body = usize::from(u16::from_be_bytes([header[3], header[4]]));
        wire = rest.get(body..)?;
        count += 1;
    }
    wire.is_empty().then_some(count)
}

impl Subject for Records {
    fn run(&mut self, runs: u64, instruments: &mut dyn Instruments) -> Result<Spent, Failed> {
        let mut spent = Spent::NOTHING;
        let mut left = runs;
        while left > 0 {
            let count = left.min(self.messages.len() as u64);
            spent = spent.plus(self.batch(count as usize, instruments)?);
            left -= count;
        }
        Ok(spent)
    }
}

impl Work for Records {
    fn message_bytes(&self) -> usize {
        self.messages[0].len()
    }

    fn confirmed_by(&self) -> &str {
        &self.ends.peer_title
    }

    /// Each record was proven when it was made.
    fn confirm_again(&mut self, _: &dyn Library, _: &Checker<'_>) -> Result<(), Failed> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{Algorithm, Protection, Side};
    use crate::library;
    use crate::stack::{ConnectionSpec, Identity};

    #[test]
    fn a_key_is_left_before_its_limit() {
        let libraries = [library::open("openssl").unwrap(), library::open("rustls-ring").unwrap()];
        let wanted =
            ConnectionSpec::of(Algorithm::Record(Protection::Tls13Aes128Gcm, Way::Seal)).unwrap();
        let identity = Identity::of(tls::CertificateKey::EcdsaP256).unwrap();
        let checker = Checker::new(&libraries);
        let ends = Ends::new(libraries[0].as_ref(), &checker, Side::Server, wanted, identity);
        let mut records = Records::new(ends.unwrap(), Way::Seal, 1024).unwrap();
        records.renew = 100;
        let mut most = 0;
        for _ in 0..20 {
            records.run(30, &mut Untimed).unwrap();
            most = most.max(records.records);
        }
        // One record of the set-up, then three runs of 30; the fourth takes a new connection.
        assert_eq!((most, records.records), (91, 60));
    }

    #[test]
    fn records_are_counted_by_their_headers() {
        assert_eq!(records_in(&[23, 3, 3, 0, 1, 9, 23, 3, 3, 0, 0]), Some(2));
        assert_eq!(records_in(&[22, 3, 3, 0, 1, 9]), None);
        assert_eq!(records_in(&[23, 3, 3, 0, 2, 9]), None);
        assert_eq!(records_in(&[23, 3, 3]), None);
        assert_eq!(records_in(&[]), Some(0));
    }
}
