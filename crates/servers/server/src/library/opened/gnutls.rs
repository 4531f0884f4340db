//! GnuTLS 3.6.5 or later.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::io;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use shared_library::text;
use tls::{Cipher, Group, Identity, KeyExchange, Mac, Suite, Version};

use super::offered::{check_resumption, client_authorities_pem, offered_groups, offered_suites};
use super::session::{Calls, Context, OpenedLibrary};
use super::shared_object::SharedObject;
use super::wire_cell;
use crate::error::ServerError;
use crate::settings::Settings;

const SERVER: c_uint = 1;
const NONBLOCK: c_uint = 1 << 3;
const NO_TICKETS: c_uint = 1 << 10;
const CERTIFICATE: c_int = 1;
const PEM: c_int = 1;
/// `GNUTLS_CERT_REQUIRE`.
const REQUIRE: c_uint = 2;
const ALPN_SERVER_PRECEDENCE: c_uint = 1 << 1;
const SHUT_WR: c_int = 1;
const E_AGAIN: isize = -28;
const E_INTERRUPTED: isize = -52;
const E_PREMATURE_TERMINATION: isize = -110;

/// `gnutls_datum_t`.
#[repr(C)]
struct Datum {
    data: *const u8,
    size: c_uint,
}

impl Datum {
    fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), size: bytes.len() as c_uint }
    }
}

type Handle = *mut c_void;
type Push = unsafe extern "C" fn(Handle, *const c_void, usize) -> isize;
type Pull = unsafe extern "C" fn(Handle, *mut c_void, usize) -> isize;

shared_library::functions!(Functions {
    gnutls_check_version(*const c_char) -> *const c_char;
    gnutls_strerror(c_int) -> *const c_char;
    gnutls_certificate_allocate_credentials(*mut Handle) -> c_int;
    gnutls_certificate_set_x509_key_mem2(Handle, *const Datum, *const Datum, c_int, *const c_char, c_uint) -> c_int;
    gnutls_certificate_set_x509_trust_mem(Handle, *const Datum, c_int) -> c_int;
    gnutls_certificate_server_set_request(Handle, c_uint);
    gnutls_session_set_verify_cert(Handle, *const c_char, c_uint);
    gnutls_priority_init(*mut Handle, *const c_char, *mut *const c_char) -> c_int;
    gnutls_priority_set(Handle, Handle) -> c_int;
    gnutls_cipher_suite_info(usize, *mut u8, *mut c_int, *mut c_int, *mut c_int, *mut c_int) -> *const c_char;
    gnutls_group_get_id(*const c_char) -> c_int;
    gnutls_session_ticket_key_generate(*mut Datum) -> c_int;
    gnutls_session_ticket_enable_server(Handle, *const Datum) -> c_int;
    gnutls_init(*mut Handle, c_uint) -> c_int;
    gnutls_deinit(Handle);
    gnutls_credentials_set(Handle, c_int, Handle) -> c_int;
    gnutls_alpn_set_protocols(Handle, *const Datum, c_uint, c_uint) -> c_int;
    gnutls_alpn_get_selected_protocol(Handle, *mut Datum) -> c_int;
    gnutls_transport_set_ptr(Handle, Handle);
    gnutls_transport_set_push_function(Handle, Push);
    gnutls_transport_set_pull_function(Handle, Pull);
    gnutls_handshake(Handle) -> c_int;
    gnutls_error_is_fatal(c_int) -> c_int;
    gnutls_record_recv(Handle, *mut c_void, usize) -> isize;
    gnutls_record_send(Handle, *const c_void, usize) -> isize;
    gnutls_bye(Handle, c_int) -> c_int;
});

struct GnuTls {
    functions: Arc<Functions>,
    credentials: Handle,
    priorities: Handle,
    /// Whether clients need a certificate.
    verifies_clients: bool,
    /// The key of tickets, where there are any.
    ticket_key: Option<Datum>,
}

// SAFETY: what sessions share is only read once it is made; GnuTLS allows that from several threads.
unsafe impl Sync for GnuTls {}
// SAFETY: GnuTLS keeps nothing of them by thread, so that any thread may free them.
unsafe impl Send for GnuTls {}

struct GnuTlsSession {
    functions: Arc<Functions>,
    session: Handle,
}

pub(super) fn build(
    object: &SharedObject,
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
) -> Result<OpenedLibrary, ServerError> {
    check_resumption(settings)?;
    let functions = object.functions(Functions::of)?;
    let authorities = client_authorities_pem(settings)?;
    let refused = |what, code: c_int| match code {
        0.. => Ok(()),
        _ => Err(object.refused(what, reason(&functions, code))),
    };
    // SAFETY: the pointers are those that the functions give, or memory that outlives the calls.
    let (version, suites, groups, credentials, priorities, ticket_key) = unsafe {
        let version = text((functions.gnutls_check_version)(null())).unwrap_or_default();
        let (suites, groups) = (suites(&functions), groups(&functions));
        let mut credentials = null_mut();
        let allocated = (functions.gnutls_certificate_allocate_credentials)(&mut credentials);
        refused("credentials", allocated)?;
        let (certificate, key) =
            (Datum::of(&identity.certificate_pem), Datum::of(&identity.key_pem));
        let set = functions.gnutls_certificate_set_x509_key_mem2;
        refused(
            "the certificate and its key",
            set(credentials, &certificate, &key, PEM, null(), 0),
        )?;
        if let Some(pem) = &authorities {
            let set = functions.gnutls_certificate_set_x509_trust_mem;
            refused("the authorities of clients", set(credentials, &Datum::of(pem), PEM))?;
        }
        let wanted = priorities(
            versions,
            &offered_suites(settings, |suite| suites.contains(&suite.code_point)),
            &offered_groups(settings, |group| groups.contains(&group)),
        );
        let mut priorities = null_mut();
        let made = (functions.gnutls_priority_init)(&mut priorities, wanted.as_ptr(), null_mut());
        refused("these suites and groups", made)?;
        let mut ticket_key = None;
        if settings.tickets {
            let mut key = Datum { data: null(), size: 0 };
            refused("tickets", (functions.gnutls_session_ticket_key_generate)(&mut key))?;
            ticket_key = Some(key);
        }
        (version, suites, groups, credentials, priorities, ticket_key)
    };
    let library = GnuTls {
        functions: Arc::new(functions),
        credentials,
        priorities,
        verifies_clients: authorities.is_some(),
        ticket_key,
    };
    Ok(OpenedLibrary::new(
        library,
        settings,
        format!("GnuTLS {version}"),
        |suite| suites.contains(&suite.code_point),
        |group| groups.contains(&group),
    ))
}

/// The code points of the suites that it has.
unsafe fn suites(functions: &Functions) -> Vec<u16> {
    let mut suites = Vec::new();
    let mut code_point = [0; 2];
    // SAFETY: it writes two bytes, and what is null not.
    while !unsafe {
        let (place, none) = (code_point.as_mut_ptr(), null_mut());
        (functions.gnutls_cipher_suite_info)(suites.len(), place, none, none, none, none)
    }
    .is_null()
    {
        suites.push(u16::from_be_bytes(code_point));
    }
    suites
}

unsafe fn groups(functions: &Functions) -> Vec<Group> {
    let has = |group: &Group| {
        let name = CString::new(group_name(*group)).unwrap_or_default();
        // SAFETY: it is a text that ends with a zero.
        unsafe { (functions.gnutls_group_get_id)(name.as_ptr()) != 0 }
    };
    Group::ALL.into_iter().filter(has).collect()
}

fn group_name(group: Group) -> &'static str {
    match group {
        Group::X25519 => "X25519",
        Group::Secp256r1 => "SECP256R1",
        Group::Secp384r1 => "SECP384R1",
        Group::Secp521r1 => "SECP521R1",
        Group::X25519MlKem768 => "X25519-MLKEM768",
        Group::Secp256r1MlKem768 => "SECP256R1-MLKEM768",
        Group::MlKem1024 => "MLKEM1024",
    }
}

/// What it calls a priority string: all that is offered, by parts of suites.
fn priorities(versions: &[Version], suites: &[&Suite], groups: &[Group]) -> CString {
    let mut words = vec!["NONE", "%SERVER_PRECEDENCE", "+COMP-NULL", "+CTYPE-X509", "+SIGN-ALL"];
    words.extend(versions.iter().map(|version| match version {
        Version::Tls12 => "+VERS-TLS1.2",
        Version::Tls13 => "+VERS-TLS1.3",
    }));
    for suite in suites {
        words.push(match suite.cipher {
            Cipher::Aes128Gcm => "+AES-128-GCM",
            Cipher::Aes256Gcm => "+AES-256-GCM",
            Cipher::ChaCha20Poly1305 => "+CHACHA20-POLY1305",
            Cipher::Aes128Cbc => "+AES-128-CBC",
            Cipher::Aes256Cbc => "+AES-256-CBC",
        });
        words.push(match suite.mac {
            Mac::Aead => "+AEAD",
            Mac::Sha1 => "+SHA1",
            Mac::Sha256 => "+SHA256",
            Mac::Sha384 => "+SHA384",
        });
        match suite.key_exchange {
            KeyExchange::Tls13 => {}
            KeyExchange::EcdheRsa => words.push("+ECDHE-RSA"),
            KeyExchange::EcdheEcdsa => words.push("+ECDHE-ECDSA"),
            KeyExchange::Rsa => words.push("+RSA"),
        }
    }
    let groups = groups.iter().map(|group| format!(":+GROUP-{}", group_name(*group)));
    CString::new(words.join(":") + &groups.collect::<String>()).unwrap_or_default()
}

fn reason(functions: &Functions, code: c_int) -> String {
    // SAFETY: it takes any code, and gives a text of its own.
    unsafe { text((functions.gnutls_strerror)(code)) }.unwrap_or_else(|| format!("error {code}"))
}

impl Context for GnuTls {
    fn accept(&self, cell: Handle) -> io::Result<Box<dyn Calls>> {
        let functions = &self.functions;
        let flags = if self.ticket_key.is_some() { 0 } else { NO_TICKETS };
        let mut session = null_mut();
        // SAFETY: the session is new; what it is given lives longer: the cell in the same struct, the rest in the
        // server.
        unsafe {
            let code = (functions.gnutls_init)(&mut session, SERVER | NONBLOCK | flags);
            if code < 0 {
                return Err(io::Error::other(reason(functions, code)));
            }
            (functions.gnutls_priority_set)(session, self.priorities);
            (functions.gnutls_credentials_set)(session, CERTIFICATE, self.credentials);
            if self.verifies_clients {
                (functions.gnutls_certificate_server_set_request)(session, REQUIRE);
                (functions.gnutls_session_set_verify_cert)(session, null(), 0);
            }
            if let Some(key) = &self.ticket_key {
                (functions.gnutls_session_ticket_enable_server)(session, key);
            }
            let protocols = [Datum::of(http2::ALPN), Datum::of(b"http/1.1")];
            let set = functions.gnutls_alpn_set_protocols;
            set(session, protocols.as_ptr(), 2, ALPN_SERVER_PRECEDENCE);
            (functions.gnutls_transport_set_ptr)(session, cell);
            (functions.gnutls_transport_set_push_function)(session, push);
            (functions.gnutls_transport_set_pull_function)(session, pull);
        }
        Ok(Box::new(GnuTlsSession { functions: Arc::clone(functions), session }))
    }
}

unsafe extern "C" fn push(cell: Handle, bytes: *const c_void, length: usize) -> isize {
    // SAFETY: the pointer is that of the session's cell; the memory is GnuTLS's.
    unsafe { wire_cell::send(cell, bytes, length) };
    length.cast_signed()
}

unsafe extern "C" fn pull(cell: Handle, room: *mut c_void, length: usize) -> isize {
    // SAFETY: the pointer is that of the session's cell; the room is GnuTLS's, of this length.
    match unsafe { wire_cell::receive(cell, room, length) } {
        Ok(count) => count.cast_signed(),
        Err(error) => wire_cell::fail(&error) as isize,
    }
}

impl GnuTlsSession {
    fn error(&self, code: isize) -> io::Error {
        match code {
            E_AGAIN | E_INTERRUPTED => io::ErrorKind::WouldBlock.into(),
            _ => io::Error::other(reason(&self.functions, code as c_int)),
        }
    }
}

impl Calls for GnuTlsSession {
    fn handshake(&mut self) -> io::Result<()> {
        loop {
            // SAFETY: the session is valid, here and below.
            let code = unsafe { (self.functions.gnutls_handshake)(self.session) };
            match code as isize {
                0.. => return Ok(()),
                E_AGAIN => return Err(io::ErrorKind::WouldBlock.into()),
                // A warning of the client's, for example.
                // SAFETY: it takes any code.
                _ if unsafe { (self.functions.gnutls_error_is_fatal)(code) } == 0 => {}
                code => return Err(self.error(code)),
            }
        }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let (place, length) = (room.as_mut_ptr().cast(), room.len());
        // SAFETY: the memory is as long as it is said to be.
        match unsafe { (self.functions.gnutls_record_recv)(self.session, place, length) } {
            E_PREMATURE_TERMINATION => Ok(0),
            count @ 0.. => Ok(count.cast_unsigned()),
            code => Err(self.error(code)),
        }
    }

    fn is_http2(&self) -> bool {
        let mut protocol = Datum { data: null(), size: 0 };
        // SAFETY: it writes the place and length of bytes that live with the session.
        unsafe {
            let get = self.functions.gnutls_alpn_get_selected_protocol;
            get(self.session, &mut protocol) == 0
                && std::slice::from_raw_parts(protocol.data, protocol.size as usize) == http2::ALPN
        }
    }

    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        let length = plaintext.len();
        let bytes = plaintext.as_ptr().cast();
        // SAFETY: the memory is as long as it is said to be.
        match unsafe { (self.functions.gnutls_record_send)(self.session, bytes, length) } {
            count @ 0.. => Ok(count.cast_unsigned()),
            code => Err(self.error(code)),
        }
    }

    fn close(&mut self) {
        // SAFETY: the session is valid.
        unsafe { (self.functions.gnutls_bye)(self.session, SHUT_WR) };
    }
}

impl Drop for GnuTlsSession {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { (self.functions.gnutls_deinit)(self.session) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_offered_by_their_parts() {
        let suite = |name| Suite::parse(name).unwrap();
        let text = priorities(
            &[Version::Tls13],
            &[suite("TLS_AES_128_GCM_SHA256")],
            &[Group::X25519, Group::Secp256r1],
        );
        assert_eq!(
            text.to_str().unwrap(),
            "NONE:%SERVER_PRECEDENCE:+COMP-NULL:+CTYPE-X509:+SIGN-ALL:+VERS-TLS1.3:+AES-128-GCM:+AEAD\
             :+GROUP-X25519:+GROUP-SECP256R1"
        );
        let text = priorities(&[Version::Tls12], &[suite("AES128-SHA")], &[]);
        assert!(text.to_str().unwrap().ends_with("+VERS-TLS1.2:+AES-128-CBC:+SHA1:+RSA"));
    }
}
