//! A stand-in for Intel's crypto_mb, which needs no IFMA and does what a test wants it to.

use std::path::Path;
use std::process::Command;

/// What toll calls of the library, without its arithmetic.
const SOURCE: &str = r#"
#include <string.h>
#include <time.h>
#include <unistd.h>
static const struct { int major, minor, patch; char cpu[4]; } version = {9, 8, 7, "k1"};
const void *mbx_getversion(void) { return &version; }
int mbx_is_crypto_mb_applicable(unsigned long long features) { return APPLICABLE; }
const void *mbx_RSA_private_crt_Method(int bits) { return &version; }
const void *mbx_RSA_pub65537_Method(int bits) { return &version; }
int mbx_RSA_Method_BufSize(const void *method) { return 64; }
/* Each result is its input with the last byte changed, and leads back to the input but in lane WRONG. */
static void change(const unsigned char **from, unsigned char **to, int bits, int spared) {
    for (int lane = 0; lane < 8; lane++)
        if (from[lane]) {
            memcpy(to[lane], from[lane], bits / 8);
            if (lane != spared) to[lane][bits / 8 - 1] ^= 1;
        }
}
#ifdef VANISHES
/* Whoever loads it is the last. */
__attribute__((constructor)) static void vanish(void) { unlink(VANISHES); }
#endif
/* Takes this much time and CPU time. */
static void work(void) {
    usleep(1000 * NAP);
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    long end = now.tv_sec * 1000000000 + now.tv_nsec + MILLISECONDS * 1000000;
    while (now.tv_sec * 1000000000 + now.tv_nsec < end)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}
unsigned mbx_rsa_private_crt_mb8(const unsigned char **from, unsigned char **to, void *p, void *q, void *dp,
                                 void *dq, void *iq, int bits, const void *method, void *buffer) {
    work();
    change(from, to, bits, -1);
    return STATUS;
}
unsigned mbx_rsa_public_mb8(const unsigned char **from, unsigned char **to, void *n, int bits,
                            const void *method, void *buffer) {
    change(from, to, bits, WRONG);
    return 0;
}
/* Results of curves are what was in their places: zeros. */
#define NOTHING(name) unsigned name(void) { return STATUS; }
NOTHING(mbx_x25519_public_key_mb8) NOTHING(mbx_x25519_mb8)
NOTHING(mbx_nistp256_ecpublic_key_mb8) NOTHING(mbx_nistp256_ecdh_mb8) NOTHING(mbx_nistp256_ecdsa_sign_mb8)
NOTHING(mbx_nistp384_ecpublic_key_mb8) NOTHING(mbx_nistp384_ecdh_mb8)
#ifndef LACKS
NOTHING(mbx_nistp384_ecdsa_sign_mb8)
#endif
"#;

/// How a stand-in behaves.
#[derive(Debug, Clone, Copy)]
pub struct CryptoMbStandIn {
    /// Whether it says that this CPU can use it.
    pub is_applicable: bool,
    /// What its functions return: four bits for each lane, 0 where all is well.
    pub status: u32,
    /// The lane whose RSA results do not lead back to the input.
    pub wrong_lane: Option<usize>,
    /// Whether it lacks mbx_nistp384_ecdsa_sign_mb8.
    pub lacks_a_function: bool,
    /// CPU time of an RSA batch.
    pub milliseconds: u64,
    /// How long an RSA batch sleeps, in milliseconds: no CPU time, so that it is worth it all the same.
    pub nap: u64,
    /// Whether its file is gone once it was loaded.
    pub vanishes: bool,
}

impl Default for CryptoMbStandIn {
    fn default() -> Self {
        Self {
            is_applicable: true,
            status: 0,
            wrong_lane: None,
            lacks_a_function: false,
            milliseconds: 0,
            nap: 0,
            vanishes: false,
        }
    }
}

impl CryptoMbStandIn {
    /// Builds it in a folder, with the C compiler.
    pub fn build(self, folder: &Path) {
        let source = folder.join("stand_in.c");
        std::fs::write(&source, SOURCE).unwrap();
        let library = folder.join("libcrypto_mb.so.13");
        let wrong_lane = self.wrong_lane.map_or("-1".to_owned(), |lane| lane.to_string());
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-w", "-o"])
            .arg(&library)
            .arg(format!("-DAPPLICABLE={}", i32::from(self.is_applicable)))
            .arg(format!("-DSTATUS={}", self.status))
            .arg(format!("-DWRONG={wrong_lane}"))
            .args(self.lacks_a_function.then_some("-DLACKS"))
            .arg(format!("-DMILLISECONDS={}", self.milliseconds))
            .arg(format!("-DNAP={}", self.nap))
            .args(self.vanishes.then(|| format!("-DVANISHES=\"{}\"", library.display())))
            .arg(&source)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }
}

/// Whether a program has said that there is no crypto_mb, or that this CPU cannot use it: not that it is broken.
pub fn crypto_mb_is_lacking(said: &str) -> bool {
    said.contains("crypto_mb is not there") || said.contains("no AVX-512 IFMA")
}
