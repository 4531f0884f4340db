//! Known answers: FIPS 180-4's examples, and the message lengths and the Monte Carlo procedure of
//! NIST's validation system (SHAVS), with answers from two other libraries.

use crate::reference::{Reference, message};
use multibuffer::{Backend, Hasher, Sha1, Sha256, Sha512, Work};

#[test]
fn a_first_use() {
    let messages = ["abc", "", "many messages, of any lengths"];
    let mut digests = [[0; 32]; 3];
    let hasher = Hasher::<Sha256>::with(Backend::best::<Sha256>()).unwrap();
    hasher.hash_many(&messages, &mut digests).unwrap();
    assert_eq!(digests[0][..4], [0xba, 0x78, 0x16, 0xbf]);
}

/// Every backend, with more equal messages than lanes.
fn check_alike<A: Reference>(message: &[u8], expected: &str) {
    for hasher in Hasher::<A>::available() {
        let messages = vec![message; hasher.lanes() + 1];
        let mut digests = vec![A::ZEROS; messages.len()];
        hasher.hash_many(&messages, &mut digests).unwrap();
        for digest in digests {
            assert_eq!(hex(digest.as_ref()), expected, "{} {}", A::NAME, hasher.backend());
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_million_times_a() {
    let message = vec![b'a'; 1_000_000];
    check_alike::<Sha1>(&message, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    check_alike::<Sha256>(
        &message,
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    );
    check_alike::<Sha512>(
        &message,
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb\
         de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
    );
}

/// SHAVS 6.2: every length up to a block. SHAVS 6.3: a block and 99 bytes more each time, once for
/// each byte of a block. All in one batch.
fn lengths_of_shavs<A: Reference>() {
    let block = A::BLOCK_BYTES;
    let lengths = (0..=block).chain((1..=block).map(|i| block + 99 * i));
    let messages: Vec<Vec<u8>> = lengths.enumerate().map(|(i, n)| message(i, n)).collect();
    let expected: Vec<Vec<u8>> = messages.iter().map(|m| A::digest_of(m)).collect();
    for hasher in Hasher::<A>::available() {
        let mut digests = vec![A::ZEROS; messages.len()];
        hasher.hash_many(&messages, &mut digests).unwrap();
        for (i, digest) in digests.iter().enumerate() {
            let bytes = messages[i].len();
            assert_eq!(digest.as_ref(), expected[i], "{} {bytes}", hasher.backend());
        }
    }
}

#[test]
fn short_and_long_messages() {
    lengths_of_shavs::<Sha1>();
    lengths_of_shavs::<Sha256>();
    lengths_of_shavs::<Sha512>();
}

/// SHAVS 6.4, the inner loop: a chain of a thousand digests, each of the last three.
fn monte_carlo<A: Reference>() {
    let seed = A::digest_of(b"seed");
    let chain = |digest: &dyn Fn(&[u8]) -> Vec<u8>| {
        let mut last = [seed.clone(), seed.clone(), seed.clone()];
        for _ in 0..1000 {
            let next = digest(&last.concat());
            last.rotate_left(1);
            last[2] = next;
        }
        last
    };
    let expected = chain(&A::digest_of);
    for hasher in Hasher::<A>::available() {
        let ours = chain(&|message| {
            let mut digests = [A::ZEROS];
            hasher.hash_many(&[message], &mut digests).unwrap();
            digests[0].as_ref().to_vec()
        });
        assert_eq!(ours, expected, "{} {}", A::NAME, hasher.backend());
    }
}

#[test]
fn chains_of_digests() {
    monte_carlo::<Sha1>();
    monte_carlo::<Sha256>();
    monte_carlo::<Sha512>();
}

/// A message that fits into one block, padded (FIPS 180-4, section 5.1).
fn padded<const BLOCK: usize>(message: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..message.len()].copy_from_slice(message);
    block[message.len()] = 0x80;
    block[BLOCK - 8..].copy_from_slice(&(8 * message.len() as u64).to_be_bytes());
    block
}

/// Blocks are hashed after the chaining values that are given, and nothing is added to them.
#[test]
fn single_blocks_after_given_chaining_values() {
    // FIPS 180-4, section 5.3.5.
    let initial: [u64; 8] = [
        0x6a09_e667_f3bc_c908,
        0xbb67_ae85_84ca_a73b,
        0x3c6e_f372_fe94_f82b,
        0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1,
        0x9b05_688c_2b3e_6c1f,
        0x1f83_d9ab_fb41_bd6b,
        0x5be0_cd19_137e_2179,
    ];
    for hasher in Hasher::<Sha512>::available() {
        for count in 0..=2 * hasher.lanes() + 1 {
            let messages: Vec<Vec<u8>> = (0..count).map(|i| message(i, 3 * i + 128)).collect();
            let ends: Vec<[u8; 128]> = messages
                .iter()
                .map(|message| {
                    let mut end = padded(&message[128..]);
                    end[120..].copy_from_slice(&(8 * message.len() as u64).to_be_bytes());
                    end
                })
                .collect();
            let firsts: Vec<[u8; 128]> =
                messages.iter().map(|message| message[..128].try_into().unwrap()).collect();
            let mut states = vec![initial; count];
            for blocks in [firsts, ends] {
                let work = hasher.compress(&mut states, &blocks.iter().collect::<Vec<_>>());
                let Work { blocks, steps, .. } = work.unwrap();
                let expected = (count as u64, count.div_ceil(hasher.lanes()) as u64);
                assert_eq!((blocks, steps), expected, "{}", hasher.backend());
            }
            for (state, message) in states.iter().zip(&messages) {
                let digest: Vec<u8> = state.iter().flat_map(|word| word.to_be_bytes()).collect();
                assert_eq!(digest, Sha512::digest_of(message), "{count} {}", hasher.backend());
            }
        }
        assert!(hasher.compress(&mut [initial], &[]).is_err());
    }
}
