//! AES in its modes, and ChaCha20-Poly1305.

use aes::cipher::{
    Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt,
    BlockSizeUser, InnerIvInit, KeyInit, StreamCipher, consts::U16,
};
use aes::{Aes128, Aes256};
use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use chacha20poly1305::ChaCha20Poly1305;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::Sha256;

use crate::algorithm::{Aes, Algorithm, Direction, Hash};
use crate::cbc_hmac;
use crate::libraries::ring_like::first;
use crate::material::Material;
use crate::routine::{Failed, Routine, Unavailable};

pub(super) fn plain(algorithm: Algorithm, material: &Material) -> Routine {
    match algorithm {
        Algorithm::Cbc(Aes::Aes256, direction) => {
            cbc(Aes256::new(&material.key.into()), direction, material)
        }
        Algorithm::Ctr(Aes::Aes256) => ctr(Aes256::new(&material.key.into()), material),
        Algorithm::Ctr(Aes::Aes128) => ctr(aes_128(material), material),
        Algorithm::Cbc(_, direction) => cbc(aes_128(material), direction, material),
        _ => cbc(aes_128(material), Direction::Encrypt, material),
    }
}

fn aes_128(material: &Material) -> Aes128 {
    Aes128::new(&first::<16>(&material.key).into())
}

/// AES with either key, in whole blocks of 16 bytes.
trait BlockCipher:
    BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + Clone + 'static
{
}

impl BlockCipher for Aes128 {}
impl BlockCipher for Aes256 {}

fn cbc<C: BlockCipher>(cipher: C, direction: Direction, material: &Material) -> Routine {
    let iv = material.iv;
    Routine::Apart(Box::new(move |input, output| {
        let failed = || Failed::of("CBC");
        let (input, rest) = Block::<C>::slice_as_chunks(input);
        let (output, _) = Block::<C>::slice_as_chunks_mut(output);
        let output = output.get_mut(..input.len()).ok_or_else(failed)?;
        if !rest.is_empty() {
            return Err(failed());
        }
        match direction {
            Direction::Encrypt => cbc::Encryptor::inner_iv_init(cipher.clone(), &iv.into())
                .encrypt_blocks_b2b(input, output),
            Direction::Decrypt => cbc::Decryptor::inner_iv_init(cipher.clone(), &iv.into())
                .decrypt_blocks_b2b(input, output),
        }
        .map_err(|_| failed())?;
        Ok(16 * input.len())
    }))
}

fn ctr<C: BlockCipher>(cipher: C, material: &Material) -> Routine {
    let iv = material.iv;
    Routine::Apart(Box::new(move |input, output| {
        let failed = || Failed::of("CTR");
        let core =
            ctr::CtrCore::<C, ctr::flavors::Ctr128BE>::inner_iv_init(cipher.clone(), &iv.into());
        let output = output.get_mut(..input.len()).ok_or_else(failed)?;
        aes::cipher::StreamCipherCoreWrapper::from_core(core).apply_keystream_b2b(input, output);
        Ok(input.len())
    }))
}

pub(super) fn sealing(algorithm: Algorithm, material: &Material) -> Routine {
    match algorithm {
        Algorithm::Gcm(Aes::Aes128) => {
            sealed(Aes128Gcm::new(&first::<16>(&material.key).into()), material)
        }
        Algorithm::Gcm(Aes::Aes256) => sealed(Aes256Gcm::new(&material.key.into()), material),
        _ => sealed(ChaCha20Poly1305::new(&material.key.into()), material),
    }
}

fn sealed<C>(cipher: C, material: &Material) -> Routine
where
    C: AeadInOut<NonceSize = aes::cipher::consts::U12, TagSize = U16> + 'static,
{
    let (nonce, bytes) = (first::<12>(&material.iv), material.input.len());
    let associated = material.associated.clone();
    Routine::InPlace {
        front: 0,
        seal: Box::new(move |buffer| {
            let (message, room) = buffer.split_at_mut(bytes);
            let tag = cipher
                .encrypt_inout_detached(&nonce.into(), &associated, message.into())
                .map_err(|_| Failed::of("encrypt_inout_detached"))?;
            room.copy_from_slice(&tag);
            Ok(())
        }),
    }
}

/// A TLS 1.2 record with AES-128-CBC and HMAC, one after the other: there is no stitched cipher.
pub(super) fn two_passes(hash: Hash, material: &Material) -> Result<Routine, Unavailable> {
    let key = &material.mac_key[..hash.digest_bytes().min(32)];
    match hash {
        Hash::Sha1 => Ok(mac_then_encrypt(Hmac::<Sha1>::new_from_slice(key).ok(), material)),
        Hash::Sha256 => Ok(mac_then_encrypt(Hmac::<Sha256>::new_from_slice(key).ok(), material)),
        Hash::Sha512 => Err(Unavailable::because("TLS has no such suite")),
    }
}

fn mac_then_encrypt<M: Mac + Clone + 'static>(mac: Option<M>, material: &Material) -> Routine {
    let (cipher, iv, bytes) = (aes_128(material), material.iv, material.input.len());
    Routine::InPlace {
        front: cbc_hmac::EXPLICIT_IV,
        seal: Box::new(move |record| {
            let mut mac = mac.clone().ok_or_else(|| Failed::of("Hmac::new_from_slice"))?;
            let (front, rest) = record.split_at_mut(cbc_hmac::EXPLICIT_IV);
            let (message, end) = rest.split_at_mut(bytes);
            front.copy_from_slice(&iv);
            mac.update(&cbc_hmac::associated_data(bytes));
            mac.update(message);
            let mac = mac.finalize().into_bytes();
            let (room, padding) = end.split_at_mut(mac.len());
            room.copy_from_slice(&mac);
            padding.fill((padding.len() - 1) as u8);
            let (blocks, _) = Block::<Aes128>::slice_as_chunks_mut(record);
            cbc::Encryptor::inner_iv_init(cipher.clone(), &iv.into()).encrypt_blocks(blocks);
            Ok(())
        }),
    }
}
