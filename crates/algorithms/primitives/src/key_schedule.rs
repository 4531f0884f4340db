//! The key schedule of TLS 1.3 (RFC 8446, section 7.1) with SHA-256 and AES-128-GCM, over any
//! library's HMAC: from the shared secret to the traffic keys of both sides.
//!
//! That is what a full handshake without a pre-shared key derives: the handshake and application
//! traffic secrets of both sides, keys and IVs of each, and both Finished keys. 40 HMACs of short
//! messages, or so; the transcript's hashes are not part of it.

use crate::routine::{Failed, Routine};

/// HMAC-SHA-256 over the parts of a message.
type Hmac<'a> = dyn FnMut(&[u8], &[&[u8]]) -> Result<[u8; 32], Failed> + 'a;

/// Traffic secrets of two sides in two epochs, and a key, an IV and a Finished key where there is.
pub(crate) const OUTPUT_BYTES: usize = 4 * (32 + 16 + 12) + 2 * 32;

/// The key schedule over a library's HMAC, with these hashes of the transcript up to ServerHello and up to
/// the server's Finished.
pub(crate) fn routine(
    [hello_hash, finished_hash]: [[u8; 32]; 2],
    mut hmac: impl FnMut(&[u8], &[&[u8]]) -> Result<[u8; 32], Failed> + 'static,
) -> Routine {
    Routine::Apart(Box::new(move |shared, output| {
        let secrets = Secrets { shared, hello_hash: &hello_hash, finished_hash: &finished_hash };
        derive(&secrets, &mut hmac, output)?;
        Ok(OUTPUT_BYTES)
    }))
}

/// The secrets of a handshake and what they are bound to.
struct Secrets<'a> {
    /// The (EC)DHE shared secret.
    shared: &'a [u8],
    /// The hash of the transcript up to ServerHello.
    hello_hash: &'a [u8; 32],
    /// The hash of the transcript up to the server's Finished.
    finished_hash: &'a [u8; 32],
}

/// Derives everything into `output`, which has [`OUTPUT_BYTES`].
fn derive(secrets: &Secrets<'_>, hmac: &mut Hmac<'_>, output: &mut [u8]) -> Result<(), Failed> {
    let mut output = Output { rest: output };
    let zeros = [0; 32];
    let early = hmac(&zeros, &[&zeros])?;
    let derived = expand(hmac, &early, "derived", &EMPTY_HASH, 32)?;
    let handshake = hmac(&derived, &[secrets.shared])?;
    for label in ["c hs traffic", "s hs traffic"] {
        let traffic = expand(hmac, &handshake, label, secrets.hello_hash, 32)?;
        output.traffic(hmac, &traffic)?;
        output.put(&expand(hmac, &traffic, "finished", &[], 32)?);
    }
    let derived = expand(hmac, &handshake, "derived", &EMPTY_HASH, 32)?;
    let master = hmac(&derived, &[&zeros])?;
    for label in ["c ap traffic", "s ap traffic"] {
        let traffic = expand(hmac, &master, label, secrets.finished_hash, 32)?;
        output.traffic(hmac, &traffic)?;
    }
    Ok(())
}

/// SHA-256 of nothing.
const EMPTY_HASH: [u8; 32] = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

/// HKDF-Expand-Label of up to 32 bytes: one block of HKDF-Expand.
fn expand(
    hmac: &mut Hmac<'_>,
    secret: &[u8; 32],
    label: &str,
    context: &[u8],
    bytes: u8,
) -> Result<[u8; 32], Failed> {
    let label_bytes = [label.len() as u8 + 6];
    let context_bytes = [context.len() as u8];
    hmac(
        secret,
        &[&[0, bytes], &label_bytes, b"tls13 ", label.as_bytes(), &context_bytes, context, &[1]],
    )
}

/// What is still to be written.
struct Output<'a> {
    rest: &'a mut [u8],
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let (head, tail) = std::mem::take(&mut self.rest).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        self.rest = tail;
    }

    /// A traffic secret, its key and its IV.
    fn traffic(&mut self, hmac: &mut Hmac<'_>, secret: &[u8; 32]) -> Result<(), Failed> {
        self.put(secret);
        self.put(&expand(hmac, secret, "key", &[], 16)?[..16]);
        self.put(&expand(hmac, secret, "iv", &[], 12)?[..12]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect()
    }

    /// RFC 8448, section 3: a simple 1-RTT handshake.
    #[test]
    fn the_example_of_rfc_8448() {
        let hash = |text| <[u8; 32]>::try_from(hex(text)).unwrap();
        let secrets = Secrets {
            shared: &hex("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d"),
            hello_hash: &hash("860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8"),
            finished_hash: &hash(
                "9608102a0f1ccc6db6250b7b7e417b1a000eaada3daae4777a7686c9ff83df13",
            ),
        };
        let mut output = [0; OUTPUT_BYTES];
        let mut hmac = |key: &[u8], parts: &[&[u8]]| {
            let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
            Ok(ring::hmac::sign(&key, &parts.concat()).as_ref().try_into().unwrap())
        };
        derive(&secrets, &mut hmac, &mut output).unwrap();
        let expected = [
            "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21",
            "dbfaa693d1762c5b666af5d950258d01",
            "5bd3c71b836e0b76bb73265f",
        ];
        assert_eq!(output[..60], hex(&expected.concat()));
        let expected = [
            "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
            "17422dda596ed5d9acd890e3c63f5051",
            "5b78923dee08579033e523d9",
        ];
        assert_eq!(output[2 * 92..2 * 92 + 60], hex(&expected.concat()));
    }
}
