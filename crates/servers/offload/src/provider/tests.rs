mod multi_buffer;

use std::fs::File;
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use counters::{AcceleratorCounts, CounterRow, SendCounters};
use foreign_types::ForeignType;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Padding, Rsa};
use units::Nanos;

use super::*;
use crate::Way;

#[test]
fn a_panic_ends_where_openssl_called() {
    assert_eq!(guarded(|| Some(())), 1);
    assert_eq!(guarded(|| None), 0);
    assert_eq!(guarded(|| panic!("this is caught")), 0);
}

const TLS12: u32 = 0x0303;

/// Where this process counts: a file that is gone with it.
static COUNTERS: LazyLock<(File, PathBuf)> = LazyLock::new(|| {
    let file = tempfile::tempfile().unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    crate::count_in(CounterRow::open(&path).unwrap());
    (file, path)
});

fn counts() -> AcceleratorCounts {
    SendCounters::settled(&COUNTERS.1).unwrap().accelerator.unwrap()
}

/// Held by a test whose process may run others, which would be counted too.
fn install() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    super::install(&Description {
        way: Way::Synchronous,
        rates: "rsa:2048 100000/s".parse().unwrap(),
        latency: Nanos(1_000),
        queue: NonZeroUsize::MIN,
        ..Description::default()
    })
    .unwrap();
    turn
}

fn key() -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap()
}

fn encrypted(key: &PKey<Private>, plaintext: &[u8]) -> Vec<u8> {
    let mut ciphertext = vec![0; 256];
    key.rsa().unwrap().public_encrypt(plaintext, &mut ciphertext, Padding::PKCS1).unwrap();
    ciphertext
}

/// As a TLS server has it decrypted.
fn decrypted(key: &PKey<Private>, padding: c_int, ciphertext: &[u8]) -> Vec<u8> {
    let mut plaintext = vec![0; 256];
    let mut length = plaintext.len();
    let mut version = TLS12;
    // SAFETY: the key is valid, names end with zero, and memory is as long as it is said to be.
    unsafe {
        let any = std::ptr::null_mut();
        let context =
            sys::EVP_PKEY_CTX_new_from_pkey(any, key.as_ptr(), c"?provider=toll".as_ptr());
        assert_eq!(ffi::EVP_PKEY_decrypt_init(context), 1);
        assert_eq!(ffi::EVP_PKEY_CTX_set_rsa_padding(context, padding), 1);
        if padding == sys::TLS_PADDING {
            let name = sys::PARAM_TLS_CLIENT_VERSION.as_ptr();
            let version = ffi::OSSL_PARAM_construct_uint(name, &mut version);
            let params = [version, ffi::OSSL_PARAM_construct_end()];
            assert_eq!(ffi::EVP_PKEY_CTX_set_params(context, params.as_ptr()), 1);
        }
        let (out, input) = (plaintext.as_mut_ptr(), ciphertext.as_ptr());
        let done = ffi::EVP_PKEY_decrypt(context, out, &mut length, input, ciphertext.len());
        assert_eq!(done, 1, "{}", ErrorStack::get());
        ffi::EVP_PKEY_CTX_free(context);
    }
    plaintext.truncate(length);
    plaintext
}

fn premaster() -> [u8; 48] {
    let mut premaster = [5; 48];
    premaster[..2].copy_from_slice(&[3, 3]);
    premaster
}

#[test]
fn what_was_decrypted_once_is_asked_of_the_device() {
    let _turn = install();
    let (first, second) = (key(), key());
    // The ciphertext is below the modulus of its key; the other one's must not be smaller.
    let is_smaller = first.rsa().unwrap().n() < second.rsa().unwrap().n();
    let (key, other) = if is_smaller { (first, second) } else { (second, first) };
    let ciphertext = encrypted(&key, &premaster());
    let before = counts();
    assert_eq!(decrypted(&key, sys::TLS_PADDING, &ciphertext), premaster());
    let computed = AcceleratorCounts { computed: before.computed + 1, ..before };
    assert_eq!(counts(), computed);
    for _ in 0..3 {
        assert_eq!(decrypted(&key, sys::TLS_PADDING, &ciphertext), premaster());
    }
    let AcceleratorCounts { submitted, completed, .. } = computed;
    let answered = AcceleratorCounts {
        submitted: submitted + 3,
        completed: completed + 3,
        in_flight_max: 1,
        ..computed
    };
    assert_eq!(counts(), answered);
    // Another key has not seen it, and cannot read it.
    assert_ne!(decrypted(&other, sys::TLS_PADDING, &ciphertext), premaster());
    assert_eq!(counts().computed, answered.computed + 1);
}

#[test]
fn what_is_wrong_decrypts_to_random_bytes() {
    let _turn = install();
    let key = key();
    let old = encrypted(&key, &[1; 48]);
    let short = encrypted(&key, &[3, 3, 3]);
    let mut seen = Vec::new();
    for ciphertext in [old, short, vec![1; 256]] {
        let plaintext = decrypted(&key, sys::TLS_PADDING, &ciphertext);
        assert!(plaintext.len() == 48 && plaintext != [1; 48], "{plaintext:?}");
        assert!(!seen.contains(&plaintext));
        seen.push(plaintext);
    }
}

#[test]
fn other_paddings_are_openssls_own() {
    let _turn = install();
    let key = key();
    let before = counts();
    let pkcs1 = Padding::PKCS1.as_raw();
    assert_eq!(decrypted(&key, pkcs1, &encrypted(&key, b"not TLS")), b"not TLS");
    assert_eq!(counts(), before);
}
