//! The bill: shares of a server's CPU with their intervals, and counts.
//!
//! A share is that of all samples of the window. Its interval, of 95%, is that of the jackknife over the twenty parts
//! of the window (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 11), which has what changed from one
//! part to the next, and is at least that of independent samples (Wilson's).

use std::collections::BTreeMap;
use std::path::PathBuf;

use cpus::CpuList;
use observe::{Fact, SentBytes, ServerProcess};
use profile::Class;
use serde::{Deserialize, Serialize};

use crate::calls::Call;
use crate::image::Mapping;
use crate::observed::{ENOUGH_ENDED, Observed};
use crate::own_handshake::Preferred;
use crate::sampler::{LOOK, MOST_COUNTING};
use crate::sort::{NotSorted, Sorted, TlsPart};

/// From fewer samples no share is printed: an interval would be some ten points wide.
pub const FEWEST_SAMPLES: u64 = 400;
/// With more than this part not sorted, or lost, there is no bill.
const MOST_UNKNOWN: f64 = 0.1;
/// TLS of a library is at least this part of what a server with TLS does.
const LEAST_OF_LIBRARY: f64 = 0.005;
/// The 97.5th percentile of Student's distribution with 19 degrees of freedom, and of the normal one.
const STUDENT: f64 = 2.093;
const NORMAL: f64 = 1.96;

/// A part of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    pub samples: u64,
    /// From 0 to 1, with its interval.
    pub share: f64,
    pub low: f64,
    pub high: f64,
}

/// Calls during the window, all of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Count {
    pub count: u64,
    pub per_s: f64,
    /// Whether each call was looked at; if not, the count is an estimate.
    pub is_exact: bool,
}

/// A library of TLS or cryptography that the server has mapped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFile {
    pub path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Whether the server still runs it though the file was replaced or removed.
    pub is_replaced: bool,
}

/// What a server took of the machine, and for what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    pub server: ServerProcess,
    pub window_s: f64,
    /// Why it was watched for less long than asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// CPU time of all its processes.
    pub cpu_s: Fact<f64>,
    pub samples: u64,
    /// Samples that the kernel had no room for.
    pub lost_samples: u64,
    /// Why this is no bill, where it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_bill: Option<NoBill>,
    pub tls: Share,
    pub parts: BTreeMap<TlsPart, Share>,
    pub not_tls: BTreeMap<Class, Share>,
    pub not_sorted: BTreeMap<NotSorted, Share>,
    /// With the certificate's key.
    pub signatures: Fact<Count>,
    /// Whether these are no count, but an estimate by their share and what one costs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signatures_by_share: bool,
    /// That were completed.
    pub handshakes: Fact<Count>,
    /// That ended: of TLS where its library is counted, else all of its port.
    pub connections: Fact<Count>,
    /// By TCP, at the port that toll asked, or at all of its ports.
    pub sent: Fact<SentBytes>,
    /// Which part of the calls was counted, from 0 to 1, where counting ended before the window; the counts are of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_part: Option<f64>,
    /// By one handshake of toll's own.
    pub prefers: Fact<Preferred>,
    pub libraries: Vec<LibraryFile>,
    /// Those on which it was seen, or to which it is pinned.
    pub server_cpus: Fact<CpuList>,
    pub levers: Vec<Lever>,
    /// Why other changes are not among them.
    #[serde(default)]
    pub not_measured: Vec<String>,
    pub notes: Vec<String>,
    /// What toll itself used meanwhile.
    pub own_cpu_s: f64,
}

/// A change, and what it saves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lever {
    /// As `toll plan --levers` takes it: `certificate-key`.
    pub kind: String,
    /// `ECDSA P-256 certificate`.
    pub change: String,
    /// Who makes it: `configuration`.
    pub actor: String,
    /// Of the server's CPU at the same traffic, from 0 to 1, with its interval.
    pub saves: f64,
    pub low: f64,
    pub high: f64,
    /// What it follows from.
    pub rests_on: String,
    /// The lines of configuration that make it at this server.
    pub line: Option<String>,
    pub left_out: String,
}

/// Why shares say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoBill {
    /// The server did too little.
    TooFewSamples,
    /// Nothing of it is known to be TLS.
    NoTls,
    /// More than a tenth of the samples are in no line.
    NotSorted,
    /// More than a tenth of the samples are lost.
    Lost,
}

impl Bill {
    pub(crate) fn of(server: ServerProcess, seen: &Observed, prefers: Fact<Preferred>) -> Self {
        // Of a program whose functions have no names the work is its own only where its TLS is seen elsewhere.
        let named = seen.blocks.iter().flatten();
        let in_library =
            named.filter(|(of, _)| matches!(of, Sorted::Tls(_))).map(|(_, n)| n).sum::<u64>();
        let is_own = in_library as f64 >= LEAST_OF_LIBRARY * seen.samples() as f64;
        let share = |is_in: &dyn Fn(Sorted) -> bool| Share::of(&seen.blocks, is_in);
        let tls = share(&|sorted| matches!(sorted, Sorted::Tls(_)));
        let all = seen.samples();
        let why = |sorted| match sorted {
            Sorted::Not(why) => Some(why),
            Sorted::Unnamed if !is_own => Some(NotSorted::NoNames),
            _ => None,
        };
        let not_sorted = share(&|sorted| why(sorted).is_some());
        let has_tls = !seen.libraries.is_empty() || tls.samples > 0;
        let no_bill = if seen.lost as f64 > MOST_UNKNOWN * (all + seen.lost) as f64 {
            Some(NoBill::Lost)
        } else if all < FEWEST_SAMPLES {
            Some(NoBill::TooFewSamples)
        } else if not_sorted.share > MOST_UNKNOWN {
            Some(NoBill::NotSorted)
        } else {
            (!has_tls).then_some(NoBill::NoTls)
        };
        let window_s = seen.window.as_secs_f64();
        let count = |call| count(seen, call);
        let mut bill = Self {
            server,
            window_s,
            ended: seen.ended.clone(),
            cpu_s: seen.cpu_s.clone(),
            samples: all,
            lost_samples: seen.lost,
            no_bill,
            tls,
            parts: shares(seen, |sorted| match sorted {
                Sorted::Tls(part) => Some(part),
                _ => None,
            }),
            not_tls: shares(seen, |sorted| match sorted {
                Sorted::NotTls(class) => Some(class),
                Sorted::Unnamed if is_own => Some(Class::HttpServer),
                _ => None,
            }),
            not_sorted: shares(seen, why),
            signatures: count(Call::Signature),
            signatures_by_share: false,
            handshakes: count(Call::Handshake),
            connections: match count(Call::Connection) {
                Fact::Unknown { .. } => seen.sent.clone().map(|sent| Count {
                    count: sent.connections,
                    per_s: sent.connections as f64 / window_s,
                    is_exact: !sent.is_short,
                }),
                known => known,
            },
            sent: seen.sent.clone(),
            counted_part: seen.counted_part(),
            prefers,
            libraries: seen.libraries.iter().map(LibraryFile::of).collect(),
            server_cpus: server_cpus(seen),
            levers: Vec::new(),
            not_measured: Vec::new(),
            notes: notes(seen),
            own_cpu_s: seen.own_cpu_s,
        };
        let disagreement = bill.disagreement();
        bill.notes.extend(disagreement);
        bill
    }

    /// What `toll plan --server` and the lines of configuration call it; `None` where they do not know it.
    pub(crate) fn kind_of_server(&self) -> Option<&str> {
        match &*self.server.name {
            "apache2" | "httpd" => Some("apache"),
            "toll" => Some("embedded"),
            name @ ("nginx" | "haproxy" | "caddy") => Some(name),
            _ => None,
        }
    }

    /// CPU seconds per second.
    pub(crate) fn cores(&self) -> Fact<f64> {
        self.cpu_s.clone().map(|cpu| cpu / self.window_s)
    }

    /// Of a part without samples nothing.
    pub(crate) fn part(&self, part: TlsPart) -> Share {
        self.parts.get(&part).copied().unwrap_or(Share::NONE)
    }

    /// The CPU time of a signature, in seconds; `None` where signatures are few or were not counted.
    pub fn signature_s(&self) -> Option<f64> {
        let signatures = self.signatures.known()?;
        let share = self.part(TlsPart::PrivateKeys);
        let is_enough = self.is_enough(signatures) && share.samples >= 100;
        // An estimate has what one costs elsewhere.
        (is_enough && !self.signatures_by_share)
            .then_some(share.share * self.cpu_s.known()? / signatures.count as f64)
    }

    /// What it sends, each byte once; `None` where not all of it is known.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let sent = self.sent.known().filter(|sent| !sent.is_short)?;
        Some(sent.bytes as f64 / self.window_s)
    }

    /// The part of the handshakes that needed no signature; `None` where too few were counted.
    pub fn resumed(&self) -> Option<f64> {
        let (signatures, handshakes) = (self.signatures.known()?, self.handshakes.known()?);
        let full = || signatures.count as f64 / handshakes.count as f64;
        self.is_enough(handshakes).then(|| (1.0 - full()).max(0.0))
    }

    /// Whether a figure follows from it: from the calls that were counted, not from those that they stand for.
    fn is_enough(&self, of: &Count) -> bool {
        of.count as f64 * self.counted_part.unwrap_or(1.0) >= 100.0
    }

    /// What it means that OpenSSL and TCP have counted different numbers of connections, by more than what happens at the
    /// edges of the time in which both counted.
    pub(crate) fn disagreement(&self) -> Option<String> {
        let sent = self.sent.known().filter(|sent| !sent.is_short)?;
        let (tls, tcp) = (self.connections.known()?, sent.connections);
        // What few that were counted stand for is no number to hold another against.
        let is_few = |part: f64| (tcp as f64 * part) < ENOUGH_ENDED as f64;
        if self.counted_part.is_some_and(is_few) {
            return None;
        }
        let edges = 20.0 / self.counted_part.unwrap_or(1.0);
        let apart = tls.count.abs_diff(tcp);
        let why = match tls.count > tcp {
            true => "the counts have TLS at other ports too, or with servers that it asks itself",
            false => "the others had no TLS",
        };
        (apart as f64 > edges && apart * 20 > tls.count.max(tcp)).then(|| {
            format!(
                "OpenSSL ended {} and TCP {} at the ports that toll looked at: {why}",
                tls.in_words("connection"),
                units::thousands(tcp)
            )
        })
    }
}

impl Count {
    /// `32,702 handshakes`, of `handshake`; an estimate is `about 32,702 handshakes`.
    pub(crate) fn in_words(&self, noun: &str) -> String {
        format!("{}{}", self.about(), units::counted(self.count, noun))
    }

    /// What stands before an estimate.
    pub(crate) fn about(&self) -> &'static str {
        if self.is_exact { "" } else { "about " }
    }
}

impl LibraryFile {
    fn of(map: &Mapping) -> Self {
        Self {
            path: map.path.clone(),
            build_id: map.image.build_id.clone(),
            is_replaced: map.is_deleted,
        }
    }
}

fn server_cpus(seen: &Observed) -> Fact<CpuList> {
    let list: Vec<String> = seen.cpus.iter().map(usize::to_string).collect();
    list.join(",").parse().map_or_else(|_| Fact::unknown("no sample was taken"), Fact::Known)
}

/// Of all the window, by the part of it in which calls were counted.
fn count(seen: &Observed, call: Call) -> Fact<Count> {
    let none = "the server has no shared OpenSSL with the function that is counted";
    let all = seen.calls.as_ref().map_err(String::as_str);
    all.and_then(|all| all.get(&call).ok_or(none)).map_or_else(Fact::unknown, |tally| {
        let count = tally.count() as f64 / seen.counted_part().unwrap_or(1.0);
        Fact::Known(Count {
            count: count.round() as u64,
            per_s: count / seen.window.as_secs_f64(),
            is_exact: tally.is_exact() && seen.counted.is_none(),
        })
    })
}

fn notes(seen: &Observed) -> Vec<String> {
    let mut notes = Vec::new();
    if seen.hides_kernel {
        notes.push(
            "the kernel hides the names of its functions, so that its work is `other`, encryption by its TLS too: run \
             toll as root"
                .to_owned(),
        );
    }
    if seen.threads_left_out > 0 {
        notes.push(format!(
            "{} threads more than toll can sample were left out",
            seen.threads_left_out
        ));
    }
    if seen.new_processes > 0 {
        let processes = match seen.new_processes {
            1 => "1 process".to_owned(),
            count => format!("{} processes", units::thousands(count as u64)),
        };
        notes.push(format!(
            "{processes} of the server started while it was watched, as after a reload; the first {:.1} s of each \
             may be missing",
            LOOK.as_secs_f64()
        ));
    }
    if let Some(until) = seen.counted {
        notes.push(format!(
            "calls were counted for the first {:.1} s of {:.1} s, since counting all of them would have taken more than {} \
             of the server's CPU; the counts assume that what came after was alike",
            until.time.as_secs_f64(),
            seen.window.as_secs_f64(),
            units::percent(MOST_COUNTING),
        ));
    }
    if seen.lost > 0 {
        notes.push(format!("{} samples were lost, since toll had no CPU to read them", seen.lost));
    }
    for map in seen.libraries.iter().filter(|map| map.is_deleted) {
        notes.push(format!(
            "{} was replaced or removed; the server runs the old one until it is restarted",
            map.path.display()
        ));
    }
    notes
}

fn shares<K: Ord + Copy>(seen: &Observed, key: impl Fn(Sorted) -> Option<K>) -> BTreeMap<K, Share> {
    let all = seen.blocks.iter().flat_map(BTreeMap::keys).filter_map(|sorted| key(*sorted));
    let keys: std::collections::BTreeSet<K> = all.collect();
    let share = |of: K| Share::of(&seen.blocks, &|sorted| key(sorted) == Some(of));
    keys.into_iter().map(|of| (of, share(of))).collect()
}

impl Share {
    pub(crate) const NONE: Self = Self { samples: 0, share: 0.0, low: 0.0, high: 0.0 };

    /// Of all of them, as if their errors were one.
    pub(crate) fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        all.into_iter().fold(Self::NONE, |sum, of| Self {
            samples: sum.samples + of.samples,
            share: sum.share + of.share,
            low: sum.low + of.low,
            high: sum.high + of.high,
        })
    }

    fn of(blocks: &[BTreeMap<Sorted, u64>], is_in: &dyn Fn(Sorted) -> bool) -> Self {
        let block = |block: &BTreeMap<Sorted, u64>| {
            let part = block.iter().filter(|(sorted, _)| is_in(**sorted)).map(|(_, n)| n).sum();
            (part, block.values().sum())
        };
        Self::of_blocks(&blocks.iter().map(block).collect::<Vec<(u64, u64)>>())
    }

    /// Of blocks with so many samples of all.
    fn of_blocks(blocks: &[(u64, u64)]) -> Self {
        let part: u64 = blocks.iter().map(|(part, _)| part).sum();
        let all: u64 = blocks.iter().map(|(_, all)| all).sum();
        if all == 0 {
            return Self { samples: 0, share: 0.0, low: 0.0, high: 1.0 };
        }
        let share = part as f64 / all as f64;
        let full: Vec<_> = blocks.iter().filter(|(_, of)| *of > 0 && *of < all).collect();
        let count = full.len() as f64;
        let without =
            full.iter().map(|(less, of)| (part - less) as f64 / (all - of) as f64 - share);
        let variance = without.map(|error| error * error).sum::<f64>() * (count - 1.0).max(0.0)
            / count.max(1.0);
        let by_blocks = STUDENT * variance.sqrt();
        let (low, high) = stats::share_interval(part, all, NORMAL);
        Self {
            samples: part,
            share,
            low: (share - by_blocks).min(low).max(0.0),
            high: (share + by_blocks).max(high).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::{BTreeSet, HashMap};
    use std::time::Duration;

    use crate::calls::Tally;
    use crate::observed::CountedUntil;

    fn observed(samples: &[(Sorted, u64)]) -> Observed {
        Observed {
            window: Duration::from_secs(10),
            ended: None,
            cpu_s: Fact::Known(8.0),
            blocks: vec![samples.iter().copied().collect()],
            stacks: HashMap::new(),
            lost: 0,
            calls: Ok(BTreeMap::new()),
            counted: None,
            sent: Fact::unknown("it was not counted"),
            cpus: BTreeSet::new(),
            threads_left_out: 0,
            new_processes: 0,
            hides_kernel: false,
            libraries: Vec::new(),
            own_cpu_s: 0.0,
        }
    }

    fn of(seen: &Observed) -> Bill {
        let server = ServerProcess { name: "server".to_owned(), pid: 7, found_at_port: None };
        Bill::of(server, seen, Fact::unknown("it was not asked"))
    }

    fn bill(samples: &[(Sorted, u64)]) -> Bill {
        of(&observed(samples))
    }

    #[test]
    fn work_without_names_is_the_servers_own_only_where_tls_is_seen_beside_it() {
        let kernel = (Sorted::NotTls(Class::TcpIp), 500);
        let own = bill(&[(Sorted::Unnamed, 400), (Sorted::Tls(TlsPart::Records), 100), kernel]);
        assert_eq!((own.no_bill, own.not_tls[&Class::HttpServer].samples), (None, 400));
        assert!(own.not_sorted.is_empty());
        // A server that has TLS in itself and no names, with a sample or two in a library that it does not use for it.
        let stripped = bill(&[(Sorted::Unnamed, 500), (Sorted::Tls(TlsPart::Library), 2), kernel]);
        assert_eq!(stripped.no_bill, Some(NoBill::NotSorted));
        assert_eq!(stripped.not_sorted[&NotSorted::NoNames].samples, 500);
        assert!(!stripped.not_tls.contains_key(&Class::HttpServer));
        assert_eq!(bill(&[kernel]).no_bill, Some(NoBill::NoTls));
    }

    #[test]
    fn samples_that_were_lost_are_named_and_more_than_a_tenth_of_them_are_no_bill() {
        let samples = [(Sorted::Tls(TlsPart::Records), 500), (Sorted::NotTls(Class::TcpIp), 400)];
        for (lost, no_bill) in [(0, None), (90, None), (120, Some(NoBill::Lost))] {
            let bill = of(&Observed { lost, ..observed(&samples) });
            assert_eq!((bill.no_bill, bill.samples, bill.lost_samples), (no_bill, 900, lost));
            let is_named = bill.notes.iter().any(|note| note.contains("were lost"));
            assert_eq!(is_named, lost > 0, "{:?}", bill.notes);
        }
    }

    #[test]
    fn connections_whose_ends_the_kernel_had_no_room_to_tell_are_no_exact_count() {
        for is_short in [false, true] {
            let sent = SentBytes { connections: 300, bytes: 1 << 20, is_short };
            let bill = of(&Observed { sent: Fact::Known(sent), ..observed(&[]) });
            let count = bill.connections.known().unwrap();
            assert_eq!((count.count, count.is_exact), (300, !is_short));
            // Nor are their bytes all that it has sent, and nothing is held against them.
            assert_eq!(bill.bytes_per_s().is_some(), !is_short);
            let exact = Fact::Known(Count { count: 900, per_s: 90.0, is_exact: true });
            let other = Bill { connections: exact, ..bill };
            assert_eq!(other.disagreement().is_some(), !is_short);
        }
    }

    /// Calls of which each was looked at.
    fn calls(counts: [(Call, u64); 3]) -> Result<BTreeMap<Call, Tally>, String> {
        let tally = |of| Tally { counted: of, recorded: of, all: of };
        Ok(counts.into_iter().map(|(call, of)| (call, tally(of))).collect())
    }

    #[test]
    fn counts_of_a_part_are_of_all_by_the_connections_that_ended_or_else_by_the_time() {
        let all = Observed {
            calls: calls([(Call::Signature, 100), (Call::Handshake, 200), (Call::Connection, 200)]),
            sent: Fact::Known(SentBytes { connections: 1_000, bytes: 1 << 20, is_short: false }),
            ..observed(&[(Sorted::Tls(TlsPart::PrivateKeys), 900)])
        };
        let counted = |ended, is_short| {
            let counted = Some(CountedUntil { time: Duration::from_secs(1), ended });
            let sent = Fact::Known(SentBytes { connections: 1_000, bytes: 1 << 20, is_short });
            of(&Observed { counted, sent, calls: all.calls.clone(), ..observed(&[]) })
        };
        // A fifth of the connections ended in a tenth of the time. If few had ended, or not all were seen, that says little.
        for (ended, is_short, handshakes) in
            [(200, false, 1_000), (99, false, 2_000), (200, true, 2_000)]
        {
            let bill = counted(ended, is_short);
            let count = bill.handshakes.known().unwrap();
            assert_eq!((count.count, count.is_exact), (handshakes, false));
            assert!((count.per_s - handshakes as f64 / 10.0).abs() < 1e-9, "{count:?}");
            assert_eq!(bill.resumed(), Some(0.5));
            assert!(bill.notes[0].contains("for the first 1.0 s of 10.0 s"), "{:?}", bill.notes);
        }
        let whole = of(&all);
        let count = whole.handshakes.known().unwrap();
        assert_eq!((count.count, count.is_exact, whole.counted_part), (200, true, None));
        // 100 signatures were counted and stand for 500 of 8 s; one fewer says nothing.
        let cost = |signatures| {
            let calls = calls([
                (Call::Signature, signatures),
                (Call::Handshake, 200),
                (Call::Connection, 200),
            ]);
            let samples = [(Sorted::Tls(TlsPart::PrivateKeys), 900)];
            let counted = Some(CountedUntil { time: Duration::from_secs(1), ended: 200 });
            of(&Observed { calls, counted, sent: all.sent.clone(), ..observed(&samples) })
                .signature_s()
        };
        assert!((cost(100).unwrap() - 8.0 / 500.0).abs() < 1e-9);
        assert_eq!(cost(99), None);
    }

    #[test]
    fn both_ways_of_counting_are_held_against_each_other() {
        for (tls, tcp, counted_part, about) in [
            (1_000, 1_040, None, None),
            (10, 25, None, None),
            (1_000, 1_200, None, Some("OpenSSL ended 1,000 connections and TCP 1,200")),
            (1_000, 1_200, None, Some("had no TLS")),
            (1_200, 1_000, None, Some("other ports")),
            // 100 were counted, and 19 that differ stand for 190.
            (1_000, 1_190, Some(0.1), None),
            (2_000, 1_100, Some(0.1), Some("ended about 2,000 connections")),
            (2_000, 900, Some(0.1), None),
        ] {
            let is_exact = counted_part.is_none();
            let said = Bill {
                connections: Fact::Known(Count { count: tls, per_s: 1.0, is_exact }),
                sent: Fact::Known(SentBytes { connections: tcp, bytes: 0, is_short: false }),
                counted_part,
                ..bill(&[])
            }
            .disagreement();
            assert_eq!(said.is_some(), about.is_some(), "{tls} {tcp}");
            assert!(said.is_none_or(|said| said.contains(about.unwrap())), "{tls} {tcp}");
        }
    }

    #[test]
    fn a_share_that_changes_has_a_wider_interval_than_one_that_does_not() {
        let steady = Share::of_blocks(&[(50, 100); 20]);
        assert_eq!((steady.samples, steady.share), (1_000, 0.5));
        assert!((0.475..0.48).contains(&steady.low) && (0.52..0.525).contains(&steady.high));
        let mut blocks = [(20, 100); 20];
        blocks[..10].fill((80, 100));
        let changing = Share::of_blocks(&blocks);
        assert!(changing.low < 0.37 && changing.high > 0.63, "{changing:?}");
        let none = Share::of_blocks(&[(0, 0); 20]);
        assert_eq!((none.low, none.high), (0.0, 1.0));
        // One that was interrupted early has one part.
        let one = Share::of_blocks(&[(0, 30), (0, 0)]);
        assert!(one.low == 0.0 && one.high > 0.1, "{one:?}");
    }
}
