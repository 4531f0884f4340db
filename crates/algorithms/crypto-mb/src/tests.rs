use std::path::Path;
use std::sync::Arc;

use openssl::bn::{BigNum, BigNumContext, BigNumRef};
use openssl::derive::Deriver;
use openssl::ec::{EcGroup, EcKey, PointConversionForm};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::rsa::{Padding, Rsa};
use support::CryptoMbStandIn;

use super::*;

/// The library; `None`, with a line, where the machine has none that it can use.
fn library() -> Option<CryptoMb> {
    match CryptoMb::open() {
        Ok(library) => Some(library),
        Err(why @ (OpenError::Absent { .. } | OpenError::NoIfma)) => {
            eprintln!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn key_of(rsa: &Rsa<Private>) -> Result<Arc<RsaKey>, UnfitKey> {
    let bytes = |number: Option<&BigNumRef>| number.unwrap().to_vec();
    let secrets = [rsa.p(), rsa.q(), rsa.dmp1(), rsa.dmq1(), rsa.iqmp()].map(bytes);
    let secrets = secrets.each_ref().map(Vec::as_slice);
    RsaKey::new(&rsa.n().to_vec(), &rsa.e().to_vec(), secrets).map(Arc::new)
}

/// Numbers below any modulus of that size, others for each lane.
fn below(bits: u32, lane: usize) -> Vec<u8> {
    (0..bits as usize / 8)
        .map(|i| if i == 0 { 0 } else { (i * 31 + lane * 97 + 1) as u8 })
        .collect()
}

#[test]
fn rsa_is_that_of_openssl_whatever_the_batch() {
    let Some(library) = library() else { return };
    for bits in [2048, 3072, 4096] {
        let keys = [Rsa::generate(bits).unwrap(), Rsa::generate(bits).unwrap()];
        for count in [1, 3, 7, LANES] {
            let operation = |lane| {
                RsaOperation::new(key_of(&keys[lane % 2]).unwrap(), below(bits, lane)).unwrap()
            };
            let mut operations: Vec<_> = (0..count).map(operation).collect();
            let outcomes = library.rsa_private(&mut operations);
            assert_eq!(outcomes, [Ok(()); LANES]);
            for (lane, one) in operations.iter().enumerate() {
                let mut expected = vec![0; one.output.len()];
                let key = &keys[lane % 2];
                key.private_decrypt(&below(bits, lane), &mut expected, Padding::NONE).unwrap();
                assert_eq!(*one.output, expected, "lane {lane} of {count}, {bits} bits");
            }
        }
    }
}

#[test]
fn a_key_that_the_library_has_no_code_for_is_refused() {
    let three = BigNum::from_u32(3).unwrap();
    for rsa in [Rsa::generate(1024).unwrap(), Rsa::generate_with_e(2048, &three).unwrap()] {
        assert_eq!(key_of(&rsa).err(), Some(UnfitKey));
    }
    let rsa = Rsa::generate(2048).unwrap();
    let key = key_of(&rsa).unwrap();
    let modulus = rsa.n().to_vec();
    for (input, fits) in
        [(vec![0xff; 256], false), (modulus, false), (vec![1; 255], false), (below(2048, 0), true)]
    {
        assert_eq!(RsaOperation::new(Arc::clone(&key), input).is_some(), fits);
    }
}

/// RFC 7748, sections 5.2 and 6.1.
#[test]
fn x25519_gives_the_published_answers() {
    let Some(library) = library() else { return };
    let array = |text| <[u8; 32]>::try_from(hex(text)).unwrap();
    let secret = array("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    let peer = array("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
    let shared = hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    let base = std::array::from_fn(|i| if i == 0 { 9 } else { 0 });
    let operations =
        [X25519 { secret: &secret, peer: &peer }, X25519 { secret: &secret, peer: &base }];
    let secrets = library.x25519(&operations);
    assert_eq!(secrets[0].as_ref().unwrap().to_vec(), shared);
    let public = library.x25519_public(&[&secret]);
    assert_eq!(secrets[1].as_ref().unwrap().to_vec(), public[0].unwrap());
    // Section 6.1: an all-zero secret is refused.
    let refused = library.x25519(&[X25519 { secret: &secret, peer: &[0; 32] }]);
    assert!(matches!(refused[0], Err(Fault::Refused(_))));
}

#[test]
fn x25519_is_that_of_openssl_whatever_the_batch() {
    let Some(library) = library() else { return };
    for count in 1..=LANES {
        let key = || PKey::generate_x25519().unwrap();
        let pairs: Vec<_> = (0..count).map(|_| (key(), key())).collect();
        let bytes = |raw: Vec<u8>| <[u8; 32]>::try_from(raw).unwrap();
        let raw: Vec<_> = pairs
            .iter()
            .map(|(own, peer)| {
                (bytes(own.raw_private_key().unwrap()), bytes(peer.raw_public_key().unwrap()))
            })
            .collect();
        let operations: Vec<_> = raw.iter().map(|(secret, peer)| X25519 { secret, peer }).collect();
        let secrets: Vec<_> = raw.iter().map(|(secret, _)| secret).collect();
        let public = library.x25519_public(&secrets);
        for (((own, peer), shared), public) in
            pairs.iter().zip(library.x25519(&operations)).zip(public)
        {
            let peer = peer.raw_public_key().unwrap();
            let peer = PKey::public_key_from_raw_bytes(&peer, Id::X25519).unwrap();
            let mut deriver = Deriver::new(own).unwrap();
            deriver.set_peer(&peer).unwrap();
            assert_eq!(shared.unwrap().to_vec(), deriver.derive_to_vec().unwrap());
            assert_eq!(public.unwrap().to_vec(), own.raw_public_key().unwrap());
        }
    }
}

struct EcPair {
    key: EcKey<Private>,
    scalar: Scalar,
    /// Without the first byte.
    point: Vec<u8>,
}

fn ec_pair(curve: Curve) -> EcPair {
    let nid = if curve == Curve::P256 { Nid::X9_62_PRIME256V1 } else { Nid::SECP384R1 };
    let group = EcGroup::from_curve_name(nid).unwrap();
    let key = EcKey::generate(&group).unwrap();
    let bytes = key.private_key().to_vec_padded(curve.bytes() as i32).unwrap();
    let mut context = BigNumContext::new().unwrap();
    let form = PointConversionForm::UNCOMPRESSED;
    let point = key.public_key().to_bytes(&group, form, &mut context).unwrap()[1..].to_vec();
    EcPair { scalar: Scalar::new(curve, &bytes).unwrap(), key, point }
}

#[test]
fn curves_of_nist_are_those_of_openssl_whatever_the_batch() {
    let Some(library) = library() else { return };
    for curve in [Curve::P256, Curve::P384] {
        for count in 1..=LANES {
            let pairs: Vec<_> = (0..count).map(|_| (ec_pair(curve), ec_pair(curve))).collect();
            let operations: Vec<_> =
                pairs.iter().map(|(own, peer)| (&own.scalar, peer.point.as_slice())).collect();
            let own: Vec<_> = pairs.iter().map(|(own, _)| &own.scalar).collect();
            let public = library.ec_public(curve, &own);
            for (((own, peer), shared), public) in
                pairs.iter().zip(library.ecdh(curve, &operations)).zip(public)
            {
                let own_key = PKey::from_ec_key(own.key.clone()).unwrap();
                let peer = PKey::from_ec_key(peer.key.clone()).unwrap();
                let peer = PKey::public_key_from_der(&peer.public_key_to_der().unwrap()).unwrap();
                let mut deriver = Deriver::new(&own_key).unwrap();
                deriver.set_peer(&peer).unwrap();
                assert_eq!(shared.unwrap().to_vec(), deriver.derive_to_vec().unwrap());
                assert_eq!(public.unwrap(), own.point);
            }
            let digests: Vec<_> =
                (0..count).map(|lane| vec![lane as u8 + 1; curve.bytes()]).collect();
            let operations: Vec<_> = pairs
                .iter()
                .zip(&digests)
                .map(|((own, _), digest)| Ecdsa { key: &own.scalar, digest })
                .collect();
            let signatures = library.ecdsa_sign(curve, &operations).unwrap();
            for (((own, _), digest), made) in pairs.iter().zip(&digests).zip(signatures) {
                let Signature { r, s } = made.unwrap();
                let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
                let signature = EcdsaSig::from_private_components(number(&r), number(&s)).unwrap();
                assert!(signature.verify(digest, &own.key).unwrap());
                let damaged: Vec<_> = digest.iter().map(|byte| byte ^ 1).collect();
                assert!(!signature.verify(&damaged, &own.key).unwrap());
            }
        }
    }
}

#[test]
fn two_signatures_of_one_digest_have_two_nonces() {
    let Some(library) = library() else { return };
    let pair = ec_pair(Curve::P256);
    let operations = [0; LANES].map(|_| Ecdsa { key: &pair.scalar, digest: &[7; 32] });
    let mut seen: Vec<_> = library
        .ecdsa_sign(Curve::P256, &operations)
        .unwrap()
        .into_iter()
        .map(|made| made.unwrap().r)
        .collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), LANES);
}

#[test]
fn a_scalar_is_below_the_order_and_above_zero() {
    let order = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
    let mut below = order.clone();
    below[31] -= 1;
    for (bytes, fits) in [(&order[..], false), (&below, true), (&[0; 32], false), (&[1; 33], false)]
    {
        assert_eq!(Scalar::new(Curve::P256, bytes).is_some(), fits);
    }
}

fn stand_in(folder: &Path, stand_in: CryptoMbStandIn) -> Result<CryptoMb, OpenError> {
    stand_in.build(folder);
    CryptoMb::open_at(folder)
}

#[test]
fn a_library_that_cannot_be_used_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |outcome: Result<CryptoMb, OpenError>| outcome.err().unwrap().to_string();
    let one_line = |text: String| {
        assert!(!text.contains('\n'), "{text}");
        text
    };
    let absent = one_line(refusal(CryptoMb::open_at(folder.path())));
    assert!(absent.contains("run make crypto-mb") && absent.contains(VARIABLE), "{absent}");
    std::fs::write(folder.path().join("libcrypto_mb.so.13"), "no library").unwrap();
    let broken = CryptoMb::open_at(folder.path()).err().unwrap();
    assert!(matches!(broken, OpenError::NotLoaded { .. }), "{broken}");
    let without = CryptoMbStandIn { is_applicable: false, ..CryptoMbStandIn::default() };
    let without = stand_in(folder.path(), without).err().unwrap();
    assert!(matches!(without, OpenError::NoIfma), "{without}");
    let folder = tempfile::tempdir().unwrap();
    let lacks = CryptoMbStandIn { lacks_a_function: true, ..CryptoMbStandIn::default() };
    let lacks = stand_in(folder.path(), lacks).err().unwrap();
    let OpenError::Symbol { symbol, .. } = lacks else { panic!("{lacks}") };
    assert_eq!(symbol, "mbx_nistp384_ecdsa_sign_mb8");
}

#[test]
fn a_wrong_result_never_leaves() {
    let rsa = Rsa::generate(2048).unwrap();
    let key = key_of(&rsa).unwrap();
    let faults = |fault: CryptoMbStandIn| {
        let folder = tempfile::tempdir().unwrap();
        let library = stand_in(folder.path(), fault).unwrap();
        assert_eq!(library.title(), "crypto_mb 9.8.7");
        let operation = |lane| RsaOperation::new(Arc::clone(&key), below(2048, lane)).unwrap();
        let mut operations: Vec<_> = (0..4).map(operation).collect();
        let outcomes = library.rsa_private(&mut operations);
        for (outcome, one) in outcomes.iter().zip(&operations) {
            assert_eq!(outcome.is_err(), one.output.iter().all(|byte| *byte == 0));
        }
        outcomes[..4].to_vec()
    };
    let right = CryptoMbStandIn::default();
    assert_eq!(faults(right), [Ok(()); 4]);
    let wrong = faults(CryptoMbStandIn { wrong_lane: Some(2), ..right });
    assert_eq!(wrong, [Ok(()), Ok(()), Err(Fault::Wrong), Ok(())]);
    let refused = faults(CryptoMbStandIn { status: 0x20, ..right });
    assert_eq!(refused, [Ok(()), Err(Fault::Refused(2)), Ok(()), Ok(())]);
}
