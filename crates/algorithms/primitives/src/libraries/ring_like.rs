//! What `ring` and `aws-lc-rs` do alike: the second has the interface of the first.

/// A module-level function `common` over such a crate: `None` where it has nothing of the kind.
macro_rules! common {
    ($library:ident) => {
        use $library::{aead, digest, hmac, rand, signature};

        /// What both libraries do; `None` for what they do each in its own way, or not at all.
        fn common(
            algorithm: Algorithm,
            material: &Material,
        ) -> Option<Result<Routine, Unavailable>> {
            use Algorithm as A;
            Some(match algorithm {
                A::Gcm(_) | A::ChaCha20Poly1305 => sealing(algorithm, material),
                A::Hash(hash) => Ok(hashing(hash)),
                A::Hmac(hash) => Ok(authenticating(hash, material)),
                A::KeySchedule => Ok(key_schedule(material)),
                A::Rsa(_, Signing::Sign) => rsa(material),
                A::Ecdsa(curve, Signing::Sign) => ecdsa(curve, material),
                A::Ed25519(Signing::Sign) => ed25519(material),
                A::Rsa(_, Signing::Verify)
                | A::Ecdsa(_, Signing::Verify)
                | A::Ed25519(Signing::Verify) => verify(algorithm, material),
                _ => return None,
            })
        }

        fn sealing(algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
            let method = match algorithm {
                Algorithm::Gcm(Aes::Aes128) => &aead::AES_128_GCM,
                Algorithm::Gcm(Aes::Aes256) => &aead::AES_256_GCM,
                _ => &aead::CHACHA20_POLY1305,
            };
            let key = aead::UnboundKey::new(method, &material.key[..method.key_len()]);
            let key = aead::LessSafeKey::new(key.map_err(|_| refused("the key"))?);
            let (nonce, bytes) = (first(&material.iv), material.input.len());
            let associated = material.associated.clone();
            Ok(Routine::InPlace {
                front: 0,
                seal: Box::new(move |buffer| {
                    let (message, room) = buffer.split_at_mut(bytes);
                    let nonce = aead::Nonce::assume_unique_for_key(nonce);
                    let data = aead::Aad::from(&associated);
                    let tag = key
                        .seal_in_place_separate_tag(nonce, data, message)
                        .map_err(|_| Failed::of("seal_in_place_separate_tag"))?;
                    room.copy_from_slice(tag.as_ref());
                    Ok(())
                }),
            })
        }

        fn hashing(hash: Hash) -> Routine {
            let method = match hash {
                Hash::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
                Hash::Sha256 => &digest::SHA256,
                Hash::Sha512 => &digest::SHA512,
            };
            Routine::Apart(Box::new(move |message, output| {
                put(digest::digest(method, message).as_ref(), output)
            }))
        }

        fn mac_key(hash: Hash, key: &[u8]) -> hmac::Key {
            let method = match hash {
                Hash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
                Hash::Sha256 => hmac::HMAC_SHA256,
                Hash::Sha512 => hmac::HMAC_SHA512,
            };
            hmac::Key::new(method, key)
        }

        fn authenticating(hash: Hash, material: &Material) -> Routine {
            let key = mac_key(hash, &material.mac_key);
            Routine::Apart(Box::new(move |message, output| {
                put(hmac::sign(&key, message).as_ref(), output)
            }))
        }

        fn key_schedule(material: &Material) -> Routine {
            key_schedule::routine(material.transcript_hashes(), |key, parts| {
                let mut context = hmac::Context::with_key(&mac_key(Hash::Sha256, key));
                parts.iter().for_each(|part| context.update(part));
                Ok(first(context.sign().as_ref()))
            })
        }

        fn rsa(material: &Material) -> Result<Routine, Unavailable> {
            let key = signature::RsaKeyPair::from_pkcs8(&material.own()?.pkcs8);
            let key = key.map_err(|error| refused(&error.to_string()))?;
            let random = rand::SystemRandom::new();
            Ok(Routine::Apart(Box::new(move |message, output| {
                key.sign(&signature::RSA_PKCS1_SHA256, &random, message, output)
                    .map_err(|_| Failed::of("RsaKeyPair::sign"))?;
                Ok(output.len())
            })))
        }

        fn ecdsa(curve: Curve, material: &Material) -> Result<Routine, Unavailable> {
            let random = rand::SystemRandom::new();
            let method = match curve {
                Curve::P256 => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
                Curve::P384 => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
            };
            let key = ecdsa_key(method, &material.own()?.pkcs8, &random)?;
            Ok(Routine::Apart(Box::new(move |message, output| {
                let made = key.sign(&random, message);
                put(made.map_err(|_| Failed::of("EcdsaKeyPair::sign"))?.as_ref(), output)
            })))
        }

        fn ed25519(material: &Material) -> Result<Routine, Unavailable> {
            let own = material.own()?;
            let key = signature::Ed25519KeyPair::from_seed_and_public_key(&own.secret, &own.public);
            let key = key.map_err(|error| refused(&error.to_string()))?;
            Ok(Routine::Apart(Box::new(move |message, output| {
                put(key.sign(message).as_ref(), output)
            })))
        }

        fn verify(algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
            let method: &'static dyn signature::VerificationAlgorithm = match algorithm {
                Algorithm::Ecdsa(Curve::P256, _) => &signature::ECDSA_P256_SHA256_ASN1,
                Algorithm::Ecdsa(Curve::P384, _) => &signature::ECDSA_P384_SHA384_ASN1,
                Algorithm::Ed25519(_) => &signature::ED25519,
                _ => &signature::RSA_PKCS1_2048_8192_SHA256,
            };
            let key = verifying_key(method, material.own()?.public.clone())?;
            let signed = material.signed;
            Ok(Routine::Apart(Box::new(move |made, _| {
                verify_with(&key, signed, made).map(|()| 0).map_err(|_| Failed::of("verification"))
            })))
        }

        fn refused(what: &str) -> Unavailable {
            Unavailable::because(format_args!("{} refuses it: {what}", stringify!($library)))
        }
    };
}
pub(super) use common;

/// Copies a result into the output.
pub(super) fn put(result: &[u8], output: &mut [u8]) -> Result<usize, crate::Failed> {
    let failed = || crate::Failed::of("copying the result");
    output.get_mut(..result.len()).ok_or_else(failed)?.copy_from_slice(result);
    Ok(result.len())
}

/// The first bytes of something longer, which it must be.
pub(super) fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    first.copy_from_slice(&bytes[..N]);
    first
}
