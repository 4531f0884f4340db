//! wolfSSL 5 or later.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uchar, c_uint, c_ushort, c_void};
use std::io;
use std::ptr::null_mut;
use std::sync::Arc;

use shared_library::text;
use tls::{Group, Identity, Suite, Version};

use super::offered::{client_authorities_pem, lacks, offered_groups, offered_suites};
use super::session::{Calls, Context, OpenedLibrary};
use super::shared_object::SharedObject;
use super::wire_cell;
use crate::error::ServerError;
use crate::settings::Settings;

const SUCCESS: c_int = 1;
const PEM: c_int = 1;
/// A client shows a certificate, which is verified, or is not served.
const VERIFY: c_int = 1 | 2;
const CACHE_OFF: c_long = 0;
const CONTINUE_ON_MISMATCH: c_uchar = 2;
/// What its callbacks give.
const CALLBACK_WOULD_BLOCK: c_int = -2;
const CALLBACK_CLOSED: c_int = -5;
const CALLBACK_FAILED: c_int = -1;
const ERROR_WANT_READ: c_int = 2;
const ERROR_ZERO_RETURN: c_int = 6;
const SOCKET_PEER_CLOSED: c_int = -397;

type Handle = *mut c_void;
type Callback = unsafe extern "C" fn(Handle, *mut c_char, c_int, Handle) -> c_int;

shared_library::functions!(Functions {
    wolfSSL_Init() -> c_int;
    wolfSSL_lib_version() -> *const c_char;
    wolfSSLv23_server_method() -> Handle;
    wolfTLSv1_2_server_method() -> Handle;
    wolfTLSv1_3_server_method() -> Handle;
    wolfTLSv1_3_client_method() -> Handle;
    wolfSSL_CTX_new(Handle) -> Handle;
    wolfSSL_CTX_free(Handle);
    wolfSSL_CTX_use_certificate_chain_buffer(Handle, *const c_uchar, c_long) -> c_int;
    wolfSSL_CTX_use_PrivateKey_buffer(Handle, *const c_uchar, c_long, c_int) -> c_int;
    wolfSSL_CTX_load_verify_buffer(Handle, *const c_uchar, c_long, c_int) -> c_int;
    wolfSSL_CTX_set_verify(Handle, c_int, Handle);
    wolfSSL_get_ciphers(*mut c_char, c_int) -> c_int;
    wolfSSL_CTX_set_cipher_list(Handle, *const c_char) -> c_int;
    wolfSSL_CTX_set_groups(Handle, *mut c_int, c_int) -> c_int;
    wolfSSL_CTX_UseSupportedCurve(Handle, c_ushort) -> c_int;
    wolfSSL_UseKeyShare(Handle, c_ushort) -> c_int;
    wolfSSL_CTX_SetMinVersion(Handle, c_int) -> c_int;
    wolfSSL_CTX_NoTicketTLSv12(Handle) -> c_int;
    wolfSSL_CTX_no_ticket_TLSv13(Handle) -> c_int;
    wolfSSL_CTX_set_session_cache_mode(Handle, c_long) -> c_long;
    wolfSSL_CTX_SetIORecv(Handle, Callback);
    wolfSSL_CTX_SetIOSend(Handle, Callback);
    wolfSSL_new(Handle) -> Handle;
    wolfSSL_free(Handle);
    wolfSSL_SetIOReadCtx(Handle, Handle);
    wolfSSL_SetIOWriteCtx(Handle, Handle);
    wolfSSL_UseALPN(Handle, *mut c_char, c_uint, c_uchar) -> c_int;
    wolfSSL_ALPN_GetProtocol(Handle, *mut *mut c_char, *mut c_ushort) -> c_int;
    wolfSSL_accept(Handle) -> c_int;
    wolfSSL_read(Handle, *mut c_void, c_int) -> c_int;
    wolfSSL_write(Handle, *const c_void, c_int) -> c_int;
    wolfSSL_shutdown(Handle) -> c_int;
    wolfSSL_get_error(Handle, c_int) -> c_int;
    wolfSSL_ERR_reason_error_string(c_uint) -> *const c_char;
});

/// `WOLFSSL_TLSV1_2` of `wolfSSL_CTX_SetMinVersion`.
const TLS12: c_int = 3;

struct WolfSsl {
    functions: Arc<Functions>,
    context: Handle,
}

// SAFETY: a context is only read once it is made, but for counts and a cache that wolfSSL locks.
unsafe impl Sync for WolfSsl {}
// SAFETY: wolfSSL keeps nothing of a context by thread, so that any thread may free it.
unsafe impl Send for WolfSsl {}

struct WolfSslSession {
    functions: Arc<Functions>,
    session: Handle,
}

pub(super) fn build(
    object: &SharedObject,
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
) -> Result<OpenedLibrary, ServerError> {
    let functions = object.functions(Functions::of)?;
    let refused = |what, code: c_int| match code {
        SUCCESS => Ok(()),
        _ => Err(object.refused(what, reason(&functions, code))),
    };
    let length = |bytes: &[u8]| c_long::try_from(bytes.len()).unwrap_or(c_long::MAX);
    // SAFETY: the pointers are those that the functions give, or memory that outlives the calls.
    let (version, context, suites, groups) = unsafe {
        refused("its start", (functions.wolfSSL_Init)())?;
        let version = text((functions.wolfSSL_lib_version)()).unwrap_or_default();
        let (suites, groups) = (suites(&functions), groups(&functions));
        let context = (functions.wolfSSL_CTX_new)(match versions {
            [Version::Tls12] => (functions.wolfTLSv1_2_server_method)(),
            [Version::Tls13] => (functions.wolfTLSv1_3_server_method)(),
            _ => (functions.wolfSSLv23_server_method)(),
        });
        if context.is_null() {
            return Err(lacks(object.stack, "server of these versions"));
        }
        if versions.len() > 1 {
            refused("these versions", (functions.wolfSSL_CTX_SetMinVersion)(context, TLS12))?;
        }
        let (certificate, key) = (&identity.certificate_pem, &identity.key_pem);
        let set = functions.wolfSSL_CTX_use_certificate_chain_buffer;
        refused("the certificate", set(context, certificate.as_ptr(), length(certificate)))?;
        let set = functions.wolfSSL_CTX_use_PrivateKey_buffer;
        refused("the certificate's key", set(context, key.as_ptr(), length(key), PEM))?;
        if let Some(pem) = client_authorities_pem(settings)? {
            let load = functions.wolfSSL_CTX_load_verify_buffer;
            let loaded = load(context, pem.as_ptr(), length(&pem), PEM);
            refused("the authorities of clients", loaded)?;
            (functions.wolfSSL_CTX_set_verify)(context, VERIFY, null_mut());
        }
        let names = offered_suites(settings, |suite| suites.iter().any(|of| of == name(suite)));
        let names: Vec<_> = names
            .into_iter()
            .filter(|suite| versions.contains(&suite.version()))
            .map(name)
            .collect();
        let list = CString::new(names.join(":")).unwrap_or_default();
        refused("these suites", (functions.wolfSSL_CTX_set_cipher_list)(context, list.as_ptr()))?;
        let offered = offered_groups(settings, |group| groups.contains(&group));
        if versions == [Version::Tls12] {
            for group in offered {
                let use_group = functions.wolfSSL_CTX_UseSupportedCurve;
                refused("these groups", use_group(context, group.code_point()))?;
            }
        } else {
            let mut points: Vec<c_int> =
                offered.iter().map(|group| group.code_point().into()).collect();
            let count = points.len() as c_int;
            let set = functions.wolfSSL_CTX_set_groups;
            refused("these groups", set(context, points.as_mut_ptr(), count))?;
        }
        if !settings.tickets {
            (functions.wolfSSL_CTX_NoTicketTLSv12)(context);
            (functions.wolfSSL_CTX_no_ticket_TLSv13)(context);
        }
        if !settings.session_cache {
            (functions.wolfSSL_CTX_set_session_cache_mode)(context, CACHE_OFF);
        }
        (functions.wolfSSL_CTX_SetIORecv)(context, receive);
        (functions.wolfSSL_CTX_SetIOSend)(context, send);
        (version, context, suites, groups)
    };
    Ok(OpenedLibrary::new(
        WolfSsl { functions: Arc::new(functions), context },
        settings,
        format!("wolfSSL {version}"),
        |suite| suites.iter().any(|of| of == name(suite)),
        |group| groups.contains(&group),
    ))
}

/// Its names of the suites that it has.
unsafe fn suites(functions: &Functions) -> Vec<String> {
    let mut names = vec![0_u8; 32 << 10];
    // SAFETY: the memory is as long as it is said to be, and ends with zeroes.
    unsafe { (functions.wolfSSL_get_ciphers)(names.as_mut_ptr().cast(), names.len() as c_int) };
    let names = CStr::from_bytes_until_nul(&names).unwrap_or_default().to_string_lossy();
    names.split(':').map(str::to_owned).collect()
}

/// Its name of a suite.
fn name(suite: &Suite) -> &'static str {
    match suite.name {
        "TLS_AES_128_GCM_SHA256" => "TLS13-AES128-GCM-SHA256",
        "TLS_AES_256_GCM_SHA384" => "TLS13-AES256-GCM-SHA384",
        "TLS_CHACHA20_POLY1305_SHA256" => "TLS13-CHACHA20-POLY1305-SHA256",
        _ => suite.openssl_name,
    }
}

/// The groups that it makes a client's share of.
unsafe fn groups(functions: &Functions) -> Vec<Group> {
    let has = |group: &Group| {
        // SAFETY: the context and session are of its own making, and given back.
        unsafe {
            let context = (functions.wolfSSL_CTX_new)((functions.wolfTLSv1_3_client_method)());
            let session = (functions.wolfSSL_new)(context);
            let has = !session.is_null()
                && (functions.wolfSSL_UseKeyShare)(session, group.code_point()) == SUCCESS;
            (functions.wolfSSL_free)(session);
            (functions.wolfSSL_CTX_free)(context);
            has
        }
    };
    Group::ALL.into_iter().filter(has).collect()
}

fn reason(functions: &Functions, code: c_int) -> String {
    // SAFETY: it takes any code, and gives a text of its own.
    let text = unsafe { text((functions.wolfSSL_ERR_reason_error_string)(code.cast_unsigned())) };
    text.unwrap_or_else(|| format!("error {code}"))
}

impl Context for WolfSsl {
    fn accept(&self, cell: Handle) -> io::Result<Box<dyn Calls>> {
        let functions = &self.functions;
        let protocols = c"h2,http/1.1";
        // SAFETY: the context lives as long as the server, the cell as long as the session; the list of protocols
        // is copied.
        let session = unsafe {
            let session = (functions.wolfSSL_new)(self.context);
            if session.is_null() {
                return Err(io::Error::other("wolfSSL makes no session"));
            }
            (functions.wolfSSL_SetIOReadCtx)(session, cell);
            (functions.wolfSSL_SetIOWriteCtx)(session, cell);
            let length = protocols.count_bytes() as c_uint;
            let protocols = protocols.as_ptr().cast_mut();
            (functions.wolfSSL_UseALPN)(session, protocols, length, CONTINUE_ON_MISMATCH);
            session
        };
        Ok(Box::new(WolfSslSession { functions: Arc::clone(functions), session }))
    }
}

unsafe extern "C" fn send(_: Handle, bytes: *mut c_char, length: c_int, cell: Handle) -> c_int {
    // SAFETY: the pointer is that of the session's cell; the memory is wolfSSL's.
    unsafe { wire_cell::send(cell, bytes.cast(), length as usize) };
    length
}

unsafe extern "C" fn receive(_: Handle, room: *mut c_char, length: c_int, cell: Handle) -> c_int {
    // SAFETY: the pointer is that of the session's cell; the room is wolfSSL's, of this length.
    match unsafe { wire_cell::receive(cell, room.cast(), length as usize) } {
        Ok(0) => CALLBACK_CLOSED,
        Ok(count) => count as c_int,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => CALLBACK_WOULD_BLOCK,
        Err(_) => CALLBACK_FAILED,
    }
}

impl WolfSslSession {
    fn error(&self, outcome: c_int) -> io::Error {
        // SAFETY: the session is valid.
        match unsafe { (self.functions.wolfSSL_get_error)(self.session, outcome) } {
            ERROR_WANT_READ => io::ErrorKind::WouldBlock.into(),
            ERROR_ZERO_RETURN | SOCKET_PEER_CLOSED => io::ErrorKind::UnexpectedEof.into(),
            code => io::Error::other(reason(&self.functions, code)),
        }
    }
}

impl Calls for WolfSslSession {
    fn handshake(&mut self) -> io::Result<()> {
        // SAFETY: the session is valid, here and below.
        match unsafe { (self.functions.wolfSSL_accept)(self.session) } {
            SUCCESS => Ok(()),
            outcome => Err(self.error(outcome)),
        }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let length = room.len() as c_int;
        let place = room.as_mut_ptr().cast();
        // SAFETY: the memory is as long as it is said to be.
        match unsafe { (self.functions.wolfSSL_read)(self.session, place, length) } {
            count @ 1.. => Ok(count.cast_unsigned() as usize),
            outcome => match self.error(outcome) {
                error if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                error => Err(error),
            },
        }
    }

    fn is_http2(&self) -> bool {
        let (mut protocol, mut length) = (null_mut(), 0);
        // SAFETY: it writes the place and length of bytes that live with the session.
        unsafe {
            let get = self.functions.wolfSSL_ALPN_GetProtocol;
            get(self.session, &mut protocol, &mut length) == SUCCESS
                && std::slice::from_raw_parts(protocol.cast::<u8>(), length.into()) == http2::ALPN
        }
    }

    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        let length = plaintext.len() as c_int;
        let bytes = plaintext.as_ptr().cast();
        // SAFETY: the memory is as long as it is said to be.
        match unsafe { (self.functions.wolfSSL_write)(self.session, bytes, length) } {
            count @ 1.. => Ok(count.cast_unsigned() as usize),
            outcome => Err(self.error(outcome)),
        }
    }

    fn close(&mut self) {
        // SAFETY: the session is valid.
        unsafe { (self.functions.wolfSSL_shutdown)(self.session) };
    }
}

impl Drop for WolfSslSession {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { (self.functions.wolfSSL_free)(self.session) };
    }
}
