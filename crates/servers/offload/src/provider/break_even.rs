//! How many operations cost as much in a batch as one by one in OpenSSL, by the least CPU time of a few runs of
//! each in turn. Where a server is woken by a descriptor, each operation of a batch costs a pause too.
//!
//! It is measured when a private key is read, before a server serves: that takes up to 70 ms with RSA-4096, and
//! 20 ms for all curves.

use std::sync::Arc;
use std::time::Duration;

use counters::KeyUse;
use crypto_mb::{Curve, LANES, RsaKey, RsaOperation};
use openssl::ec::EcKey;
use openssl::ecdsa::EcdsaSig;
use openssl::pkey::Private;
use openssl::rsa::{Padding, Rsa};

use super::curve_key::{CurveKey, EC, Secret, Which, X25519, group};
use super::software;
use crate::multi_buffer::{Class, MultiBuffer, Work, cpu_time};

const RUNS: usize = 5;

/// That of an RSA key, unless one of its size was measured before.
pub(super) fn of_rsa(device: &MultiBuffer, openssl: &Rsa<Private>, key: &Arc<RsaKey>) {
    let class = Class::Rsa(key.bits());
    if device.break_even(class).is_some() {
        return;
    }
    let mut input = vec![0x55; key.bytes()];
    input[0] = 0;
    let mut room = vec![0; key.bytes()];
    // Neither fails for a number below the modulus.
    let alone = || {
        let _ = openssl.private_decrypt(&input, &mut room, Padding::NONE);
    };
    let work = || {
        let operation = RsaOperation::new(Arc::clone(key), input.clone())?;
        Some(Work::Rsa { of: KeyUse::RsaSign, operation })
    };
    device.set_break_even(class, least(device.pause(), alone, || batch(device, class, work)));
}

/// Those of all operations on curves, unless they were measured before.
pub(super) fn of_curves(device: &MultiBuffer) {
    if device.break_even(Class::X25519Key).is_some() {
        return;
    }
    of_keys(device, Class::X25519Key, || {
        let _ = software::Context::generation(X25519, None).and_then(|mut it| it.generate());
    });
    of_exchange(device, Class::X25519, X25519, Which::X25519);
    for curve in [Curve::P256, Curve::P384] {
        of_keys(device, Class::EcdhKey(curve), || {
            let _ = group(curve).map(EcKey::generate);
        });
        of_exchange(device, Class::Ecdh(curve), EC, Which::Nist(curve));
        of_signature(device, curve);
    }
}

fn of_keys(device: &MultiBuffer, class: Class, alone: impl FnMut()) {
    let batch = || drop(device.make_keys(class));
    // No handshake waits for its key.
    device.set_break_even(class, least(Duration::ZERO, alone, batch));
}

fn of_exchange(device: &MultiBuffer, class: Class, name: &'static std::ffi::CStr, which: Which) {
    let pair = || CurveKey::generate_by_openssl(name, which);
    let Some((own, peer)) = pair().zip(pair()) else { return };
    let alone = || {
        let keys = own.software().zip(peer.software());
        let params = software::Params::default();
        let exchange = keys.and_then(|(own, peer)| software::Context::exchange(own, peer, &params));
        let mut secret = [0; 48];
        let mut length = secret.len();
        // SAFETY: the room is as long as it is said to be.
        let _ = exchange.map(|mut it| unsafe { it.derive(secret.as_mut_ptr(), &mut length) });
    };
    let work = || {
        let public = peer.public.as_ref()?;
        Some(match own.secret.as_ref()? {
            Secret::X25519(secret) => Work::X25519 {
                secret: Arc::clone(secret),
                peer: public.as_slice().try_into().ok()?,
            },
            Secret::Nist(secret) => {
                Work::Ecdh { secret: Arc::clone(secret), peer: public[1..].to_vec() }
            }
        })
    };
    device.set_break_even(class, least(device.pause(), alone, || batch(device, class, work)));
}

fn of_signature(device: &MultiBuffer, curve: Curve) {
    let class = Class::Ecdsa(curve);
    let digest = vec![1; curve.bytes()];
    let key = CurveKey::generate_by_openssl(EC, Which::Nist(curve));
    let Some(Secret::Nist(secret)) = key.and_then(|key| key.secret) else { return };
    let Some(Ok(openssl)) = group(curve).map(EcKey::generate) else { return };
    let alone = || {
        let _ = EcdsaSig::sign(&digest, &openssl).and_then(|made| made.to_der());
    };
    let work = || Some(Work::Ecdsa { key: Arc::clone(&secret), digest: digest.clone() });
    device.set_break_even(class, least(device.pause(), alone, || batch(device, class, work)));
}

/// A full batch, whose results nobody needs.
fn batch(device: &MultiBuffer, class: Class, work: impl Fn() -> Option<Work>) {
    drop(device.compute(class, (0..LANES).filter_map(|_| work()).collect()));
}

/// More than there are lanes is never.
fn least(pause: Duration, mut alone: impl FnMut(), mut batch: impl FnMut()) -> usize {
    let timed = |shortest: &mut u64, act: &mut dyn FnMut()| {
        let start = cpu_time();
        act();
        *shortest = cpu_time().saturating_sub(start).min(*shortest);
    };
    let [mut one, mut all] = [u64::MAX; 2];
    for _ in 0..RUNS {
        timed(&mut one, &mut alone);
        timed(&mut all, &mut batch);
    }
    let saved = one.saturating_sub(pause.as_nanos() as u64);
    (all as f64 / saved as f64).ceil().clamp(1.0, LANES as f64 + 1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_costs_more_than_an_operation_is_never_worth_it() {
        let busy = |ms: u64| {
            let end = cpu_time() + ms * 1_000_000;
            while cpu_time() < end {}
        };
        let of = |pause| least(Duration::from_millis(pause), || busy(4), || busy(10));
        assert!(of(0) < of(2));
        assert_eq!(of(4), LANES + 1);
    }
}
