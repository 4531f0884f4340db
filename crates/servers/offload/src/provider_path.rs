use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// An OpenSSL provider by its name and its file, written `NAME=PATH`, such as
/// `qatprovider=/usr/lib/ossl-modules/qatprovider.so`.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct ProviderPath {
    name: String,
    path: PathBuf,
}

impl ProviderPath {
    /// # Errors
    /// A name or a path that OpenSSL cannot be given.
    pub fn new(name: &str, path: &Path) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return Err(format!(
                "`{name}` is not a valid name for a provider; write NAME=PATH, with letters, digits, _ . - in \
                 the name"
            ));
        }
        if !path.is_absolute() {
            return Err(format!("`{}` is not an absolute path; write NAME=/PATH", path.display()));
        }
        Ok(Self { name: name.to_owned(), path: path.to_owned() })
    }

    /// The value of the property `provider` of what it implements.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a file that is not there.
    ///
    /// # Errors
    /// Which one it is.
    pub fn check(&self) -> Result<(), String> {
        if self.path.is_file() {
            return Ok(());
        }
        Err(format!(
            "the provider {} is not there: no file {}; write NAME=PATH of its shared library",
            self.name,
            self.path.display()
        ))
    }
}

impl FromStr for ProviderPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').unwrap_or((text, ""));
        Self::new(name, Path::new(path))
    }
}

impl fmt::Display for ProviderPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_path_are_read_as_they_are_written() {
        let provider: ProviderPath = "qat-2.0=/a b/x=y.so".parse().unwrap();
        assert_eq!((provider.name(), provider.path()), ("qat-2.0", Path::new("/a b/x=y.so")));
        assert_eq!(provider.to_string(), "qat-2.0=/a b/x=y.so");
        assert!(provider.check().unwrap_err().contains("no file /a b/x=y.so; write NAME=PATH"));
    }

    #[test]
    fn what_is_no_provider_is_refused() {
        for (text, why) in [
            ("/x.so", "`/x.so` is not a valid name for a provider"),
            ("=/x.so", "`` is not a valid name"),
            ("a b=/x.so", "`a b` is not a valid name"),
            ("qat", "`` is not an absolute path"),
            ("qat=x.so", "`x.so` is not an absolute path"),
        ] {
            let refusal = text.parse::<ProviderPath>().unwrap_err();
            assert!(refusal.starts_with(why), "{text}: {refusal}");
        }
    }
}
