//! A bill as it is printed: the answer in one sentence, then lines that add up to 100%.

use std::fmt::Write;

use observe::Fact;
use profile::Class;
use tls::Group;
use units::thousands;

use crate::bill::{Bill, Count, FEWEST_SAMPLES, Lever, NoBill, Share};
use crate::sampler::FREQUENCY;
use crate::sort::TlsPart;

/// How many classes of what is not TLS are named.
const NAMED: usize = 4;
/// Where the details of a line begin.
const LABEL: usize = 18;

/// All of it.
pub fn in_words(bill: &Bill) -> String {
    let mut text = format!("{}\n", headline(bill));
    if bill.no_bill.is_none_or(|reason| reason == NoBill::NotSorted) {
        text += "\n";
        text += &lines(bill);
    }
    for line in counted(bill) {
        text += &format!("\n{line}");
    }
    text += "\n";
    text += &changes_in_words(bill);
    if let Ok(flags) = plan(bill) {
        let flags = flags.iter().map(|(flag, value)| format!(" --{flag} {value}"));
        text += "\nHow many cores it needs, by requests of the mean size that was sent, one a connection:\n";
        text += &format!("  toll plan{}\n", flags.collect::<String>());
    }
    for note in &bill.notes {
        text += &format!("\nNote: {note}.");
    }
    if !bill.notes.is_empty() {
        text += "\n";
    }
    text
}

/// Why there is no bill, as a sentence.
pub fn no_bill(bill: &Bill, reason: NoBill) -> String {
    let name = &bill.server.name;
    match reason {
        NoBill::TooFewSamples => {
            let handshakes = bill
                .handshakes
                .known()
                .map_or_else(String::new, |count| format!("{} and ", count.in_words("handshake")));
            format!(
                "{handshakes}{} in {}: too few for a bill of {name} (at least {FEWEST_SAMPLES} samples, which are {:.1} s \
                 of CPU)",
                units::counted(bill.samples, "sample"),
                seconds(bill.window_s),
                FEWEST_SAMPLES as f64 / FREQUENCY as f64
            )
        }
        NoBill::NoTls => format!(
            "no TLS is seen in {name}: it has mapped no TLS library, and no function of its own is known as one of TLS"
        ),
        NoBill::NotSorted => {
            let share = Share::sum(bill.not_sorted.values()).share;
            let why = bill.not_sorted.iter().max_by_key(|(_, of)| of.samples);
            let why = why.map_or("", |(why, _)| why.words());
            format!("this is no bill: {:.0}% of the samples are not sorted ({why})", share * 100.0)
        }
        NoBill::Lost => format!(
            "this is no bill: {} of {} samples were lost; give toll a CPU beside the server's",
            thousands(bill.lost_samples),
            thousands(bill.lost_samples + bill.samples)
        ),
    }
}

fn seconds(seconds: f64) -> String {
    if seconds < 9.95 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

/// `63% [61, 65]`
fn with_interval(share: f64, low: f64, high: f64) -> String {
    format!("{:.0}% [{:.0}, {:.0}]", share * 100.0, low * 100.0, high * 100.0)
}

fn headline(bill: &Bill) -> String {
    let (name, cores) = (&bill.server.name, bill.cores());
    let cores = cores.known();
    let sentence = match bill.no_bill {
        Some(reason) => {
            let why = no_bill(bill, reason);
            let cores =
                cores.map_or_else(String::new, |cores| format!(". It used {cores:.2} cores"));
            format!("{}{}{cores}.", why[..1].to_uppercase(), &why[1..])
        }
        None => {
            let Share { share, low, high, .. } = bill.tls;
            let cores = cores.map_or_else(String::new, |cores| {
                format!(", {:.2} of {cores:.2} cores", share * cores)
            });
            format!(
                "TLS takes {} of {name}'s CPU{cores} ({}, {}).",
                with_interval(share, low, high),
                seconds(bill.window_s),
                units::counted(bill.samples, "sample")
            )
        }
    };
    match &bill.ended {
        Some(why) => {
            format!("{sentence} It was watched for {} only: {why}.", seconds(bill.window_s))
        }
        None => sentence,
    }
}

fn lines(bill: &Bill) -> String {
    let row = |of: TlsPart| (bill.part(of).share, of.words(), details(bill, of));
    let mut rows = Vec::from(TlsPart::ALL.map(row));
    let not_tls = Share::sum(bill.not_tls.values()).share;
    rows.push((not_tls, "not TLS", not_tls_in_words(bill)));
    let not_sorted = Share::sum(bill.not_sorted.values()).share;
    if not_sorted > 0.0 {
        let whys = bill.not_sorted.iter();
        let whys: Vec<&str> = whys.map(|(why, _)| why.words()).collect();
        rows.push((not_sorted, "not sorted", whys.join("; ")));
    }
    let shares: Vec<f64> = rows.iter().map(|(share, _, _)| *share).collect();
    let mut text = String::new();
    for ((share, label, details), percent) in rows.iter().zip(whole_percents(&shares)) {
        let percent = match percent {
            0 if *share > 0.0 => "<1".to_owned(),
            percent => percent.to_string(),
        };
        let line = format!("{percent:>4}%  {label:<LABEL$}{details}");
        text += line.trim_end();
        text += "\n";
    }
    text
}

/// Whole numbers of percent that add up to 100, by the largest remainders.
fn whole_percents(shares: &[f64]) -> Vec<u32> {
    let mut whole: Vec<u32> = shares.iter().map(|share| (share * 100.0) as u32).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let remainder = |place: usize| (shares[place] * 100.0).fract();
    order.sort_by(|a, b| remainder(*b).total_cmp(&remainder(*a)));
    let missing = 100_u32.saturating_sub(whole.iter().sum());
    for place in order.into_iter().take(missing as usize) {
        whole[place] += 1;
    }
    whole
}

fn details(bill: &Bill, part: TlsPart) -> String {
    let prefers = bill.prefers.known();
    match part {
        TlsPart::PrivateKeys => {
            let key = prefers.map(|of| of.certificate_key.words());
            let rate = bill.signatures.known().map(|of| per_second(" signatures", of));
            let each = bill.signature_s().map(|cost| format!("{:.0} µs each", cost * 1e6));
            joined([key, rate, each])
        }
        TlsPart::KeyExchange => joined([prefers.and_then(|of| of.group.map(|of| of.to_string()))]),
        TlsPart::Records => {
            let rate = bill.bytes_per_s().map(|bytes| match bytes * 8.0 / 1e6 {
                few if few < 10.0 => format!("{few:.1} Mb/s sent"),
                many => format!("{} Mb/s sent", thousands(many.round() as u64)),
            });
            joined([prefers.map(|of| of.suite.clone()), rate])
        }
        TlsPart::Library => "the rest of handshakes and records".to_owned(),
    }
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `1,090 signatures/s`, of ` signatures`; an estimate is `about 1,090 signatures/s`.
fn per_second(what: &str, of: &Count) -> String {
    format!("{}{}", of.about(), rate(what, of))
}

fn rate(what: &str, of: &Count) -> String {
    match of.per_s {
        few if few < 10.0 => format!("{few:.1}{what}/s"),
        many => format!("{}{what}/s", thousands(many.round() as u64)),
    }
}

/// `32,702 handshakes (1,090/s)`, of `handshake`.
fn with_rate(noun: &str, of: &Count) -> String {
    format!("{} ({})", of.in_words(noun), rate("", of))
}

/// The largest classes, and the rest.
fn not_tls_in_words(bill: &Bill) -> String {
    let name = |class: Class| match class {
        Class::HttpServer => bill.server.name.clone(),
        class => class.words().to_owned(),
    };
    let mut all: Vec<(Class, f64)> =
        bill.not_tls.iter().map(|(class, of)| (*class, of.share)).collect();
    // What has no name comes with the rest.
    let is_other = |of: &(Class, f64)| of.0 == Class::Other;
    all.sort_by(|a, b| is_other(a).cmp(&is_other(b)).then(b.1.total_cmp(&a.1)));
    let (named, rest) = all.split_at(all.len().min(NAMED));
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    let mut words: Vec<String> = named
        .iter()
        .map(|(class, share)| format!("{} {}", name(*class), percent(*share)))
        .collect();
    let rest: f64 = rest.iter().map(|(_, share)| share).sum();
    if rest >= 0.005 {
        words.push(format!("other {}", percent(rest)));
    }
    words.join(", ")
}

/// What was counted, or why not, and what the server prefers.
fn counted(bill: &Bill) -> Vec<String> {
    let mut lines = Vec::new();
    match (bill.handshakes.clone().or_why(), bill.connections.clone().or_why()) {
        (Ok(handshakes), Ok(connections)) => {
            let resumed = bill.resumed().map_or_else(String::new, |part| {
                format!(", {:.0}% resumed (without a signature)", part * 100.0)
            });
            lines.push(format!(
                "Counted: {}{resumed}; {} ended.",
                with_rate("handshake", &handshakes),
                connections.in_words("connection")
            ));
        }
        (Err(why), _) | (_, Err(why)) => {
            let ended = bill.connections.known().map_or_else(String::new, |of| {
                format!(" By its sockets {} ended ({}).", of.in_words("connection"), rate("", of))
            });
            let what = match bill.signatures.known() {
                Some(_) if !bill.signatures_by_share => "Handshakes",
                _ => "Signatures and handshakes",
            };
            lines.push(format!("{what} are not counted: {why}.{ended}"));
        }
    }
    lines.push(match bill.prefers.clone().or_why() {
        Ok(prefers) => format!(
            "It prefers {}{}, {} and {} (one handshake of toll's own; clients may get others).",
            prefers.version,
            prefers.group.map_or_else(String::new, |group| format!(", {group}")),
            prefers.suite,
            prefers.certificate_key.words()
        ),
        Err(why) => format!("What it negotiates is not known: {why}."),
    });
    lines
}

/// Changes that save less are not printed.
const LEAST_SAVING: f64 = 0.005;

/// What changes would save, and why others are not listed; nothing where none was measured.
pub fn changes_in_words(bill: &Bill) -> String {
    let mut text = String::new();
    if !bill.levers.is_empty() {
        text += "\nWhat would change it                    saves, of its CPU\n";
    }
    let printed: Vec<&Lever> = bill.levers.iter().filter(|of| of.saves >= LEAST_SAVING).collect();
    for lever in &printed {
        let saves = with_interval(lever.saves, lever.low, lever.high);
        let _ = writeln!(text, "  {:<38}{saves}\n    {}", lever.change, lever.rests_on);
        let line = lever.line.as_deref().unwrap_or("not known for this server");
        let _ = writeln!(text, "    {}: {line}\n    left out: {}", lever.actor, lever.left_out);
    }
    if printed.is_empty() && !bill.levers.is_empty() {
        text += "  none of those that were measured\n";
    }
    let begin = match bill.levers.is_empty() {
        true => "What changes would save is not measured",
        false => "Not among the changes",
    };
    for why in &bill.not_measured {
        let _ = write!(text, "\n{begin}: {why}.");
    }
    if !bill.not_measured.is_empty() {
        text += "\n";
    }
    // A libcrypto of its own is counted beside a libssl that is part of the program.
    if let (Some(of), None) = (bill.signatures.known(), bill.handshakes.known())
        && bill.signatures_by_share
    {
        let rate = per_second("", of);
        let _ = writeln!(text, "\nSignatures, by their share and what one takes here: {rate}.");
    }
    text
}

/// From fewer connections no traffic is planned.
const FEWEST_CONNECTIONS: u64 = 100;

/// The flags of `toll plan` for the server and the traffic that was seen, without their dashes: requests are not seen,
/// so that each connection has one, of the mean size that was sent.
///
/// # Errors
/// What of it is not known.
pub fn plan(bill: &Bill) -> Result<Vec<(&'static str, String)>, String> {
    if let Some(reason) = bill.no_bill {
        return Err(no_bill(bill, reason));
    }
    let server = bill.kind_of_server();
    let server = server.ok_or_else(|| format!("toll plan has no {}", bill.server.name))?;
    let prefers = bill.prefers.clone().or_why()?;
    let connections = bill.connections.clone().or_why()?;
    if connections.count < FEWEST_CONNECTIONS {
        let few = units::counted(connections.count, "connection");
        return Err(format!("{few} ended: too few to plan with (at least {FEWEST_CONNECTIONS})"));
    }
    let sent = bill.sent.clone().or_why()?;
    if sent.is_short {
        return Err("the kernel had no room to say what some connections have sent".to_owned());
    }
    if let Some(why) = bill.disagreement() {
        return Err(why);
    }
    let bytes = sent.bytes as f64 / connections.count as f64;
    // Servers choose X25519 by themselves. In TLS 1.2 clients that offer it alone could have no ECDSA certificate (RFC 8422,
    // section 5.1).
    let group = prefers.group.filter(|of| prefers.is_tls13() || *of != Group::X25519);
    let mut flags = vec![
        ("server", server.to_owned()),
        ("new-connections", format!("{:.0}/s", connections.per_s.ceil())),
        ("object", format!("{:.0}KiB", (bytes / 1024.0).ceil())),
        ("certificate-key", prefers.certificate_key.to_string()),
        ("suite", prefers.suite),
    ];
    flags.extend(group.map(|group| ("group", group.to_string())));
    // Where it is not known, the plan says that it assumes none.
    flags.extend(bill.resumed().map(|resumed| ("resumed", format!("{:.0}%", resumed * 100.0))));
    Ok(flags)
}

/// The width of a bill's figures beside another's: `about 10,000/s`.
const FIGURE: usize = 16;

/// Two bills of one server, before and after a change: each line in cores.
pub fn compared(a: &Bill, b: &Bill) -> Result<String, String> {
    let cores = |bill: &Bill| match bill.no_bill {
        Some(reason) => Err(no_bill(bill, reason)),
        None => bill.cores().or_why(),
    };
    let (of_a, of_b) = (cores(a)?, cores(b)?);
    let mut text = format!("{:<LABEL$}{:>FIGURE$}{:>FIGURE$}  change, cores\n", "cores", "A", "B");
    let mut line = |label: &str, of: &dyn Fn(&Bill) -> Share| {
        let (a, b) = (of(a), of(b));
        // Both errors are independent.
        let half = |of: Share, cores: f64| (of.high - of.low) / 2.0 * cores;
        let error = half(a, of_a).hypot(half(b, of_b));
        let (a, b) = (a.share * of_a, b.share * of_b);
        let (low, high) = (b - a - error, b - a + error);
        let sure = if low <= 0.0 && high >= 0.0 { ", not decided" } else { "" };
        let change = b - a;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{label:<LABEL$}{a:>FIGURE$.3}{b:>FIGURE$.3}  {change:+.3} [{low:+.3}, {high:+.3}]{sure}"
        );
    };
    for part in TlsPart::ALL {
        line(part.words(), &|bill: &Bill| bill.part(part));
    }
    line("TLS", &|bill: &Bill| bill.tls);
    line("not TLS", &|bill: &Bill| Share::sum(bill.not_tls.values()));
    // What could be sorted in one of them alone is no change.
    let not_sorted = |bill: &Bill| Share::sum(bill.not_sorted.values());
    if not_sorted(a).share + not_sorted(b).share > 0.0 {
        line("not sorted", &not_sorted);
    }
    let change = of_b - of_a;
    let _ = writeln!(text, "{:<LABEL$}{of_a:>FIGURE$.3}{of_b:>FIGURE$.3}  {change:+.3}", "all");
    let per_s =
        |of: &Fact<Count>| of.known().map_or("not counted".to_owned(), |of| per_second("", of));
    for (label, of) in [
        ("handshakes", [&a.handshakes, &b.handshakes]),
        ("signatures", [&a.signatures, &b.signatures]),
        ("connections", [&a.connections, &b.connections]),
    ] {
        let [a, b] = of.map(per_s);
        let _ = writeln!(text, "{label:<LABEL$}{a:>FIGURE$}{b:>FIGURE$}");
    }
    Ok(text)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use observe::{SentBytes, ServerProcess};
    use tls::CertificateKey;

    use crate::own_handshake::Preferred;
    use crate::sort::NotSorted;

    fn share(share: f64) -> Share {
        let samples = (share * 14_900.0) as u64;
        Share { samples, share, low: share - 0.02, high: share + 0.02 }
    }

    pub(crate) fn bill() -> Bill {
        let count =
            |count| Fact::Known(Count { count, per_s: count as f64 / 30.0, is_exact: true });
        Bill {
            server: ServerProcess { name: "nginx".to_owned(), pid: 812, found_at_port: None },
            window_s: 30.0,
            ended: None,
            cpu_s: Fact::Known(24.9),
            samples: 14_900,
            lost_samples: 0,
            no_bill: None,
            tls: share(0.626),
            parts: BTreeMap::from([
                (TlsPart::PrivateKeys, share(0.441)),
                (TlsPart::KeyExchange, share(0.086)),
                (TlsPart::Records, share(0.037)),
                (TlsPart::Library, share(0.062)),
            ]),
            not_tls: BTreeMap::from([
                (Class::TcpIp, share(0.236)),
                (Class::HttpServer, share(0.084)),
                (Class::PageCache, share(0.03)),
                (Class::Copies, share(0.01)),
                (Class::Scheduler, share(0.01)),
            ]),
            not_sorted: BTreeMap::from([(NotSorted::CallersNotFound, share(0.004))]),
            signatures: count(32_702),
            signatures_by_share: false,
            handshakes: count(32_705),
            connections: count(32_700),
            sent: Fact::Known(SentBytes {
                connections: 32_700,
                bytes: 645_000_000,
                is_short: false,
            }),
            counted_part: None,
            prefers: Fact::Known(Preferred {
                address: "127.0.0.1:443".parse().unwrap(),
                version: "TLSv1.3".to_owned(),
                suite: "TLS_AES_256_GCM_SHA384".to_owned(),
                group: Some(Group::X25519),
                certificate_key: CertificateKey::Rsa(2048),
            }),
            libraries: Vec::new(),
            server_cpus: Fact::unknown(""),
            not_measured: Vec::new(),
            levers: vec![Lever {
                kind: "certificate-key".to_owned(),
                change: "ECDSA P-256 certificate".to_owned(),
                actor: "certificate".to_owned(),
                saves: 0.396,
                low: 0.38,
                high: 0.41,
                rests_on: "a signature 31 µs instead of 328 µs".to_owned(),
                line: Some("ssl_certificate FILE;".to_owned()),
                left_out: "nobody".to_owned(),
            }],
            notes: vec!["3 samples were lost".to_owned()],
            own_cpu_s: 0.4,
        }
    }

    #[test]
    fn a_bill_and_what_is_none() {
        let whole = bill();
        let few = Bill {
            no_bill: Some(NoBill::TooFewSamples),
            samples: 12,
            levers: Vec::new(),
            handshakes: Fact::Known(Count { count: 3, per_s: 0.1, is_exact: true }),
            ..bill()
        };
        let unsorted = Bill {
            no_bill: Some(NoBill::NotSorted),
            not_sorted: BTreeMap::from([(NotSorted::NoNames, share(0.2))]),
            parts: BTreeMap::new(),
            levers: Vec::new(),
            signatures: Fact::unknown("the kernel has no uprobes"),
            handshakes: Fact::unknown("the kernel has no uprobes"),
            prefers: Fact::unknown("it does not listen on loopback"),
            ..bill()
        };
        let none = Bill { no_bill: Some(NoBill::NoTls), ..few.clone() };
        let lost = Bill { no_bill: Some(NoBill::Lost), lost_samples: 9_000, ..few.clone() };
        let ended = Bill { ended: Some("interrupted".to_owned()), ..bill() };
        let estimated = Bill {
            signatures: Fact::Known(Count { count: 32_760, per_s: 1_092.0, is_exact: false }),
            signatures_by_share: true,
            handshakes: Fact::unknown("the kernel has no uprobes"),
            not_measured: vec!["X25519MLKEM768 server: OpenSSL 3.0.19 has no ML-KEM".to_owned()],
            ..bill()
        };
        support::assert_golden!(
            [
                ("whole", whole),
                ("few", few),
                ("not sorted", unsorted),
                ("no TLS", none),
                ("lost", lost),
                ("ended", ended),
                ("estimated", estimated),
            ]
            .map(|(name, bill)| (name, in_words(&bill)))
        );
    }

    #[test]
    fn signatures_that_were_counted_are_not_called_estimated() {
        for (is_exact, is_estimated) in [(true, false), (false, true), (false, false)] {
            let count = Count { count: 32_702, per_s: 1_090.0, is_exact };
            let words = in_words(&Bill {
                signatures: Fact::Known(count),
                signatures_by_share: is_estimated,
                handshakes: Fact::unknown("its libssl is not shared"),
                ..bill()
            });
            assert_eq!(words.contains("by their share"), is_estimated, "{words}");
            assert_eq!(
                words.contains("Signatures and handshakes are not"),
                is_estimated,
                "{words}"
            );
        }
    }

    #[test]
    fn what_was_counted_in_a_part_of_the_window_is_about() {
        let count = Count { count: 32_702, per_s: 1_090.0, is_exact: false };
        let [signatures, handshakes, connections] = [count; 3].map(Fact::Known);
        let part = Bill { signatures, handshakes, connections, counted_part: Some(0.4), ..bill() };
        let line = counted(&part).remove(0);
        let counted = "Counted: about 32,702 handshakes (1,090/s), 0% resumed (without a signature); about 32,702 \
                       connections ended.";
        assert_eq!(line, counted);
        let few = Bill { counted_part: Some(0.001), ..part };
        assert!(!in_words(&few).contains("resumed (without"), "{}", in_words(&few));
    }

    #[test]
    fn what_is_not_known_is_not_planned() {
        assert!(plan(&bill()).is_ok());
        let few = Fact::Known(Count { count: 3, per_s: 0.1, is_exact: true });
        let half = SentBytes { connections: 16_000, bytes: 645_000_000, is_short: false };
        let short = Fact::Known(SentBytes { is_short: true, ..half });
        let half = Fact::Known(half);
        let uncounted = Bill { handshakes: Fact::unknown("the kernel has no uprobes"), ..bill() };
        let has_resumed =
            |bill: &Bill| plan(bill).unwrap().iter().any(|(key, _)| *key == "resumed");
        assert!(has_resumed(&bill()) && !has_resumed(&uncounted));
        let has_group = |version: &str, group: Group| {
            let prefers = bill().prefers.or_why().unwrap();
            let prefers = Preferred { version: version.to_owned(), group: Some(group), ..prefers };
            let bill = Bill { prefers: Fact::Known(prefers), ..bill() };
            plan(&bill).unwrap().contains(&("group", group.to_string()))
        };
        assert!(has_group("TLSv1.3", Group::X25519) && has_group("TLSv1.2", Group::Secp256r1));
        assert!(!has_group("TLSv1.2", Group::X25519));
        for (wrong, about) in [
            (Bill { no_bill: Some(NoBill::NotSorted), ..bill() }, "no bill"),
            (Bill { connections: few, ..bill() }, "too few"),
            (Bill { sent: Fact::unknown("no TCP port is seen"), ..bill() }, "no TCP port"),
            (Bill { sent: half, ..bill() }, "at other ports too"),
            (Bill { sent: short, ..bill() }, "had no room"),
            (Bill { prefers: Fact::unknown("it was not asked"), ..bill() }, "not asked"),
            (
                Bill {
                    server: ServerProcess { name: "mail".to_owned(), ..bill().server },
                    ..bill()
                },
                "mail",
            ),
        ] {
            assert!(plan(&wrong).unwrap_err().contains(about), "{about}");
        }
    }

    #[test]
    fn two_bills_are_compared_by_their_cores_and_what_is_no_bill_is_not() {
        let about = Count { count: 32_702, per_s: 1_090.0, is_exact: false };
        let signatures = Fact::Known(about);
        let half = Bill { cpu_s: Fact::Known(12.4), signatures, ..bill() };
        support::assert_golden!([("halved", compared(&bill(), &half).unwrap())]);
        let few = Bill { no_bill: Some(NoBill::TooFewSamples), ..bill() };
        assert!(compared(&bill(), &few).unwrap_err().contains("too few"));
    }

    #[test]
    fn a_bill_is_read_as_it_was_written() {
        let text = serde_json::to_string_pretty(&bill()).unwrap();
        let read: Bill = serde_json::from_str(&text).unwrap();
        // The last digit of a number may be lost.
        assert_eq!(in_words(&read), in_words(&bill()));
        assert_eq!(
            (read.prefers, read.sent, read.levers),
            (bill().prefers, bill().sent, bill().levers)
        );
        support::assert_golden!([("bill.json", text)]);
    }

    #[test]
    fn the_rest_and_what_has_no_class_are_one() {
        let mut bill = bill();
        bill.not_tls.insert(Class::Other, share(0.2));
        assert_eq!(not_tls_in_words(&bill).matches("other").count(), 1);
    }

    #[test]
    fn lines_add_up_to_a_hundred() {
        assert_eq!(whole_percents(&[0.444, 0.333, 0.223]).iter().sum::<u32>(), 100);
        assert_eq!(whole_percents(&[0.995, 0.005]), [100, 0]);
        assert_eq!(whole_percents(&[]), [0_u32; 0]);
    }
}
