//! What would change the bill: each row of the table of levers whose costs were measured on this machine, with what it
//! saves.
//!
//! `toll bench` has measured an operation with the server's own library, as it is now and as it would be. Where the
//! server takes more for it than `toll bench`, whose caches are warm and whose core has no other work, either that grows
//! with the operation, so that the ratio of the costs holds for all of the share that was sampled; or it stays, so that
//! the difference of the costs goes as often as the operation was counted. Of signatures, key exchanges and handshakes,
//! which only compute, it was seen to grow; of records, which are copied too, to stay (docs/watch.md). The interval has
//! both. What nobody has measured is not listed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use capacity::{Kind, LEVERS, To};
use observe::Fact;
use primitives::sampler::{Quality, Quartiles};
use primitives::{Agreement, Algorithm, Curve, Handshake, Protection, Row, RsaBits, Side, Way};
use tls::{CertificateKey, Group};

use crate::bill::{Bill, Count, Lever, Share};
use crate::image::Mapping;
use crate::own_handshake::Preferred;
use crate::sort::TlsPart;

/// Bytes of a record whose cost stands for all.
pub const RECORD_BYTES: u64 = 16 << 10;
/// An operation that takes the server more than this many times what toll bench measured, or less than the inverse, is
/// another one than was measured.
const LARGEST_RATIO: f64 = 2.5;

/// What a change makes cheaper or dearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Signature,
    KeyExchange,
    Handshake,
    /// With [`RECORD_BYTES`].
    Record,
}

impl Operation {
    fn words(self) -> &'static str {
        match self {
            Self::Signature => "a signature",
            Self::KeyExchange => "a key exchange",
            Self::Handshake => "a handshake",
            Self::Record => "a record of 16 KiB",
        }
    }
}

/// A part of the server's time that a change touches.
struct Touched {
    operation: Operation,
    share: Share,
    /// What each takes the server, in seconds; `None` where they were not counted.
    took: Option<f64>,
    /// What toll bench has measured, in seconds.
    now: Quartiles,
    then: Quartiles,
}

/// A part of the server's CPU, with its interval.
#[derive(Debug, Clone, Copy, Default)]
struct Saving {
    low: f64,
    middle: f64,
    high: f64,
}

impl Touched {
    /// # Errors
    /// The server does another operation than the one that was measured.
    fn check(&self) -> Result<(), String> {
        let Some(took) = self.took else { return Ok(()) };
        let ratio = took / self.now.median;
        // A short record takes more, and the cipher has no part in that.
        let may_take_more = self.operation == Operation::Record;
        if ratio >= 1.0 / LARGEST_RATIO && (ratio <= LARGEST_RATIO || may_take_more) {
            return Ok(());
        }
        Err(format!(
            "the server takes {} for {} and toll bench {} for one of the kind that toll negotiated: clients negotiate \
             another kind, or the server spends that time on other work",
            microseconds(took),
            self.operation.words(),
            microseconds(self.now.median)
        ))
    }

    fn saving(&self) -> Saving {
        // The share of what grows with the operation, and of what stays.
        let both = |share: f64, now: f64, then: f64| {
            let grows = share * (1.0 - then / now);
            [grows, self.took.map_or(grows, |took| share * (now - then) / took)]
        };
        let Self { share, now, then, .. } = self;
        let [grows, stays] = both(share.share, now.median, then.median);
        let bounds = [share.low, share.high]
            .map(|share| [both(share, now.low, then.high), both(share, now.high, then.low)]);
        let bounds = bounds.as_flattened().as_flattened();
        Saving {
            low: bounds.iter().copied().fold(f64::INFINITY, f64::min),
            middle: if self.operation == Operation::Record { stays } else { grows },
            high: bounds.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    fn in_words(&self) -> String {
        let took = self.took.map(|took| format!(", and in the server {} now", microseconds(took)));
        format!(
            "{} takes {} in place of {}{}",
            self.operation.words(),
            microseconds(self.then.median),
            microseconds(self.now.median),
            took.unwrap_or_default()
        )
    }
}

/// What a library takes for each algorithm, as `toll bench` has measured it.
pub struct Costs {
    pub rows: Vec<Row>,
    /// The CPU on which that was.
    pub cpu: usize,
}

impl Costs {
    fn title(&self) -> &str {
        self.rows.first().map_or("", |row| &row.library_title)
    }

    /// In seconds.
    fn of(&self, algorithm: Algorithm) -> Result<Quartiles, String> {
        let name = algorithm.name();
        let row = self.rows.iter().find(|row| row.key.algorithm == algorithm);
        let outcome = &row.ok_or_else(|| format!("{name} is not measured"))?.outcome;
        let measured = outcome.measured().ok_or_else(|| {
            format!("{name}: {}", outcome.no_figure().map_or("no figure", |none| &none.why))
        })?;
        if measured.quality == Quality::Disturbed {
            return Err(format!(
                "other programs kept CPU {} or its sibling busy while {name} was measured",
                self.cpu
            ));
        }
        Ok(measured.cycles_per_op.per(measured.core_hz))
    }
}

/// What has to be measured for the levers of a server.
pub(crate) fn wanted(prefers: &Preferred) -> Vec<Algorithm> {
    let keys = CertificateKey::ALL.map(Algorithm::signature_with);
    let groups = Group::ALL.map(exchange);
    let records = SUITES.map(|(name, _)| record(name));
    let key = prefers.certificate_key;
    let mut all: Vec<Algorithm> = keys.into_iter().chain(groups).chain(records).flatten().collect();
    all.extend([full(key), RESUMED]);
    all.retain(|of| {
        let is_now =
            [Algorithm::signature_with(key), prefers.group.and_then(exchange)].contains(&Some(*of));
        is_now || !matches!(of, Algorithm::Rsa(RsaBits::Rsa1024 | RsaBits::Rsa4096, _))
    });
    all
}

const RESUMED: Algorithm = Algorithm::Handshake(Handshake::Resumed, Side::Server);

fn full(key: CertificateKey) -> Algorithm {
    Algorithm::Handshake(Handshake::Full(key, Group::X25519), Side::Server)
}

fn exchange(group: Group) -> Option<Algorithm> {
    Some(match group {
        Group::X25519 => Algorithm::X25519(Agreement::Exchange),
        Group::Secp256r1 => Algorithm::Ecdh(Curve::P256, Agreement::Exchange),
        Group::Secp384r1 => Algorithm::Ecdh(Curve::P384, Agreement::Exchange),
        Group::X25519MlKem768 => Algorithm::X25519MlKem768(Side::Server),
        _ => return None,
    })
}

/// The suites of TLS 1.3 whose records are measured.
const SUITES: [(&str, Protection); 3] = [
    ("TLS_AES_128_GCM_SHA256", Protection::Tls13Aes128Gcm),
    ("TLS_AES_256_GCM_SHA384", Protection::Tls13Aes256Gcm),
    ("TLS_CHACHA20_POLY1305_SHA256", Protection::Tls13ChaCha20Poly1305),
];

fn record(suite: &str) -> Option<Algorithm> {
    let (_, protection) = SUITES.iter().find(|(name, _)| *name == suite)?;
    Some(Algorithm::Record(*protection, Way::Seal))
}

/// The kinds of changes that put one operation in place of another.
const SWAPS: [Kind; 3] = [Kind::CertificateKey, Kind::Group, Kind::Suite];

/// A bill, and what its operations cost.
struct Pricing<'a> {
    bill: &'a Bill,
    prefers: &'a Preferred,
    costs: &'a Costs,
}

/// The levers, best first, and why others are not listed. `others`: what the same costs in other systems, by name.
pub(crate) fn levers(
    bill: &Bill,
    prefers: &Preferred,
    costs: &Costs,
    others: &[(String, Costs)],
) -> (Vec<Lever>, Vec<String>) {
    let of = Pricing { bill, prefers, costs };
    let (mut all, mut whys) = (Vec::new(), Vec::new());
    for row in LEVERS {
        let setting = row.settings.first().map(|(_, to)| *to);
        let changes = match (row.kind, setting) {
            (kind, Some(To::Value(value))) if SWAPS.contains(&kind) => {
                let then = operation(kind, value);
                let is_other = then.is_none() || then != of.now(kind);
                let touched = || of.swapped(kind, then, costs).map(|of| vec![of]);
                is_other.then(|| (row.change.to_owned(), touched())).into_iter().collect()
            }
            (Kind::Resumption, _) => of.resumed(row.change).into_iter().collect(),
            (Kind::System, _) => others.iter().map(|(name, costs)| of.newer(name, costs)).collect(),
            _ => Vec::new(),
        };
        for (change, touched) in changes {
            match touched.and_then(|touched| of.lever(row, change, &touched)) {
                Ok(lever) => all.push(lever),
                Err(why) if !whys.contains(&why) => whys.push(why),
                Err(_) => {}
            }
        }
    }
    all.sort_by(|a, b| b.saves.total_cmp(&a.saves));
    (all, whys)
}

/// What a value of a study file is to `toll bench`.
fn operation(kind: Kind, value: &str) -> Option<Algorithm> {
    match kind {
        Kind::CertificateKey => value.parse().ok().and_then(Algorithm::signature_with),
        Kind::Group => value.parse().ok().and_then(exchange),
        _ => record(value),
    }
}

/// In words, and what it touches.
type Change = (String, Result<Vec<Touched>, String>);

impl Pricing<'_> {
    /// What the server does now of such a kind.
    fn now(&self, kind: Kind) -> Option<Algorithm> {
        match kind {
            Kind::CertificateKey => Algorithm::signature_with(self.prefers.certificate_key),
            Kind::Group => exchange(self.prefers.group?),
            _ => record(&self.prefers.suite),
        }
    }

    /// One operation in place of another, with the costs after the change.
    fn swapped(
        &self,
        kind: Kind,
        then: Option<Algorithm>,
        after: &Costs,
    ) -> Result<Touched, String> {
        let rate = |count: &Fact<Count>| count.known().map(|count| count.per_s);
        // By an estimate the server takes what toll bench does.
        let signatures = rate(&self.bill.signatures).filter(|_| !self.bill.signatures_by_share);
        let (operation, part, per_s) = match kind {
            Kind::CertificateKey => (Operation::Signature, TlsPart::PrivateKeys, signatures),
            Kind::Group => {
                // TLS 1.2 resumes without one.
                let is_always = self.prefers.is_tls13();
                let of = if is_always { rate(&self.bill.handshakes) } else { signatures };
                (Operation::KeyExchange, TlsPart::KeyExchange, of)
            }
            _ => {
                let records = self.bill.bytes_per_s().map(|bytes| bytes / RECORD_BYTES as f64);
                (Operation::Record, TlsPart::Records, records)
            }
        };
        let none = || format!("toll bench has no such operation for the {kind} of this server");
        let share = self.bill.parts.get(&part).copied();
        let share = share.ok_or_else(|| format!("no sample is of {}", part.words()))?;
        Ok(Touched {
            operation,
            share,
            took: self.took(share, per_s),
            now: self.costs.of(self.now(kind).ok_or_else(none)?)?,
            then: after.of(then.ok_or_else(none)?)?,
        })
    }

    /// What each of so many operations per second takes the server.
    fn took(&self, share: Share, per_s: Option<f64>) -> Option<f64> {
        let cores = self.bill.cores().known().copied()?;
        per_s.filter(|rate| *rate > 0.0).map(|rate| share.share * cores / rate)
    }

    /// The same operations in another system.
    fn newer(&self, name: &str, costs: &Costs) -> Change {
        let all = SWAPS.into_iter().map(|kind| self.swapped(kind, self.now(kind), costs));
        let touched: Vec<Touched> = all.flatten().collect();
        let none = || format!("nothing of {name} was measured");
        let touched = if touched.is_empty() { Err(none()) } else { Ok(touched) };
        (format!("{} ({name})", costs.title()), touched)
    }

    /// Half of the full handshakes resumed; `None` where nearly all are already.
    fn resumed(&self, change: &str) -> Option<Change> {
        let resumed = self.bill.resumed().filter(|resumed| *resumed < 0.9)?;
        let then = f64::midpoint(resumed, 1.0);
        let touched = || {
            if !self.prefers.is_tls13() {
                return Err("toll bench resumes in TLS 1.3 alone".to_owned());
            }
            let full = self.costs.of(full(self.prefers.certificate_key))?;
            let short = self.costs.of(RESUMED)?;
            let mean = |resumed: f64| {
                let of = |full: f64, short: f64| full * (1.0 - resumed) + short * resumed;
                Quartiles {
                    low: of(full.low, short.low),
                    median: of(full.median, short.median),
                    high: of(full.high, short.high),
                }
            };
            let parts = [TlsPart::PrivateKeys, TlsPart::KeyExchange, TlsPart::Library];
            let share = Share::sum(&parts.map(|part| self.bill.part(part)));
            Ok(vec![Touched {
                operation: Operation::Handshake,
                share,
                took: self.took(share, self.bill.handshakes.known().map(|count| count.per_s)),
                now: mean(resumed),
                then: mean(then),
            }])
        };
        Some((change.replace("{}", &format!("{:.0}%", then * 100.0)), touched()))
    }

    fn lever(
        &self,
        row: &'static capacity::Lever,
        change: String,
        touched: &[Touched],
    ) -> Result<Lever, String> {
        let mut all = Saving::default();
        for of in touched {
            of.check()?;
            let Saving { low, middle, high } = of.saving();
            all = Saving { low: all.low + low, middle: all.middle + middle, high: all.high + high };
        }
        let texts: Vec<String> = touched.iter().map(Touched::in_words).collect();
        let (title, cpu) = (self.costs.title(), self.costs.cpu);
        Ok(Lever {
            kind: row.kind.to_string(),
            change,
            actor: row.actor.to_string(),
            saves: all.middle,
            low: all.low,
            high: all.high,
            rests_on: format!("by toll bench ({title}, CPU {cpu}) {}", texts.join("; ")),
            line: self.bill.kind_of_server().and_then(|of| row.line(of)).map(str::to_owned),
            left_out: row.left_out.to_owned(),
        })
    }
}

fn microseconds(seconds: f64) -> String {
    let digits = usize::from(seconds < 9.95e-6);
    format!("{:.digits$} µs", seconds * 1e6)
}

/// How many signatures there were where nobody counted them, by their share and what one costs here.
pub(crate) fn estimate(bill: &mut Bill, prefers: &Preferred, costs: &Costs) {
    let cost = Algorithm::signature_with(prefers.certificate_key).and_then(|of| costs.of(of).ok());
    let share = bill.parts.get(&TlsPart::PrivateKeys);
    if let (None, Some(share), Some(cost), Some(cpu)) =
        (bill.signatures.known(), share, cost, bill.cpu_s.known())
    {
        let count = share.share * cpu / cost.median;
        let per_s = count / bill.window_s;
        bill.signatures =
            Fact::Known(Count { count: count.round() as u64, per_s, is_exact: false });
        bill.signatures_by_share = true;
    }
}

/// Where the server's libcrypto is, which is the file that it has mapped.
///
/// # Errors
/// It has none, or another one is there now.
pub(crate) fn libcrypto(pid: u32, libraries: &[Mapping]) -> Result<PathBuf, String> {
    let map = libraries.iter().find(|map| map.image.name.starts_with("libcrypto.so"));
    let map =
        map.ok_or("the server has no libcrypto of its own that costs could be measured with")?;
    // In a container it is where the server sees it. One that has changed its root since (chroot(2)) has it where all
    // see it.
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let within = root.join(map.path.strip_prefix("/").unwrap_or(&map.path));
    let file = |path: &Path| std::fs::metadata(path).map(|of| (of.dev(), of.ino())).ok();
    let mapped = file(&map.opened).filter(|_| !map.is_deleted);
    let mut paths = [map.path.clone(), within].into_iter();
    paths.find(|path| mapped.is_some() && file(path) == mapped).ok_or_else(|| {
        format!(
            "{} is not the file that the server runs any more; restart the server first",
            map.path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Images;
    use crate::words::tests::bill;
    use primitives::row::{Measured, NoFigure, Outcome, Reason};
    use primitives::{Cache, CycleSource, Hardware, RowKey, Signing};

    fn row(algorithm: Algorithm, microseconds: f64) -> Row {
        let cycles = microseconds * 1e3;
        let measured = Measured {
            cycles_per_byte: None,
            cycles_per_op: Quartiles { low: cycles * 0.98, median: cycles, high: cycles * 1.02 },
            core_hz: 1e9,
            ops_per_s: 1e9 / cycles,
            bytes_per_s: None,
            messages_per_op: 1,
            samples: 60,
            dropped_shared: 0,
            dropped_unsteady: 0,
            quality: Quality::Quiet,
            confirmed_by: "AWS-LC".to_owned(),
        };
        Row {
            key: RowKey {
                algorithm,
                library: "openssl".to_owned(),
                size_bytes: None,
                hardware: Hardware::All,
                cache: Cache::Warm,
                threads: 1,
            },
            library_title: "OpenSSL 3.0.19".to_owned(),
            cycles_source: CycleSource::MeasuredFrequency,
            outcome: Outcome::Measured(Box::new(measured)),
        }
    }

    /// As `bill` has it: 0.83 cores, 1,090 signatures/s of 44.1%, which are 335 us each.
    fn costs(signature: f64) -> Costs {
        let suite = |name| record(name).unwrap();
        let rows = vec![
            row(Algorithm::Rsa(RsaBits::Rsa2048, Signing::Sign), signature),
            row(Algorithm::Ecdsa(Curve::P256, Signing::Sign), signature / 10.0),
            row(exchange(Group::X25519).unwrap(), 60.0),
            row(exchange(Group::Secp256r1).unwrap(), 90.0),
            row(suite("TLS_AES_256_GCM_SHA384"), 10.0),
            row(suite("TLS_AES_128_GCM_SHA256"), 8.0),
            row(full(CertificateKey::Rsa(2048)), 430.0),
            row(RESUMED, 130.0),
        ];
        Costs { rows, cpu: 3 }
    }

    fn priced(bill: &Bill, costs: &Costs, others: &[(String, Costs)]) -> (Vec<Lever>, Vec<String>) {
        levers(bill, bill.prefers.known().unwrap(), costs, others)
    }

    fn of<'a>(levers: &'a [Lever], change: &str) -> &'a Lever {
        levers
            .iter()
            .find(|lever| lever.change.contains(change))
            .unwrap_or_else(|| panic!("{change}: {levers:?}"))
    }

    #[test]
    fn what_a_server_takes_more_grows_with_a_signature_and_stays_with_a_record() {
        let (as_here, _) = priced(&bill(), &costs(335.0), &[]);
        let certificate = of(&as_here, "P-256 certificate");
        assert!((certificate.saves - 0.397).abs() < 0.002, "{certificate:?}");
        assert!(certificate.low < certificate.saves && certificate.saves < certificate.high);
        // What it takes more in the server goes too, and may stay.
        let (more, _) = priced(&bill(), &costs(275.0), &[]);
        let more = of(&more, "P-256 certificate");
        assert!((more.saves - 0.397).abs() < 0.002 && more.low < 0.32, "{more:?}");
        // Half of the handshakes save half of what a full one takes more than a resumed one: of 0.59 and of 1,090/s.
        let resumed = of(&as_here, "50% of handshakes resumed");
        assert!((0.19..0.22).contains(&resumed.saves), "{resumed:?}");
        // What costs more saves less than nothing; the best comes first.
        let group = of(&as_here, "P-256").saves.max(of(&as_here, "key exchange with P-256").saves);
        assert!(group > of(&as_here, "key exchange with P-256").saves);
        assert!(of(&as_here, "key exchange with P-256").high < 0.0);
        assert!(as_here.windows(2).all(|two| two[0].saves >= two[1].saves));
        let suite = of(&as_here, "AES-128-GCM");
        // 2 of the 23 µs that the server takes; if it were a fifth of them, 0.74%.
        assert!((0.002..0.005).contains(&suite.saves) && suite.high > 0.007, "{suite:?}");
        assert!(suite.line.is_some());
    }

    #[test]
    fn another_library_saves_what_each_of_its_operations_takes_less() {
        let others = [(
            "debian-13".to_owned(),
            Costs { rows: vec![row(record("TLS_AES_256_GCM_SHA384").unwrap(), 5.0)], cpu: 3 },
        )];
        let (levers, _) = priced(&bill(), &costs(335.0), &others);
        let newer = of(&levers, "debian-13");
        assert!(newer.saves > 0.0 && newer.saves < 0.037, "{newer:?}");
        assert!(newer.rests_on.contains("5.0 µs in place of 10"), "{newer:?}");
    }

    #[test]
    fn what_is_not_measured_or_costs_the_server_something_else_is_not_listed() {
        let (_, whys) = priced(&bill(), &costs(30.0), &[]);
        assert!(whys.iter().any(|why| why.contains("µs for a signature")), "{whys:?}");
        let none = Outcome::None(NoFigure { why: "refused".to_owned(), reason: Reason::Refused });
        let mut refused = costs(335.0);
        for row in &mut refused.rows {
            row.outcome = none.clone();
        }
        let (levers, whys) = priced(&bill(), &refused, &[]);
        assert!(levers.is_empty() && whys.iter().any(|why| why.contains("refused")), "{whys:?}");
        // Others ran where it was measured.
        let mut disturbed = costs(335.0);
        for row in &mut disturbed.rows {
            let Outcome::Measured(measured) = &mut row.outcome else { continue };
            measured.quality = Quality::Disturbed;
        }
        let (levers, whys) = priced(&bill(), &disturbed, &[]);
        assert!(levers.is_empty() && whys.iter().any(|why| why.contains("CPU 3")), "{whys:?}");
    }

    #[test]
    fn signatures_that_nobody_counted_are_estimated_by_their_share() {
        let mut uncounted = Bill { signatures: Fact::unknown("no uprobes"), ..bill() };
        let prefers = uncounted.prefers.known().unwrap().clone();
        estimate(&mut uncounted, &prefers, &costs(335.0));
        let count = *uncounted.signatures.known().unwrap();
        assert!(!count.is_exact && (count.per_s - 1_092.0).abs() < 10.0, "{count:?}");
        // What one takes the server nobody has seen.
        assert!(uncounted.signature_s().is_none() && bill().signature_s().is_some());
        for (bill, is_seen) in [(&uncounted, false), (&bill(), true)] {
            let (levers, _) = priced(bill, &costs(335.0), &[]);
            let certificate = of(&levers, "P-256 certificate");
            assert_eq!(certificate.rests_on.contains("in the server"), is_seen, "{certificate:?}");
        }
        let mut counted = bill();
        estimate(&mut counted, &prefers, &costs(200.0));
        assert_eq!(counted.signatures, bill().signatures);
    }

    #[test]
    fn all_that_levers_need_is_measured() {
        let wanted = wanted(bill().prefers.known().unwrap());
        assert!(
            costs(1.0).rows.iter().all(|row| wanted.contains(&row.key.algorithm)),
            "{wanted:?}"
        );
    }

    /// A mapping of this program's own libcrypto.
    fn own_libcrypto() -> Mapping {
        openssl::init();
        let maps = Images::default().mapped_by(std::process::id());
        let found = maps.into_iter().find(|map| map.image.name.starts_with("libcrypto.so"));
        found.expect("it is linked with OpenSSL")
    }

    #[test]
    fn the_library_of_a_server_in_a_chroot_is_found_where_it_was_before() {
        // It has mapped nothing of its new root, as with `chroot` in HAProxy's configuration.
        let jail = tempfile::tempdir().unwrap();
        let program =
            format!("chroot '{}' or exit 9; print qq(in\n); <STDIN>", jail.path().display());
        let mut jailed = std::process::Command::new("perl")
            .args(["-e", &format!("$| = 1; {program}")])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(jailed.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let own = own_libcrypto();
        let found = libcrypto(jailed.id(), std::slice::from_ref(&own));
        drop(jailed.stdin.take());
        if jailed.wait().unwrap().code() == Some(9) {
            return eprintln!("skipped: only root may change its root");
        }
        assert_eq!((line.as_str(), found), ("in\n", Ok(own.path)));
    }

    #[test]
    fn costs_are_measured_with_the_file_that_the_server_runs_or_not_at_all() {
        let pid = std::process::id();
        let own = own_libcrypto();
        let found = libcrypto(pid, std::slice::from_ref(&own)).unwrap();
        assert_eq!(
            std::fs::canonicalize(found).unwrap(),
            std::fs::canonicalize(&own.path).unwrap()
        );
        // It was replaced on disk, or another file is there.
        let changes: [fn(&mut Mapping); 3] = [
            |map| map.is_deleted = true,
            |map| map.path = "/bin/sh".into(),
            |map| map.path = "/nowhere".into(),
        ];
        for change in changes {
            let mut other = own.clone();
            change(&mut other);
            assert!(libcrypto(pid, &[other]).unwrap_err().contains("restart"));
        }
        assert!(libcrypto(pid, &[]).is_err());
    }
}
