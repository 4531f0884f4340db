//! Which line of the bill a sample belongs to.
//!
//! Libraries as distributions ship them have names only for what they export. So work of a TLS library is sorted by the
//! nearest of its callers that is exported and says what is done: signing, agreeing on a key, writing. What a server
//! does beside TLS, and what the kernel does for it, is sorted by the rules of profiles.

use profile::{CallStack, Class, Frame, Rules};
use regex::Regex;
use serde::{Deserialize, Serialize};

/// A part of what TLS takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsPart {
    /// Signatures, and decryption with the certificate's key.
    PrivateKeys,
    /// Making and agreeing on the keys of a connection.
    KeyExchange,
    /// Writing and reading what follows the handshake.
    Records,
    /// The rest of handshakes, and what the library does beside.
    Library,
}

impl TlsPart {
    /// In the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::PrivateKeys, Self::KeyExchange, Self::Records, Self::Library];

    /// `private keys`.
    pub fn words(self) -> &'static str {
        match self {
            Self::PrivateKeys => "private keys",
            Self::KeyExchange => "key exchange",
            Self::Records => "records",
            Self::Library => "TLS library",
        }
    }
}

/// Why a sample is in no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotSorted {
    /// The callers were not found, as where the stack is deeper than what is sampled of it.
    CallersNotFound,
    /// The program has TLS of its own, or none, and its functions have no names.
    NoNames,
    /// No file is mapped where it ran, as with code that is made at run time.
    NoFile,
}

impl NotSorted {
    /// `the callers were not found`.
    pub fn words(self) -> &'static str {
        match self {
            Self::CallersNotFound => "the callers were not found",
            Self::NoNames => "the program's functions have no names",
            Self::NoFile => "the code is in no file",
        }
    }
}

/// The line of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sorted {
    Tls(TlsPart),
    /// Of the program itself, whose functions have no names: its own work if TLS is a library's.
    Unnamed,
    NotTls(Class),
    Not(NotSorted),
}

/// Functions that say what is done, each for itself and all that it calls. The innermost of a stack decides.
const CALLS: [(TlsPart, &str); 9] = [
    (
        TlsPart::PrivateKeys,
        r"^(EVP_DigestSign(Final)? | EVP_PKEY_(sign|decrypt) | RSA_private_(en|de)crypt | RSA_sign.* | ECDSA_(do_)?sign(_ex)?
            | SSL_PRIVATE_KEY_.* | ssl_private_key_sign)$",
    ),
    (
        TlsPart::PrivateKeys,
        r"^crypto/(internal/fips140/)?(rsa|ecdsa|ed25519)\.([sS]ign | .*\)\.Sign | Decrypt | .*\)\.Decrypt)",
    ),
    (
        TlsPart::KeyExchange,
        r"^(EVP_PKEY_(derive|derive_set_peer(_ex)?|keygen|generate|paramgen|(en|de)capsulate|[gs]et1_encoded_public_key
            |[gs]et1_tls_encodedpoint|Q_keygen) | X25519 | ECDH_compute_key.* | DH_compute_key.*)$",
    ),
    (TlsPart::KeyExchange, r"^crypto/(internal/fips140/)?(ecdh|mlkem|internal/fips140/mlkem)\."),
    (TlsPart::Library, r"^crypto/tls\..*[hH]andshake"),
    // rustls, whose traits have paths with two points in place of two colons.
    (TlsPart::PrivateKeys, r"rustls(::|\.\.)crypto(::|\.\.)(ring|aws_lc_rs)(::|\.\.)sign(::|\.\.)"),
    (TlsPart::KeyExchange, r"rustls(::|\.\.)crypto(::|\.\.)(ring|aws_lc_rs)(::|\.\.)kx(::|\.\.)"),
    (
        TlsPart::Records,
        r"rustls(::|\.\.)(record_layer | crypto(::|\.\.)(ring|aws_lc_rs)(::|\.\.)tls1[23](::|\.\.).*(Encrypter|Decrypter))",
    ),
    (
        TlsPart::Records,
        r"^(SSL_(write|read|peek|sendfile)(_ex|_ex2|_early_data)? | crypto/tls\.\(\*(Conn|halfConn)\)\.(Write|Read|write|read|encrypt|decrypt).*)$",
    ),
];

/// Libraries that are TLS, or cryptography for it.
const LIBRARIES: &str = r"^(libssl|libcrypto|libgnutls|libnettle|libhogweed|libwolfssl|libs2n|libmbedtls|libmbedcrypto)\b";
/// Functions of programs that have TLS in them.
const FUNCTIONS: &str = r"^(crypto/ | vendor/golang\.org/x/crypto/ | (_?\$LT\$)?(rustls|ring|aws_lc_rs)(::|\.\.)
    | ring_core_\d | aws_lc_\d)";
/// What others call for work of their own.
const HELPERS: &str = r"^(libc\.so|libc-|libpthread|libm\.so|ld-linux|libstdc\+\+|libjemalloc|libtcmalloc|libmimalloc|\[vdso\])";

/// Sorts the samples of one server.
pub(crate) struct Sorter {
    calls: Vec<(TlsPart, Regex)>,
    libraries: Regex,
    functions: Regex,
    helpers: Regex,
    rules: Rules,
}

impl Sorter {
    pub(crate) fn new() -> Self {
        let regex = |text: &str| Regex::new(&format!("(?x){text}")).expect("toll's own pattern");
        Self {
            calls: CALLS.map(|(part, text)| (part, regex(text))).into(),
            libraries: regex(LIBRARIES),
            functions: regex(FUNCTIONS),
            helpers: regex(HELPERS),
            rules: Rules::built_in(),
        }
    }

    /// Whether a library of this name is TLS or cryptography.
    pub(crate) fn is_tls_library(&self, name: &str) -> bool {
        self.libraries.is_match(name)
    }

    /// `is_whole`: all callers were found.
    pub(crate) fn sort(&self, stack: &CallStack, is_whole: bool) -> Sorted {
        let Some(first) = stack.frames.first() else { return Sorted::Not(NotSorted::NoFile) };
        let is_of_kernel = |frame: &Frame| {
            frame.library.as_deref().is_some_and(|name| name.starts_with('[') && name != "[vdso]")
        };
        if is_of_kernel(first) {
            let class = self.rules.class(stack);
            // The kernel encrypts for a program only as its TLS.
            return match class.is_crypto() || class == Class::TlsLibrary {
                true => Sorted::Tls(TlsPart::Records),
                false => Sorted::NotTls(class),
            };
        }
        let is_helper = |frame: &&Frame| {
            frame.library.as_deref().is_some_and(|name| self.helpers.is_match(name))
        };
        let helpers = stack.frames.iter().take_while(is_helper).count();
        let frames = &stack.frames[helpers..];
        let Some(caller) = frames.first() else {
            return match is_whole {
                true => Sorted::NotTls(Class::HttpServer),
                false => Sorted::Not(NotSorted::CallersNotFound),
            };
        };
        let class = self.rules.class(&CallStack { frames: frames.to_vec(), ..stack.clone() });
        if self.is_tls(caller, class) {
            let call = frames.iter().find_map(|frame| self.call(frame));
            return match call {
                Some(part) => Sorted::Tls(part),
                None if is_whole => Sorted::Tls(TlsPart::Library),
                None => Sorted::Not(NotSorted::CallersNotFound),
            };
        }
        match caller.function {
            None => Sorted::Unnamed,
            // The rules name few servers; all that a program does itself is its work.
            _ if class == Class::Other => Sorted::NotTls(Class::HttpServer),
            _ => Sorted::NotTls(class),
        }
    }

    fn is_tls(&self, frame: &Frame, class: Class) -> bool {
        let is_of = |pattern: &Regex, name: &Option<String>| {
            name.as_deref().is_some_and(|name| pattern.is_match(name))
        };
        is_of(&self.libraries, &frame.library)
            || is_of(&self.functions, &frame.function)
            || frame.function.is_some() && (class.is_crypto() || class == Class::TlsLibrary)
    }

    fn call(&self, frame: &Frame) -> Option<TlsPart> {
        let name = frame.function.as_deref()?;
        self.calls.iter().find(|(_, pattern)| pattern.is_match(name)).map(|(part, _)| *part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of frames such as `libcrypto.so.3:EVP_DigestSign`, innermost first; without a name after the colon it has none.
    fn sort(frames: &[&str], is_whole: bool) -> Sorted {
        let frame = |text: &&str| {
            let (library, function) = text.split_once(':').unwrap();
            Frame {
                library: Some(library.to_owned()),
                function: (!function.is_empty()).then(|| function.to_owned()),
            }
        };
        let frames = frames.iter().map(frame).collect();
        let stack = CallStack { process: 7, thread: "nginx".to_owned(), frames };
        Sorter::new().sort(&stack, is_whole)
    }

    const KERNEL: &str = "[kernel.kallsyms]:tcp_sendmsg";

    #[test]
    fn work_of_a_stripped_library_is_that_of_the_nearest_exported_caller() {
        let unnamed = "libcrypto.so.3:";
        for (frames, expected) in [
            (
                &[
                    unnamed,
                    unnamed,
                    "libcrypto.so.3:EVP_DigestSign",
                    "libssl.so.3:",
                    "libssl.so.3:SSL_do_handshake",
                ][..],
                Sorted::Tls(TlsPart::PrivateKeys),
            ),
            (
                &[unnamed, "libcrypto.so.3:EVP_PKEY_derive", "libssl.so.3:"],
                Sorted::Tls(TlsPart::KeyExchange),
            ),
            // The server's own share as bytes, which for P-384 takes an inversion.
            (
                &[
                    unnamed,
                    "libcrypto.so.3:EVP_PKEY_get1_encoded_public_key",
                    "libssl.so.3:",
                    "libssl.so.3:SSL_do_handshake",
                ],
                Sorted::Tls(TlsPart::KeyExchange),
            ),
            (&[unnamed, "libssl.so.3:SSL_write", "nginx:"], Sorted::Tls(TlsPart::Records)),
            (
                &[unnamed, "libssl.so.3:", "libssl.so.3:SSL_do_handshake"],
                Sorted::Tls(TlsPart::Library),
            ),
            // What the C library does for it is its work, and what the kernel does is not.
            (
                &[
                    "libc.so.6:malloc",
                    "libcrypto.so.3:CRYPTO_malloc",
                    "libcrypto.so.3:EVP_PKEY_sign",
                ],
                Sorted::Tls(TlsPart::PrivateKeys),
            ),
            (
                &[KERNEL, "libc.so.6:write", "libcrypto.so.3:BIO_write", "libssl.so.3:SSL_write"],
                Sorted::NotTls(Class::TcpIp),
            ),
            (
                &["[tls]:tls_sw_sendmsg", "[kernel.kallsyms]:crypto_aead_encrypt"],
                Sorted::Tls(TlsPart::Records),
            ),
            // A server that the library has called does its own work.
            (&["nginx:", "libssl.so.3:SSL_read", "nginx:"], Sorted::Unnamed),
            (&["libc.so.6:memcpy", "server:", "server:"], Sorted::Unnamed),
            (&["nginx:ngx_http_handler"], Sorted::NotTls(Class::HttpServer)),
            // Programs with TLS in them.
            (
                &[
                    "caddy:crypto/internal/fips140/bigmod.addMulVVW2048",
                    "caddy:crypto/rsa.(*PrivateKey).Sign",
                ],
                Sorted::Tls(TlsPart::PrivateKeys),
            ),
            (
                &["server:bn_mulx4x_mont", "server:RSA_private_encrypt"],
                Sorted::Tls(TlsPart::PrivateKeys),
            ),
            (
                &[
                    "server:ring_core_0_17_14__bn_mul4x_mont",
                    "server:ring::rsa::keypair::KeyPair::sign",
                    "server:_$LT$rustls..crypto..ring..sign..RsaSigner$u20$as$u20$rustls..Signer$GT$::sign",
                    "server:rustls::server::tls13::emit_certificate_verify_tls13",
                ],
                Sorted::Tls(TlsPart::PrivateKeys),
            ),
            (
                &[
                    "server:ring::aead::seal",
                    "server:rustls::record_layer::RecordLayer::encrypt_outgoing",
                ],
                Sorted::Tls(TlsPart::Records),
            ),
            (&["server:rustls::conn::ConnectionCore::process"], Sorted::Tls(TlsPart::Library)),
        ] {
            assert_eq!(sort(frames, true), expected, "{frames:?}");
        }
    }

    #[test]
    fn what_cannot_be_known_is_not_sorted() {
        let unnamed = "libcrypto.so.3:";
        assert_eq!(sort(&[unnamed, unnamed], false), Sorted::Not(NotSorted::CallersNotFound));
        assert_eq!(sort(&["libc.so.6:memcpy"], false), Sorted::Not(NotSorted::CallersNotFound));
        assert_eq!(sort(&[], true), Sorted::Not(NotSorted::NoFile));
        // The caller that decides was found before they were lost.
        let signs = [unnamed, "libcrypto.so.3:EVP_DigestSign"];
        assert_eq!(sort(&signs, false), Sorted::Tls(TlsPart::PrivateKeys));
    }
}
