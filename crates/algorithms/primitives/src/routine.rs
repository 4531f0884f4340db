//! What a library gives: a routine that does one algorithm over and over.

/// Does one operation on an input, and says how many bytes came out.
pub type Step = Box<dyn FnMut(&[u8], &mut [u8]) -> Result<usize, Failed>>;

/// Overwrites a buffer.
pub type Seal = Box<dyn FnMut(&mut [u8]) -> Result<(), Failed>>;

/// Does one operation on each input, and writes the results one after the other, in places of one size.
pub type Many = Box<dyn FnMut(&[Vec<u8>], &mut [u8]) -> Result<(), Failed>>;

/// An algorithm of a library, with its keys and contexts set up.
pub enum Routine {
    /// From one buffer into another.
    Apart(Step),
    /// In its buffer, which has room for what is added before and after the message.
    InPlace {
        /// Bytes of the buffer before the message.
        front: usize,
        seal: Seal,
    },
    /// Many inputs at once: messages that are hashed, or operations with keys.
    Many { lanes: usize, run: Many },
}

/// Why a library does not do an algorithm; one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not available: {0}")]
pub struct Unavailable(pub String);

impl Unavailable {
    pub fn because(why: impl std::fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl From<Failed> for Unavailable {
    fn from(failed: Failed) -> Self {
        Self(failed.0)
    }
}

/// A library's function refused to do what it should, or did something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

impl Failed {
    pub fn of(function: &str) -> Self {
        Self(format!("{function} failed"))
    }

    pub fn because(why: impl std::fmt::Display) -> Self {
        Self(why.to_string())
    }
}
