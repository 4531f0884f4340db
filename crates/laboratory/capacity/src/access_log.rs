//! What an access log says of its traffic.
//!
//! A format is text ([`template`], in the [`language`] of nginx or Apache), JSON or columns. Of each line it gives the
//! values, and [`request`] makes a request of them by one rule. Nothing of a log is kept but [`counts`].

mod columns;
mod counts;
mod error;
mod format;
mod json;
mod language;
mod number;
mod outcome;
mod request;
mod source;
mod template;
#[cfg(test)]
mod tests;
mod time;

use std::ops::ControlFlow;
use std::path::Path;

use counts::Counts;
pub use error::{LogError, LogErrorReason};
use format::{Format, Line};
pub use language::{FormatError, LogFormat};
pub use outcome::{AccessLog, Connections, Damaged, Heads, LeftOut, LogUse};
use request::Damage;
pub use request::{Protocol, Tls};
use source::{Ending, Source};

/// How many lines show which format a log has.
const SAMPLE: usize = 100;

/// A log is refused if more than one in this many lines is no request.
const MOST_DAMAGED: u64 = 100;

/// How often a caller hears how far the reading is, in lines.
const LINES_PER_REPORT: u64 = 1 << 14;

/// How far the reading of a log is.
#[derive(Debug, Clone, Copy)]
pub struct ReadSoFar {
    pub lines: u64,
    pub bytes: u64,
    /// All bytes of the file; 0 for a pipe.
    pub all_bytes: u64,
}

/// Reads a log, plain or compressed by gzip or Zstandard, in the format that is given or in the one that its first lines
/// have. A last line that was not written to its end is left out. `None` where `report` ended it.
///
/// # Errors
/// The file cannot be read, its format is none that is known, or more than 1% of its lines are no requests.
pub fn read(
    path: &Path,
    format: Option<&LogFormat>,
    report: &mut dyn FnMut(ReadSoFar) -> ControlFlow<()>,
) -> Result<Option<AccessLog>, LogError> {
    let found = Source::open(path).map_err(LogErrorReason::from);
    let found = found.and_then(|source| read_source(source, format, report));
    found.map_err(|reason| LogError { path: path.to_owned(), reason })
}

fn read_source(
    mut source: Source,
    given: Option<&LogFormat>,
    report: &mut dyn FnMut(ReadSoFar) -> ControlFlow<()>,
) -> Result<Option<AccessLog>, LogErrorReason> {
    let mut sample = Vec::new();
    let format = match given {
        Some(format) => Format::given(format),
        None => {
            while sample.len() < SAMPLE
                && let Some((line, ending)) = source.next()?
            {
                sample.push((line.to_vec(), ending));
            }
            let (first, _) = sample.first().ok_or(LogErrorReason::Empty)?;
            let lines: Vec<&[u8]> = sample.iter().map(|(line, _)| &line[..]).collect();
            let unknown = LogErrorReason::Unknown { line: 1, look: format::look(first) };
            Format::of(&lines).ok_or(unknown)?
        }
    };
    let mut reader = Reader::new(format);
    for (line, ending) in &sample {
        reader.take(line, *ending)?;
    }
    while let Some((line, ending)) = source.next()? {
        reader.take(line, ending)?;
        let lines = reader.line;
        let so_far =
            || ReadSoFar { lines, bytes: source.bytes_read.get(), all_bytes: source.bytes };
        if lines.is_multiple_of(LINES_PER_REPORT) && report(so_far()).is_break() {
            return Ok(None);
        }
    }
    reader.finish().map(Some)
}

struct Reader {
    format: Format,
    counts: Counts,
    /// The number of the line.
    line: u64,
    damaged: u64,
    first_damaged: Option<Damaged>,
}

impl Reader {
    fn new(format: Format) -> Self {
        Self { format, counts: Counts::default(), line: 0, damaged: 0, first_damaged: None }
    }

    fn take(&mut self, line: &[u8], ending: Ending) -> Result<(), LogErrorReason> {
        self.line += 1;
        let why = match (ending, self.format.read(line)) {
            // Its last value may be cut, and still look whole.
            (Ending::Torn, _) => return Ok(()),
            (Ending::TooLong, _) => Damage::TooLong,
            (_, Line::Entry(entry)) => {
                self.counts.add(&entry);
                return Ok(());
            }
            (_, Line::NoColumn(name)) => {
                return Err(LogErrorReason::NoColumn { line: self.line, name });
            }
            (_, Line::Directive) => return Ok(()),
            (Ending::Whole, Line::Damaged(why)) => why,
        };
        if let Some(other) = self.format.other(line) {
            let format = self.format.name();
            return Err(LogErrorReason::Mixed { line: self.line, format, other });
        }
        self.damaged += 1;
        let line = self.line;
        self.first_damaged.get_or_insert_with(|| Damaged { line, why: why.to_string() });
        Ok(())
    }

    fn finish(mut self) -> Result<AccessLog, LogErrorReason> {
        let format = self.format.name();
        let left_out = self.counts.left_out;
        let lines = self.counts.requests + left_out.plain + left_out.upgraded + self.damaged;
        let damaged = self.damaged;
        match &self.first_damaged {
            Some(first) if damaged.saturating_mul(MOST_DAMAGED) > lines => {
                let first = first.clone();
                return Err(LogErrorReason::Damaged { first, damaged, lines, format });
            }
            _ => {}
        }
        if self.counts.has_no_sizes() && !matches!(self.format, Format::Given(_)) {
            return Err(LogErrorReason::NoSizes { format });
        }
        let nothing = || match left_out {
            LeftOut { plain: 0, upgraded: 0 } => LogErrorReason::Empty,
            left_out => LogErrorReason::NoTls(left_out),
        };
        let (minute, busiest) = self.counts.busiest().ok_or_else(nothing)?;
        let (sizes, heads) = self.counts.sizes();
        let used = LogUse {
            format,
            lines,
            requests: self.counts.requests,
            left_out,
            damaged: self.first_damaged,
            heads,
            connections: self.counts.connections,
            proxied: self.counts.proxied(),
            not_numbered: self.counts.not_numbered,
            protocols: self.counts.protocols(),
            tls: self.counts.tls(),
        };
        Ok(AccessLog {
            object: sizes.mix().ok_or(LogErrorReason::Empty)?,
            sizes,
            busiest,
            minute: minute.to_string(),
            used,
        })
    }
}
