//! The requested backend is the one that runs, and lanes are kept full.

use multibuffer::{Algorithm, Backend, Hasher, Sha1, Sha256, Sha512, Unavailable, Work};

fn lanes(backend: Backend, wide: bool) -> usize {
    match (backend, wide) {
        (Backend::Portable, _) => 1,
        (Backend::ShaNi, _) => 2,
        (Backend::Avx2 | Backend::Avx512Vl, false) | (Backend::Avx512, true) => 8,
        (Backend::Avx2 | Backend::Avx512Vl, true) => 4,
        (Backend::Avx512, false) => 16,
    }
}

/// Hashes as many messages of one block as the backend has lanes: one step, if the right backend
/// runs.
fn runs<A: Algorithm>(backend: Backend) {
    let lanes = lanes(backend, A::BLOCK_BYTES == 128);
    let hasher = Hasher::<A>::with(backend).unwrap();
    assert_eq!((hasher.backend(), hasher.lanes()), (backend, lanes));
    let work = hasher.hash_many(&vec!["abc"; lanes], &mut vec![A::ZEROS; lanes]).unwrap();
    assert_eq!(work, Work { backend, lanes, blocks: lanes as u64, steps: 1 });
}

#[test]
fn a_forced_backend_runs_or_is_refused() {
    let available: Vec<Backend> = Backend::available().collect();
    assert!(available.contains(&Backend::Portable));
    for backend in Backend::ALL {
        if available.contains(&backend) {
            runs::<Sha1>(backend);
            runs::<Sha256>(backend);
        } else {
            let refusal = Unavailable::Processor(backend);
            assert_eq!(Hasher::<Sha1>::with(backend).unwrap_err(), refusal);
            assert_eq!(Hasher::<Sha256>::with(backend).unwrap_err(), refusal);
            assert_eq!(Hasher::<Sha512>::with(backend).unwrap_err(), refusal);
            continue;
        }
        if backend == Backend::ShaNi {
            let refusal = Unavailable::Algorithm(backend, "SHA-512");
            assert_eq!(Hasher::<Sha512>::with(backend).unwrap_err(), refusal);
        } else {
            runs::<Sha512>(backend);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[test]
fn only_the_portable_backend_is_everywhere() {
    assert!(Backend::available().eq([Backend::Portable]));
    assert_eq!(Backend::best::<Sha256>(), Backend::Portable);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn detection_agrees_with_the_standard_library() {
    let has = |backend| Backend::available().any(|available| available == backend);
    assert_eq!(has(Backend::Avx2), is_x86_feature_detected!("avx2"));
    assert_eq!(has(Backend::Avx512), is_x86_feature_detected!("avx512bw"));
    assert_eq!(has(Backend::Avx512Vl), is_x86_feature_detected!("avx512vl"));
    assert_eq!(has(Backend::ShaNi), is_x86_feature_detected!("sha"));
}

#[test]
fn the_best_backend_is_available() {
    fn check<A: Algorithm>() {
        let best = Backend::best::<A>();
        assert!(Hasher::<A>::available().any(|hasher| hasher.backend() == best));
        if Hasher::<A>::with(Backend::Avx512).is_ok() {
            assert_eq!(best, Backend::Avx512);
        }
    }
    check::<Sha1>();
    check::<Sha256>();
    check::<Sha512>();
}

#[test]
fn a_refusal_says_what_to_do() {
    let refusal = Unavailable::Algorithm(Backend::ShaNi, "SHA-512").to_string();
    assert_eq!(refusal, "SHA-NI has no SHA-512; choose another backend");
    let refusal = Unavailable::Processor(Backend::Avx2).to_string();
    assert!(
        refusal.starts_with("this processor has no AVX2; choose one of: portable"),
        "{refusal}"
    );
}

#[test]
fn lanes_that_end_are_filled_again() {
    for hasher in Hasher::<Sha256>::available() {
        let lanes = hasher.lanes();
        // One message of 100 blocks, and for each other lane ten of 10, padding included.
        let mut messages = vec![vec![1; 99 * 64]];
        messages.resize(1 + (lanes - 1) * 10, vec![2; 9 * 64]);
        let mut digests = vec![[0; 32]; messages.len()];
        let work = hasher.hash_many(&messages, &mut digests).unwrap();
        assert_eq!((work.steps, work.blocks), (100, 100 * lanes as u64));
    }
}

#[test]
fn lanes_idle_only_when_no_message_is_left() {
    for hasher in Hasher::<Sha256>::available() {
        // One block each, one more than there are lanes.
        let messages = vec!["x"; hasher.lanes() + 1];
        let mut digests = vec![[0; 32]; messages.len()];
        let work = hasher.hash_many(&messages, &mut digests).unwrap();
        assert_eq!((work.steps, work.blocks), (2, messages.len() as u64));
    }
}

#[test]
fn nothing_to_do_is_done() {
    let hasher = Hasher::<Sha512>::with(Backend::Portable).unwrap();
    let work = hasher.hash_many::<&[u8]>(&[], &mut []).unwrap();
    assert_eq!((work.steps, work.blocks), (0, 0));
}

#[test]
fn counts_must_match() {
    let hasher = Hasher::<Sha256>::with(Backend::Portable).unwrap();
    let error = hasher.hash_many(&["a", "b"], &mut [[0; 32]]).unwrap_err();
    assert_eq!(error.to_string(), "2 messages but 1 digests; give as many of both");
}
