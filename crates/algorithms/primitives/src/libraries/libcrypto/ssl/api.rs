//! The functions of a libssl, found by name when it is loaded.

use std::ffi::{c_char, c_int, c_long, c_void};

use crate::libraries::libcrypto::api::{Ptr, functions};
use crate::routine::Failed;

functions! {
    /// The functions of a libssl that were found.
    SslApi

    fn TLS_client_method() -> *const c_void;
    fn TLS_server_method() -> *const c_void;

    fn SSL_CTX_new(*const c_void) -> Ptr;
    fn SSL_CTX_free(Ptr);
    fn SSL_CTX_ctrl(Ptr, c_int, c_long, *const c_void) -> c_long;
    fn SSL_CTX_set_options(Ptr, u64) -> u64;
    fn SSL_CTX_set_ciphersuites(Ptr, *const c_char) -> c_int;
    fn SSL_CTX_set_cipher_list(Ptr, *const c_char) -> c_int;
    fn SSL_CTX_set_num_tickets(Ptr, usize) -> c_int;
    fn SSL_CTX_use_certificate(Ptr, Ptr) -> c_int;
    fn SSL_CTX_use_PrivateKey(Ptr, Ptr) -> c_int;
    fn SSL_CTX_get_cert_store(Ptr) -> Ptr;
    fn SSL_CTX_set_verify(Ptr, c_int, *const c_void);

    fn SSL_new(Ptr) -> Ptr;
    fn SSL_free(Ptr);
    fn SSL_ctrl(Ptr, c_int, c_long, *const c_void) -> c_long;
    fn SSL_set_bio(Ptr, Ptr, Ptr);
    fn SSL_set_accept_state(Ptr);
    fn SSL_set_connect_state(Ptr);
    fn SSL_set1_host(Ptr, *const c_char) -> c_int;
    fn SSL_set_session(Ptr, Ptr) -> c_int;
    fn SSL_set_shutdown(Ptr, c_int);
    fn SSL_do_handshake(Ptr) -> c_int;
    fn SSL_get_error(Ptr, c_int) -> c_int;
    fn SSL_read(Ptr, *mut c_void, c_int) -> c_int;
    fn SSL_write(Ptr, *const c_void, c_int) -> c_int;
    fn SSL_get_current_cipher(Ptr) -> *const c_void;
    fn SSL_CIPHER_get_protocol_id(*const c_void) -> u16;
    fn SSL_session_reused(Ptr) -> c_int;
    fn SSL_get1_session(Ptr) -> Ptr;
    fn SSL_SESSION_is_resumable(*const c_void) -> c_int;
    fn SSL_SESSION_free(Ptr);
}
