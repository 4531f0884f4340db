//! A program that knows what it spends its CPU time on, beside what a profile says of it.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use cpus::CpuList;
use openssl::symm::{Cipher, Crypter, Mode};
use profile::{Class, Event, Maps, PerfError, Profile, Recording, Rules, Samples, read};
use rustix::time::{ClockId, clock_gettime};

/// Set in the process that is the program.
const PROGRAM: &str = "TOLL_PROGRAM_WITH_KNOWN_SHARES";

/// How long it runs, in ns of its CPU time: more than 10,000 samples.
const CPU_TIME: u64 = 2_600_000_000;

/// Points by which a share may differ.
const TOLERANCE: f64 = 0.03;

fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Calls nothing, also where nothing is optimized: it has no frame pointer.
#[inline(never)]
fn turning_in_circles(count: u64) -> u64 {
    let (mut value, mut step) = (1, 0);
    while step < count {
        value ^= step;
        step += 1;
    }
    value
}

/// The program: prints what it spent on each kind of work.
#[test]
#[ignore = "it is started by the test below"]
fn program() {
    if std::env::var_os(PROGRAM).is_none() {
        return;
    }
    let (mut from, mut to) = (vec![1_u8; 1 << 18], vec![0_u8; (1 << 18) + 16]);
    let mut aes =
        Crypter::new(Cipher::aes_128_ctr(), Mode::Encrypt, &[1; 16], Some(&[2; 16])).unwrap();
    let mut spent: BTreeMap<&str, u64> = BTreeMap::new();
    println!("begins");
    while spent.values().sum::<u64>() < CPU_TIME {
        for (name, share) in [("aes", 4), ("copies", 3), ("calls", 2), ("circles", 1)] {
            let begin = cpu_time();
            // In turns of 4 to 16 ms, which are long beside the clock's own cost.
            while cpu_time() - begin < share * 4_000_000 {
                // The clock is a system call: it is read seldom.
                (0..20).for_each(|_| match name {
                    "aes" => _ = black_box(aes.update(&from, &mut to).unwrap()),
                    "copies" => {
                        to[..from.len()].copy_from_slice(black_box(&from));
                        black_box(&mut from)[0] ^= 1;
                    }
                    "calls" => {
                        for _ in 0..50 {
                            // SAFETY: there is no system call of this number, so it fails.
                            unsafe { libc::syscall(0x3fff) };
                        }
                    }
                    _ => _ = black_box(turning_in_circles(black_box(20_000))),
                });
            }
            *spent.entry(name).or_default() += cpu_time() - begin;
        }
    }
    println!("spent {}", serde_json::to_string(&spent).unwrap());
}

/// Records one run of the program; `None`, with a line, where that is not possible here.
fn recorded() -> Option<(Samples, u32, BTreeMap<String, u64>)> {
    let cpu = CpuList::allowed().unwrap().first(1);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("perf.data");
    let recording = match Recording::start(Event::CpuClock, &cpu, &data) {
        Ok(recording) => recording,
        Err(why @ (PerfError::Missing | PerfError::Paranoid(_) | PerfError::HiddenSymbols)) => {
            eprintln!("skipped: {why}");
            return None;
        }
        Err(why) => panic!("{why}"),
    };
    let mut program = Command::new("taskset")
        .args(["-c", &cpu.to_string()])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "program", "--ignored", "--nocapture"])
        .env(PROGRAM, "yes")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = program.id();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines().map(Result::unwrap);
    // Its libraries are mapped then; they stay where they are.
    lines.find(|line| line.ends_with("begins")).unwrap();
    let maps = Maps::of(&[pid]);
    let spent = lines.find_map(|line| Some(line.split_once("spent ")?.1.to_owned())).unwrap();
    assert!(program.wait().unwrap().success());
    let data = recording.stop().unwrap();
    Some((read(&data, &maps).unwrap(), pid, serde_json::from_str(&spent).unwrap()))
}

#[test]
fn a_program_with_known_shares_is_sorted_as_it_says() {
    let Some((samples, pid, spent)) = recorded() else { return };
    let own = tempfile::NamedTempFile::new().unwrap();
    let rule = "[[rule]]\nclass = \"http-server\"\nfunction = 'turning_in_circles'\n";
    std::fs::write(own.path(), rule).unwrap();
    let rules = Rules::with(own.path()).unwrap();
    let (profile, stacks) = Profile::of(
        samples,
        Event::CpuClock,
        (0, u64::MAX),
        &[pid],
        observe::Fact::unknown(""),
        &rules,
    );
    assert!(profile.samples() >= 10_000, "{profile:?}");
    assert_eq!(stacks.len() as u64, profile.samples());
    let all: u64 = spent.values().sum();
    for (name, classes) in [
        ("aes", vec![Class::SymmetricCrypto, Class::CryptoWithoutSymbols, Class::TlsLibrary]),
        ("copies", vec![Class::Copies]),
        ("calls", vec![Class::SystemCallEntry]),
        ("circles", vec![Class::HttpServer]),
    ] {
        let expected = spent[name] as f64 / all as f64;
        let share: f64 = classes.into_iter().filter_map(|class| profile.share(class)).sum();
        assert!((share - expected).abs() < TOLERANCE, "{name}: {share} of {expected}; {profile:?}");
    }
}
