//! The agent's input, whose end is the end of the agent.

use std::io::Read;
use std::os::fd::AsFd;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::pipe::Lines;

/// How long toll may be silent before it counts as gone: it says something every two seconds. A network
/// that is cut ends no connection.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a request that is under way may take after that, until the process is ended and with it the
/// servers.
const GRACE: Duration = Duration::from_secs(10);

/// Lines of an input until it ends, or nothing comes for 30 s.
pub struct Input(Receiver<String>);

impl Input {
    /// Of the process that is the agent, which ends 10 s after this input at the latest.
    #[must_use]
    pub fn of_process() -> Self {
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            read(std::io::stdin(), &sender, SILENCE);
            drop(sender);
            std::thread::sleep(GRACE);
            std::process::exit(1);
        });
        Self(lines)
    }

    #[cfg(test)]
    pub(crate) fn of(input: impl Read + AsFd + Send + 'static, silence: Duration) -> Self {
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || read(input, &sender, silence));
        Self(lines)
    }
}

impl Iterator for Input {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.0.recv().ok()
    }
}

fn read(mut input: impl Read + AsFd, sender: &Sender<String>, silence: Duration) {
    let mut lines = Lines::default();
    let mut bytes = vec![0; 1 << 16];
    let Ok(silence) = Timespec::try_from(silence) else { return };
    loop {
        let mut descriptors = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut descriptors, Some(&silence)) {
            Ok(0) => return,
            Err(rustix::io::Errno::INTR) => continue,
            Ok(_) | Err(_) => {}
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
    use std::os::unix::net::UnixStream;

    #[test]
    fn an_input_ends_where_it_is_closed_or_silent() {
        let (mut toll, agent) = UnixStream::pair().unwrap();
        let mut input = Input::of(agent, Duration::from_millis(200));
        toll.write_all(b"\n\none\n").unwrap();
        assert_eq!(input.next().as_deref(), Some("one"));
        // It is open, and says nothing.
        assert_eq!(input.next(), None);

        let (toll, agent) = UnixStream::pair().unwrap();
        let mut input = Input::of(agent, SILENCE);
        drop(toll);
        assert_eq!(input.next(), None);
    }
}
