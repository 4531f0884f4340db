//! The table of the last fields, which both sides of a connection keep alike (RFC 7541, section 2.3.2).

use std::collections::VecDeque;

/// How large a dynamic table may be where nothing else was agreed (RFC 9113, section 6.5.2). A decoder never
/// agrees on more, and an encoder never uses more.
pub(super) const TABLE_SIZE: usize = 4096;

/// What an entry takes of the table's size beside its bytes (RFC 7541, section 4.1).
pub(super) const OVERHEAD: usize = 32;

/// See the module.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// The names and values of the entries, oldest first, after some that are gone.
    bytes: Vec<u8>,
    gone: usize,
    /// Where a name and its value begin, counted from the first byte that ever was there, and their lengths.
    /// The newest is the last.
    entries: VecDeque<(u64, usize, usize)>,
    /// The bytes that were ever there and are no longer in memory.
    dropped: u64,
    size: usize,
    capacity: usize,
    version: u64,
}

impl DynamicTable {
    pub(super) fn new(capacity: usize) -> Self {
        let (bytes, entries) = (Vec::new(), VecDeque::new());
        Self { bytes, gone: 0, entries, dropped: 0, size: 0, capacity, version: 0 }
    }

    /// A number that changes with the entries and the capacity, and with nothing else.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The entry at this place; the newest is at 0.
    pub(super) fn get(&self, place: usize) -> Option<(&[u8], &[u8])> {
        let last = self.entries.len().checked_sub(1)?;
        let (begin, name, value) = self.entries.get(last.checked_sub(place)?)?;
        let field = &self.bytes[(begin - self.dropped) as usize..][..name + value];
        Some(field.split_at(*name))
    }

    /// The entries, newest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.entries.len()).filter_map(|place| self.get(place))
    }

    /// Makes a field the newest entry. One that is larger than the table empties it.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let needed = name.len() + value.len() + OVERHEAD;
        self.evict(self.capacity.saturating_sub(needed));
        if needed > self.capacity {
            return;
        }
        // At most as many bytes are gone as there may be, so each is moved once in the mean.
        if self.gone > self.capacity {
            self.bytes.drain(..self.gone);
            self.dropped += self.gone as u64;
            self.gone = 0;
        }
        let begin = self.dropped + self.bytes.len() as u64;
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_back((begin, name.len(), value.len()));
        self.size += needed;
        self.version += 1;
    }

    pub(super) fn resize(&mut self, capacity: usize) {
        self.version += u64::from(self.capacity != capacity);
        self.capacity = capacity;
        self.evict(capacity);
    }

    /// Drops the oldest entries until the others take no more than this.
    fn evict(&mut self, most: usize) {
        while self.size > most
            && let Some((_, name, value)) = self.entries.pop_front()
        {
            self.gone += name + value;
            self.size -= name + value + OVERHEAD;
            self.version += 1;
        }
    }
}
