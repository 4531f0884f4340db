//! Published answers, through every library that does the algorithm.

use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey};

use crate::check::once;
use crate::material::{KeyPair, premaster};
use crate::{
    Aes, Agreement, Algorithm, Curve, Direction, Hash, Material, RsaBits, Signing, library,
};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The beginning of a key or block, and zeros.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| bytes.get(i).copied().unwrap_or_default())
}

/// Checks the answer of each library that does it; two at least do.
fn known(algorithm: Algorithm, material: &Material, expected: &str) {
    let mut able = 0;
    for name in library::DEFAULT {
        let library = library::open(name).unwrap();
        let Ok(mut routine) = library.prepare(algorithm, material) else { continue };
        let output = once(&mut routine, algorithm, &material.input).unwrap();
        assert_eq!(output, hex(expected), "{algorithm} of {}", library.title());
        able += 1;
    }
    assert!(able >= 2, "{algorithm}");
}

fn material(algorithm: Algorithm, input: &[u8]) -> Material {
    Material::new(algorithm, 0).unwrap().with_input(input.to_vec())
}

const BLOCKS: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                      30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

/// NIST SP 800-38A, appendix F.
#[test]
fn cbc_and_ctr() {
    let key_128 = "2b7e151628aed2a6abf7158809cf4f3c";
    let key_256 = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
    let iv = "000102030405060708090a0b0c0d0e0f";
    let counter = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    let cases = [
        (
            Algorithm::Cbc(Aes::Aes128, Direction::Encrypt),
            (key_128, iv),
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2\
             73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
        ),
        (
            Algorithm::Cbc(Aes::Aes256, Direction::Encrypt),
            (key_256, iv),
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d\
             39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
        (
            Algorithm::Ctr(Aes::Aes128),
            (key_128, counter),
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\
             5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            Algorithm::Ctr(Aes::Aes256),
            (key_256, counter),
            "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5\
             2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
        ),
    ];
    for (algorithm, (key, iv), expected) in cases {
        let mut material = material(algorithm, &hex(BLOCKS));
        (material.key, material.iv) = (padded(&hex(key)), padded(&hex(iv)));
        known(algorithm, &material, expected);
        if let Algorithm::Cbc(size, _) = algorithm {
            let back = Algorithm::Cbc(size, Direction::Decrypt);
            known(back, &material.with_input(hex(expected)), BLOCKS);
        }
    }
}

/// Test cases 4 and 16 of the GCM specification (McGrew and Viega, 2005).
#[test]
fn gcm() {
    let message = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                   1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
    let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
    for (size, expected) in [
        (
            Aes::Aes128,
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091\
             5bc94fbc3221a5db94fae95ae7121a47",
        ),
        (
            Aes::Aes256,
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
             8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662\
             76fc6ece0f4e1768cddf8853bb2d551b",
        ),
    ] {
        let algorithm = Algorithm::Gcm(size);
        let mut material = material(algorithm, &hex(message));
        (material.key, material.iv) = (padded(&hex(key)), padded(&hex("cafebabefacedbaddecaf888")));
        material.associated = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
        known(algorithm, &material, expected);
    }
}

/// RFC 8439, section 2.8.2.
#[test]
fn chacha20_poly1305() {
    let algorithm = Algorithm::ChaCha20Poly1305;
    let message = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip \
                    for the future, sunscreen would be it.";
    let mut material = material(algorithm, message);
    material.key = std::array::from_fn(|i| 0x80 + i as u8);
    material.iv = padded(&hex("070000004041424344454647"));
    material.associated = hex("50515253c0c1c2c3c4c5c6c7");
    known(
        algorithm,
        &material,
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6\
         3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36\
         92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
         3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691",
    );
}

/// FIPS 180-4's examples of one block.
#[test]
fn hashes() {
    for (hash, expected) in [
        (Hash::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Hash::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Hash::Sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
    ] {
        let algorithm = Algorithm::Hash(hash);
        known(algorithm, &material(algorithm, b"abc"), expected);
    }
}

/// The first cases of RFC 2202 and RFC 4231; HMAC fills their keys of 20 bytes with zeros.
#[test]
fn macs() {
    for (hash, expected) in [
        (Hash::Sha1, "b617318655057264e28bc0b6fb378c8ef146be00"),
        (Hash::Sha256, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        (
            Hash::Sha512,
            "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde\
             daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
        ),
    ] {
        let algorithm = Algorithm::Hmac(hash);
        let mut material = material(algorithm, b"Hi There");
        material.mac_key = padded(&[0x0b; 20]);
        known(algorithm, &material, expected);
    }
}

/// What the system's OpenSSL encrypted with the public key.
#[test]
fn rsa_decryption() {
    let premaster = premaster();
    let expected: String = premaster.iter().map(|byte| format!("{byte:02x}")).collect();
    // A longer key takes a second to make, and is tried in tests/figures.
    for bits in [RsaBits::Rsa1024, RsaBits::Rsa2048] {
        let algorithm = Algorithm::RsaDecrypt(bits);
        known(algorithm, &Material::new(algorithm, 0).unwrap(), &expected);
    }
}

/// No other library here signs with so few bits.
#[test]
fn rsa_1024() {
    let algorithm = Algorithm::Rsa(RsaBits::Rsa1024, Signing::Sign);
    let material = Material::new(algorithm, 0).unwrap();
    let [made, expected] = ["openssl", "rustcrypto"].map(|name| {
        let mut routine = library::open(name).unwrap().prepare(algorithm, &material).unwrap();
        once(&mut routine, algorithm, &material.input).unwrap()
    });
    assert_eq!(made, expected);
}

/// RFC 7748, section 5.2, the first vector.
#[test]
fn x25519() {
    let algorithm = Algorithm::X25519(Agreement::Derive);
    let secret = hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    let peer = hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
    let key = PKey::private_key_from_raw_bytes(&secret, Id::X25519).unwrap();
    let public = key.raw_public_key().unwrap();
    let mut material = material(algorithm, &peer);
    material.own = Some(KeyPair::new(&key, secret, public).unwrap());
    known(algorithm, &material, "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
}

/// RFC 8032, section 7.1, test 2.
#[test]
fn ed25519() {
    let secret = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    let signature = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
                     085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
    let key = PKey::private_key_from_raw_bytes(&secret, Id::ED25519).unwrap();
    let public = key.raw_public_key().unwrap();
    let algorithm = Algorithm::Ed25519(Signing::Sign);
    let mut material = material(algorithm, &[0x72]);
    material.own = Some(KeyPair::new(&key, secret, public).unwrap());
    known(algorithm, &material, signature);
    material.signed = &[0x72];
    known(Algorithm::Ed25519(Signing::Verify), &material.with_input(hex(signature)), "");
}

/// RFC 6979, appendices A.2.5 and A.2.6: "sample" with SHA-256 and SHA-384.
#[test]
fn ecdsa() {
    for (curve, nid, secret, signature) in [
        (
            Curve::P256,
            Nid::X9_62_PRIME256V1,
            "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
            "3046022100efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
             022100f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ),
        (
            Curve::P384,
            Nid::SECP384R1,
            "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d8\
             96d5724e4c70a825f872c9ea60d2edf5",
            "3066023100\
             94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c\
             81a648152e44acf96e36dd1e80fabe46\
             02310099ef4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94f\
             a329c145786e679e7b82c71a38628ac8",
        ),
    ] {
        let verify = Algorithm::Ecdsa(curve, Signing::Verify);
        let mut material = material(verify, &hex(signature));
        (material.own, material.signed) = (Some(ec_pair(nid, &hex(secret))), b"sample");
        known(verify, &material, "");
    }
}

/// NIST's validation vectors of ECC CDH, P-256 and P-384, count 0.
#[test]
fn ecdh() {
    for (curve, nid, peer, secret, shared) in [
        (
            Curve::P256,
            Nid::X9_62_PRIME256V1,
            "04700c48f77f56584c5cc632ca65640db91b6bacce3a4df6b42ce7cc838833d287\
             db71e509e3fd9b060ddb20ba5c51dcc5948d46fbf640dfe0441782cab85fa4ac",
            "7d7dc5f71eb29ddaf80d6214632eeae03d9058af1fb6d22ed80badb62bc1a534",
            "46fc62106420ff012e54a434fbdd2d25ccc5852060561e68040dd7778997bd7b",
        ),
        (
            Curve::P384,
            Nid::SECP384R1,
            "04a7c76b970c3b5fe8b05d2838ae04ab47697b9eaf52e764592efda27fe7513272734466b400091adbf2d68c58e0c50066\
             ac68f19f2e1cb879aed43a9969b91a0839c4c38a49749b661efedf243451915ed0905a32b060992b468c64766fc8437a",
            "3cc3122a68f0d95027ad38c067916ba0eb8c38894d22e1b15618b6818a661774ad463b205da88cf699ab4d43c9cf98a1",
            "5f9d29dc5e31a163060356213669c8ce132e22f57c9a04f40ba7fcead493b457e5621e766c40a2e3d4d6a04b25e533f1",
        ),
    ] {
        let algorithm = Algorithm::Ecdh(curve, Agreement::Derive);
        let mut material = material(algorithm, &hex(peer));
        material.own = Some(ec_pair(nid, &hex(secret)));
        known(algorithm, &material, shared);
    }
}

fn ec_pair(nid: Nid, secret: &[u8]) -> KeyPair {
    let group = EcGroup::from_curve_name(nid).unwrap();
    let mut context = BigNumContext::new().unwrap();
    let number = BigNum::from_slice(secret).unwrap();
    let mut point = EcPoint::new(&group).unwrap();
    point.mul_generator2(&group, &number, &mut context).unwrap();
    let key = EcKey::from_private_components(&group, &number, &point).unwrap();
    let form = PointConversionForm::UNCOMPRESSED;
    let public = point.to_bytes(&group, form, &mut context).unwrap();
    KeyPair::new(&PKey::from_ec_key(key).unwrap(), secret.to_vec(), public).unwrap()
}
