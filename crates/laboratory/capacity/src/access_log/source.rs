//! The text of a log's file, and its lines.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The longest line that is read.
const LONGEST: usize = 64 << 10;

const BUFFER: usize = 1 << 20;

/// The lines of a file, which may be compressed by gzip or Zstandard.
pub(super) struct Source {
    text: Box<dyn BufRead>,
    /// Bytes of the file that were read.
    pub(super) bytes_read: Rc<Cell<u64>>,
    /// Bytes that the file has; 0 for a pipe.
    pub(super) bytes: u64,
    /// Bytes of `text` that the last line took, if it is still there.
    taken: usize,
    /// The last line, if it had to be put together.
    line: Vec<u8>,
}

/// A line that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    /// The end of the file is within it: it was cut off while it was written.
    Torn,
    /// It is longer than a line may be; what is over is left out.
    TooLong,
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let bytes_read = Rc::new(Cell::new(0));
        let file = Counted { file, count: Rc::clone(&bytes_read) };
        let mut file = BufReader::with_capacity(BUFFER, file);
        let start = file.fill_buf()?;
        let mut text: Box<dyn BufRead> = match start {
            [0x1f, 0x8b, ..] => {
                Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file)))
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Box::new(BufReader::with_capacity(BUFFER, Frames::new(file)))
            }
            _ => Box::new(file),
        };
        if text.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            text.consume(3);
        }
        Ok(Self { text, bytes_read, bytes, taken: 0, line: Vec::new() })
    }

    /// The next line, without its end; `None` after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<(&[u8], Ending)>> {
        self.text.consume(std::mem::take(&mut self.taken));
        let buffered = self.text.fill_buf()?;
        let found = memchr::memchr(b'\n', &buffered[..buffered.len().min(LONGEST)]);
        let (line, ending) = match found {
            // Most lines are whole in the buffer, and a copy would take longer than reading them.
            Some(end) => {
                self.taken = end + 1;
                (&self.text.fill_buf()?[..end], Ending::Whole)
            }
            None => match self.put_together()? {
                Some(ending) => (&self.line[..], ending),
                None => return Ok(None),
            },
        };
        Ok(Some((line.strip_suffix(b"\r").unwrap_or(line), ending)))
    }

    fn put_together(&mut self) -> io::Result<Option<Ending>> {
        self.line.clear();
        self.text.by_ref().take(LONGEST as u64).read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            return Ok(None);
        }
        if self.line.pop_if(|byte| *byte == b'\n').is_some() {
            return Ok(Some(Ending::Whole));
        }
        if self.line.len() < LONGEST {
            return Ok(Some(Ending::Torn));
        }
        self.text.skip_until(b'\n')?;
        Ok(Some(Ending::TooLong))
    }
}

struct Counted {
    file: File,
    count: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// Frames of Zstandard, one after another: a log that was appended to has several.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new() }
    }

    /// Begins the next frame; false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() || !self.begin()? {
                return Ok(count);
            }
        }
    }
}
