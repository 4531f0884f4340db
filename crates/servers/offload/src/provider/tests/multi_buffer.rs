//! The provider in front of Intel's library, against OpenSSL's own; and of a stand-in, where that library is to
//! be wrong. Each test has a process of its own, as nextest has it, for there is one accelerator in each.

use std::ffi::c_char;
use std::sync::{Arc, OnceLock};

use counters::{KeyUse, UseCounts};
use crypto_mb::{Curve, RsaKey};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{HasPrivate, HasPublic, Id, Public};
use openssl::sign::Verifier;
use proptest::prelude::*;
use support::CryptoMbStandIn;

use super::*;
use crate::Batching;
use crate::multi_buffer::{Class, MultiBuffer, STACK_SIZE, Wake, Work, compute, make_keys};
use crate::provider::curve_key::{Secret, Which};

const TOLL: &CStr = c"?provider=toll";
const BATCHING: Batching = Batching { way: Way::Synchronous, wait: Nanos(0) };

/// Makes a library the accelerator of this process.
fn installed(
    library: CryptoMb,
    batching: &Batching,
    completed_by: CompletedBy,
) -> &'static MultiBuffer {
    let pause = pause_cost::of_server(batching.way, completed_by);
    let accelerator = Accelerator::make_multi_buffer(library, batching, completed_by, pause);
    add_provider().unwrap();
    LazyLock::force(&COUNTERS);
    accelerator.multi_buffer().expect("each test in its own process: cargo nextest")
}

/// Intel's, which does everything in batches; `None` where this machine has none that it can use.
fn intels() -> Option<&'static MultiBuffer> {
    let library = match CryptoMb::open() {
        Ok(library) => library,
        Err(why @ (crypto_mb::OpenError::Absent { .. } | crypto_mb::OpenError::NoIfma)) => {
            eprintln!("skipped: {why}");
            return None;
        }
        Err(why) => panic!("{why}"),
    };
    let device = installed(library, &BATCHING, CompletedBy::Event);
    // Then nothing is sent back for being alone.
    break_even::of_curves(device);
    for class in CLASSES {
        device.set_break_even(class, 1);
    }
    Some(device)
}

const CLASSES: [Class; 9] = [
    Class::Rsa(2048),
    Class::Ecdsa(Curve::P256),
    Class::Ecdsa(Curve::P384),
    Class::X25519,
    Class::Ecdh(Curve::P256),
    Class::Ecdh(Curve::P384),
    Class::X25519Key,
    Class::EcdhKey(Curve::P256),
    Class::EcdhKey(Curve::P384),
];

fn stand_in(stand_in: CryptoMbStandIn) -> CryptoMb {
    let folder = tempfile::tempdir().unwrap();
    stand_in.build(folder.path());
    CryptoMb::open_at(folder.path()).unwrap()
}

fn used(of: KeyUse) -> UseCounts {
    counts().batches.unwrap().uses[of]
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// A new key by this provider, as a server makes it for a handshake of TLS 1.2.
fn made(algorithm: &CStr, group: Option<&CStr>) -> PKey<Private> {
    let mut key = std::ptr::null_mut();
    // SAFETY: names end with zero; the context is freed at the end, and the key is new.
    unsafe {
        let any = std::ptr::null_mut();
        let context = ffi::EVP_PKEY_CTX_new_from_name(any, algorithm.as_ptr(), TOLL.as_ptr());
        assert_eq!(ffi::EVP_PKEY_keygen_init(context), 1);
        if let Some(group) = group {
            assert_eq!(EVP_PKEY_CTX_set_group_name(context, group.as_ptr()), 1);
        }
        assert_eq!(ffi::EVP_PKEY_keygen(context, &mut key), 1, "{}", ErrorStack::get());
        ffi::EVP_PKEY_CTX_free(context);
        PKey::from_ptr(key)
    }
}

/// A peer's key by this provider, and another own key like it, as a server makes them of TLS 1.3.
fn parameters(algorithm: &CStr, group: Option<&CStr>) -> PKey<Public> {
    let mut key = std::ptr::null_mut();
    // SAFETY: names end with zero; the context is freed at the end, and the key is new.
    unsafe {
        let any = std::ptr::null_mut();
        let context = ffi::EVP_PKEY_CTX_new_from_name(any, algorithm.as_ptr(), TOLL.as_ptr());
        assert_eq!(ffi::EVP_PKEY_paramgen_init(context), 1);
        if let Some(group) = group {
            assert_eq!(EVP_PKEY_CTX_set_group_name(context, group.as_ptr()), 1);
        }
        assert_eq!(ffi::EVP_PKEY_paramgen(context, &mut key), 1, "{}", ErrorStack::get());
        ffi::EVP_PKEY_CTX_free(context);
        PKey::from_ptr(key)
    }
}

fn made_like(other: &PKey<Public>) -> PKey<Private> {
    let mut key = std::ptr::null_mut();
    // SAFETY: names end with zero; the context is freed at the end, and the key is new.
    unsafe {
        let any = std::ptr::null_mut();
        let context = sys::EVP_PKEY_CTX_new_from_pkey(any, other.as_ptr(), TOLL.as_ptr());
        assert_eq!(ffi::EVP_PKEY_keygen_init(context), 1);
        assert_eq!(ffi::EVP_PKEY_keygen(context, &mut key), 1, "{}", ErrorStack::get());
        ffi::EVP_PKEY_CTX_free(context);
        PKey::from_ptr(key)
    }
}

unsafe extern "C" {
    fn EVP_PKEY_CTX_set_group_name(context: *mut ffi::EVP_PKEY_CTX, name: *const c_char) -> c_int;
    fn EVP_PKEY_set1_encoded_public_key(
        key: *mut ffi::EVP_PKEY,
        public: *const u8,
        length: usize,
    ) -> c_int;
    fn EVP_PKEY_get1_encoded_public_key(key: *mut ffi::EVP_PKEY, public: *mut *mut u8) -> usize;
}

/// A peer's key like an own one, as a server makes it of TLS 1.2.
fn copied(own: &PKey<Private>) -> PKey<Public> {
    // SAFETY: the key is new, and both are valid.
    unsafe {
        let key = ffi::EVP_PKEY_new();
        assert_eq!(sys::EVP_PKEY_copy_parameters(key, own.as_ptr()), 1, "{}", ErrorStack::get());
        PKey::from_ptr(key)
    }
}

/// Whether bytes on the wire are a public key with these parameters.
fn set_public(key: &PKey<Public>, bytes: &[u8]) -> bool {
    // SAFETY: the key is valid, and the bytes are as many as is said.
    unsafe { EVP_PKEY_set1_encoded_public_key(key.as_ptr(), bytes.as_ptr(), bytes.len()) == 1 }
}

/// As it is sent.
fn public<T: HasPublic>(key: &PKey<T>) -> Vec<u8> {
    let mut place = std::ptr::null_mut();
    // SAFETY: the key is valid; what is given is as long as is said, and freed.
    unsafe {
        let length = EVP_PKEY_get1_encoded_public_key(key.as_ptr(), &mut place);
        let bytes = std::slice::from_raw_parts(place, length).to_vec();
        ffi::OPENSSL_free(place.cast());
        bytes
    }
}

/// What a key shares with a peer's, by this provider or OpenSSL's own; `None` where that refuses.
fn shared<T: HasPrivate, U: HasPublic>(
    properties: &CStr,
    own: &PKey<T>,
    peer: &PKey<U>,
) -> Option<Vec<u8>> {
    // SAFETY: keys are valid, properties end with zero, and the room is as long as is said.
    unsafe {
        let any = std::ptr::null_mut();
        let context = sys::EVP_PKEY_CTX_new_from_pkey(any, own.as_ptr(), properties.as_ptr());
        let mut length = 0;
        let mut secret = vec![0; 100];
        let is_known = ffi::EVP_PKEY_derive_init(context) == 1
            && ffi::EVP_PKEY_derive_set_peer(context, peer.as_ptr()) == 1
            && ffi::EVP_PKEY_derive(context, std::ptr::null_mut(), &mut length) == 1;
        let is_derived =
            is_known && ffi::EVP_PKEY_derive(context, secret.as_mut_ptr(), &mut length) == 1;
        ffi::EVP_PKEY_CTX_free(context);
        secret.truncate(length);
        is_derived.then_some(secret)
    }
}

/// OpenSSL's own key of a curve.
fn openssls(group: Option<Nid>) -> PKey<Private> {
    match group {
        None => PKey::generate_x25519().unwrap(),
        Some(nid) => {
            let group = EcGroup::from_curve_name(nid).unwrap();
            PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
        }
    }
}

/// The algorithm, the group's name and number at OpenSSL, and what keys and secrets are counted as.
type OfCurve = (&'static CStr, Option<(&'static CStr, Nid)>, KeyUse, KeyUse);

const CURVES: [OfCurve; 3] = [
    (X25519_NAME, None, KeyUse::X25519Key, KeyUse::X25519Derive),
    (c"EC", Some((c"P-256", Nid::X9_62_PRIME256V1)), KeyUse::EcdhKey, KeyUse::EcdhDerive),
    (c"EC", Some((c"P-384", Nid::SECP384R1)), KeyUse::EcdhKey, KeyUse::EcdhDerive),
];
const X25519_NAME: &CStr = c"X25519";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whoever makes the keys, both sides share the same secret, and every operation of the server's is one of
    /// the library's.
    #[test]
    fn both_sides_of_an_exchange_share_a_secret(curve in 0..3usize, is_tls13: bool) {
        if intels().is_none() {
            return Ok(());
        }
        let (algorithm, group, key, derive) = CURVES[curve];
        let before = [key, derive].map(used);
        let client = openssls(group.map(|(_, nid)| nid));
        let (own, peer) = if is_tls13 {
            let peer = parameters(algorithm, group.map(|(name, _)| name));
            (made_like(&peer), peer)
        } else {
            let own = made(algorithm, group.map(|(name, _)| name));
            let peer = copied(&own);
            (own, peer)
        };
        prop_assert!(set_public(&peer, &public(&client)));
        let secret = shared(TOLL, &own, &peer).unwrap();
        prop_assert_eq!([key, derive].map(used).map(|it| it.completed), before.map(|it| it.completed + 1));
        // As the client has it.
        let theirs = parameters(algorithm, group.map(|(name, _)| name));
        prop_assert!(set_public(&theirs, &public(&own)));
        prop_assert_eq!(shared(c"provider=default", &client, &theirs), Some(secret));
    }

    #[test]
    fn openssl_verifies_every_signature(curve in 1..3usize, hash in 0..3usize, message: Vec<u8>) {
        if intels().is_none() {
            return Ok(());
        }
        let key = openssls(CURVES[curve].1.map(|(_, nid)| nid));
        let name = [c"SHA256", c"SHA384", c"SHA512"][hash];
        let before = used(KeyUse::EcdsaSign).completed;
        let signature = signed(&key, name, &message).unwrap();
        prop_assert_eq!(used(KeyUse::EcdsaSign).completed, before + 1);
        let function = MessageDigest::from_name(name.to_str().unwrap()).unwrap();
        let mut verifier = Verifier::new(function, &key).unwrap();
        prop_assert!(verifier.verify_oneshot(&signature, &message).unwrap());
        let mut verifier = Verifier::new(function, &key).unwrap();
        prop_assert!(!verifier.verify_oneshot(&signature, &[&message[..], b"x"].concat()).unwrap_or(false));
    }
}

/// Signs by this provider.
fn signed(key: &PKey<Private>, function: &CStr, message: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: the key is valid, names end with zero, and the room is as long as OpenSSL says.
    unsafe {
        let (any, none) = (std::ptr::null_mut(), std::ptr::null());
        let context = ffi::EVP_MD_CTX_new();
        let settings = std::ptr::null_mut();
        let (hash, properties, key) = (function.as_ptr(), TOLL.as_ptr(), key.as_ptr());
        let begun =
            sys::EVP_DigestSignInit_ex(context, settings, hash, any, properties, key, none) == 1;
        let mut length = 0;
        let place = std::ptr::null_mut();
        let input = message.as_ptr();
        let is_known =
            begun && ffi::EVP_DigestSign(context, place, &mut length, input, message.len()) == 1;
        let mut signature = vec![0; length];
        let place = signature.as_mut_ptr();
        let is_made =
            is_known && ffi::EVP_DigestSign(context, place, &mut length, input, message.len()) == 1;
        ffi::EVP_MD_CTX_free(context);
        signature.truncate(length);
        is_made.then_some(signature)
    }
}

/// RFC 7748, section 5.2; NIST's test vectors of ECC CDH (SP 800-56A), the first ones of P-256 and P-384.
#[test]
fn published_answers_are_given() {
    if intels().is_none() {
        return;
    }
    let raw = |text| PKey::private_key_from_raw_bytes(&hex(text), Id::X25519).unwrap();
    let own = raw("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    let peer = parameters(X25519_NAME, None);
    let theirs = "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c";
    assert!(set_public(&peer, &hex(theirs)));
    let expected = hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    assert_eq!(shared(TOLL, &own, &peer), Some(expected));
    for (name, nid, own, peer, expected) in [
        (
            c"P-256",
            Nid::X9_62_PRIME256V1,
            "7d7dc5f71eb29ddaf80d6214632eeae03d9058af1fb6d22ed80badb62bc1a534",
            "04700c48f77f56584c5cc632ca65640db91b6bacce3a4df6b42ce7cc838833d287\
             db71e509e3fd9b060ddb20ba5c51dcc5948d46fbf640dfe0441782cab85fa4ac",
            "46fc62106420ff012e54a434fbdd2d25ccc5852060561e68040dd7778997bd7b",
        ),
        (
            c"P-384",
            Nid::SECP384R1,
            "3cc3122a68f0d95027ad38c067916ba0eb8c38894d22e1b15618b6818a661774\
             ad463b205da88cf699ab4d43c9cf98a1",
            "04a7c76b970c3b5fe8b05d2838ae04ab47697b9eaf52e764592efda27fe7513272\
             734466b400091adbf2d68c58e0c50066\
             ac68f19f2e1cb879aed43a9969b91a0839c4c38a49749b661efedf243451915e\
             d0905a32b060992b468c64766fc8437a",
            "5f9d29dc5e31a163060356213669c8ce132e22f57c9a04f40ba7fcead493b457\
             e5621e766c40a2e3d4d6a04b25e533f1",
        ),
    ] {
        let group = EcGroup::from_curve_name(nid).unwrap();
        let number = openssl::bn::BigNum::from_slice(&hex(own)).unwrap();
        let mut point = openssl::ec::EcPoint::new(&group).unwrap();
        let mut context = openssl::bn::BigNumContext::new().unwrap();
        point.mul_generator2(&group, &number, &mut context).unwrap();
        let own = EcKey::from_private_components(&group, &number, &point).unwrap();
        let own = PKey::from_ec_key(own).unwrap();
        let theirs = parameters(c"EC", Some(name));
        assert!(set_public(&theirs, &hex(peer)));
        assert_eq!(shared(TOLL, &own, &theirs), Some(hex(expected)), "{name:?}");
    }
}

/// RFC 7748, section 6.1; SP 800-56A, section 5.6.2.3.
#[test]
fn public_keys_that_are_none_are_refused() {
    if intels().is_none() {
        return;
    }
    let peer = parameters(X25519_NAME, None);
    assert!(!set_public(&peer, &[1; 31]) && set_public(&peer, &[0; 32]));
    assert_eq!(shared(TOLL, &made_like(&peer), &peer), None);
    assert_eq!(used(KeyUse::X25519Derive).faulty, 1);
    for name in [c"P-256", c"P-384"] {
        let peer = parameters(c"EC", Some(name));
        let bytes = public(&made(c"EC", Some(name)));
        let mut beside = bytes.clone();
        *beside.last_mut().unwrap() ^= 1;
        let mut other_form = bytes.clone();
        other_form[0] = 9;
        for wrong in [&[][..], &[0], &bytes[1..], &bytes[..bytes.len() - 1], &beside, &other_form] {
            assert!(!set_public(&peer, wrong), "{wrong:?}");
        }
        // A compressed point (SEC 1, section 2.3.3) is the same.
        let compressed =
            [&[2 + (bytes[bytes.len() - 1] & 1)][..], &bytes[1..=bytes.len() / 2]].concat();
        assert!(set_public(&peer, &compressed));
        assert_eq!(public(&peer), bytes);
    }
}

#[test]
fn other_curves_are_openssls() {
    if intels().is_none() {
        return;
    }
    let before = counts();
    let client = openssls(Some(Nid::SECP521R1));
    for own in [made(c"EC", Some(c"P-521")), made_like(&parameters(c"EC", Some(c"P-521")))] {
        let peer = copied(&own);
        assert!(set_public(&peer, &public(&client)) && !set_public(&peer, &[4; 133]));
        let theirs = parameters(c"EC", Some(c"P-521"));
        assert!(set_public(&theirs, &public(&own)));
        let secret = shared(TOLL, &own, &peer);
        assert!(secret.is_some() && secret == shared(c"provider=default", &client, &theirs));
    }
    assert!(signed(&client, c"SHA512", b"message").is_some());
    assert_eq!(counts(), before);
}

/// Each of its results is zeros, so that OpenSSL does everything.
#[test]
fn a_library_that_computes_nothing_harms_nobody() {
    let device = installed(stand_in(CryptoMbStandIn::default()), &BATCHING, CompletedBy::Event);
    CLASSES.iter().for_each(|class| device.set_break_even(*class, 1));
    for (algorithm, group, key, derive) in CURVES {
        let client = openssls(group.map(|(_, nid)| nid));
        let peer = parameters(algorithm, group.map(|(name, _)| name));
        assert!(set_public(&peer, &public(&client)));
        let before = [key, derive].map(used).map(|it| it.faulty);
        let own = made_like(&peer);
        let secret = shared(TOLL, &own, &peer);
        let theirs = parameters(algorithm, group.map(|(name, _)| name));
        assert!(set_public(&theirs, &public(&own)));
        assert_eq!(shared(c"provider=default", &client, &theirs), secret);
        assert_eq!([key, derive].map(used).map(|it| it.faulty), before.map(|count| count + 1));
    }
    let key = openssls(Some(Nid::X9_62_PRIME256V1));
    let signature = signed(&key, c"SHA256", b"message").unwrap();
    let mut verifier = Verifier::new(MessageDigest::sha256(), &key).unwrap();
    assert!(verifier.verify_oneshot(&signature, b"message").unwrap());
    assert_eq!((used(KeyUse::EcdsaSign).faulty, counts().in_flight()), (1, 0));
}

#[test]
fn signatures_are_verified_by_openssl() {
    // Those of this stand-in are wrong, and it notices.
    let wrong = CryptoMbStandIn { wrong_lane: Some(0), ..CryptoMbStandIn::default() };
    installed(stand_in(wrong), &BATCHING, CompletedBy::Event);
    for key in [key(), openssls(Some(Nid::X9_62_PRIME256V1))] {
        let signature = signed(&key, c"SHA256", b"message").unwrap();
        let is_right = |message: &[u8]| {
            // SAFETY: the key is valid, names end with zero, and memory is as long as is said.
            unsafe {
                let (any, none) = (std::ptr::null_mut(), std::ptr::null());
                let context = ffi::EVP_MD_CTX_new();
                let (hash, toll) = (c"SHA256".as_ptr(), TOLL.as_ptr());
                let settings = std::ptr::null_mut();
                let key = key.as_ptr();
                let begun =
                    sys::EVP_DigestVerifyInit_ex(context, settings, hash, any, toll, key, none);
                assert_eq!(begun, 1);
                let (made, length) = (signature.as_ptr(), signature.len());
                let done =
                    ffi::EVP_DigestVerify(context, made, length, message.as_ptr(), message.len());
                ffi::EVP_MD_CTX_free(context);
                done == 1
            }
        };
        assert!(is_right(b"message") && !is_right(b"massage"));
    }
}

/// The key of a server's certificate.
static SIGNER: LazyLock<PKey<Private>> = LazyLock::new(key);

/// What a server with descriptors sees of a connection.
struct Connection {
    job: *mut sys::AsyncJob,
    context: *mut sys::WaitContext,
}

impl Connection {
    const PAUSED: c_int = 2;
    const FINISHED: c_int = 3;

    fn new() -> Self {
        // SAFETY: it takes nothing.
        Self { job: std::ptr::null_mut(), context: unsafe { sys::ASYNC_WAIT_CTX_new() } }
    }

    /// Has the server sign in its job, which begins or continues: how that stands.
    fn sign(&mut self) -> c_int {
        unsafe extern "C" fn act(_: *mut c_void) -> c_int {
            signed(&SIGNER, c"SHA256", b"message").is_some().into()
        }
        let (mut result, nothing) = (0, std::ptr::null_mut());
        // SAFETY: places are there, and the act takes nothing.
        let status = unsafe {
            sys::ASYNC_start_job(&mut self.job, self.context, &mut result, act, nothing, 0)
        };
        assert_eq!(result, c_int::from(status == Self::FINISHED));
        status
    }

    fn is_awake(&self) -> bool {
        let (mut descriptor, mut count) = (0, 0);
        // SAFETY: without a place the count alone is given; then there is a place for the only one.
        unsafe {
            let get = sys::ASYNC_WAIT_CTX_get_all_fds;
            get(self.context, std::ptr::null_mut(), &mut count);
            assert_eq!(count, 1);
            get(self.context, &mut descriptor, &mut count);
            let event = std::os::fd::BorrowedFd::borrow_raw(descriptor);
            let mut of = [rustix::event::PollFd::new(&event, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut of, Some(&rustix::time::Timespec::default())).unwrap() == 1
        }
    }

    /// Ends it, also while its job is paused.
    fn free(self) {
        // SAFETY: it is used no more.
        unsafe { sys::ASYNC_WAIT_CTX_free(self.context) };
    }
}

/// A server whose batches are worth it however small they are, with this many connections.
fn connections(count: usize) -> (&'static MultiBuffer, Vec<Connection>) {
    // Nobody's time is over meanwhile.
    let hour = Batching { way: Way::Asynchronous, wait: Nanos(3_600_000_000_000) };
    let device = installed(stand_in(CryptoMbStandIn::default()), &hour, CompletedBy::Event);
    device.set_break_even(Class::Rsa(2048), 1);
    // A server reads its key before it is in a job, whose stack is small.
    prepare(&SIGNER);
    (device, (0..count).map(|_| Connection::new()).collect())
}

/// Seven jobs are paused, the eighth computes for all and wakes them.
#[test]
fn who_completes_a_batch_wakes_the_others() {
    let (_, mut connections) = connections(8);
    for (place, connection) in connections[..7].iter_mut().enumerate() {
        assert_eq!(connection.sign(), Connection::PAUSED);
        // The first looks whether others come.
        assert_eq!(connection.is_awake(), place == 0);
    }
    assert_eq!(counts().in_flight(), 7);
    assert_eq!(connections[7].sign(), Connection::FINISHED);
    for connection in &mut connections[..7] {
        assert!(connection.is_awake());
        assert_eq!(connection.sign(), Connection::FINISHED);
    }
    let counts = counts();
    assert_eq!((counts.batches.unwrap().by_size[7], counts.in_flight()), (1, 0));
    connections.into_iter().for_each(Connection::free);
}

#[test]
fn the_first_waits_as_long_as_others_come() {
    let (_, mut connections) = connections(3);
    for (place, is_awake) in [(0, true), (1, false), (0, true), (2, false)] {
        assert_eq!(connections[place].sign(), Connection::PAUSED);
        assert_eq!(connections[place].is_awake(), is_awake);
    }
    // Whoever is started for another reason waits on.
    assert_eq!((connections[1].sign(), connections[1].is_awake()), (Connection::PAUSED, false));
    assert_eq!((connections[0].sign(), connections[0].is_awake()), (Connection::PAUSED, true));
    // Nobody has come since.
    assert_eq!(connections[0].sign(), Connection::FINISHED);
    for connection in &mut connections[1..] {
        assert!(connection.is_awake());
        assert_eq!(connection.sign(), Connection::FINISHED);
    }
    assert_eq!(counts().batches.unwrap().by_size, [0, 0, 1, 0, 0, 0, 0, 0]);
}

/// HAProxy frees a connection whose job is paused, when its event is set.
#[test]
fn an_operation_whose_connection_is_freed_is_abandoned_and_another_looks_for_company() {
    let (device, mut connections) = connections(4);
    for connection in &mut connections {
        assert_eq!(connection.sign(), Connection::PAUSED);
    }
    connections.remove(0).free();
    assert_eq!((counts().abandoned, device.in_flight()), (1, 3));
    let awake: Vec<_> = connections.iter().map(Connection::is_awake).collect();
    assert_eq!(awake, [true, false, false]);
    connections.remove(1).free();
    assert_eq!(counts().abandoned, 2);
    // None has come since it was paused.
    assert_eq!(connections[0].sign(), Connection::FINISHED);
    assert_eq!(connections[1].sign(), Connection::FINISHED);
    assert_eq!((counts().in_flight(), device.in_flight()), (0, 0));
    // One that is over and not fetched is no longer the connection's.
    connections.into_iter().for_each(Connection::free);
    assert_eq!(counts().abandoned, 2);
}

/// Paused jobs have a stack of 32 KiB (OpenSSL's crypto/async/arch/async_posix.c), of which what is above a batch
/// takes less than half. On its own stack the library leaves at least as much as it takes.
#[test]
fn a_batch_needs_less_stack_than_there_is() {
    const PAINT: u8 = 0xa5;
    let Some(device) = intels() else { return };
    static DEVICE: OnceLock<&MultiBuffer> = OnceLock::new();
    static WORKS: Mutex<Vec<(Class, Vec<Work>)>> = Mutex::new(Vec::new());
    DEVICE.get_or_init(|| device);
    const KEYS: [Class; 3] =
        [Class::X25519Key, Class::EcdhKey(Curve::P256), Class::EcdhKey(Curve::P384)];
    /// On the library's stack.
    extern "C" fn compute_all() {
        let library = DEVICE.get().unwrap().library();
        for (class, works) in std::mem::take(&mut *WORKS.lock().unwrap()) {
            let answers = compute(library, class, works);
            assert!(answers.iter().all(Option::is_some), "{class:?}");
        }
        KEYS.iter().for_each(|class| assert_eq!(make_keys(library, *class).len(), 8));
    }
    /// On a job's.
    extern "C" fn ask_all() {
        let device = DEVICE.get().unwrap();
        for (_, works) in std::mem::take(&mut *WORKS.lock().unwrap()) {
            for work in works {
                let ticket = device.submit(work, Wake::Caller);
                device.run_full();
                device.take(ticket);
            }
        }
        KEYS.iter().for_each(|class| assert!(device.key(*class).is_some()));
    }
    let used = |act: extern "C" fn()| {
        *WORKS.lock().unwrap() = works();
        let mut stack = vec![PAINT; 128 << 10];
        // SAFETY: both contexts are there until the other one ends; the stack is this context's alone.
        unsafe {
            let mut back: libc::ucontext_t = std::mem::zeroed();
            let mut there: libc::ucontext_t = std::mem::zeroed();
            assert_eq!(libc::getcontext(&mut there), 0);
            there.uc_stack.ss_sp = stack.as_mut_ptr().cast();
            there.uc_stack.ss_size = stack.len();
            there.uc_link = &raw mut back;
            libc::makecontext(&mut there, act, 0);
            assert_eq!(libc::swapcontext(&mut back, &there), 0);
        }
        stack.len() - stack.iter().position(|byte| *byte != PAINT).unwrap()
    };
    let (own, of_job) = (used(compute_all), used(ask_all));
    eprintln!("batches take {own} bytes of their own stack and {of_job} of a job's");
    assert!(own > 8 << 10 && own < STACK_SIZE / 2, "{own}");
    assert!(of_job < 16 << 10, "{of_job}");
}

/// A batch of each class.
fn works() -> Vec<(Class, Vec<Work>)> {
    let batch = |of: &mut dyn FnMut() -> Work| {
        let works: Vec<_> = (0..8).map(|_| of()).collect();
        (works[0].class(), works)
    };
    let mut all = Vec::new();
    // That of 3,072 bits takes as much as that of 2,048.
    static KEYS: LazyLock<[Arc<RsaKey>; 2]> = LazyLock::new(|| {
        let key = |bits| key::for_batches(&Rsa::generate(bits).unwrap()).map(Arc::new).unwrap();
        [key(2048), key(4096)]
    });
    for key in &*KEYS {
        all.push(batch(&mut || {
            let mut input = vec![1; key.bytes()];
            input[0] = 0;
            let operation = crypto_mb::RsaOperation::new(key.clone(), input).unwrap();
            Work::Rsa { of: KeyUse::RsaSign, operation }
        }));
    }
    for which in [Which::X25519, Which::Nist(Curve::P256), Which::Nist(Curve::P384)] {
        let name = if which == Which::X25519 { X25519_NAME } else { c"EC" };
        let key = CurveKey::generate_by_openssl(name, which).unwrap();
        let public = key.public.clone().unwrap();
        match key.secret.clone().unwrap() {
            Secret::X25519(secret) => all.push(batch(&mut || Work::X25519 {
                secret: secret.clone(),
                peer: public[..].try_into().unwrap(),
            })),
            Secret::Nist(secret) => {
                all.push(batch(&mut || Work::Ecdh {
                    secret: secret.clone(),
                    peer: public[1..].to_vec(),
                }));
                let digest = vec![1; secret.curve().bytes()];
                let sign = || Work::Ecdsa { key: secret.clone(), digest: digest.clone() };
                all.push(batch(&mut { sign }));
            }
        }
    }
    all
}
