//! The libraries that can be measured, one file each.

use std::path::Path;

use crate::algorithm::{Algorithm, normal};
use crate::connection::Stack;
use crate::libraries::{aws_lc, isa_l, libcrypto, multi_buffer, ring, rustcrypto, rustls};
use crate::material::Material;
use crate::routine::{Routine, Unavailable};

pub trait Library: Send + Sync {
    /// The name that means it on the command line, as in `aws-lc`.
    fn id(&self) -> &str;

    /// Its name and version, as in `OpenSSL 3.0.22`.
    fn title(&self) -> &str;

    /// Whose code it is: of two libraries with equal origins neither can check the other.
    fn origin(&self) -> &str {
        self.id()
    }

    /// Sets up an algorithm.
    ///
    /// # Errors
    /// The library does not do it, and why.
    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable>;

    /// Its TLS, where it speaks it.
    ///
    /// # Errors
    /// It does not, and why.
    fn stack(&self) -> Result<&dyn Stack, Unavailable> {
        Err(Unavailable::because("it does not speak TLS"))
    }

    /// What the library itself says of the processor's features that it uses; `None` where it does
    /// not say.
    fn processor_features(&self) -> Option<String> {
        None
    }
}

/// The names that [`open`] knows, in the order of tables.
pub const NAMES: [&str; 15] = [
    "openssl",
    "aws-lc",
    "ring",
    "rustcrypto",
    "rustls-ring",
    "rustls-aws-lc",
    "multibuffer",
    "multibuffer-avx512",
    "multibuffer-avx512vl",
    "multibuffer-avx2",
    "multibuffer-sha-ni",
    "multibuffer-portable",
    "isa-l",
    "isa-l-avx512",
    "isa-l-avx2",
];

/// The libraries that are measured where none is named.
pub const DEFAULT: [&str; 7] =
    ["openssl", "aws-lc", "ring", "rustcrypto", "rustls-ring", "rustls-aws-lc", "multibuffer"];

/// Opens those that are measured where none is named: [`DEFAULT`], and where the environment names a
/// build of ISA-L crypto (`ISAL=DIR`), that, in the variants that it exports.
///
/// # Errors
/// One is not here.
pub fn open_default() -> Result<Vec<Box<dyn Library>>, OpenError> {
    let mut libraries = DEFAULT.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    if std::env::var_os(isa_l::VARIABLE).is_some_and(|folder| !folder.is_empty()) {
        libraries.push(open("isa-l")?);
        libraries
            .extend(["isa-l-avx512", "isa-l-avx2"].into_iter().filter_map(|name| open(name).ok()));
    }
    Ok(libraries)
}

/// Opens a library by its name, or a libcrypto by its path (a word with a slash in it).
///
/// # Errors
/// There is no such library here; one line with what to do.
pub fn open(name: &str) -> Result<Box<dyn Library>, OpenError> {
    if name.contains('/') {
        return libcrypto::LibCrypto::at(Path::new(name))
            .map(|library| Box::new(library) as Box<dyn Library>);
    }
    Ok(match normal(name).as_str() {
        "openssl" | "libcrypto" => Box::new(libcrypto::LibCrypto::of_the_system()?),
        "awslc" => Box::new(aws_lc::AwsLc::new()),
        "ring" => Box::new(ring::Ring::new()),
        "rustcrypto" => Box::new(rustcrypto::RustCrypto::new()),
        "rustlsring" | "rustls" => Box::new(rustls::Rustls::with_ring()),
        "rustlsawslc" => Box::new(rustls::Rustls::with_aws_lc()),
        _ => {
            if let Some(library) = multi_buffer::MultiBuffer::named(name) {
                return Ok(Box::new(library?));
            }
            if let Some(library) = isa_l::IsaL::named(name) {
                return Ok(Box::new(library?));
            }
            return Err(OpenError::unknown(name));
        }
    })
}

/// The name that stands for a library and all its aliases, or the path as it is; nothing is opened.
///
/// # Errors
/// There is none of that name; one line with what to do.
pub fn canonical(name: &str) -> Result<String, OpenError> {
    if name.contains('/') {
        return Ok(name.to_owned());
    }
    let asked = normal(name);
    let asked = match asked.as_str() {
        "libcrypto" => "openssl",
        "rustls" => "rustlsring",
        asked => asked,
    };
    NAMES
        .into_iter()
        .find(|known| normal(known) == asked)
        .map(str::to_owned)
        .ok_or_else(|| OpenError::unknown(name))
}

/// Why a library cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none of that name.
    #[error(
        "`{name}` is no library{}; give one of {}, or the path of a libcrypto",
        .nearest.as_deref().map_or(String::new(), |name| format!("; did you mean `{name}`?")),
        NAMES.join(", ")
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// It cannot be loaded, or is no libcrypto.
    #[error("{path}: {why}; give the path of a libcrypto such as /opt/openssl/lib/libcrypto.so")]
    NotLoaded {
        /// Where it should be.
        path: String,
        /// The linker's answer.
        why: String,
    },
    /// The processor lacks the instructions.
    #[error("{0}")]
    NotHere(String),
}

impl OpenError {
    fn unknown(name: &str) -> Self {
        let nearest = crate::nearest(name, NAMES.map(str::to_owned).into_iter());
        Self::Unknown { name: name.to_owned(), nearest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_one_name() {
        let name = |written| canonical(written).map_err(|error| error.to_string());
        for (written, stands) in [
            ("libcrypto", "openssl"),
            ("AWS_LC", "aws-lc"),
            ("rustls", "rustls-ring"),
            ("multibuffer-AVX2", "multibuffer-avx2"),
            ("/opt/ssl/libcrypto.so", "/opt/ssl/libcrypto.so"),
        ] {
            assert_eq!(name(written).as_deref(), Ok(stands));
        }
        assert!(NAMES.into_iter().all(|known| name(known).as_deref() == Ok(known)));
        assert!(name("rustcripto").unwrap_err().contains("did you mean `rustcrypto`?"));
    }
}
