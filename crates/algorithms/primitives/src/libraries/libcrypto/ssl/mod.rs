//! OpenSSL's TLS: the libssl that belongs to a libcrypto.

mod api;
mod end;

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use shared_library::SharedLibrary;
use tls::Version;

use super::api::{Api, Ptr};
use super::object::{Object, ok, private_key};
use crate::algorithm::Side;
use crate::routine::{Failed, Unavailable};
use crate::stack::{Configuration, ConnectionSpec, Endpoint, Identity, NAME, TlsStack};
use api::SslApi;
use end::{End, Session};

/// A libssl with its libcrypto.
pub(super) struct OpenSsl {
    api: Arc<SslApi>,
    crypto: Arc<Api>,
}

/// Where the libssl is that belongs to a libcrypto: in the same folder.
pub(super) fn beside(libcrypto: &Path) -> PathBuf {
    let name = libcrypto.file_name().unwrap_or_default().to_string_lossy();
    libcrypto.with_file_name(name.replace("crypto", "ssl"))
}

impl OpenSsl {
    /// The one at that path, or the one that toll is linked with.
    pub(super) fn open(crypto: &Arc<Api>, libssl: Option<&Path>) -> Result<Self, Unavailable> {
        let library = match libssl {
            None => SharedLibrary::of_this_process(),
            Some(path) => SharedLibrary::open_apart(path)
                .map_err(|why| Unavailable::because(format_args!("no libssl beside it: {why}")))?,
        };
        let api = Arc::new(SslApi::of(library));
        let stack = Self { api, crypto: Arc::clone(crypto) };
        if libssl.is_some() && !stack.belongs_together()? {
            return Err(Unavailable::because(
                "the linker gives its libssl the libcrypto of toll, which has the same name; to \
                 measure it, set LD_LIBRARY_PATH to its folder and take --library openssl",
            ));
        }
        Ok(stack)
    }

    /// Whether the libssl calls this libcrypto, and no other one that was loaded before.
    fn belongs_together(&self) -> Result<bool, Unavailable> {
        let own = self.crypto.OpenSSL_version()?;
        // SAFETY: the symbol is only compared. A library finds it in those that it depends on.
        let found: Option<unsafe extern "C" fn(c_int) -> *const c_char> =
            unsafe { self.api.library.symbol("OpenSSL_version") };
        Ok(found.is_some_and(|found| ptr::fn_addr_eq(found, own)))
    }
}

const CONTROL_SESSION_CACHE_MODE: c_int = 44;
const CONTROL_GROUPS: c_int = 92;
const CONTROL_MIN_VERSION: c_int = 123;
const CONTROL_MAX_VERSION: c_int = 124;
const CONTROL_HOST_NAME: c_int = 55;
const NO_TICKET: u64 = 1 << 14;
/// The cipher that does both at once takes the MAC first, and so do published figures.
const NO_ENCRYPT_THEN_MAC: u64 = 1 << 19;
const VERIFY_PEER: c_int = 1;

impl TlsStack for OpenSsl {
    fn configure(
        &self,
        side: Side,
        wanted: ConnectionSpec,
        identity: &Identity,
    ) -> Result<Box<dyn Configuration>, Unavailable> {
        let api = &self.api;
        let method = match side {
            Side::Client => api.TLS_client_method()?,
            Side::Server => api.TLS_server_method()?,
        };
        let (new, free) = (api.SSL_CTX_new()?, api.SSL_CTX_free()?);
        // SAFETY: the method is a constant of the library.
        let context = unsafe { new(method()) };
        let context = Object::new(api, context, free, "SSL_CTX_new")?;
        self.offer_only(&context, wanted)?;
        match side {
            Side::Client => self.trust(&context, identity)?,
            Side::Server => self.identify(&context, identity)?,
        }
        Ok(Box::new(Config {
            context,
            side,
            session: Session::default(),
            api: Arc::clone(api),
            crypto: Arc::clone(&self.crypto),
        }))
    }
}

impl OpenSsl {
    /// One version, one suite, one group.
    fn offer_only(&self, context: &Object, wanted: ConnectionSpec) -> Result<(), Failed> {
        let api = &self.api;
        let control = api.SSL_CTX_ctrl()?;
        let version = match wanted.suite.version() {
            Version::Tls12 => 0x0303,
            Version::Tls13 => 0x0304,
        };
        let group = text(wanted.group.openssl_name())?;
        for (command, number, argument, name) in [
            (CONTROL_MIN_VERSION, version, ptr::null(), "SSL_CTX_set_min_proto_version"),
            (CONTROL_MAX_VERSION, version, ptr::null(), "SSL_CTX_set_max_proto_version"),
            (CONTROL_GROUPS, 0, group.as_ptr().cast::<c_void>(), "SSL_CTX_set1_groups_list"),
        ] {
            // SAFETY: the context is of this library; the text ends with a zero.
            let answer = unsafe { control(context.ptr(), command, number, argument) };
            if command == CONTROL_GROUPS && answer != 1 {
                return Err(Failed::because(format!("this library has no group {}", wanted.group)));
            }
            ok(answer as c_int, name)?;
        }
        let suites = match wanted.suite.version() {
            Version::Tls12 => api.SSL_CTX_set_cipher_list()?,
            Version::Tls13 => api.SSL_CTX_set_ciphersuites()?,
        };
        let names = text(wanted.suite.openssl_name)?;
        // SAFETY: the context is of this library; the text ends with a zero.
        ok(unsafe { suites(context.ptr(), names.as_ptr()) }, "SSL_CTX_set_ciphersuites")?;
        let (options, tickets) = (api.SSL_CTX_set_options()?, api.SSL_CTX_set_num_tickets()?);
        let without_tickets = if wanted.resumes { 0 } else { NO_TICKET };
        // SAFETY: the context is of this library, and its own tickets need no cache.
        let answer = unsafe {
            control(context.ptr(), CONTROL_SESSION_CACHE_MODE, 0, ptr::null());
            options(context.ptr(), NO_ENCRYPT_THEN_MAC | without_tickets);
            tickets(context.ptr(), usize::from(wanted.resumes))
        };
        ok(answer, "SSL_CTX_set_num_tickets")
    }

    fn trust(&self, context: &Object, identity: &Identity) -> Result<(), Failed> {
        let root = self.certificate(&identity.root)?;
        let store = self.api.SSL_CTX_get_cert_store()?;
        let verify = self.api.SSL_CTX_set_verify()?;
        let add = self.crypto.X509_STORE_add_cert()?;
        // SAFETY: all are of this library; the store takes a reference to the certificate.
        let answer = unsafe {
            verify(context.ptr(), VERIFY_PEER, ptr::null());
            add(store(context.ptr()), root.ptr())
        };
        ok(answer, "X509_STORE_add_cert")
    }

    fn identify(&self, context: &Object, identity: &Identity) -> Result<(), Failed> {
        let certificate = self.certificate(&identity.certificate)?;
        let key = private_key(&self.crypto, &identity.pair)?;
        let use_certificate = self.api.SSL_CTX_use_certificate()?;
        let use_key = self.api.SSL_CTX_use_PrivateKey()?;
        // SAFETY: all are of this library; the context takes references.
        let answers = unsafe {
            [use_certificate(context.ptr(), certificate.ptr()), use_key(context.ptr(), key.ptr())]
        };
        ok(answers[0], "SSL_CTX_use_certificate")?;
        ok(answers[1], "SSL_CTX_use_PrivateKey")
    }

    fn certificate(&self, der: &[u8]) -> Result<Object, Failed> {
        let (read, free) = (self.crypto.d2i_X509()?, self.crypto.X509_free()?);
        let mut start = der.as_ptr();
        // SAFETY: the bytes are readable for the length that is given.
        let certificate = unsafe { read(ptr::null_mut(), &raw mut start, der.len() as _) };
        Object::new(&self.crypto, certificate, free, "d2i_X509")
    }
}

/// With a zero at its end.
fn text(text: &str) -> Result<CString, Failed> {
    CString::new(text).map_err(Failed::because)
}

/// One side of connections that are alike.
struct Config {
    context: Object,
    side: Side,
    session: Session,
    api: Arc<SslApi>,
    crypto: Arc<Api>,
}

impl Configuration for Config {
    fn connect(&self) -> Result<Box<dyn Endpoint>, Failed> {
        let api = &self.api;
        let new = api.SSL_new()?;
        let free = api.SSL_free()?;
        let set_bio = api.SSL_set_bio()?;
        // SAFETY: the context is of this library; the object takes a reference to it.
        let ssl = Object::new(api, unsafe { new(self.context.ptr()) }, free, "SSL_new")?;
        let (incoming, outgoing) = (self.bio()?, self.bio()?);
        // SAFETY: all are of this library; the object owns both BIOs from here on.
        unsafe { set_bio(ssl.ptr(), incoming, outgoing) };
        match self.side {
            // SAFETY: the object is of this library.
            Side::Server => unsafe { api.SSL_set_accept_state()?(ssl.ptr()) },
            Side::Client => self.begin_client(&ssl)?,
        }
        Ok(Box::new(End {
            ssl,
            incoming,
            outgoing,
            session: Rc::clone(&self.session),
            api: Arc::clone(api),
            crypto: Arc::clone(&self.crypto),
        }))
    }
}

impl Config {
    /// A memory BIO, which its `SSL` object will free.
    fn bio(&self) -> Result<Ptr, Failed> {
        let (new, memory) = (self.crypto.BIO_new()?, self.crypto.BIO_s_mem()?);
        // SAFETY: the method is a constant of the library.
        let bio = unsafe { new(memory()) };
        if bio.is_null() { Err(Failed::of("BIO_new")) } else { Ok(bio) }
    }

    /// The server's name, and the session of the last connection, if it was kept.
    fn begin_client(&self, ssl: &Object) -> Result<(), Failed> {
        let api = &self.api;
        let connect = api.SSL_set_connect_state()?;
        let expect = api.SSL_set1_host()?;
        let control = api.SSL_ctrl()?;
        let resume = api.SSL_set_session()?;
        let name = text(NAME)?;
        // SAFETY: the object is of this library, which copies the name.
        let answers = unsafe {
            connect(ssl.ptr());
            let named = control(ssl.ptr(), CONTROL_HOST_NAME, 0, name.as_ptr().cast());
            [expect(ssl.ptr(), name.as_ptr()), named as c_int]
        };
        if answers != [1, 1] {
            return Err(Failed::of("SSL_set1_host"));
        }
        if let Some(session) = self.session.take() {
            // SAFETY: both are of this library; the object takes a reference to the session.
            if unsafe { resume(ssl.ptr(), session.ptr()) } != 1 {
                return Err(Failed::of("SSL_set_session"));
            }
        }
        Ok(())
    }
}
