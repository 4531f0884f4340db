//! What valgrind's processor lacks.

/// The instructions that cryptography uses, that this processor has and that valgrind's does not, by the
/// names of /proc/cpuinfo. A library that has code for them runs other code in callgrind. `None` where that is
/// not known.
///
/// valgrind's processor is one of the AVX2 kind without these; a test asks it.
pub fn lacking_in_valgrind() -> Option<Vec<&'static str>> {
    #[cfg(target_arch = "x86_64")]
    {
        let found = [
            ("sha_ni", is_x86_feature_detected!("sha")),
            ("vaes", is_x86_feature_detected!("vaes")),
            ("vpclmulqdq", is_x86_feature_detected!("vpclmulqdq")),
            ("avx512f", is_x86_feature_detected!("avx512f")),
        ];
        Some(found.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect())
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}
