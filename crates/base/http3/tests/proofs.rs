//! QPACK against ls-qpack, the library of several servers and clients, by its Python package.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use http3::{Fields, qpack};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Decodes a section for each line that it reads, and encodes the fields again, with no dynamic table.
const SCRIPT: &str = "
import sys, pylsqpack
for line in sys.stdin:
    fields = pylsqpack.Decoder(0, 0).feed_header(0, bytes.fromhex(line))[1]
    section = pylsqpack.Encoder().encode(0, fields)[1]
    text = ' '.join(name.hex() + ':' + value.hex() for name, value in fields)
    print(section.hex() + ' ' + text, flush=True)
";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn ls_qpack_reads_what_is_written_here_and_is_read_here() {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target");
    let python = target.join("aioquic/bin/python");
    if !python.is_file() {
        eprintln!("skipped: aioquic is not installed (scripts/needs proofs installs it)");
        return;
    }
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(output).lines();
    let names = [":status", ":path", "x-frame-options", "content-length", "age", "own", "vary"];
    let values = ["200", "/", "deny", "", "0", "accept-encoding", "\u{e9}\u{1}"];
    let one_of = |all: &'static [&'static str]| proptest::sample::select(all);
    let text = "[!-~]{1,200}";
    let name = prop_oneof![one_of(names.to_vec().leak()).prop_map(str::to_owned), text];
    let value = prop_oneof![one_of(values.to_vec().leak()).prop_map(str::to_owned), text];
    // It takes a section without fields for a broken one.
    let lists = vec((name, value), 1..12);
    let mut runner = TestRunner::deterministic();
    let mut decoded = Fields::default();
    // First each field of the static table by its number.
    let known = (0..99u8).map(|index| match index {
        0..63 => vec![0, 0, 0xc0 | index],
        _ => vec![0, 0, 0xff, index - 63],
    });
    let drawn = (0..300).map(|_| {
        let fields = lists.new_tree(&mut runner).unwrap().current();
        let mut section = Vec::new();
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        qpack::encode(fields, &mut section);
        section
    });
    let mut sections = 0;
    for section in known.chain(drawn) {
        writeln!(input, "{}", hex(&section)).unwrap();
        let line = output.next().unwrap().unwrap();
        let mut words = line.split(' ');
        let theirs = bytes(words.next().unwrap());
        let fields: Vec<(Vec<u8>, Vec<u8>)> = words
            .map(|word| {
                word.split_once(':').map(|(name, value)| (bytes(name), bytes(value))).unwrap()
            })
            .collect();
        for section in [section, theirs] {
            qpack::decode(&section, &mut decoded).unwrap();
            let own: Vec<_> =
                decoded.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
            assert_eq!(own, fields, "{}", hex(&section));
        }
        sections += 1;
    }
    drop(input);
    assert!(child.wait().unwrap().success() && sections == 99 + 300);
}
