//! Measuring with features of the processor masked, which shows what they bring.
//!
//! Libraries look at the processor once, when they are loaded. So a mask needs a new process: toll
//! starts itself again with the mask in the environment. OpenSSL and AWS-LC read
//! `OPENSSL_ia32cap`; toll's own kernels read the level itself. `ring` and RustCrypto have no way
//! to mask features, so they are not measured under a mask.

use multibuffer::Backend;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString};

/// The environment variable in which toll passes the level to the process that it starts.
pub const VARIABLE: &str = "TOLL_HARDWARE";

/// OpenSSL's variable, which AWS-LC reads too.
pub const OPENSSL_VARIABLE: &str = "OPENSSL_ia32cap";

/// How much of the processor the libraries may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[derive(Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = unknown)]
pub enum Hardware {
    /// All that there is.
    #[default]
    All,
    /// AES-NI, PCLMULQDQ, AVX2 and ADX, as in 2014: no AVX-512, no wide AES, no SHA extensions.
    Avx2,
    /// AES-NI, PCLMULQDQ and SSE up to 4.2, as in 2010: no AVX, BMI2 or ADX.
    Sse,
    /// SSE2 alone: no instructions for cryptography, no byte shuffles.
    None,
}

/// Bits of `OPENSSL_ia32cap` (see its man page): CPUID 1 EDX in bits 0 to 31 of the first word and
/// ECX in bits 32 to 63; CPUID 7 EBX and ECX in the same way in the second word.
mod bits {
    const fn all(bits: &[u32]) -> u64 {
        let (mut mask, mut at) = (0, 0);
        while at < bits.len() {
            mask |= 1 << bits[at];
            at += 1;
        }
        mask
    }

    /// AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ.
    pub(super) const AVX512: u64 =
        all(&[16, 17, 21, 26, 27, 28, 30, 31, 32 + 1, 32 + 6, 32 + 11, 32 + 12, 32 + 14]);
    /// SHA extensions, and VAES and VPCLMULQDQ.
    pub(super) const SHA_AND_WIDE: u64 = all(&[29, 32 + 8, 32 + 9, 32 + 10]);
    /// BMI1, AVX2, BMI2, ADX.
    pub(super) const AVX2_AND_BMI: u64 = all(&[3, 5, 8, 19]);
    /// FMA, MOVBE, AVX, F16C.
    pub(super) const AVX: u64 = all(&[32 + 12, 32 + 22, 32 + 28, 32 + 29]);
    /// PCLMULQDQ, AES-NI.
    pub(super) const CRYPTO: u64 = all(&[32 + 1, 32 + 25]);
    /// SSE3, SSSE3, SSE4.1, SSE4.2, POPCNT.
    pub(super) const SSE: u64 = all(&[32, 32 + 9, 32 + 19, 32 + 20, 32 + 23]);
}

impl Hardware {
    /// The level that this process was started with: of a level that its environment names without
    /// the mask that belongs to it, nothing is left.
    pub fn of_this_process() -> Self {
        let level = std::env::var(VARIABLE).ok().and_then(|level| level.parse::<Self>().ok());
        let is_whole = |level: &Self| {
            level
                .environment()
                .iter()
                .all(|(name, value)| std::env::var(name).as_ref() == Ok(value))
        };
        level.filter(is_whole).unwrap_or_default()
    }

    /// The features that are masked: bits of the first and the second word of `OPENSSL_ia32cap`.
    pub fn masked(self) -> [u64; 2] {
        use bits::{AVX, AVX2_AND_BMI, AVX512, CRYPTO, SHA_AND_WIDE, SSE};
        match self {
            Self::All => [0, 0],
            Self::Avx2 => [0, AVX512 | SHA_AND_WIDE],
            Self::Sse => [AVX, AVX512 | SHA_AND_WIDE | AVX2_AND_BMI],
            Self::None => [AVX | CRYPTO | SSE, AVX512 | SHA_AND_WIDE | AVX2_AND_BMI],
        }
    }

    /// What a process at this level finds in its environment; nothing for all features.
    pub fn environment(self) -> Vec<(&'static str, String)> {
        if self == Self::All {
            return Vec::new();
        }
        let [first, second] = self.masked();
        let mask = format!("~{first:#x}:~{second:#x}");
        vec![(VARIABLE, self.to_string()), (OPENSSL_VARIABLE, mask)]
    }

    /// Whether one of toll's own kernels may run.
    pub fn allows(self, backend: Backend) -> bool {
        match backend {
            Backend::Portable => true,
            Backend::Avx2 => matches!(self, Self::All | Self::Avx2),
            Backend::ShaNi | Backend::Avx512Vl | Backend::Avx512 => self == Self::All,
        }
    }

    /// Whether a library can be held to this level; if not, why.
    pub fn reaches(self, library: &dyn crate::Library) -> Result<(), crate::Unavailable> {
        let why = match library.origin() {
            _ if self == Self::All => return Ok(()),
            "openssl" | "aws-lc" if !cfg!(target_arch = "x86_64") => {
                "features can be masked on x86-64 only"
            }
            "openssl" => return self.openssl_obeys(library),
            "aws-lc" | "multibuffer" => return Ok(()),
            "isa-l" => "ISA-L has no way to mask instructions",
            "crypto-mb" => "crypto_mb needs AVX-512 IFMA, which this level masks",
            "ring" => "ring has no way to mask instructions",
            _ => "RustCrypto masks instructions when it is compiled, not when it runs",
        };
        Err(crate::Unavailable::because(why))
    }

    /// OpenSSL reports which features it uses: none that is masked may be among them.
    fn openssl_obeys(self, library: &dyn crate::Library) -> Result<(), crate::Unavailable> {
        let Some(said) = library.processor_features() else {
            // Versions before 3.0 do not say; they read the variable all the same.
            return Ok(());
        };
        let used = words(&said);
        let masked = self.masked();
        let obeys = used.iter().zip(masked).all(|(used, masked)| used & masked == 0);
        if obeys && !used.is_empty() {
            return Ok(());
        }
        Err(crate::Unavailable::because(format_args!(
            "it does not obey the mask of {OPENSSL_VARIABLE}: it says {said}"
        )))
    }
}

/// The numbers of `OPENSSL_ia32cap=0x...:0x...`, without what follows them.
fn words(said: &str) -> Vec<u64> {
    let Some((_, said)) = said.split_once('=') else { return Vec::new() };
    let said = said.split(' ').next().unwrap_or_default();
    said.split(':')
        .filter_map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
        .collect()
}

fn unknown(text: &str) -> String {
    format!("`{text}` is not a level; write all, avx2, sse or none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_those_of_the_man_page() {
        // AES-NI is bit 57 and PCLMULQDQ bit 33 of the first word, AVX2 bit 5 of the second.
        let [first, second] = Hardware::None.masked();
        assert_eq!(first & (1 << 57), 1 << 57);
        assert_eq!(first & (1 << 33), 1 << 33);
        assert_eq!(second & (1 << 5), 1 << 5);
        let [first, second] = Hardware::Sse.masked();
        assert_eq!(first & ((1 << 57) | (1 << 33)), 0);
        assert_eq!(first & (1 << 60), 1 << 60, "AVX");
        assert_eq!(second & (1 << 29), 1 << 29, "SHA");
        assert_eq!(Hardware::Avx2.masked()[1] & (1 << 5), 0);
        assert_eq!(Hardware::Avx2.masked()[1] & (1 << 41), 1 << 41, "VAES");
    }

    #[test]
    fn each_level_masks_more() {
        let all = [Hardware::All, Hardware::Avx2, Hardware::Sse, Hardware::None];
        for pair in all.windows(2) {
            let (more, less) = (pair[0].masked(), pair[1].masked());
            assert!((0..2).all(|word| more[word] & less[word] == more[word]), "{pair:?}");
            assert!(more != less);
        }
        assert!(Hardware::All.environment().is_empty());
        let environment = Hardware::Avx2.environment();
        assert_eq!(environment[0], (VARIABLE, "avx2".to_owned()));
        assert!(environment[1].1.starts_with("~0x0:~0x"), "{environment:?}");
    }

    #[test]
    fn what_openssl_says_is_read() {
        let said = "OPENSSL_ia32cap=0xfffa32034f8bffff:0x1b415fdef1bf27eb env:~0x0:~0x10";
        assert_eq!(words(said), [0xfffa_3203_4f8b_ffff, 0x1b41_5fde_f1bf_27eb]);
        assert!(words("nothing").is_empty());
    }

    #[test]
    fn kernels_that_are_masked_do_not_run() {
        assert!(Hardware::Avx2.allows(Backend::Avx2));
        assert!(!Hardware::Avx2.allows(Backend::ShaNi));
        assert!(!Hardware::Sse.allows(Backend::Avx2));
        assert!(Hardware::None.allows(Backend::Portable));
    }
}
