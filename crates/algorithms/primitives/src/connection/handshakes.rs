//! Handshakes of one side.

use super::pair::Ends;
use crate::check::Checker;
use crate::libraries::library::Library;
use crate::routine::Failed;
use crate::sampler::{Instruments, Spent, Subject, Tick};
use crate::stack::Kind;
use crate::work::Work;

/// One handshake after the other, each with a new connection.
pub(super) struct Handshakes {
    ends: Ends,
    kind: Kind,
}

impl Handshakes {
    /// After the first handshake, which is full.
    pub(super) fn new(ends: Ends) -> Result<Self, Failed> {
        ends.connect(Kind::Full, &mut Untimed)?;
        let kind = if ends.wanted.resumes { Kind::Resumed } else { Kind::Full };
        Ok(Self { ends, kind })
    }
}

impl Subject for Handshakes {
    fn run(&mut self, runs: u64, instruments: &mut dyn Instruments) -> Result<Spent, Failed> {
        let mut spent = Spent::NOTHING;
        for _ in 0..runs {
            spent = spent.plus(self.ends.connect(self.kind, instruments)?.1);
        }
        Ok(spent)
    }
}

impl Work for Handshakes {
    fn message_bytes(&self) -> usize {
        0
    }

    fn confirmed_by(&self) -> &str {
        &self.ends.peer_title
    }

    /// Each handshake was proven when it was made.
    fn confirm_again(&mut self, _: &dyn Library, _: &Checker<'_>) -> Result<(), Failed> {
        Ok(())
    }
}

/// For what is not measured.
pub(super) struct Untimed;

impl Instruments for Untimed {
    fn tick(&mut self) -> Tick {
        Tick { nanos: 0, cycles: None }
    }

    fn core(&mut self) -> crate::sampler::Core {
        crate::sampler::Core { hz: f64::NAN, is_quiet: None }
    }
}
