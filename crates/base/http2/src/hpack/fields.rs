//! A list of fields in one piece of memory, which is used again for the next list.

/// See the module.
#[derive(Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    /// Where in the bytes each name and each value ends.
    ends: Vec<(usize, usize)>,
}

impl Fields {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn push(&mut self, (name, value): (&[u8], &[u8])) {
        self.bytes.extend_from_slice(name);
        let end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((end, self.bytes.len()));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let mut begin = 0;
        self.ends.iter().map(move |(name, value)| {
            let field = (&self.bytes[begin..*name], &self.bytes[*name..*value]);
            begin = *value;
            field
        })
    }

    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of all names and values.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Where a field is written in parts: first its name, then its value, then it is [`Self::end`]ed.
    pub fn writer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends the field whose name ends here, and returns it.
    pub fn end(&mut self, name: usize) -> (&[u8], &[u8]) {
        let begin = self.ends.last().map_or(0, |(_, value)| *value);
        self.ends.push((name, self.bytes.len()));
        (&self.bytes[begin..name], &self.bytes[name..])
    }
}
