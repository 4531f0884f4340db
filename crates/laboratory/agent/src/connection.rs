//! toll's end of the pipe to an agent: each request is answered within its limit, or the connection
//! ends with a reason.

use std::io::{self, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde::de::DeserializeOwned;
use targets::{
    Host, Lines, RemoteStartError, Shell, Silence, one_line, shortened, wait_for, wait_or_kill,
};

use crate::Refusal;
use crate::request::{AgentRequest, Answer, Greeting};

/// How long the shell has until the agent greets: a host that drops packets never answers.
const GREETING: Duration = Duration::from_secs(30);

/// How long the shell has to end once its input has.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

type Output = Arc<Mutex<Option<Box<dyn Write + Send>>>>;

/// An agent, as toll talks to it.
pub(crate) struct Connection {
    host: Host,
    output: Output,
    lines: Receiver<Line>,
    /// The process that it is reached through, if there is one.
    shell: Option<AgentProcess>,
    /// Why it is over.
    over: Option<String>,
}

/// What came through the pipe: a line, or the beginning of what is none.
type Line = Result<String, String>;

struct AgentProcess {
    child: Child,
    complaints: Receiver<String>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("host", &self.host).field("over", &self.over).finish()
    }
}

impl Connection {
    /// Starts the agent on a host; what it says of itself.
    ///
    /// # Errors
    /// Why it does not greet, in one line that says what to do.
    pub(crate) fn open(
        shell: &Shell,
        silence: Silence,
        host: &Host,
    ) -> Result<(Self, Greeting), String> {
        let words = shell.words(host, silence);
        let mut child = Shell::spawn(&words, Stdio::piped())?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("{} has no pipes", words[0]));
        };
        let mut this = Self::over(host, output, input, silence.sign_of_life());
        this.shell = Some(AgentProcess { child, complaints: complaints(errors) });
        let greeting = this.greeting(&words.join(" "));
        // What has not greeted is no agent, whose end would be worth waiting for.
        this.over = greeting.as_ref().err().cloned();
        Ok((this, greeting?))
    }

    /// Over these pipes, with a sign of life of toll's in each `interval`.
    pub(crate) fn over(
        host: &Host,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        interval: Duration,
    ) -> Self {
        let output: Output = Arc::new(Mutex::new(Some(Box::new(output))));
        let signs = Arc::downgrade(&output);
        std::thread::spawn(move || show_life(&signs, interval));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || read(input, &sender));
        Self { host: host.clone(), output, lines, shell: None, over: None }
    }

    /// The agent's first line.
    pub(crate) fn greeting(&mut self, command: &str) -> Result<Greeting, String> {
        let host = &self.host;
        let greeting: Greeting = match self.lines.recv_timeout(GREETING) {
            Ok(Ok(line)) => serde_json::from_str(&line).map_err(|_| {
                format!(
                    "{host} prints `{}` instead of the greeting of toll's agent; see what `{command}` \
                     prints, and silence the shell's start-up files",
                    shortened(&line)
                )
            })?,
            Ok(Err(begin)) => {
                return Err(format!("{host} prints `{begin}` instead of the greeting of toll's agent"));
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!(
                    "{host} does not answer within {} s; try `{command}`",
                    GREETING.as_secs()
                ));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.not_begun(command)),
        };
        let own = build_identity::own();
        match greeting.toll == own {
            true => Ok(greeting),
            false => Err(format!(
                "{host} has toll {}, and this is toll {own}; install the same build on both",
                shortened(&greeting.toll)
            )),
        }
    }

    /// Why the shell ended before the agent spoke.
    fn not_begun(&mut self, command: &str) -> String {
        let host = self.host.clone();
        let (status, said) = self.end_of_shell();
        let place = format!("in a folder of the PATH that `ssh {host} env` prints");
        let error = RemoteStartError {
            host: host.as_str(),
            speaker: "agent",
            program: "toll",
            place: &place,
            status: &status,
            said: said.as_deref(),
            command,
        };
        error.to_string()
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The agent's refusal, or why there is no answer; then the connection is over.
    pub(crate) fn ask<T: DeserializeOwned>(
        &mut self,
        request: &AgentRequest,
    ) -> Result<T, Refusal> {
        if let Some(why) = self.why_over() {
            return Err(Refusal::of(why));
        }
        match self.exchange(request, request.limit()) {
            Ok(Answer::Done(value)) => match serde_json::from_value(value) {
                Ok(value) => Ok(value),
                Err(error) => Err(self.end(format!("sent a wrong answer ({error})"))),
            },
            Ok(Answer::Refused(refusal)) => Err(refusal),
            Err(why) => Err(self.end(why)),
        }
    }

    /// Why the connection is over, where it is.
    pub(crate) fn why_over(&mut self) -> Option<String> {
        if self.over.is_none() {
            match self.lines.try_recv() {
                Err(TryRecvError::Empty) => {}
                Ok(line) => {
                    let begin = line.map_or_else(|begin| begin, |line| shortened(&line));
                    self.end(format!("says `{begin}` unasked"));
                }
                Err(TryRecvError::Disconnected) => {
                    let why = self.ended();
                    self.end(why);
                }
            }
        }
        self.over.clone()
    }

    fn exchange(&mut self, request: &AgentRequest, limit: Duration) -> Result<Answer, String> {
        let line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        // What keeps it from being written shows where the answer is read.
        let _: io::Result<()> = send(&self.output, &line);
        match self.lines.recv_timeout(limit) {
            Ok(Ok(line)) => serde_json::from_str(&line)
                .map_err(|_| format!("answers `{}`, which is not an answer", shortened(&line))),
            Ok(Err(begin)) => Err(format!("answers `{begin}` without an end")),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("does not answer within {} s", limit.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
        }
    }

    /// `ended (exit status: 255: Connection reset)`.
    fn ended(&mut self) -> String {
        let (status, said) = self.end_of_shell();
        match said {
            Some(said) => format!("ended ({status}: {})", one_line(&said)),
            None => format!("ended ({status})"),
        }
    }

    /// Ends the connection for this reason.
    fn end(&mut self, why: String) -> Refusal {
        let why = format!("the agent on {} {why}", self.host);
        self.close();
        self.over = Some(why.clone());
        Refusal::of(why)
    }

    fn close(&mut self) {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// How the shell ended, and its last line of complaint.
    fn end_of_shell(&mut self) -> (String, Option<String>) {
        let Some(AgentProcess { child, complaints }) = &mut self.shell else {
            return ("the pipe is closed".to_owned(), None);
        };
        let status = wait_for(child, Duration::from_secs(2)).map(|status| status.to_string());
        let said = complaints.recv_timeout(Duration::from_secs(1)).ok();
        (status.unwrap_or_else(|| "its output is closed".to_owned()), said)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The agent ends with its input, and takes its servers with it.
        self.close();
        let Some(AgentProcess { child, .. }) = &mut self.shell else { return };
        let limit = if self.over.is_none() { STOP_TIMEOUT } else { Duration::from_secs(1) };
        wait_or_kill(child, limit);
    }
}

fn send(output: &Mutex<Option<Box<dyn Write + Send>>>, line: &str) -> io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    match output.as_mut() {
        Some(output) => {
            output.write_all(format!("{line}\n").as_bytes()).and_then(|()| output.flush())
        }
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Writes an empty line now and then, until the connection is over.
fn show_life(output: &Weak<Mutex<Option<Box<dyn Write + Send>>>>, interval: Duration) {
    loop {
        std::thread::sleep(interval);
        let Some(output) = output.upgrade() else { return };
        if send(&output, "").is_err() {
            return;
        }
    }
}

fn read(mut input: impl Read, sender: &mpsc::Sender<Line>) {
    let mut lines = Lines::default();
    let mut bytes = vec![0; 1 << 16];
    loop {
        let came = match input.read(&mut bytes) {
            Ok(count @ 1..) => lines.add(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A line without its end is what was left of one.
            Ok(0) | Err(_) => Err(lines.rest().map(|rest| shortened(&rest)).unwrap_or_default()),
        };
        let is_over = came.is_err();
        let came: Vec<Line> = match came {
            Ok(ended) => ended.into_iter().map(Ok).collect(),
            Err(begin) if begin.is_empty() => Vec::new(),
            Err(begin) => vec![Err(begin)],
        };
        if came.into_iter().any(|line| sender.send(line).is_err()) || is_over {
            return;
        }
    }
}

/// The last line that is printed there, once that ends.
fn complaints(mut errors: impl Read + Send + 'static) -> Receiver<String> {
    const KEPT: usize = 4096;
    let (sender, last) = mpsc::channel();
    std::thread::spawn(move || {
        let mut kept: Vec<u8> = Vec::new();
        let mut bytes = [0; 1024];
        while let Ok(count @ 1..) = errors.read(&mut bytes) {
            kept.extend_from_slice(&bytes[..count]);
            kept.drain(..kept.len().saturating_sub(KEPT));
        }
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        if let Some(line) = line {
            let _ = sender.send(line.to_owned());
        }
    });
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    /// A connection to an agent that greets and answers each request with the next of these.
    fn to(greeting: &str, answers: &[&str]) -> Connection {
        let (here, there) = UnixStream::pair().unwrap();
        let answers: Vec<String> = answers.iter().map(ToString::to_string).collect();
        let mut output = there.try_clone().unwrap();
        output.write_all(greeting.as_bytes()).unwrap();
        std::thread::spawn(move || {
            let requests = BufReader::new(there).lines().map_while(Result::ok);
            let requests = requests.filter(|line| !line.is_empty());
            for (answer, _) in answers.into_iter().zip(requests) {
                output.write_all(answer.as_bytes()).unwrap();
            }
            output.shutdown(std::net::Shutdown::Both).unwrap();
        });
        over(here, Silence::default().sign_of_life())
    }

    fn over(here: UnixStream, interval: Duration) -> Connection {
        let host = "server".parse().unwrap();
        Connection::over(&host, here.try_clone().unwrap(), here, interval)
    }

    fn answered(answers: &[&str]) -> (Result<Vec<String>, String>, Connection) {
        let mut connection = to("", answers);
        let answer = connection.ask(&AgentRequest::Noise).map_err(|refusal| refusal.why);
        (answer, connection)
    }

    #[test]
    fn another_version_of_toll_is_refused_with_both() {
        let greeted = |greeting: &str| to(greeting, &[]).greeting("ssh server toll agent");
        let build = build_identity::own();
        let own = format!("{{\"toll\":\"{build}\",\"address\":\"10.1.1.1\"}}\n");
        assert_eq!(greeted(&own).unwrap().address, Some([10, 1, 1, 1].into()));
        let error = greeted("{\"toll\":\"0.0.9\"}\n").unwrap_err();
        assert!(error.contains("0.0.9") && error.contains(build), "{error}");
        for (greeting, quoted) in
            [("Welcome to server\n", "`Welcome to server`"), ("Welc", "`Welc`"), ("", "server")]
        {
            let error = greeted(greeting).unwrap_err();
            assert!(error.contains(quoted), "{error}");
        }
    }

    #[test]
    fn an_answer_is_what_was_asked_or_a_refusal() {
        let (answer, mut connection) = answered(&[
            "{\"done\":[\"steal 9%\"]}\n",
            "{\"refused\":{\"is_missing\":true,\"why\":\"no\"}}\n",
        ]);
        assert_eq!(answer.unwrap(), ["steal 9%"]);
        let refusal = connection.ask::<Vec<String>>(&AgentRequest::Noise).unwrap_err();
        assert_eq!((refusal.is_missing, refusal.why.as_str()), (true, "no"));
    }

    #[test]
    fn garbage_is_named_and_ends_the_connection() {
        let mut said = Vec::new();
        for answer in ["hello\n", "{\"done\":7}\n", "{\"done\":[]", ""] {
            let (refusal, mut connection) = answered(&[answer]);
            let why = refusal.unwrap_err();
            said.push((answer.escape_debug().to_string(), why.clone()));
            // It says the same from then on, and asks no more.
            assert_eq!(connection.why_over(), Some(why.clone()));
            assert_eq!(connection.ask::<()>(&AgentRequest::Noise).unwrap_err().why, why);
        }
        support::assert_golden!(said);
    }

    #[test]
    fn an_agent_that_speaks_unasked_or_ends_is_over_before_it_is_asked() {
        let mut connection = to("what?\n", &[]);
        let end = Instant::now() + Duration::from_secs(10);
        while connection.why_over().is_none() && Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(connection.why_over().unwrap().contains("`what?`"));
    }

    #[test]
    fn toll_shows_that_it_is_there_until_the_connection_is_over() {
        let (here, there) = UnixStream::pair().unwrap();
        there.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let connection = over(here, Duration::from_millis(20));
        let mut line = String::new();
        let mut there = BufReader::new(there);
        assert_eq!((there.read_line(&mut line).unwrap(), line.as_str()), (1, "\n"));
        drop(connection);
    }

    #[test]
    fn toll_shows_that_it_is_there_while_it_waits_for_an_answer() {
        let (here, there) = UnixStream::pair().unwrap();
        there.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut connection = over(here, Duration::from_millis(20));
        let asks = std::thread::spawn(move || connection.ask::<Vec<String>>(&AgentRequest::Noise));
        let mut lines = BufReader::new(there.try_clone().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.find(|line| !line.is_empty()).as_deref(), Some("\"noise\""));
        assert_eq!([lines.next(), lines.next()], [Some(String::new()), Some(String::new())]);
        (&there).write_all(b"{\"done\":[]}\n").unwrap();
        assert_eq!(asks.join().unwrap().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn silence_has_a_limit() {
        let (here, _there) = UnixStream::pair().unwrap();
        let mut connection = over(here, Silence::default().sign_of_life());
        let limit = Duration::from_millis(1);
        let why = connection.exchange(&AgentRequest::Noise, limit).unwrap_err();
        assert_eq!(why, "does not answer within 0 s");
    }
}
