//! Why an answer is weaker than it looks.

use serde::Serialize;
use trial::Limit;

/// One reason, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, derive_more::Deref)]
#[serde(transparent)]
pub struct Caveat {
    #[deref(forward)]
    pub text: String,
    /// The limit of trials that it is about, and what to do. The text names the trials, which differ from one answer to
    /// the next.
    #[serde(skip)]
    pub(crate) limit: Option<(Limit, &'static str)>,
}

impl Caveat {
    /// Whether both ask for the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match self.limit {
            Some(_) => self.limit == other.limit,
            None => self == other,
        }
    }

    /// With the places where it holds, before it.
    pub(crate) fn at(self, places: &str) -> Self {
        Self { text: format!("{places}: {}", self.text), ..self }
    }
}

impl From<String> for Caveat {
    fn from(text: String) -> Self {
        Self { text, limit: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;

    impl fmt::Display for Caveat {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.text)
        }
    }

    impl PartialEq<str> for Caveat {
        fn eq(&self, text: &str) -> bool {
            self.text == *text
        }
    }

    impl PartialEq<&str> for Caveat {
        fn eq(&self, text: &&str) -> bool {
            self.text == **text
        }
    }
}
