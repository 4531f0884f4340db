//! Intel's crypto_mb: operations with private keys, up to eight at once. A batch costs about the same
//! however many of its lanes are used, so that smaller ones are measured too.

use std::fmt::Display;
use std::sync::Arc;

use crypto_mb::{Curve as TheirCurve, Ecdsa, LANES, RsaKey, RsaOperation, Scalar, X25519};
use openssl::bn::{BigNum, BigNumRef};
use openssl::ecdsa::EcdsaSig;
use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;

use crate::algorithm::{Agreement, Algorithm, Curve, PREMASTER_BYTES, RsaBits, Signing};
use crate::libraries::library::{About, Library, OpenError};
use crate::libraries::ring_like::put;
use crate::material::{KeyPair, Material};
use crate::routine::{Failed, Routine, Unavailable};

/// The beginning of a DigestInfo of SHA-256 (RFC 8017, section 9.2, note 1).
const SHA_256_INFO: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
    0x00, 0x04, 0x20,
];

/// The library, with batches of one size.
pub(crate) struct CryptoMb {
    id: String,
    title: String,
    lanes: usize,
    library: Arc<crypto_mb::CryptoMb>,
}

impl CryptoMb {
    /// By one of the names of libraries.
    pub(crate) fn named(id: &str) -> Result<Self, OpenError> {
        let library = crypto_mb::CryptoMb::open();
        let library = library.map_err(|why| OpenError::NotHere(why.to_string()))?;
        let lanes = id.rsplit('-').next().and_then(|lanes| lanes.parse().ok()).unwrap_or(LANES);
        let title = match lanes {
            LANES => library.title().to_owned(),
            fewer => format!("{}, {fewer} at once", library.title()),
        };
        Ok(Self { id: id.to_owned(), title, lanes, library: Arc::new(library) })
    }

    /// A routine of this size of batches: `run` makes the results, in the order of the inputs.
    fn many(
        &self,
        mut run: impl FnMut(&crypto_mb::CryptoMb, &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Failed> + 'static,
    ) -> Routine {
        let (lanes, library) = (self.lanes, Arc::clone(&self.library));
        Routine::Many {
            lanes,
            run: Box::new(move |inputs, output| {
                let place = output.len() / lanes;
                for (result, place) in
                    run(&library, inputs)?.iter().zip(output.chunks_exact_mut(place))
                {
                    put(result, place)?;
                }
                Ok(())
            }),
        }
    }

    /// RSA, where `before` makes of an input what the private key is given, and `after` of that the result.
    fn rsa(
        &self,
        material: &Material,
        before: fn(&[u8], usize) -> Result<Vec<u8>, Failed>,
        after: fn(&[u8]) -> Result<Vec<u8>, Failed>,
    ) -> Result<Routine, Unavailable> {
        let key = rsa_key(material)?;
        let bytes = key.bits() as usize / 8;
        Ok(self.many(move |library, inputs| {
            let operation = |input: &Vec<u8>| {
                let operation = RsaOperation::new(Arc::clone(&key), before(input, bytes)?);
                operation.ok_or_else(|| Failed::of("RSA"))
            };
            let mut operations = inputs.iter().map(operation).collect::<Result<Vec<_>, _>>()?;
            let outcomes = library.rsa_private(&mut operations);
            operations
                .iter()
                .zip(outcomes)
                .map(|(one, outcome)| {
                    outcome.map_err(Failed::because)?;
                    after(&one.output)
                })
                .collect()
        }))
    }

    fn ecdsa(&self, curve: Curve, material: &Material) -> Result<Routine, Unavailable> {
        let function = match curve {
            Curve::P256 => MessageDigest::sha256(),
            Curve::P384 => MessageDigest::sha384(),
        };
        let curve = theirs(curve);
        let key = scalar(curve, material)?;
        Ok(self.many(move |library, inputs| {
            let digests = inputs.iter().map(|input| hash(function, input));
            let digests = digests.collect::<Result<Vec<_>, _>>().map_err(Failed::because)?;
            let operations: Vec<_> =
                digests.iter().map(|digest| Ecdsa { key: &key, digest }).collect();
            let signatures =
                library.ecdsa_sign(curve, &operations).map_err(Failed::because)?.into_iter();
            signatures
                .map(|signature| {
                    let signature = signature.map_err(Failed::because)?;
                    let number = |bytes: &[u8]| BigNum::from_slice(bytes);
                    let der = number(&signature.r).and_then(|r| {
                        EcdsaSig::from_private_components(r, number(&signature.s)?)?.to_der()
                    });
                    der.map_err(Failed::because)
                })
                .collect()
        }))
    }

    fn ecdh(
        &self,
        curve: Curve,
        agreement: Agreement,
        material: &Material,
    ) -> Result<Routine, Unavailable> {
        let curve = theirs(curve);
        let key = scalar(curve, material)?;
        Ok(self.many(move |library, points| {
            let fresh = match agreement {
                Agreement::Derive => Vec::new(),
                Agreement::Exchange => points
                    .iter()
                    .map(|_| Scalar::random(curve))
                    .collect::<Result<_, _>>()
                    .map_err(Failed::because)?,
            };
            let keys: Vec<_> =
                (0..points.len()).map(|lane| fresh.get(lane).unwrap_or(&key)).collect();
            let operations: Vec<_> =
                keys.iter().zip(points).map(|(key, point)| (*key, &point[1..])).collect();
            let shares = (agreement == Agreement::Exchange).then(|| {
                let points = library.ec_public(curve, &keys).into_iter();
                points.map(|point| point.map(|point| [&[4][..], &point].concat()))
            });
            agreed(shares.into_iter().flatten(), library.ecdh(curve, &operations))
        }))
    }

    fn x25519(&self, agreement: Agreement, material: &Material) -> Result<Routine, Unavailable> {
        let key: [u8; 32] = own(material)?.secret.as_slice().try_into().map_err(|_| refused())?;
        Ok(self.many(move |library, peers| {
            let mut keys = vec![key; peers.len()];
            if agreement == Agreement::Exchange {
                for key in &mut keys {
                    openssl::rand::rand_priv_bytes(key).map_err(Failed::because)?;
                }
            }
            let peers = peers.iter().map(|peer| peer.as_slice().try_into());
            let peers: Vec<[u8; 32]> = peers.collect::<Result<_, _>>().map_err(Failed::because)?;
            let operations: Vec<_> =
                keys.iter().zip(&peers).map(|(secret, peer)| X25519 { secret, peer }).collect();
            let shares = (agreement == Agreement::Exchange)
                .then(|| library.x25519_public(&keys.iter().collect::<Vec<_>>()));
            agreed(shares.into_iter().flatten(), library.x25519(&operations))
        }))
    }
}

impl Library for CryptoMb {
    fn about(&self) -> About<'_> {
        About { id: &self.id, title: &self.title, origin: "crypto-mb" }
    }

    fn prepare(&self, algorithm: Algorithm, material: &Material) -> Result<Routine, Unavailable> {
        match algorithm {
            Algorithm::Rsa(RsaBits::Rsa1024, _) | Algorithm::RsaDecrypt(RsaBits::Rsa1024) => {
                Err(Unavailable::because(crypto_mb::UnfitKey))
            }
            Algorithm::Rsa(_, Signing::Sign) => {
                self.rsa(material, to_be_signed, |signature| Ok(signature.to_vec()))
            }
            Algorithm::RsaDecrypt(_) => {
                self.rsa(material, |ciphertext, _| Ok(ciphertext.to_vec()), premaster)
            }
            Algorithm::Ecdsa(curve, Signing::Sign) => self.ecdsa(curve, material),
            Algorithm::X25519(agreement) => self.x25519(agreement, material),
            Algorithm::Ecdh(curve, agreement) => self.ecdh(curve, agreement, material),
            _ => Err(Unavailable::because(
                "of crypto_mb only operations with private keys are measured",
            )),
        }
    }
}

/// What each lane makes: its share, where its key is fresh, and the secret.
fn agreed<S: AsRef<[u8]>, T: AsRef<[u8]>, E: Display>(
    mut shares: impl Iterator<Item = Result<S, E>>,
    secrets: Vec<Result<T, E>>,
) -> Result<Vec<Vec<u8>>, Failed> {
    let lane = |secret: Result<T, E>| {
        let mut made = match shares.next() {
            Some(share) => share.map_err(Failed::because)?.as_ref().to_vec(),
            None => Vec::new(),
        };
        made.extend_from_slice(secret.map_err(Failed::because)?.as_ref());
        Ok(made)
    };
    secrets.into_iter().map(lane).collect()
}

fn own(material: &Material) -> Result<&KeyPair, Unavailable> {
    material.own.as_ref().ok_or_else(refused)
}

fn refused() -> Unavailable {
    Unavailable::because("crypto_mb refuses the key")
}

fn rsa_key(material: &Material) -> Result<Arc<RsaKey>, Unavailable> {
    let key = PKey::private_key_from_pkcs8(&own(material)?.pkcs8).and_then(|key| key.rsa());
    let key = key.map_err(Unavailable::because)?;
    let bytes = |number: Option<&BigNumRef>| number.map(BigNumRef::to_vec).unwrap_or_default();
    let secrets = [key.p(), key.q(), key.dmp1(), key.dmq1(), key.iqmp()].map(bytes);
    let secrets = secrets.each_ref().map(Vec::as_slice);
    let key = RsaKey::new(&key.n().to_vec(), &key.e().to_vec(), secrets);
    key.map(Arc::new).map_err(Unavailable::because)
}

fn theirs(curve: Curve) -> TheirCurve {
    match curve {
        Curve::P256 => TheirCurve::P256,
        Curve::P384 => TheirCurve::P384,
    }
}

fn scalar(curve: TheirCurve, material: &Material) -> Result<Scalar, Unavailable> {
    Scalar::new(curve, &own(material)?.secret).ok_or_else(refused)
}

/// EMSA-PKCS1-v1_5 with SHA-256 (RFC 8017, section 9.2).
fn to_be_signed(message: &[u8], bytes: usize) -> Result<Vec<u8>, Failed> {
    let digest = hash(MessageDigest::sha256(), message).map_err(Failed::because)?;
    let mut encoded = vec![0xff; bytes];
    let info = bytes - SHA_256_INFO.len() - digest.len();
    encoded[..2].copy_from_slice(&[0, 1]);
    encoded[info - 1] = 0;
    encoded[info..][..SHA_256_INFO.len()].copy_from_slice(&SHA_256_INFO);
    encoded[info + SHA_256_INFO.len()..].copy_from_slice(&digest);
    Ok(encoded)
}

/// What RSAES-PKCS1-v1_5 has at the end (RFC 8017, section 7.2.2). A second library confirms it, so that the
/// padding is only looked at where it ends.
fn premaster(decrypted: &[u8]) -> Result<Vec<u8>, Failed> {
    let (padding, secret) = decrypted.split_at(decrypted.len() - PREMASTER_BYTES);
    if padding.starts_with(&[0, 2]) && padding.ends_with(&[0]) {
        Ok(secret.to_vec())
    } else {
        Err(Failed::of("RSA decryption"))
    }
}
