//! `ISAL=DIR toll bench` with a stand-in for ISA-L crypto that the test builds: loading, the sequence of
//! calls, and the check of its results. The stand-in lets libcrypto hash.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// The part of ISA-L's interface that toll calls, with the structures of its headers.
const STAND_IN: &str = r#"
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include <openssl/sha.h>

#define WAITING 64

#define HASH(name, one_shot, word, words, block, job_bytes)                                          \
    typedef struct {                                                                                 \
        const void *buffer;                                                                          \
        uint64_t len;                                                                                \
        word digest[words] __attribute__((aligned(64)));                                             \
        int status;                                                                                  \
        void *user_data;                                                                             \
    } name##_job;                                                                                    \
    typedef struct {                                                                                 \
        name##_job job;                                                                              \
        int status, error;                                                                           \
        uint64_t total;                                                                              \
        const void *incoming;                                                                        \
        uint32_t incoming_bytes;                                                                     \
        uint8_t partial[2 * block];                                                                  \
        uint32_t partial_bytes;                                                                      \
        void *user_data;                                                                             \
    } name##_ctx;                                                                                    \
    _Static_assert(sizeof(name##_job) == job_bytes, "the size of a job");                            \
    typedef struct { size_t count; name##_ctx *waiting[WAITING]; } name##_mgr;                       \
    static void name##_init(name##_mgr *mgr) { memset(mgr, 0, sizeof *mgr); }                        \
    static name##_ctx *name##_flush(name##_mgr *mgr) {                                               \
        if (mgr->count <= LOSES) return NULL;                                                        \
        name##_ctx *ctx = mgr->waiting[--mgr->count];                                                \
        uint8_t bytes[words * sizeof(word)];                                                         \
        one_shot(ctx->incoming, ctx->incoming_bytes, bytes);                                         \
        for (size_t i = 0; i < words; i++) {                                                         \
            ctx->job.digest[i] = 0;                                                                  \
            for (size_t j = 0; j < sizeof(word); j++)                                                \
                ctx->job.digest[i] = ctx->job.digest[i] << 8 | bytes[i * sizeof(word) + j];          \
        }                                                                                            \
        if (mgr->count == 3) ctx->job.digest[words - 1] ^= LIES;                                     \
        ctx->status = 4;                                                                             \
        return ctx;                                                                                  \
    }                                                                                                \
    static name##_ctx *name##_submit(name##_mgr *mgr, name##_ctx *ctx, const void *buffer,           \
                                     uint32_t bytes, int flags) {                                    \
        if (flags != 3 || ctx->status != 4 || ctx->error) { ctx->error = -1; return ctx; }           \
        ctx->incoming = buffer, ctx->incoming_bytes = bytes, ctx->status = 1;                        \
        mgr->waiting[mgr->count++] = ctx;                                                            \
        return NULL;                                                                                 \
    }                                                                                                \
    EXPORT(name)

#ifdef NEW_NAMES
#define EXPORT(name)                                                                                 \
    int isal_##name##_ctx_mgr_init(name##_mgr *mgr) { name##_init(mgr); return 0; }                  \
    int isal_##name##_ctx_mgr_submit(name##_mgr *mgr, name##_ctx *ctx, name##_ctx **out,             \
                                     const void *buffer, uint32_t bytes, int flags) {                \
        *out = name##_submit(mgr, ctx, buffer, bytes, flags);                                        \
        return 0;                                                                                    \
    }                                                                                                \
    int isal_##name##_ctx_mgr_flush(name##_mgr *mgr, name##_ctx **out) {                             \
        *out = name##_flush(mgr);                                                                    \
        return 0;                                                                                    \
    }
#else
#define EXPORT(name)                                                                                 \
    void name##_ctx_mgr_init(name##_mgr *mgr) { name##_init(mgr); }                                  \
    name##_ctx *name##_ctx_mgr_submit(name##_mgr *mgr, name##_ctx *ctx, const void *buffer,          \
                                      uint32_t bytes, int flags) {                                   \
        return name##_submit(mgr, ctx, buffer, bytes, flags);                                        \
    }                                                                                                \
    name##_ctx *name##_ctx_mgr_flush(name##_mgr *mgr) { return name##_flush(mgr); }
#endif

HASH(sha1, SHA1, uint32_t, 5, 64, 128)
HASH(sha256, SHA256, uint32_t, 8, 64, 128)
HASH(sha512, SHA512, uint64_t, 8, 128, 192)
"#;

/// Builds the stand-in in a folder, with macros that say how it behaves.
fn stand_in(folder: &Path, macros: &[&str]) {
    let source = folder.join("stand_in.c");
    std::fs::write(&source, STAND_IN).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
        .arg(folder.join("libisal_crypto.so"))
        .args(macros)
        .arg(&source)
        .arg("-lcrypto")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

fn bench(isal: &Path, arguments: &[&str]) -> Output {
    support::toll()
        .args(["bench", "--json", "--samples", "3", "--size", "64B", "--size", "1000B"])
        .args(arguments)
        .env("ISAL", isal)
        .env_remove("TOLL_HARDWARE")
        .env_remove("OPENSSL_ia32cap")
        .output()
        .unwrap()
}

fn rows(output: &Output) -> Vec<Value> {
    let said = String::from_utf8_lossy(&output.stderr);
    let bench: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let rows = bench["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["library"] == "isa-l").cloned().collect()
}

#[test]
fn a_build_of_isa_l_is_measured_beside_the_others() {
    for naming in [&["-DLIES=0", "-DLOSES=0"][..], &["-DLIES=0", "-DLOSES=0", "-DNEW_NAMES"]] {
        let folder = tempfile::tempdir().unwrap();
        stand_in(folder.path(), naming);
        let output = bench(folder.path(), &["sha"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows = rows(&output);
        assert_eq!(rows.len(), 3 * 2);
        for row in rows {
            let lanes = if row["algorithm"] == "SHA-512" { 8 } else { 16 };
            assert_eq!(row["messages_per_op"], lanes, "{row}");
            assert!(row["confirmed_by"].as_str().unwrap().starts_with("OpenSSL"), "{row}");
        }
    }
}

#[test]
fn one_that_lies_or_loses_messages_has_no_figure() {
    for (macros, expected) in [
        (["-DLIES=1", "-DLOSES=0"], "no figure: its result is not that of OpenSSL"),
        (["-DLIES=0", "-DLOSES=1"], "no figure: its job manager loses messages"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        stand_in(folder.path(), &macros);
        let output = bench(folder.path(), &["sha", "--library", "isa-l"]);
        assert_eq!(output.status.code(), Some(3));
        for row in rows(&output) {
            assert!(row["no_figure"].as_str().unwrap().starts_with(expected), "{row}");
        }
    }
}

#[test]
fn a_folder_without_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let output = bench(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&["sha"]).contains("libisal_crypto.so"), "{}", said(&["sha"]));
    // It has no variants by name, where the processor could run them at all.
    stand_in(folder.path(), &["-DLIES=0", "-DLOSES=0"]);
    let said = said(&["sha", "--library", "isa-l-avx2"]);
    assert!(said.contains("sha256_ctx_mgr_") || said.contains("processor"), "{said}");
}
