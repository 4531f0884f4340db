//! BoringSSL, and AWS-LC, whose libssl has the same interface.

use std::ffi::{CString, c_char, c_int, c_long, c_uint, c_void};
use std::io;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use shared_library::text;
use tls::{Group, Identity, Suite, Version};

use super::offered::{client_authorities_pem, offered_groups, offered_suites};
use super::session::{Calls, Context, OpenedLibrary};
use super::shared_object::SharedObject;
use super::wire_cell;
use crate::error::ServerError;
use crate::settings::Settings;

/// `BIO_TYPE_SOURCE_SINK`.
const SOURCE_SINK: c_int = 0x0400;
const CTRL_FLUSH: c_int = 11;
const ERROR_WANT_READ: c_int = 2;
const ERROR_SYSCALL: c_int = 5;
const ERROR_ZERO_RETURN: c_int = 6;
/// A client shows a certificate, which is verified, or is not served.
const VERIFY: c_int = 1 | 2;
const TLS13: c_int = 0x0304;
const CACHE_OFF: c_int = 0;
const CACHE_SERVER: c_int = 2;
const NO_TICKET: c_uint = 0x4000;
const SERVER_PREFERENCE: c_uint = 0x0040_0000;
const ALPN_OK: c_int = 0;
const ALPN_NOACK: c_int = 3;

type Handle = *mut c_void;
type Select =
    unsafe extern "C" fn(Handle, *mut *const u8, *mut u8, *const u8, c_uint, Handle) -> c_int;
type BioRead = unsafe extern "C" fn(Handle, *mut c_char, c_int) -> c_int;
type BioWrite = unsafe extern "C" fn(Handle, *const c_char, c_int) -> c_int;
type BioControl = unsafe extern "C" fn(Handle, c_int, c_long, Handle) -> c_long;

shared_library::functions!(Functions {
    OpenSSL_version(c_int) -> *const c_char;
    ERR_clear_error();
    ERR_get_error() -> c_uint;
    ERR_reason_error_string(c_uint) -> *const c_char;
    BIO_new_mem_buf(*const c_void, isize) -> Handle;
    BIO_free(Handle) -> c_int;
    BIO_meth_new(c_int, *const c_char) -> Handle;
    BIO_meth_set_read(Handle, BioRead) -> c_int;
    BIO_meth_set_write(Handle, BioWrite) -> c_int;
    BIO_meth_set_ctrl(Handle, BioControl) -> c_int;
    BIO_new(Handle) -> Handle;
    BIO_set_data(Handle, Handle);
    BIO_set_init(Handle, c_int);
    PEM_read_bio_X509(Handle, Handle, Handle, Handle) -> Handle;
    PEM_read_bio_PrivateKey(Handle, Handle, Handle, Handle) -> Handle;
    X509_free(Handle);
    EVP_PKEY_free(Handle);
    TLS_method() -> Handle;
    SSL_CTX_new(Handle) -> Handle;
    SSL_CTX_set_min_proto_version(Handle, u16) -> c_int;
    SSL_CTX_set_max_proto_version(Handle, u16) -> c_int;
    SSL_CTX_use_certificate(Handle, Handle) -> c_int;
    SSL_CTX_add0_chain_cert(Handle, Handle) -> c_int;
    SSL_CTX_use_PrivateKey(Handle, Handle) -> c_int;
    SSL_CTX_set_verify(Handle, c_int, Handle);
    SSL_CTX_get_cert_store(Handle) -> Handle;
    SSL_CTX_add_client_CA(Handle, Handle) -> c_int;
    X509_STORE_add_cert(Handle, Handle) -> c_int;
    SSL_CTX_set_strict_cipher_list(Handle, *const c_char) -> c_int;
    SSL_get_cipher_by_value(u16) -> Handle;
    SSL_CTX_set1_group_ids(Handle, *const u16, usize) -> c_int;
    SSL_get_group_name(u16) -> *const c_char;
    SSL_CTX_set_options(Handle, c_uint) -> c_uint;
    SSL_CTX_set_num_tickets(Handle, usize) -> c_int;
    SSL_CTX_set_session_cache_mode(Handle, c_int) -> c_int;
    SSL_CTX_set_session_id_context(Handle, *const u8, usize) -> c_int;
    SSL_CTX_set_alpn_select_cb(Handle, Select, Handle);
    SSL_new(Handle) -> Handle;
    SSL_free(Handle);
    SSL_set_bio(Handle, Handle, Handle);
    SSL_get0_alpn_selected(Handle, *mut *const u8, *mut c_uint);
    SSL_version(Handle) -> c_int;
    SSL_accept(Handle) -> c_int;
    SSL_read(Handle, *mut c_void, c_int) -> c_int;
    SSL_write(Handle, *const c_void, c_int) -> c_int;
    SSL_shutdown(Handle) -> c_int;
    SSL_get_error(Handle, c_int) -> c_int;
});

// What callbacks of a BIO need.
shared_library::functions!(BioFunctions {
    BIO_get_data(Handle) -> Handle;
    BIO_set_retry_read(Handle);
    BIO_clear_retry_flags(Handle);
});

/// They are called without anything of ours; both libraries of this interface never are in one process.
static BIO: std::sync::OnceLock<BioFunctions> = std::sync::OnceLock::new();

struct BoringSsl {
    functions: Arc<Functions>,
    context: Handle,
    method: Handle,
}

// SAFETY: a context is only read once it is made, but for counts and a cache that the library locks.
unsafe impl Sync for BoringSsl {}
// SAFETY: the library keeps nothing of a context by thread, so that any thread may free it.
unsafe impl Send for BoringSsl {}

struct BoringSession {
    functions: Arc<Functions>,
    session: Handle,
}

pub(super) fn build(
    object: &SharedObject,
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
) -> Result<OpenedLibrary, ServerError> {
    let functions = Arc::new(object.functions(Functions::of)?);
    let version = version(object, &functions);
    let _ = BIO.set(object.functions(BioFunctions::of)?);
    let refused = |what, is_done: bool| match is_done {
        true => Ok(()),
        false => Err(object.refused(what, reason(&functions))),
    };
    // SAFETY: it takes a number.
    let has_suite =
        |suite: &Suite| unsafe { !(functions.SSL_get_cipher_by_value)(suite.code_point).is_null() };
    // SAFETY: it takes a number.
    let has_group =
        |group: Group| unsafe { !(functions.SSL_get_group_name)(group.code_point()).is_null() };
    // SAFETY: the pointers are those that the functions give, or memory that outlives the calls.
    let (context, method) = unsafe {
        let context = (functions.SSL_CTX_new)((functions.TLS_method)());
        refused("a context", !context.is_null())?;
        let code_point = |version: Option<&Version>| match version {
            Some(Version::Tls12) => 0x0303,
            _ => TLS13 as u16,
        };
        (functions.SSL_CTX_set_min_proto_version)(context, code_point(versions.first()));
        (functions.SSL_CTX_set_max_proto_version)(context, code_point(versions.last()));
        let is_set = set_identity(&functions, context, identity) == Some(true);
        refused("the certificate and its key", is_set)?;
        if let Some(pem) = client_authorities_pem(settings)? {
            let is_set = set_authorities(&functions, context, &pem);
            refused("the authorities of clients", is_set)?;
        }
        // Those of TLS 1.3 cannot be chosen.
        let suites = offered_suites(settings, has_suite);
        let names = suites.iter().filter(|suite| suite.version() == Version::Tls12);
        let names: Vec<_> = names.map(|suite| suite.openssl_name).collect();
        if !names.is_empty() {
            let list = CString::new(names.join(":")).unwrap_or_default();
            let set = functions.SSL_CTX_set_strict_cipher_list;
            refused("these suites", set(context, list.as_ptr()) == 1)?;
        }
        let groups = offered_groups(settings, has_group);
        let groups: Vec<u16> = groups.into_iter().map(Group::code_point).collect();
        let set = functions.SSL_CTX_set1_group_ids;
        refused("these groups", set(context, groups.as_ptr(), groups.len()) == 1)?;
        (functions.SSL_CTX_set_options)(context, SERVER_PREFERENCE);
        if !settings.tickets {
            (functions.SSL_CTX_set_options)(context, NO_TICKET);
            (functions.SSL_CTX_set_num_tickets)(context, 0);
        }
        let cache = if settings.session_cache { CACHE_SERVER } else { CACHE_OFF };
        (functions.SSL_CTX_set_session_cache_mode)(context, cache);
        (functions.SSL_CTX_set_session_id_context)(context, b"toll".as_ptr(), 4);
        (functions.SSL_CTX_set_alpn_select_cb)(context, select, null_mut());
        let method = (functions.BIO_meth_new)(SOURCE_SINK, c"wire".as_ptr());
        refused("a BIO", !method.is_null())?;
        (functions.BIO_meth_set_read)(method, receive);
        (functions.BIO_meth_set_write)(method, send);
        (functions.BIO_meth_set_ctrl)(method, control);
        (context, method)
    };
    let library = BoringSsl { functions: Arc::clone(&functions), context, method };
    Ok(OpenedLibrary::new(library, settings, version, has_suite, has_group))
}

/// BoringSSL has no versions: `make stacks` writes the crate's into the file.
fn version(object: &SharedObject, functions: &Functions) -> String {
    // SAFETY: the type is that of the headers; AWS-LC alone has it.
    let of_aws_lc: Option<unsafe extern "C" fn() -> *const c_char> =
        unsafe { object.library.symbol("awslc_version_string") };
    // SAFETY: it gives a constant text.
    let of_aws_lc = of_aws_lc.and_then(|version| unsafe { text(version()) });
    // SAFETY: it gives a constant text.
    let of_all = || unsafe { text((functions.OpenSSL_version)(0)) };
    of_aws_lc.or_else(|| object.built_as()).or_else(of_all).unwrap_or_default()
}

/// # Safety
/// The context is valid.
unsafe fn set_identity(
    functions: &Functions,
    context: Handle,
    identity: &Identity,
) -> Option<bool> {
    let none = null_mut();
    let memory = |pem: &[u8]| {
        // SAFETY: the BIO reads this memory, which outlives it.
        unsafe { (functions.BIO_new_mem_buf)(pem.as_ptr().cast(), pem.len().cast_signed()) }
    };
    // SAFETY: the objects are valid; the context counts its own references, but for those of the chain, which it
    // takes over.
    unsafe {
        let bio = memory(&identity.certificate_pem);
        let leaf = (functions.PEM_read_bio_X509)(bio, none, none, none);
        if leaf.is_null() {
            return None;
        }
        let mut is_set = (functions.SSL_CTX_use_certificate)(context, leaf) == 1;
        (functions.X509_free)(leaf);
        loop {
            let issuer = (functions.PEM_read_bio_X509)(bio, none, none, none);
            if issuer.is_null() {
                break;
            }
            is_set &= (functions.SSL_CTX_add0_chain_cert)(context, issuer) == 1;
        }
        (functions.BIO_free)(bio);
        (functions.ERR_clear_error)();
        let bio = memory(&identity.key_pem);
        let key = (functions.PEM_read_bio_PrivateKey)(bio, none, none, none);
        (functions.BIO_free)(bio);
        if key.is_null() {
            return None;
        }
        is_set &= (functions.SSL_CTX_use_PrivateKey)(context, key) == 1;
        (functions.EVP_PKEY_free)(key);
        Some(is_set)
    }
}

/// # Safety
/// The context is valid.
unsafe fn set_authorities(functions: &Functions, context: Handle, pem: &[u8]) -> bool {
    let none = null_mut();
    // SAFETY: the BIO reads this memory, which outlives it; context and store count references of their own.
    unsafe {
        let bio = (functions.BIO_new_mem_buf)(pem.as_ptr().cast(), pem.len().cast_signed());
        let store = (functions.SSL_CTX_get_cert_store)(context);
        let mut is_set = true;
        loop {
            let authority = (functions.PEM_read_bio_X509)(bio, none, none, none);
            if authority.is_null() {
                break;
            }
            is_set &= (functions.X509_STORE_add_cert)(store, authority) == 1
                && (functions.SSL_CTX_add_client_CA)(context, authority) == 1;
            (functions.X509_free)(authority);
        }
        (functions.BIO_free)(bio);
        (functions.ERR_clear_error)();
        (functions.SSL_CTX_set_verify)(context, VERIFY, none);
        is_set
    }
}

fn reason(functions: &Functions) -> String {
    // SAFETY: errors are of this thread; the text is the library's and ends with a zero.
    let text = unsafe { text((functions.ERR_reason_error_string)((functions.ERR_get_error)())) };
    text.unwrap_or_else(|| "it does not say why".to_owned())
}

impl Context for BoringSsl {
    fn accept(&self, cell: Handle) -> io::Result<Box<dyn Calls>> {
        let functions = &self.functions;
        // SAFETY: the context lives as long as the server; the session takes the BIO over, whose cell lives longer.
        let session = unsafe {
            let session = (functions.SSL_new)(self.context);
            let bio = (functions.BIO_new)(self.method);
            if session.is_null() || bio.is_null() {
                return Err(io::Error::other(reason(functions)));
            }
            (functions.BIO_set_data)(bio, cell);
            (functions.BIO_set_init)(bio, 1);
            (functions.SSL_set_bio)(session, bio, bio);
            session
        };
        Ok(Box::new(BoringSession { functions: Arc::clone(functions), session }))
    }
}

/// Chooses this server's preferred protocol of those that are offered.
unsafe extern "C" fn select(
    _: Handle,
    chosen: *mut *const u8,
    length: *mut u8,
    offered: *const u8,
    offered_length: c_uint,
    _: Handle,
) -> c_int {
    // SAFETY: the list is as long as it is said to be, and so are the places for the answer.
    let offered = unsafe { std::slice::from_raw_parts(offered, offered_length as usize) };
    match openssl::ssl::select_next_proto(b"\x02h2\x08http/1.1", offered) {
        Some(protocol) => {
            // SAFETY: both places are the library's; what is chosen is a part of the list, or a constant.
            unsafe { (*chosen, *length) = (protocol.as_ptr(), protocol.len() as u8) };
            ALPN_OK
        }
        None => ALPN_NOACK,
    }
}

unsafe extern "C" fn send(bio: Handle, bytes: *const c_char, length: c_int) -> c_int {
    if let Some(functions) = BIO.get() {
        // SAFETY: the data of a BIO of ours is the session's cell; the memory is the library's.
        unsafe { wire_cell::send((functions.BIO_get_data)(bio), bytes.cast(), length as usize) };
    }
    length
}

unsafe extern "C" fn receive(bio: Handle, room: *mut c_char, length: c_int) -> c_int {
    let Some(functions) = BIO.get() else { return -1 };
    // SAFETY: the data of a BIO of ours is the session's cell; the room is the library's, of this length.
    unsafe {
        (functions.BIO_clear_retry_flags)(bio);
        match wire_cell::receive((functions.BIO_get_data)(bio), room.cast(), length as usize) {
            Ok(count) => count as c_int,
            Err(error) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    (functions.BIO_set_retry_read)(bio);
                }
                wire_cell::fail(&error)
            }
        }
    }
}

unsafe extern "C" fn control(_: Handle, command: c_int, _: c_long, _: Handle) -> c_long {
    (command == CTRL_FLUSH).into()
}

impl BoringSession {
    /// Calls a function of the session; its count, or why there is none. 0 is the end of the stream.
    fn call(&mut self, call: impl FnOnce(&Functions, Handle) -> c_int) -> io::Result<usize> {
        // SAFETY: errors are of this thread; those that another call left would be taken for this one's. The session
        // is valid.
        unsafe {
            (self.functions.ERR_clear_error)();
            let outcome = call(&self.functions, self.session);
            if outcome > 0 {
                return Ok(outcome.cast_unsigned() as usize);
            }
            match (self.functions.SSL_get_error)(self.session, outcome) {
                ERROR_WANT_READ => Err(io::ErrorKind::WouldBlock.into()),
                ERROR_ZERO_RETURN => Ok(0),
                ERROR_SYSCALL if outcome == 0 => Ok(0),
                _ => Err(io::Error::other(reason(&self.functions))),
            }
        }
    }
}

impl Calls for BoringSession {
    fn handshake(&mut self) -> io::Result<()> {
        // SAFETY: the session is valid.
        match self.call(|functions, session| unsafe { (functions.SSL_accept)(session) }) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {
                // Tickets of TLS 1.3 wait for what is written next, which may be nothing.
                // SAFETY: the session is valid.
                if unsafe { (self.functions.SSL_version)(self.session) } == TLS13 {
                    let _ = self.write(&[]);
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let (place, length) = (room.as_mut_ptr().cast(), room.len() as c_int);
        // SAFETY: the memory is as long as it is said to be.
        self.call(|functions, session| unsafe { (functions.SSL_read)(session, place, length) })
    }

    fn is_http2(&self) -> bool {
        let (mut protocol, mut length) = (null(), 0);
        // SAFETY: it writes the place and length of bytes that live with the session.
        unsafe {
            (self.functions.SSL_get0_alpn_selected)(self.session, &mut protocol, &mut length);
            length > 0 && std::slice::from_raw_parts(protocol, length as usize) == http2::ALPN
        }
    }

    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        let length = plaintext.len() as c_int;
        let bytes = plaintext.as_ptr().cast();
        // SAFETY: the memory is as long as it is said to be.
        self.call(|functions, session| unsafe { (functions.SSL_write)(session, bytes, length) })
    }

    fn close(&mut self) {
        // SAFETY: the session is valid.
        let _ = self.call(|functions, session| unsafe { (functions.SSL_shutdown)(session) });
    }
}

impl Drop for BoringSession {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { (self.functions.SSL_free)(self.session) };
    }
}
