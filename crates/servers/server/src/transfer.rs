//! One response on its way: its content, and how far it has come.

use std::io;

use tls::{RecordSize, RecordsPerWrite, SendMode};

use crate::content::Content;
use crate::library::Session;
use crate::response::{self, Persistence, Status};
use crate::wire::Wire;

/// The most that one `sendfile` is asked for, so that a large file lets others have their turn.
const FILE_PIECE: usize = 1 << 20;

/// The most of a file that is read at once before it is encrypted: it is still in the cache then.
const FILE_READ: usize = 64 << 10;

/// Room that a record's header, nonce, padding and tag may need beside its plaintext
/// (RFC 5246, section 6.2.3; far less in TLS 1.3).
const RECORD_OVERHEAD: usize = 320;

/// The most plaintext that a record may have (RFC 8446, section 5.1).
const LARGEST_RECORD: usize = 16 << 10;

/// How records are written, and where their plaintext is put together.
pub(crate) struct Writing {
    record: usize,
    records: usize,
    space: Vec<u8>,
    /// Where heads are put together.
    head: Vec<u8>,
}

impl Writing {
    pub(crate) fn new(record: RecordSize, records: RecordsPerWrite) -> Self {
        let (record, records) = (record.get(), records.get());
        Self { record, records, space: vec![0; record * records], head: Vec::new() }
    }

    /// The gathered bytes that are enough for a send.
    pub(crate) fn enough(&self) -> usize {
        self.record * self.records
    }

    /// How much plaintext still fits beside `gathered` bytes: whole records, at least one.
    fn room(&self, gathered: usize) -> usize {
        let used = gathered.div_ceil(self.record + RECORD_OVERHEAD);
        self.record * self.records.saturating_sub(used).max(1)
    }

    /// How much plaintext the kernel gets in a send beside `gathered` bytes: it makes records of 16 KiB
    /// of a larger one, and one record of a smaller one.
    fn kernels_piece(&self, gathered: usize) -> usize {
        let whole = match self.record {
            LARGEST_RECORD => (self.record * self.records).min(FILE_READ),
            record => record,
        };
        whole.saturating_sub(gathered).max(1)
    }

    /// Memory for what is read or dropped.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        &mut self.space
    }

    /// What was read into it.
    pub(crate) fn received(&self) -> &[u8] {
        &self.space
    }
}

/// A response that is being sent.
pub(crate) struct Transfer {
    content: Content,
    offset: u64,
    end: u64,
    persistence: Persistence,
    head: Head,
}

/// The head of a response, until it is written.
enum Head {
    Due(Status),
    Written,
}

impl Transfer {
    /// The response with an object, or with its head alone.
    pub(crate) fn object(content: Content, head_only: bool, persistence: Persistence) -> Self {
        let end = if head_only { 0 } else { content.size() };
        Self { content, offset: 0, end, persistence, head: Head::Due(Status::Ok) }
    }

    /// The response with an error's text.
    pub(crate) fn error(status: Status, head_only: bool, persistence: Persistence) -> Self {
        let mut transfer = Self::object(Content::Text(status.text()), head_only, persistence);
        transfer.head = Head::Due(status);
        transfer
    }

    pub(crate) fn persistence(&self) -> Persistence {
        self.persistence
    }

    /// The connection ends with this response, whatever was agreed.
    pub(crate) fn close_afterwards(&mut self) {
        self.persistence = Persistence::Close;
    }

    /// Whether head and content are written; they may still have to be sent.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.head, Head::Written) && self.offset == self.end
    }

    /// Writes the head, if it is due.
    fn take_head<'a>(&mut self, head: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        match std::mem::replace(&mut self.head, Head::Written) {
            Head::Due(status) => {
                response::write_head(head, status, self.content.size(), self.persistence);
                Some(head)
            }
            Head::Written => None,
        }
    }

    fn remaining(&self, most: usize) -> usize {
        usize::try_from(self.end - self.offset).map_or(most, |remaining| remaining.min(most))
    }

    /// Encrypts the next records, as many as go into one send beside those that have gathered.
    /// The head and the beginning of the content share the first record.
    pub(crate) fn encrypt(
        &mut self,
        session: &mut impl Session,
        writing: &mut Writing,
    ) -> io::Result<()> {
        if let Some(head) = self.take_head(&mut writing.head) {
            let record = writing.record.max(head.len());
            let space = &mut writing.space;
            if space.len() < record {
                space.resize(record, 0);
            }
            space[..head.len()].copy_from_slice(head);
            let mut filled = head.len();
            while filled < record && self.offset < self.end {
                let count = self.remaining(record - filled);
                let rest = &mut space[filled..record];
                let taken = match &self.content {
                    Content::File(..) => self.content.piece(self.offset, count, rest)?.len(),
                    content => {
                        let piece = content.piece(self.offset, count, &mut [])?;
                        rest[..piece.len()].copy_from_slice(piece);
                        piece.len()
                    }
                };
                filled += taken;
                self.offset += taken as u64;
            }
            encrypt_all(session, &space[..filled])?;
            if self.offset == self.end {
                return Ok(());
            }
        }
        let mut room = writing.room(session.wire().gathered());
        if matches!(self.content, Content::File(..)) {
            room = room.min(FILE_READ);
        }
        let piece = self.content.piece(self.offset, self.remaining(room), &mut writing.space)?;
        encrypt_all(session, piece)?;
        self.offset += piece.len() as u64;
        Ok(())
    }

    /// Sends the next piece of the content, and before it what has gathered; over TLS it is for the
    /// kernel to encrypt. False where the socket is full.
    pub(crate) fn send_plain(
        &mut self,
        wire: &mut Wire,
        writing: &mut Writing,
        mode: SendMode,
    ) -> io::Result<bool> {
        if let Some(head) = self.take_head(&mut writing.head) {
            wire.gather(head);
        }
        let most = match mode {
            SendMode::KtlsWrite => writing.kernels_piece(wire.gathered()),
            _ => FILE_PIECE,
        };
        let count = self.remaining(most);
        if count == 0 {
            return Ok(true);
        }
        let sent = match &self.content {
            Content::File(file, _) if mode != SendMode::KtlsWrite => {
                if !wire.send_before_more()? {
                    return Ok(false);
                }
                wire.send_file(file, self.offset, count)?
            }
            content => wire.send_body(content.piece(self.offset, count, &mut writing.space)?)?,
        };
        match sent {
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(sent) => {
                self.offset += sent as u64;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// Encrypts all of `plaintext`. The wire takes every record, so this never has to wait.
pub(crate) fn encrypt_all(session: &mut impl Session, mut plaintext: &[u8]) -> io::Result<()> {
    while !plaintext.is_empty() {
        let count = session.write(plaintext)?;
        plaintext = &plaintext[count..];
    }
    Ok(())
}
