//! s2n-tls.
//!
//! It knows versions, suites and groups by the names of policies alone. What a connection uses is its client's choice of
//! what the policy has, which the receipt proves.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::io;
use std::sync::Arc;

use shared_library::text;
use tls::{Group, Identity, KeyExchange, Mac, Suite, Version};

use super::offered::{check_resumption, client_authorities_pem};
use super::session::{Calls, Context, OpenedLibrary};
use super::shared_object::SharedObject;
use super::wire_cell;
use crate::error::ServerError;
use crate::settings::Settings;

const SERVER: c_int = 0;
const SELF_SERVICE_BLINDING: c_int = 1;
/// Its default of July 2025: AEAD suites first, and X25519MLKEM768.
const POLICY: &CStr = c"20250721";
/// All suites, weak ones first: for those that are asked for and the other policy does not have.
const POLICY_OF_ALL: &CStr = c"test_all";
/// `S2N_CERT_AUTH_REQUIRED`.
const REQUIRED: c_int = 1;
/// `s2n_error_get_type`.
const CLOSED: c_int = 2;
const BLOCKED: c_int = 3;
/// As many as OpenSSL sends by default.
const TICKETS: u8 = 2;

type Handle = *mut c_void;
type ReceiveFrom = unsafe extern "C" fn(Handle, *mut u8, u32) -> c_int;
type AcceptsName = unsafe extern "C" fn(*const c_char, usize, Handle) -> u8;
type SendTo = unsafe extern "C" fn(Handle, *const u8, u32) -> c_int;

shared_library::functions!(Functions {
    s2n_init() -> c_int;
    s2n_errno_location() -> *mut c_int;
    s2n_error_get_type(c_int) -> c_int;
    s2n_strerror(c_int, *const c_char) -> *const c_char;
    s2n_config_new_minimal() -> Handle;
    s2n_config_set_cipher_preferences(Handle, *const c_char) -> c_int;
    s2n_config_set_protocol_preferences(Handle, *const *const c_char, c_int) -> c_int;
    s2n_config_set_client_auth_type(Handle, c_int) -> c_int;
    s2n_config_add_pem_to_trust_store(Handle, *const c_char) -> c_int;
    s2n_config_set_verify_host_callback(Handle, AcceptsName, Handle) -> c_int;
    s2n_config_set_session_tickets_onoff(Handle, u8) -> c_int;
    s2n_config_set_initial_ticket_count(Handle, u8) -> c_int;
    s2n_config_add_ticket_crypto_key(Handle, *const u8, u32, *mut u8, u32, u64) -> c_int;
    s2n_cert_chain_and_key_new() -> Handle;
    s2n_cert_chain_and_key_load_pem_bytes(Handle, *mut u8, u32, *mut u8, u32) -> c_int;
    s2n_config_add_cert_chain_and_key_to_store(Handle, Handle) -> c_int;
    s2n_connection_new(c_int) -> Handle;
    s2n_connection_free(Handle) -> c_int;
    s2n_connection_set_config(Handle, Handle) -> c_int;
    s2n_connection_set_blinding(Handle, c_int) -> c_int;
    s2n_connection_prefer_throughput(Handle) -> c_int;
    s2n_connection_set_recv_ctx(Handle, Handle) -> c_int;
    s2n_connection_set_send_ctx(Handle, Handle) -> c_int;
    s2n_connection_set_recv_cb(Handle, ReceiveFrom) -> c_int;
    s2n_connection_set_send_cb(Handle, SendTo) -> c_int;
    s2n_get_application_protocol(Handle) -> *const c_char;
    s2n_negotiate(Handle, *mut c_uint) -> c_int;
    s2n_recv(Handle, *mut c_void, isize, *mut c_uint) -> isize;
    s2n_send(Handle, *const c_void, isize, *mut c_uint) -> isize;
    s2n_shutdown_send(Handle, *mut c_uint) -> c_int;
});

struct S2n {
    functions: Arc<Functions>,
    configuration: Handle,
}

// SAFETY: a configuration is only read once it is made, but for its keys of tickets, which s2n-tls locks.
unsafe impl Sync for S2n {}
// SAFETY: s2n-tls keeps nothing of a configuration by thread, so that any thread may free it.
unsafe impl Send for S2n {}

struct S2nSession {
    functions: Arc<Functions>,
    session: Handle,
}

pub(super) fn build(
    object: &SharedObject,
    settings: &Settings,
    _: &[Version],
    identity: &Identity,
) -> Result<OpenedLibrary, ServerError> {
    check_resumption(settings)?;
    let functions = object.functions(Functions::of)?;
    let has_wanted = settings.suites.iter().all(|suite| is_usual(suite));
    let refused = |what, code: c_int| match code {
        0.. => Ok(()),
        _ => Err(object.refused(what, error(&functions))),
    };
    // Otherwise s2n-tls locks its memory, of which a process may lock little.
    // SAFETY: the server has no other threads yet.
    unsafe { std::env::set_var("S2N_DONT_MLOCK", "1") };
    // SAFETY: the pointers are those that the functions give, or memory that outlives the calls.
    let configuration = unsafe {
        refused("its start", (functions.s2n_init)())?;
        let configuration = (functions.s2n_config_new_minimal)();
        let policy = if has_wanted { POLICY } else { POLICY_OF_ALL };
        let set = functions.s2n_config_set_cipher_preferences;
        refused("its policy", set(configuration, policy.as_ptr()))?;
        let protocols = [c"h2".as_ptr(), c"http/1.1".as_ptr()];
        let set = functions.s2n_config_set_protocol_preferences;
        refused("the protocols", set(configuration, protocols.as_ptr(), 2))?;
        let chain = (functions.s2n_cert_chain_and_key_new)();
        let (mut certificate, mut key) =
            (identity.certificate_pem.clone(), identity.key_pem.clone());
        let load = functions.s2n_cert_chain_and_key_load_pem_bytes;
        let (certificate_length, key_length) = (certificate.len() as u32, key.len() as u32);
        let loaded =
            load(chain, certificate.as_mut_ptr(), certificate_length, key.as_mut_ptr(), key_length);
        refused("the certificate and its key", loaded)?;
        let add = functions.s2n_config_add_cert_chain_and_key_to_store;
        refused("the certificate and its key", add(configuration, chain))?;
        if let Some(pem) = client_authorities_pem(settings)? {
            let what = "the authorities of clients";
            let pem = CString::new(pem).unwrap_or_default();
            let add = functions.s2n_config_add_pem_to_trust_store;
            refused(what, add(configuration, pem.as_ptr()))?;
            let set = functions.s2n_config_set_verify_host_callback;
            refused(what, set(configuration, accepts_name, std::ptr::null_mut()))?;
            refused(what, (functions.s2n_config_set_client_auth_type)(configuration, REQUIRED))?;
        }
        if settings.tickets {
            let set = functions.s2n_config_set_session_tickets_onoff;
            refused("tickets", set(configuration, 1))?;
            refused(
                "tickets",
                (functions.s2n_config_set_initial_ticket_count)(configuration, TICKETS),
            )?;
            let mut key = [0; 32];
            openssl::rand::rand_bytes(&mut key)
                .map_err(|source| ServerError::OpenSsl { what: "random bytes", source })?;
            let (name, length) = (b"toll", key.len() as u32);
            let add = functions.s2n_config_add_ticket_crypto_key;
            refused("tickets", add(configuration, name.as_ptr(), 4, key.as_mut_ptr(), length, 0))?;
        }
        configuration
    };
    let version = object.built_as().unwrap_or_else(|| "s2n-tls".to_owned());
    let library = S2n { functions: Arc::new(functions), configuration };
    Ok(OpenedLibrary::new(
        library,
        settings,
        version,
        |suite| !has_wanted || is_usual(suite),
        |group| group != Group::MlKem1024,
    ))
}

/// Clients are known by their authority: without this, s2n-tls would take none, whatever it is called.
unsafe extern "C" fn accepts_name(_: *const c_char, _: usize, _: Handle) -> u8 {
    1
}

/// Whether the usual policy has the suite.
fn is_usual(suite: &Suite) -> bool {
    let is_ephemeral = suite.key_exchange != KeyExchange::Rsa;
    is_ephemeral && matches!(suite.mac, Mac::Aead | Mac::Sha256 | Mac::Sha384)
}

/// Why the last call failed.
fn error(functions: &Functions) -> io::Error {
    // SAFETY: the number is of this thread, the text s2n-tls's own.
    unsafe {
        let number = *(functions.s2n_errno_location)();
        match (functions.s2n_error_get_type)(number) {
            BLOCKED => io::ErrorKind::WouldBlock.into(),
            CLOSED => io::ErrorKind::UnexpectedEof.into(),
            _ => {
                let text = text((functions.s2n_strerror)(number, c"EN".as_ptr()));
                io::Error::other(text.unwrap_or_default())
            }
        }
    }
}

impl Context for S2n {
    fn accept(&self, cell: Handle) -> io::Result<Box<dyn Calls>> {
        let functions = &self.functions;
        // SAFETY: the configuration lives as long as the server, the cell as long as the session.
        let session = unsafe {
            let session = (functions.s2n_connection_new)(SERVER);
            if session.is_null()
                || (functions.s2n_connection_set_config)(session, self.configuration) != 0
            {
                return Err(error(functions));
            }
            // A connection that fails ends at once; nobody measures how long that takes.
            (functions.s2n_connection_set_blinding)(session, SELF_SERVICE_BLINDING);
            // Otherwise its records are at most 8 KiB.
            (functions.s2n_connection_prefer_throughput)(session);
            (functions.s2n_connection_set_recv_ctx)(session, cell);
            (functions.s2n_connection_set_send_ctx)(session, cell);
            (functions.s2n_connection_set_recv_cb)(session, receive);
            (functions.s2n_connection_set_send_cb)(session, send);
            session
        };
        Ok(Box::new(S2nSession { functions: Arc::clone(functions), session }))
    }
}

unsafe extern "C" fn send(cell: Handle, bytes: *const u8, length: u32) -> c_int {
    // SAFETY: the pointer is that of the session's cell; the memory is s2n-tls's.
    unsafe { wire_cell::send(cell, bytes.cast(), length as usize) };
    length as c_int
}

unsafe extern "C" fn receive(cell: Handle, room: *mut u8, length: u32) -> c_int {
    // SAFETY: the pointer is that of the session's cell; the room is s2n-tls's, of this length.
    match unsafe { wire_cell::receive(cell, room.cast(), length as usize) } {
        Ok(count) => count as c_int,
        Err(error) => wire_cell::fail(&error),
    }
}

impl Calls for S2nSession {
    fn handshake(&mut self) -> io::Result<()> {
        // SAFETY: the session is valid, here and below.
        match unsafe { (self.functions.s2n_negotiate)(self.session, &mut 0) } {
            0 => Ok(()),
            _ => Err(error(&self.functions)),
        }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let (place, length) = (room.as_mut_ptr().cast(), room.len().cast_signed());
        // SAFETY: the memory is as long as it is said to be.
        match unsafe { (self.functions.s2n_recv)(self.session, place, length, &mut 0) } {
            count @ 0.. => Ok(count.cast_unsigned()),
            _ => match error(&self.functions) {
                error if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                error => Err(error),
            },
        }
    }

    fn is_http2(&self) -> bool {
        // SAFETY: the text lives with the session, and ends with a zero.
        unsafe {
            let protocol = (self.functions.s2n_get_application_protocol)(self.session);
            !protocol.is_null() && CStr::from_ptr(protocol).to_bytes() == http2::ALPN
        }
    }

    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        let length = plaintext.len().cast_signed();
        let bytes = plaintext.as_ptr().cast();
        // SAFETY: the memory is as long as it is said to be.
        match unsafe { (self.functions.s2n_send)(self.session, bytes, length, &mut 0) } {
            count @ 0.. => Ok(count.cast_unsigned()),
            _ => Err(error(&self.functions)),
        }
    }

    fn close(&mut self) {
        // SAFETY: the session is valid.
        unsafe { (self.functions.s2n_shutdown_send)(self.session, &mut 0) };
    }
}

impl Drop for S2nSession {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { (self.functions.s2n_connection_free)(self.session) };
    }
}
