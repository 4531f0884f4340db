//! The agent's input, whose end is the end of the agent.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use targets::{Lines, Silence};

/// After that, how long the current request and the end of the servers (up to 7 s) may take until the
/// process is ended.
const GRACE: Duration = Duration::from_secs(8);

/// Lines of an input until it ends, nothing comes for too long, or a signal asks the process to end.
pub struct Input(Receiver<String>);

impl Input {
    /// Of the process that is the agent, which ends 8 s after this input at the latest. toll counts as
    /// gone after this silence.
    ///
    /// # Errors
    /// The system has no pipe, or lets no signals be caught.
    pub fn of_process(silence: Silence) -> io::Result<Self> {
        let (asked, asks) = UnixStream::pair()?;
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            pipe::register(signal, asks.try_clone()?)?;
        }
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            read(io::stdin(), &asked, &sender, silence.limit());
            drop(sender);
            std::thread::sleep(GRACE);
            std::process::exit(1);
        });
        Ok(Self(lines))
    }
}

impl Iterator for Input {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.0.recv().ok()
    }
}

/// Passes lines on, until the input ends, is silent, or something comes through `asked`.
fn read(
    mut input: impl Read + AsFd,
    asked: &UnixStream,
    sender: &Sender<String>,
    silence: Duration,
) {
    let mut lines = Lines::default();
    let mut bytes = vec![0; 1 << 16];
    let Ok(silence) = Timespec::try_from(silence) else { return };
    loop {
        let mut descriptors =
            [PollFd::new(&input, PollFlags::IN), PollFd::new(asked, PollFlags::IN)];
        match poll(&mut descriptors, Some(&silence)) {
            Ok(0) => return,
            Err(rustix::io::Errno::INTR) => continue,
            Ok(_) | Err(_) => {}
        }
        if !descriptors[1].revents().is_empty() {
            return;
        }
        let Ok(count @ 1..) = input.read(&mut bytes) else { return };
        let Ok(ended) = lines.add(&bytes[..count]) else { return };
        if ended.into_iter().any(|line| sender.send(line).is_err()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    impl Input {
        fn of(
            input: impl Read + AsFd + Send + 'static,
            asked: UnixStream,
            silence: Duration,
        ) -> Self {
            let (sender, lines) = mpsc::channel();
            std::thread::spawn(move || read(input, &asked, &sender, silence));
            Self(lines)
        }
    }

    #[test]
    fn an_input_ends_where_it_is_closed_or_silent() {
        let pair = || UnixStream::pair().unwrap();
        let (_asks, asked) = pair();
        let ((mut toll, agent), never) = (pair(), asked.try_clone().unwrap());
        let mut input = Input::of(agent, never, Duration::from_millis(200));
        toll.write_all(b"\n\none\n").unwrap();
        assert_eq!(input.next().as_deref(), Some("one"));
        // It is open, and says nothing.
        assert_eq!(input.next(), None);

        let (toll, agent) = pair();
        let mut input = Input::of(agent, asked, Silence::default().limit());
        drop(toll);
        assert_eq!(input.next(), None);
    }

    #[test]
    fn an_input_ends_where_its_process_is_asked_to() {
        let (mut toll, agent) = UnixStream::pair().unwrap();
        let (mut asks, asked) = UnixStream::pair().unwrap();
        let mut input = Input::of(agent, asked, Duration::from_secs(600));
        toll.write_all(b"one\n").unwrap();
        assert_eq!(input.next().as_deref(), Some("one"));
        asks.write_all(b"X").unwrap();
        assert_eq!(input.next(), None);
    }
}
