//! Several objects, and how often each is requested.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};
use units::Bytes;

use crate::shares::{WHOLE, in_percent, shares};

/// Objects with their shares of the requests. Written `1KiB 90%, /index.html 9.5%, 16MiB 0.5%`: a
/// size means the generated object of that size, and a single object needs no share.
///
/// Each request draws its object independently.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct Mix(Vec<Portion>);

/// One object of a mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portion {
    /// The path that is requested.
    pub path: String,
    /// Its share of the requests, in thousandths of a percent; not 0.
    share: u32,
}

/// The longest list of objects.
const MOST_OBJECTS: usize = 1000;

impl Mix {
    /// One generated object.
    pub fn of_size(size: Bytes) -> Self {
        Self(vec![Portion { path: crate::path(size), share: WHOLE }])
    }

    /// Generated objects with their shares in thousandths of a percent; `None` where a size is there twice, or
    /// the shares are not [`WHOLE`] in all.
    pub fn of_sizes(sizes: impl IntoIterator<Item = (Bytes, u32)>) -> Option<Self> {
        let portion = |(size, share)| Portion { path: crate::path(size), share };
        let portions: Vec<Portion> = sizes.into_iter().map(portion).collect();
        let paths: BTreeSet<&String> = portions.iter().map(|portion| &portion.path).collect();
        let is_whole = portions.iter().map(|portion| u64::from(portion.share)).sum::<u64>()
            == u64::from(WHOLE);
        (is_whole && paths.len() == portions.len()).then_some(Self(portions))
    }

    /// All objects; at least one.
    pub fn portions(&self) -> &[Portion] {
        &self.0
    }

    /// The sizes of its objects, where all of them are generated.
    pub fn sizes(&self) -> Option<Vec<Bytes>> {
        self.0.iter().map(|portion| crate::size_of(&portion.path)).collect()
    }

    /// The mean size of a request's object in bytes, where all objects are generated.
    pub fn mean_size(&self) -> Option<f64> {
        let size = |portion: &Portion| Some(crate::size_of(&portion.path)?.0 as f64);
        self.0.iter().map(|portion| Some(size(portion)? * portion.share())).sum()
    }

    /// The path of its object, where there is only one.
    pub fn only(&self) -> Option<&str> {
        match &self.0[..] {
            [portion] => Some(&portion.path),
            _ => None,
        }
    }
}

impl Portion {
    /// Its share of the requests, above 0 and at most 1.
    pub fn share(&self) -> f64 {
        f64::from(self.share) / f64::from(WHOLE)
    }

    /// Its share in thousandths of a percent, of [`WHOLE`].
    pub fn thousandths(&self) -> u32 {
        self.share
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = |name: &str| match (name.parse::<Bytes>(), is_path(name)) {
            (Ok(size), _) => Ok(crate::path(size)),
            (Err(_), true) => Ok(name.to_owned()),
            (Err(error), false) => {
                Err(format!("has `{name}`, which is neither a path nor a size ({error})"))
            }
        };
        let portion = |(path, share)| Portion { path, share };
        match shares(text, "objects", MOST_OBJECTS, path) {
            Ok(paths) => Ok(Self(paths.into_iter().map(portion).collect())),
            Err(why) => {
                Err(format!("`{text}` {why}; write an object such as 1MiB, or 1KiB 90%, 1MiB 10%"))
            }
        }
    }
}

/// A path as a request carries it (RFC 9112, section 3.2.1): visible ASCII.
fn is_path(text: &str) -> bool {
    text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic())
}

impl fmt::Display for Mix {
    /// As it is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |portion: &Portion| match crate::size_of(&portion.path) {
            Some(size) if crate::path(size) == portion.path => size.to_string(),
            _ => portion.path.clone(),
        };
        match &self.0[..] {
            [portion] => f.write_str(&name(portion)),
            portions => {
                let words: Vec<String> = portions
                    .iter()
                    .map(|portion| {
                        format!("{} {}", name(portion), in_percent(portion.share.into()))
                    })
                    .collect();
                f.write_str(&words.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mix_is_written_as_it_is_parsed() {
        for text in ["1MiB", "/index.html?x=1", "1KiB 90%, 1MiB 10%", "/a 99.999%, 77B 0.001%"] {
            assert_eq!(text.parse::<Mix>().unwrap().to_string(), text);
        }
        let mix: Mix = "1024B  12.5% ,/bytes/1MiB 87.50%".parse().unwrap();
        assert_eq!(mix.to_string(), "1KiB 12.5%, 1MiB 87.5%");
        assert_eq!(mix.sizes(), Some(vec![Bytes(1024), Bytes(1 << 20)]));
        assert_eq!(
            (mix.portions()[0].path.as_str(), mix.portions()[1].share()),
            ("/bytes/1KiB", 0.875)
        );
        assert_eq!(mix.only(), None);
        assert_eq!(Mix::of_size(Bytes(5)), "5B 100%".parse().unwrap());
        assert_eq!(Mix::of_size(Bytes(5)).only(), Some("/bytes/5B"));
        assert_eq!("/a 50%, 1KiB 50%".parse::<Mix>().unwrap().sizes(), None);
    }

    #[test]
    fn what_is_no_mix_says_why() {
        for (text, why) in [
            ("", "neither a path nor a size"),
            ("1KiB, 1MiB", "needs a share for `1KiB`"),
            ("1KiB 90%, 1MiB 9%", "has shares of 99% in all instead of 100%"),
            ("1KiB 90%, 1MiB 10.001%", "has shares of 100.001% in all"),
            ("1KiB 50%, 1024B 50%", "has `1024B` twice"),
            ("1KiB 100%, 1MiB 0%", "has an invalid share for `1MiB`"),
            ("1KiB 9e1%, 1MiB 10%", "has an invalid share for `1KiB`"),
            ("1KiB 101%", "has an invalid share for `1KiB`"),
            ("1KiB x9, 1MiB x1", "has an invalid share for `1KiB`"),
            ("a 50%, /b 50%", "neither a path nor a size"),
            ("/\u{e9} 50%, /b 50%", "neither a path nor a size"),
            ("1024", "neither a path nor a size"),
        ] {
            let message = text.parse::<Mix>().unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
            assert!(message.ends_with("such as 1MiB, or 1KiB 90%, 1MiB 10%"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~]{0,60}") {
            if let Ok(mix) = text.parse::<Mix>() {
                prop_assert_eq!(mix.to_string().parse::<Mix>(), Ok(mix));
            }
        }
    }
}
