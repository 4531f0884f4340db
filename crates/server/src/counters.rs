//! What is sent, counted by each thread for itself, and the file that shows it.
//!
//! The file is mapped, a line of JSON for each thread, so that showing costs no system call. A thread
//! writes its line when it has had nothing to do for a moment, never while it serves.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::time::Duration;

use rustix::fs::FallocateFlags;
use rustix::mm::{MapFlags, ProtFlags};
use tls::SendMode;

/// How long a thread has nothing to do before it writes its line.
pub(crate) const MOMENT: Duration = Duration::from_millis(5);

/// The length of a line, its end included.
const LINE: usize = 1024;
/// A line begins with this and a digit: 1 where its counts are the last ones and no connection is open.
const SETTLED: &str = r#"{"settled":"#;

/// The counts of a thread.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Whether those of an accelerator are shown too.
    has_accelerator: bool,
    connections: [Cell<u64>; SendMode::ALL.len()],
    pub(crate) write: Calls,
    pub(crate) sendfile: Calls,
}

/// System calls, and the bytes that they took.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: Cell<u64>,
    bytes: Cell<u64>,
}

impl Calls {
    pub(crate) fn add(&self, bytes: u64) {
        self.calls.set(self.calls.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
    }
}

impl Counters {
    pub(crate) fn new(has_accelerator: bool) -> Self {
        Self { has_accelerator, ..Self::default() }
    }

    /// One whose handshake is over.
    pub(crate) fn count_connection(&self, mode: SendMode) {
        let count = &self.connections[mode as usize];
        count.set(count.get() + 1);
    }
}

/// Without the beginning of the line.
impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#""connections":{"#)?;
        for (place, mode) in SendMode::ALL.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, r#"{comma}"{mode}":{}"#, self.connections[*mode as usize].get())?;
        }
        let calls = |calls: &Calls| {
            format!(r#"{{"calls":{},"bytes":{}}}"#, calls.calls.get(), calls.bytes.get())
        };
        write!(f, r#"}},"write":{},"sendfile":{}"#, calls(&self.write), calls(&self.sendfile))?;
        if self.has_accelerator {
            let counts = offload::counts();
            let offload::Counts { submitted, completed, computed, .. } = counts;
            let offload::Counts { refused, timed_out, abandoned, in_flight_max, .. } = counts;
            write!(
                f,
                r#","accelerator":{{"submitted":{submitted},"completed":{completed},"computed":{computed},"refused":{refused},"timed_out":{timed_out},"abandoned":{abandoned},"in_flight_max":{in_flight_max}}}"#
            )?;
        }
        f.write_str("}")
    }
}

/// A thread's line of the file.
pub(crate) struct Line {
    /// Of [`LINE`] bytes.
    text: NonNull<u8>,
    /// Whether nothing has happened since it was written.
    is_written: bool,
    /// Whether no connection was open then.
    is_settled: bool,
}

// SAFETY: the memory is shared by nobody in this process, and is never unmapped.
unsafe impl Send for Line {}

/// Makes the file, with a line for each thread.
pub(crate) fn file(path: &Path, threads: usize) -> io::Result<Vec<Line>> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let length = threads * LINE;
    // A full disk is an error now, not the end of the process later.
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length as u64)?;
    // SAFETY: a new mapping at a place of the kernel's choice.
    let start = unsafe {
        rustix::mm::mmap(
            std::ptr::null_mut(),
            length,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED,
            &file,
            0,
        )?
    };
    let line = |thread: usize| {
        // SAFETY: within the mapping, which the kernel does not put at zero.
        let text = unsafe { NonNull::new_unchecked(start.cast::<u8>().add(thread * LINE)) };
        let mut line = Line { text, is_written: false, is_settled: false };
        line.write(&Counters::default(), 0);
        line
    };
    Ok((0..threads).map(line).collect())
}

impl Line {
    /// Whether something has happened since it was written.
    pub(crate) fn is_due(&self) -> bool {
        !self.is_written
    }

    /// Something happens: the counts in the file are no longer the last ones.
    pub(crate) fn outdate(&mut self) {
        if std::mem::replace(&mut self.is_written, false) {
            if self.is_settled {
                // What comes now is another load.
                offload::forget_most();
            }
            // SAFETY: within the line.
            unsafe { self.text.add(SETTLED.len()).write_volatile(b'0') };
        }
    }

    /// Writes the counts of a thread that has `open` connections.
    pub(crate) fn write(&mut self, counters: &Counters, open: usize) {
        self.is_settled = open == 0;
        let text = format!("{SETTLED}{},{counters}", u8::from(self.is_settled));
        let text = format!("{text:<width$}\n", width = LINE - 1);
        // Sixteen numbers of 20 digits and their names have room.
        let count = text.len().min(LINE);
        // SAFETY: within the line, which no reference of this process points into.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), self.text.as_ptr(), count) };
        self.is_written = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_line_that_says_whether_it_is_the_last_word() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counters");
        let mut lines = file(&path, 2).unwrap();
        let text = || std::fs::read_to_string(&path).unwrap();
        assert_eq!((text().lines().count(), text().matches(r#"{"settled":1"#).count()), (2, 2));
        let counters = Counters::default();
        counters.count_connection(SendMode::KtlsSendfile);
        counters.write.add(u64::MAX);
        assert!(!lines[1].is_due());
        lines[1].outdate();
        assert!(lines[1].is_due() && text().lines().nth(1).unwrap().starts_with(r#"{"settled":0"#));
        lines[1].write(&counters, 1);
        let second = text().lines().nth(1).unwrap().trim_end().to_owned();
        assert_eq!(
            second,
            r#"{"settled":0,"connections":{"user":0,"ktls-write":0,"ktls-sendfile":1},"write":{"calls":1,"bytes":18446744073709551615},"sendfile":{"calls":0,"bytes":0}}"#
        );
        lines[1].write(&counters, 0);
        assert!(text().lines().nth(1).unwrap().starts_with(r#"{"settled":1"#));
    }

    #[test]
    fn a_file_that_cannot_be_made_is_an_error() {
        assert!(file(Path::new("/nowhere/counters"), 1).is_err());
    }
}
