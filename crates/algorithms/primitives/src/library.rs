//! The libraries that can be measured, one file each.

use std::path::Path;

use crate::algorithm::normal;
use crate::libraries::library::Library;
pub use crate::libraries::library::{NAMES, OpenError};
use crate::libraries::{
    aws_lc, crypto_mb, isa_l, libcrypto, multi_buffer, ring, rustcrypto, rustls,
};

/// The libraries that are measured where none is named.
pub const DEFAULT: [&str; 7] =
    ["openssl", "aws-lc", "ring", "rustcrypto", "rustls-ring", "rustls-aws-lc", "multibuffer"];

/// Opens those that are measured where none is named: [`DEFAULT`], and where the environment names a
/// build of ISA-L crypto (`ISAL=DIR`), that, in the variants that it exports.
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
pub fn open(name: &str) -> Result<Box<dyn Library>, OpenError> {
    if name.contains('/') {
        return libcrypto::LibCrypto::at(Path::new(name))
            .map(|library| Box::new(library) as Box<dyn Library>);
    }
    let name = canonical(name)?;
    Ok(match name.as_str() {
        "openssl" => Box::new(libcrypto::LibCrypto::of_the_system()?),
        "aws-lc" => Box::new(aws_lc::AwsLc),
        "ring" => Box::new(ring::Ring),
        "rustcrypto" => Box::new(rustcrypto::RustCrypto),
        "rustls-ring" => Box::new(rustls::Rustls::with_ring()),
        "rustls-aws-lc" => Box::new(rustls::Rustls::with_aws_lc()),
        name if name.starts_with("isa-l") => Box::new(isa_l::IsaL::named(name)?),
        name if name.starts_with("crypto-mb") => Box::new(crypto_mb::CryptoMb::named(name)?),
        name => Box::new(multi_buffer::MultiBuffer::named(name)?),
    })
}

/// The name that stands for a library and all its aliases, or the path as it is; nothing is opened.
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
