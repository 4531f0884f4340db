//! How fast the system's OpenSSL is at the algorithm of most connections, compared with another library.
use observe::Fact;

use crate::{Fix, Found, Measured, ok, warning};

/// How many times as much OpenSSL may cost: two good implementations differ by less.
const MOST: f64 = 1.25;

/// Core cycles per byte of AES-128-GCM at 16 KiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AesGcm {
    pub openssl: f64,
    pub ring: f64,
}

pub(crate) fn item(measured: &Measured) -> Found {
    let version = &measured.openssl;
    let AesGcm { openssl, ring } = match &measured.aes_gcm {
        Fact::Known(costs) => *costs,
        Fact::Unknown { not_available_here: why } => {
            return ok(format!("{version} (its AES-GCM was not measured: {why})"));
        }
    };
    let seen =
        format!("{version}, AES-128-GCM {openssl:.2} cycles per byte at 16 KiB, ring {ring:.2}");
    if openssl <= MOST * ring {
        return ok(seen);
    }
    let why = format!(
        "its AES-GCM takes {:.1} times as long as ring's on this processor: figures of AES-GCM show \
         this version, not the processor",
        openssl / ring
    );
    let advice = "measure with a newer OpenSSL (`library-path`), or treat the GCM figures as valid for \
                  this version only";
    warning(seen, &why, Fix::advice(advice))
}
