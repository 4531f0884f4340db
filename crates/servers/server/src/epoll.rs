//! Edge-triggered readiness: each socket is registered once, for both directions.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

/// The most events that one wait returns; further ones come with the next.
const EVENTS: usize = 256;

pub(crate) struct Epoll {
    epoll: OwnedFd,
    events: Box<[MaybeUninit<Event>; EVENTS]>,
}

/// What became of a registered socket.
pub(crate) struct Readiness {
    /// The number that it was registered with.
    pub(crate) token: u64,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer has closed its direction, or the connection is broken.
    pub(crate) hung_up: bool,
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, events: Box::new([const { MaybeUninit::uninit() }; EVENTS]) })
    }

    pub(crate) fn add_listener(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        self.add(socket, token, EventFlags::IN)
    }

    /// Registers a connection; closing its socket is what ends this.
    pub(crate) fn add_connection(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        self.add(socket, token, EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP)
    }

    /// From now on tells when a listener has room to send, or does not.
    pub(crate) fn watch_room(
        &self,
        socket: impl AsFd,
        token: u64,
        is_watched: bool,
    ) -> io::Result<()> {
        let room = if is_watched { EventFlags::OUT } else { EventFlags::empty() };
        let flags = EventFlags::IN | EventFlags::ET | room;
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(token), flags)?)
    }

    /// Registers a descriptor that a paused job waits for. A provider may have used it for a job of another
    /// connection before.
    pub(crate) fn add_job(&self, descriptor: impl AsFd, token: u64) -> io::Result<()> {
        let (data, flags) = (EventData::new_u64(token), EventFlags::IN | EventFlags::ET);
        match epoll::add(&self.epoll, &descriptor, data, flags) {
            Err(rustix::io::Errno::EXIST) => epoll::modify(&self.epoll, &descriptor, data, flags)?,
            added => added?,
        }
        Ok(())
    }

    fn add(&self, socket: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        let data = EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, socket, data, flags | EventFlags::ET)?)
    }

    /// Waits until a socket is ready, or for `timeout`. A signal ends the wait with nothing.
    pub(crate) fn wait(
        &mut self,
        timeout: Duration,
    ) -> io::Result<impl Iterator<Item = Readiness> + use<'_>> {
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let ready = match epoll::wait(&self.epoll, &mut self.events[..], Some(&timeout)) {
            Ok((ready, _)) => ready,
            Err(rustix::io::Errno::INTR) => &mut [],
            Err(error) => return Err(error.into()),
        };
        Ok(ready.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            let hung_up = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
            Readiness {
                token: data.u64(),
                readable: flags.contains(EventFlags::IN) || hung_up,
                writable: flags.contains(EventFlags::OUT) || hung_up,
                hung_up,
            }
        }))
    }
}
