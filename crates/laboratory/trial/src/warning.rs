//! What a reader should know before believing a trial's figures.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use units::{Hertz, Nanos, percent, thousands};

use load::PeerClient;
use observe::{ObserveError, TreeCpuSource};

use crate::busy_program::BusyProgram;
use crate::counted::CountedInstructions;
use crate::evidence::QuotaEvidence;
use crate::littles_law::{Cause, LittlesLaw};
use crate::nouns::Nouns;
use crate::obtained::Obtained;
use crate::operations::Operations;
use crate::quic_use::QuicUse;
use crate::reading::{CoreHz, ProcessesChanged};
use crate::refused_sessions::RefusedSessions;
use crate::stood_still::StoodStill;
use crate::verdict::{ERRORS, Verdict};
use crate::workers::Workers;

/// A core frequency that moved more than this makes the trial's rate one of two machines.
pub const FREQUENCY_MOVED: f64 = 0.10;

/// The part of what a server sends from a disk that it must have had read from there. The rest may come
/// from memory: what one connection read, another may ask for soon after.
const READ_FROM_DISK: f64 = 0.5;

/// The part of full handshakes that may need a second ClientHello. Where the client resumes, it knows the
/// server's group from its first handshake on.
const RETRIED: f64 = 0.01;

/// The part of the sessions that a client offers which a server may refuse: one that is too old, or that its cache
/// has lost.
const SESSIONS_REFUSED: f64 = 0.01;

/// How long Linux waits at least before it acknowledges data for which it has nothing to send (`TCP_DELACK_MIN`),
/// with room for its timers, in ns.
const DELAYED_ACKNOWLEDGEMENT: RangeInclusive<u64> = 39_000_000..=50_000_000;

/// How late a client is on average whose wait shows in the latencies, as a share of the mean response time, and
/// in ns: a thread that sleeps wakes some tens of microseconds late.
const LATE: f64 = 0.10;
const LATE_LEAST: u64 = 250_000;

/// The part of the packets of a client that may be taken for lost on loopback: a packet that is acknowledged late is,
/// too.
const LOST: f64 = 0.001;

/// The part of requests that may be sent again because the server did not take them. Each took the server some time,
/// which is among that of the operations that completed: at most as much more.
const NOT_TAKEN: f64 = 0.05;

/// The part of a paced load's connections that may be opened within the window.
const STILL_OPENING: f64 = 0.01;

/// A warning in three parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Display)]
#[display("{seen}; likely: {likely_cause}; {remedy}")]
pub struct Warning {
    pub kind: WarningKind,
    pub seen: String,
    /// The likely cause.
    pub likely_cause: String,
    /// What to do next.
    pub remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum WarningKind {
    /// Server and client may run on the same CPU.
    SharedCpus,
    /// Server and client run on hyperthreads of one core.
    SiblingCpus,
    /// The hypervisor took CPU time.
    Steal,
    /// Other programs used the CPUs.
    ForeignWork,
    /// The core's frequency changed during the trial.
    FrequencyMoved,
    /// Some operations failed, too few to be the limit.
    FewErrors,
    /// The client did late what was due, so its wait is in the latencies.
    LateClient,
    /// Less completed than there are connections.
    FewOperations,
    /// The load's time was over before as many operations had ended as were asked for.
    CountNotReached,
    /// Connections that were to be kept were not.
    ConnectionsNotKept,
    /// The server got or lost processes within the window.
    ProcessesChanged,
    /// What each CPU did is not known.
    CoresUnknown,
    /// The served objects lie on a disk.
    ObjectsOnDisk,
    /// The server's backend runs on the CPUs of server or client.
    SharedBackend,
    /// A hyperthread beside the server's was busy with neither the server nor the client.
    BusySibling,
    /// Connections were still being opened within the window.
    StillOpening,
    /// Handshakes negotiated more than one of what was left open.
    Mixed,
    /// The server has fewer busy threads than CPUs.
    FewWorkers,
    /// One of the server's workers did much more than the others.
    UnevenWorkers,
    /// Users, rate and times of a closed loop contradict Little's law.
    LittlesLaw,
    /// Another program made the load, and its counts are not verified.
    PeerClient,
    /// The server's speed still changed when its warm-up was over.
    NotSteady,
    /// Another program used the kernel's TLS.
    ForeignKernelTls,
    /// Objects on a disk were read from memory.
    ObjectsInCache,
    /// The server asked for a certificate of the client.
    ClientCertificate,
    /// A certificate that the load was told to trust has expired.
    ExpiredAuthority,
    /// Handshakes needed a second ClientHello.
    HelloRetryRequests,
    /// The window was too short for the clocks of the server's CPU time.
    CoarseClock,
    /// The server sent over loopback by timers.
    Paced,
    /// OpenSSL did what the multi-buffer library was asked for, since no batch of it is worth it here.
    BatchesNeverPay,
    /// Responses waited for the client's delayed acknowledgement.
    DelayedAcknowledgements,
    /// The server closed kept connections before it answered their next requests.
    KeptConnectionsClosed,
    /// Operations had stood still when the window ended, so that no latency is theirs.
    StoodStill,
    /// The server did not begin with many requests, which were sent again.
    RequestsNotTaken,
    /// The server made full handshakes of some for which the client had offered a session.
    SessionsRefused,
    /// Datagrams were dropped or refused at the client, or lost over loopback.
    DatagramsLost,
    /// The server sent longer datagrams than the client takes.
    DatagramsTooLong,
    /// The path did not carry the client's first datagrams.
    ShortPath,
    /// The processor that counted lacks instructions of this one.
    OtherCode,
    /// Whether others get a part of the server's connections is not known.
    ListenersUnknown,
}

/// A server whose speed still changed when its warm-up was over: what it completes per second of its
/// CPU time, or per second where that time is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotSteady {
    /// How long it was warmed up.
    pub after: Nanos,
    /// How far the last slices lay apart, as a share of their median; `None` where it completed
    /// next to nothing.
    pub spread: Option<f64>,
}

/// Where server and client run, as far as it matters to what their figures mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Neighbours {
    /// Apart, or not known to be otherwise.
    #[default]
    Apart,
    /// On CPUs that slow each other down, as hyperthreads of one core do.
    Siblings,
    /// At least one CPU is both's.
    Shared,
}

impl Warning {
    /// All that a trial gives reason for.
    pub fn of(
        neighbours: Neighbours,
        verdict: &Verdict,
        operations: &Operations,
        connections: usize,
        core: CoreHz,
        programs: &[BusyProgram],
        nouns: Nouns,
    ) -> Vec<Self> {
        [
            Self::neighbours(neighbours),
            Self::steal(verdict),
            Self::foreign_work(verdict, programs),
            Self::busy_sibling(verdict),
            Self::few_workers(verdict),
            Self::frequency(core),
            Self::few_errors(verdict, nouns),
            Self::late_client(verdict, nouns),
            Self::few_operations(operations, connections, nouns),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The server's busiest worker did much more than the others, so it is full before they are.
    pub(crate) fn uneven_workers(workers: Workers) -> Option<Self> {
        let Workers { count, busiest, mean } = workers;
        workers.are_uneven().then(|| Self {
            kind: WarningKind::UnevenWorkers,
            seen: format!(
                "the busiest of the server's {count} workers used {} of a CPU, {:.2} times their \
                 mean of {}",
                percent(busiest),
                busiest / mean,
                percent(mean)
            ),
            likely_cause: "connections are spread unevenly among its threads or processes".into(),
            remedy: "raise --connections, or let the server spread connections (nginx: listen ... \
                     reuseport): its rate is that of its busiest worker"
                .into(),
        })
    }

    /// The server's processes changed within this window.
    pub(crate) fn processes_changed(change: ProcessesChanged, window: Nanos) -> Self {
        let ProcessesChanged { before, after, began, used } = change;
        let began = began.map(|ago| Nanos(window.0.saturating_sub(ago.0))).map_or_else(
            || "none of them new".to_owned(),
            |at| format!("the first new one began at {at}"),
        );
        let counted = match used {
            Some((_, TreeCpuSource::ControlGroup)) => {
                "its CPU time is that of its control group, which has them all".to_owned()
            }
            Some((used, TreeCpuSource::Clocks)) => {
                format!("its CPU time is that of all of them, to {}", used.doubt)
            }
            None => "its CPU time is not known, for some ended that no parent waited for, and the server has no \
                     control group of its own"
                .to_owned(),
        };
        Self {
            kind: WarningKind::ProcessesChanged,
            seen: format!(
                "the server's processes changed during the window ({before} at its start, {after} \
                 at its end, {began}); {counted}"
            ),
            likely_cause: "it was reloaded, or it starts and stops processes with the load".into(),
            remedy: "do not reload it while it is measured; set a fixed number of processes, or warm up longer \
                     (--warmup); in a control group of its own (systemd-run) the CPU time of all is known"
                .into(),
        }
    }

    /// It is not known, for this reason, whether the server gets all connections.
    pub(crate) fn listeners_unknown(why: String) -> Self {
        Self {
            kind: WarningKind::ListenersUnknown,
            seen: format!(
                "several sockets get connections to the server's address, and whether all are the server's is not \
                 known: {why}"
            ),
            likely_cause: "the server is another user's (nginx: listen ... reuseport has a socket for each worker)"
                .into(),
            remedy: "run toll as root or as the user of the server; if others serve there too, the server's CPU time \
                     is that of a part of the load"
                .into(),
        }
    }

    /// The server's CPU time is not known because it is little for what it may be wrong by.
    pub(crate) fn coarse_clock((doubt, used): (Nanos, Nanos)) -> Self {
        Self {
            kind: WarningKind::CoarseClock,
            seen: format!(
                "the server's CPU time can only be read to {doubt}, which is more than 3% of the {used} that were \
                 read, so its CPU time is not known"
            ),
            likely_cause: "the server's processes are another user's, whose exact clocks cannot be read, or some of \
                           them ended, whose time the kernel keeps by ticks"
                .into(),
            remedy: "measure longer (--duration, -n), or start the server in a control group of its own (systemd-run)"
                .into(),
        }
    }

    /// For a load that was to end after `count` operations, and whose time was over before.
    pub(crate) fn count_not_reached(ended: u64, count: u64, nouns: Nouns) -> Option<Self> {
        (ended < count).then(|| Self {
            kind: WarningKind::CountNotReached,
            seen: format!(
                "{} of {} {}s had ended when the load's time was over",
                thousands(ended),
                thousands(count),
                nouns.operation
            ),
            likely_cause: "--duration ends a load of a number, too".into(),
            remedy: "give it more time (--duration); all figures are of those that ended".into(),
        })
    }

    /// For a load on kept connections that opened more than one connection per two operations
    /// within the window.
    pub fn connections_not_kept(opened: u64, completed: u64) -> Option<Self> {
        (completed > 0 && 2 * opened > completed).then(|| Self {
            kind: WarningKind::ConnectionsNotKept,
            seen: format!(
                "{} connections were opened for {} requests, although connections should be kept",
                thousands(opened),
                thousands(completed)
            ),
            likely_cause: "the server closes connections after a response, or the window is short"
                .into(),
            remedy: "let the server keep connections, or measure --operation \
                     one-request-per-connection"
                .into(),
        })
    }

    /// Of responses whose end comes as long after their first byte (medians of both, in ns) as the client's
    /// kernel waits before it acknowledges data alone: the server's kernel holds back until then what follows
    /// a small segment (RFC 1122, section 4.2.3.4).
    pub(crate) fn delayed_acknowledgements(
        first_byte: Option<u64>,
        whole: Option<u64>,
    ) -> Option<Self> {
        let rest = whole?.saturating_sub(first_byte?);
        DELAYED_ACKNOWLEDGEMENT.contains(&rest).then(|| Self {
            kind: WarningKind::DelayedAcknowledgements,
            seen: format!("half of the responses took {} after their first byte", Nanos(rest)),
            likely_cause:
                "delayed acknowledgement: the server sends head and body apart with Nagle's \
                           algorithm on"
                    .into(),
            remedy:
                "let it send both at once, or set TCP_NODELAY there: what waits is neither the \
                     server's CPU nor the client's"
                    .into(),
        })
    }

    /// Of kept connections that the server closed when their next requests were on their way.
    pub(crate) fn kept_connections_closed(sent_again: u64, connections: usize) -> Option<Self> {
        (sent_again > 0).then(|| Self {
            kind: WarningKind::KeptConnectionsClosed,
            seen: format!(
                "the server closed {} kept connections when their next requests were on their way; these \
                 were sent again on new ones",
                thousands(sent_again)
            ),
            likely_cause: format!(
                "it does not keep {} connections (Apache httpd: MaxRequestWorkers and its spare threads), \
                 or only for a time or a number of requests (keep-alive timeout)",
                thousands(connections as u64)
            ),
            remedy: "raise these limits, or lower --connections: the new handshakes are part of the figures"
                .into(),
        })
    }

    /// Of operations that the latencies leave out.
    pub(crate) fn stood_still(still: StoodStill, slowest: Option<u64>, nouns: Nouns) -> Self {
        let StoodStill { operations, at_least_ns } = still;
        let noun = nouns.operation;
        Self {
            kind: WarningKind::StoodStill,
            seen: format!(
                "{} {noun}s had taken more than {} when the window ended, and the slowest that ended took {}",
                thousands(operations),
                Nanos(at_least_ns),
                Nanos(slowest.unwrap_or_default())
            ),
            likely_cause: "the server does not go on with them: responses that stop half-way, or that it never begins"
                .into(),
            remedy: format!(
                "find out what they wait for: the latencies are of {noun}s that ended, and leave these out"
            ),
        }
    }

    /// Of requests that the server refused or left out, and that were sent again.
    pub(crate) fn requests_not_taken(not_taken: u64, completed: u64) -> Option<Self> {
        (not_taken as f64 > NOT_TAKEN * completed as f64).then(|| Self {
            kind: WarningKind::RequestsNotTaken,
            seen: format!(
                "the server did not take {} requests, which were sent again, and {} completed",
                thousands(not_taken),
                thousands(completed)
            ),
            likely_cause: "it refuses streams (REFUSED_STREAM, H3_REQUEST_REJECTED) because it is at a limit of its \
                           own, or ends connections (GOAWAY) after few requests"
                .into(),
            remedy: "do not compare its CPU time per operation, which is of more requests than completed; lower \
                     --streams, or raise its limits"
                .into(),
        })
    }

    /// For kept connections of which each was opened once, more than one in a hundred of them within the
    /// window: their handshakes are part of what the server did.
    pub fn still_opening(opened: u64, connections: usize) -> Option<Self> {
        (opened as f64 > STILL_OPENING * connections as f64).then(|| Self {
            kind: WarningKind::StillOpening,
            seen: format!(
                "{} of {} connections were opened within the window, so their handshakes are part of \
                 the figures",
                thousands(opened),
                thousands(connections as u64)
            ),
            likely_cause: "the warm-up is too short to open them all".into(),
            remedy: "warm up longer (--warmup)".into(),
        })
    }

    /// Of uses of private keys for which the server found that eight in a batch cost more than eight one by one:
    /// their figures are those of OpenSSL.
    pub(crate) fn batches_never_pay(obtained: &Obtained) -> Option<Self> {
        let batches = obtained.accelerator.as_ref()?.counts.batches?;
        let never: Vec<_> = batches.uses.used().filter(|(_, counts)| counts.never_pays()).collect();
        let names: Vec<_> = never.iter().map(|(of, _)| of.to_string()).collect();
        (!names.is_empty()).then(|| Self {
            kind: WarningKind::BatchesNeverPay,
            seen: format!(
                "OpenSSL did all operations of {}, because no batch of them costs less here",
                names.join(", ")
            ),
            likely_cause: "to pause the handshake costs this server more than a batch saves, as with short \
                           operations in HAProxy; or the CPU gains little from eight at once, or was busy when the \
                           server measured that at its start"
                .into(),
            remedy: "compare both with toll bench --library crypto-mb, and start the server again".into(),
        })
    }

    /// Of a server that sends longer datagrams than the client takes. They were read all the same.
    pub(crate) fn datagrams_too_long(quic: &QuicUse) -> Option<Self> {
        let QuicUse { too_long_received, datagrams_received, longest_received, .. } = *quic;
        (too_long_received > 0).then(|| Self {
            kind: WarningKind::DatagramsTooLong,
            seen: format!(
                "{} of {} datagrams that came were longer than the client takes, up to {} bytes",
                thousands(too_long_received),
                thousands(datagrams_received),
                thousands(longest_received)
            ),
            likely_cause: "the server does not keep to the client's max_udp_payload_size (RFC 9000, section 18.2)"
                .into(),
            remedy: "give the server's length as --max-udp-payload where rows are to have one length".into(),
        })
    }

    /// Of a path that did not carry the client's first datagrams, so that they were lost.
    pub(crate) fn short_path(quic: &QuicUse) -> Option<Self> {
        quic.path_payload.map(|carried| Self {
            kind: WarningKind::ShortPath,
            seen: format!(
                "the path to the server did not carry datagrams of {} bytes; {} bytes are sent since",
                thousands(quic.longest_sent),
                thousands(carried)
            ),
            likely_cause: "a tunnel on the way, whose packets are shorter than Ethernet's".into(),
            remedy: "give --max-udp-payload 1200, so that none are lost".into(),
        })
    }

    /// Of datagrams that a full socket of the client dropped or did not take; over loopback, where nothing else loses
    /// any, also of packets that the client misses.
    pub(crate) fn datagrams_lost(quic: &QuicUse, is_loopback: bool) -> Option<Self> {
        let QuicUse { drops, packets_lost, sends_refused, .. } = *quic;
        let of = |count, of| format!("{} of {}", thousands(count), thousands(of));
        let (seen, likely_cause, remedy) = if drops > 0 {
            (
                format!(
                    "the kernel dropped {} datagrams that came",
                    of(drops, quic.datagrams_received + drops)
                ),
                "the client's sockets were full",
                "net.core.rmem_default and rmem_max",
            )
        } else if sends_refused > 0 {
            (
                format!(
                    "the kernel refused {} sends of datagrams",
                    of(sends_refused, quic.sends + sends_refused)
                ),
                "no room for what the client sends",
                "net.core.wmem_default and wmem_max",
            )
        } else if is_loopback && quic.lost() >= LOST {
            (
                format!(
                    "the client took {} packets that it had sent for lost, although loopback loses none",
                    of(packets_lost, quic.datagrams_sent)
                ),
                "the server's socket was full (drops in /proc/net/udp), or acknowledged late",
                "net.core.rmem_default and rmem_max, or the server's own setting of its buffers",
            )
        } else {
            return None;
        };
        Some(Self {
            kind: WarningKind::DatagramsLost,
            seen,
            likely_cause: likely_cause.into(),
            remedy: format!(
                "what is lost is sent again, which costs the server CPU time; raise {remedy}, or load less at \
                 once (--streams, --connections)"
            ),
        })
    }

    /// Of handshakes that did not all negotiate the same. What was asked for is a mismatch where it
    /// differs; this is what was left open.
    pub(crate) fn mixed(obtained: &Obtained) -> Option<Self> {
        let of = [
            &obtained.tls,
            &obtained.suite,
            &obtained.group,
            &obtained.signature_scheme,
            &obtained.certificate_key,
        ];
        let names = of.into_iter().find(|names| names.len() > 1)?;
        let names: Vec<String> =
            names.iter().map(|(name, count)| format!("{name} in {}", thousands(*count))).collect();
        Some(Self {
            kind: WarningKind::Mixed,
            seen: format!("handshakes differed: {}", names.join(", ")),
            likely_cause:
                "the server's configuration changed, or several servers share the address".into(),
            remedy: "the figures are of a mixture; choose one (--tls, --suite, --group)".into(),
        })
    }

    /// Noise and idle CPUs could not be seen in this trial.
    pub(crate) fn cores_unknown(error: &ObserveError) -> Self {
        Self {
            kind: WarningKind::CoresUnknown,
            seen: format!("CPU by core could not be read: {error}"),
            likely_cause: "/proc/stat is hidden from this process or has an unknown form".into(),
            remedy: "check by other means that nothing else runs on these CPUs".into(),
        }
    }

    /// The server's objects are on a disk, with a note from the code that wrote them.
    pub(crate) fn objects_on_disk(note: &str) -> Self {
        Self {
            kind: WarningKind::ObjectsOnDisk,
            seen: note.to_owned(),
            likely_cause: "/dev/shm is missing, or the memory is full".into(),
            remedy: "free some memory in /dev/shm, and measure again".into(),
        }
    }

    /// Of files on a disk of which the server read much less than it sent.
    pub(crate) fn objects_in_cache(read: Option<u64>, sent: u64) -> Option<Self> {
        let read = match read {
            Some(read) if read as f64 >= READ_FROM_DISK * sent as f64 => return None,
            Some(read) => format!("{} of what it sent", percent(read as f64 / sent as f64)),
            None => "an unknown part of what it sent".to_owned(),
        };
        Some(Self {
            kind: WarningKind::ObjectsInCache,
            seen: format!(
                "the server had only {read} read from the disk; the rest came from memory"
            ),
            likely_cause: "there are so few files that the load asked for the same ones again"
                .into(),
            remedy: "use more files (target.files), or measure for less time (load.duration)"
                .into(),
        })
    }

    /// The figures of a closed loop leave out some of its users' time. A load that `ends_by_itself` has no
    /// warm-up, and its beginning and end are part of it.
    pub(crate) fn littles_law(
        law: &LittlesLaw,
        nouns: Nouns,
        ends_by_itself: bool,
    ) -> Option<Self> {
        let noun = nouns.operation;
        let (likely_cause, remedy) = match law.cause? {
            Cause::Failures => (
                format!("{noun}s failed (failures): their time is in no figure"),
                "find the cause of the errors before you use rate and latencies",
            ),
            Cause::Client => (
                format!("the client began {noun}s late (client): its CPU is too busy"),
                "give the client more or idle CPUs (--cpus), or lower --connections",
            ),
            Cause::Ramp => (
                format!(
                    "the load was not steady in the window (ramp): users joined late, or {noun}s \
                     did not end, or had begun long before"
                ),
                match ends_by_itself {
                    true => {
                        "give it more to do (-n, --walks), so that its beginning and end weigh less"
                    }
                    false => "warm up longer (--warmup) and measure longer (--duration)",
                },
            ),
        };
        Some(Self {
            kind: WarningKind::LittlesLaw,
            seen: format!(
                "rate x (response + think) accounts for {:.1} of {} users ({:+.1}%)",
                law.users_by_law,
                thousands(law.users),
                law.deviation * 100.0
            ),
            likely_cause,
            remedy: remedy.into(),
        })
    }

    /// The server asked for a certificate, and the client had none.
    pub(crate) fn client_certificate(obtained: &Obtained) -> Option<Self> {
        let requests = obtained.certificate_requests?;
        if obtained.client_certificates.is_some() {
            return None;
        }
        Some(Self {
            kind: WarningKind::ClientCertificate,
            seen: format!(
                "the server asked for a client certificate in {} handshakes and got none",
                thousands(requests)
            ),
            likely_cause: "its configuration verifies clients (nginx: ssl_verify_client)".into(),
            remedy:
                "what it costs the server to verify one is not in these figures; give \
                     --client-certificate FILE --client-key FILE, or turn it off for the measurement"
                    .into(),
        })
    }

    /// Certificates of `--ca` that have expired, by their subjects.
    pub(crate) fn expired_authority(expired: &[String]) -> Option<Self> {
        let first = expired.first()?;
        let others = match expired.len() {
            1 => String::new(),
            count => format!(" and {} others", thousands(count as u64 - 1)),
        };
        Some(Self {
            kind: WarningKind::ExpiredAuthority,
            seen: format!("a certificate of --ca has expired: {first}{others}"),
            likely_cause: "the file is old; toll trusts what is named, and other clients refuse it"
                .to_owned(),
            remedy: "give the current authority with --ca".to_owned(),
        })
    }

    /// Full handshakes took a round trip and a ClientHello more than they need.
    pub(crate) fn hello_retry_requests(obtained: &Obtained) -> Option<Self> {
        let retried = obtained.hello_retry_requests?;
        let full = obtained.full.unwrap_or_default();
        if retried as f64 <= full as f64 * RETRIED {
            return None;
        }
        let groups: Vec<&str> = obtained.group.keys().map(String::as_str).collect();
        Some(Self {
            kind: WarningKind::HelloRetryRequests,
            seen: format!(
                "{} handshakes needed a second ClientHello (HelloRetryRequest), {} were full",
                thousands(retried),
                thousands(full)
            ),
            likely_cause:
                "the server does not take the group of the client's key share, or asks for a \
                           cookie"
                    .into(),
            remedy: format!(
                "each took a round trip more, which resumed handshakes do not; give --group {} to \
                 measure full ones without it",
                groups.join(" or ")
            ),
        })
    }

    /// That the code that was counted may not be what runs on this processor.
    pub(crate) fn other_code(counted: &CountedInstructions) -> Option<Self> {
        let lacking = counted.lacking.as_deref().filter(|lacking| !lacking.is_empty())?;
        Some(Self {
            kind: WarningKind::OtherCode,
            seen: format!("the processor of valgrind lacks {} of this one", lacking.join(", ")),
            likely_cause: "valgrind knows no such instructions, so that a library which has code for them \
                           ran other code"
                .to_owned(),
            remedy: "compare the count with counts of the same source; what the library runs here by itself \
                     is not known"
                .to_owned(),
        })
    }

    /// Sessions that the server did not take cost it full handshakes.
    pub(crate) fn sessions_refused(obtained: &Obtained) -> Option<Self> {
        let refused = RefusedSessions::of(obtained.sessions_offered?, obtained.resumed?)?;
        (refused.share() > SESSIONS_REFUSED).then(|| Self {
            kind: WarningKind::SessionsRefused,
            seen: format!("the server {refused}"),
            likely_cause: "several servers or workers with ticket keys of their own at this address, keys that \
                           changed with a reload, tickets that are good for one use, or a session cache that is \
                           too small"
                .into(),
            remedy: "give them the same keys (nginx: ssl_session_ticket_key; HAProxy: tls-ticket-keys), or measure \
                     one server: what was refused cost it full handshakes"
                .into(),
        })
    }

    /// Another program made the load.
    pub(crate) fn peer_client(peer: &PeerClient) -> Self {
        Self {
            kind: WarningKind::PeerClient,
            seen: format!("counts are {}'s own; toll verified nothing", peer.name),
            likely_cause: "another program makes the load, as requested".into(),
            remedy: peer.caution.clone(),
        }
    }

    /// Of a server that its warm-up did not make steady, with the share of its CPU time that its
    /// just-in-time compilers took in this trial.
    pub(crate) fn not_steady(server: NotSteady, compilers: Option<f64>) -> Self {
        let NotSteady { after, spread } = server;
        let seen = match spread {
            Some(spread) => format!(
                "the server was not steady: after {after} of warm-up its speed still varied by {}",
                percent(spread)
            ),
            None => format!("the server was not steady: it did next to nothing in {after}"),
        };
        let (compiling, likely_cause) = match compilers {
            Some(share) => (
                format!("; in this trial its compilers took {} of its CPU time", percent(share)),
                "its just-in-time compiler still works",
            ),
            None => (
                String::new(),
                "its just-in-time compiler still works, or other programs disturb it",
            ),
        };
        Self {
            kind: WarningKind::NotSteady,
            seen: seen + &compiling,
            likely_cause: likely_cause.into(),
            remedy:
                "do not compare this trial's costs; measure again on a quiet machine, or warm up \
                     longer (target.warmup = \"60s\")"
                    .into(),
        }
    }

    /// Of connections in the server's network namespace that the kernel encrypted and the server did
    /// not make.
    pub(crate) fn foreign_kernel_tls(connections: u64) -> Self {
        Self {
            kind: WarningKind::ForeignKernelTls,
            seen: format!(
                "the kernel's TLS took over {} connections that are not this trial's",
                thousands(connections)
            ),
            likely_cause: "another program used kTLS".into(),
            remedy: "stop it: its work disturbs the measurement".into(),
        }
    }

    /// The server's backend runs on the CPUs of server or client.
    pub(crate) fn shared_backend(verdict: &Verdict) -> Self {
        let used =
            verdict.evidence.backend_busy.map_or_else(|| "an unknown share".to_owned(), percent);
        Self {
            kind: WarningKind::SharedBackend,
            seen: format!(
                "the server's backend runs on CPUs of client or server, and used {used} of them"
            ),
            likely_cause: "there are no other CPUs".into(),
            remedy: "compare costs per CPU-second, not rates; give the backend a CPU of its own"
                .into(),
        }
    }

    /// Of server and client CPUs that slow each other down.
    pub fn neighbours(neighbours: Neighbours) -> Option<Self> {
        match neighbours {
            Neighbours::Apart => None,
            Neighbours::Shared => Some(Self {
                kind: WarningKind::SharedCpus,
                seen: "server and client may run on the same CPU".into(),
                likely_cause: "there is only one CPU, or their lists of CPUs overlap".into(),
                remedy: "compare costs in CPU time, not rates; give each its own CPUs".into(),
            }),
            Neighbours::Siblings => Some(Self {
                kind: WarningKind::SiblingCpus,
                seen: "work on the client's CPU slows the server's CPU".into(),
                likely_cause: "they are hyperthreads of one core".into(),
                remedy: "give the client CPUs of another core, if there is one".into(),
            }),
        }
    }

    fn steal(verdict: &Verdict) -> Option<Self> {
        let share = verdict.evidence.steal.filter(|_| verdict.evidence.has_steal())?.share;
        Some(Self {
            kind: WarningKind::Steal,
            seen: format!("the hypervisor took {} of a CPU", percent(share)),
            likely_cause: "other virtual machines on the host are busy".into(),
            remedy: "measure again later, or on a dedicated host".into(),
        })
    }

    fn foreign_work(verdict: &Verdict, programs: &[BusyProgram]) -> Option<Self> {
        let share = verdict.evidence.foreign.filter(|_| verdict.evidence.has_foreign_work())?.share;
        let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        let busiest = match names.is_empty() {
            true => String::new(),
            false => format!("; busiest: {}", names.join(", ")),
        };
        Some(Self {
            kind: WarningKind::ForeignWork,
            seen: format!("other programs used {} of these CPUs{busiest}", percent(share)),
            likely_cause: "other programs run on the CPUs of server or client".into(),
            remedy: "stop them, or measure on other CPUs".into(),
        })
    }

    fn busy_sibling(verdict: &Verdict) -> Option<Self> {
        let share =
            verdict.evidence.sibling_busy.filter(|_| verdict.evidence.has_busy_sibling())?.share;
        Some(Self {
            kind: WarningKind::BusySibling,
            seen: format!("a hyperthread on the server's core was {} busy", percent(share)),
            likely_cause: "another program runs on a CPU that shares its core with the server"
                .into(),
            remedy: "stop that program or move it to other CPUs (taskset -cp LIST PID): it slows \
                     the server"
                .into(),
        })
    }

    fn few_workers(verdict: &Verdict) -> Option<Self> {
        let e = &verdict.evidence;
        let busiest = e.server_busiest_thread.filter(|_| e.has_few_workers())?;
        Some(Self {
            kind: WarningKind::FewWorkers,
            seen: format!(
                "the server's busiest thread used {} of a CPU, the server {} of all its CPUs",
                percent(busiest),
                percent(e.server_busy.unwrap_or_default())
            ),
            likely_cause: "the server has fewer workers than CPUs".into(),
            remedy: "give the server one worker per CPU, or fewer CPUs".into(),
        })
    }

    fn frequency(core: CoreHz) -> Option<Self> {
        let (before, after) = (core.before? as f64, core.after? as f64);
        ((after / before - 1.0).abs() > FREQUENCY_MOVED).then(|| Self {
            kind: WarningKind::FrequencyMoved,
            seen: format!("the core ran at {} before and {} after", Hertz(before), Hertz(after)),
            likely_cause: "turbo, heat, or other load on the same processor".into(),
            remedy: "use only medians over several trials, or set a fixed frequency".into(),
        })
    }

    fn few_errors(verdict: &Verdict, nouns: Nouns) -> Option<Self> {
        let noun = nouns.operation;
        let share = verdict.evidence.failed_share.filter(|share| *share > 0.0)?;
        (share < ERRORS).then(|| Self {
            kind: WarningKind::FewErrors,
            seen: format!("{} {noun}s failed", thousands(verdict.evidence.failed)),
            likely_cause: "see the first error of each kind".into(),
            remedy: format!(
                "find the cause before you use the latencies: they leave out failed {noun}s"
            ),
        })
    }

    fn late_client(verdict: &Verdict, nouns: Nouns) -> Option<Self> {
        let evidence = &verdict.evidence;
        if let Some(quota) = evidence.quota_in_latencies() {
            return Some(Self::stopped_client(quota));
        }
        let late = evidence.client_late_ns.filter(|late| *late >= LATE_LEAST)?;
        let share = evidence.client_late.filter(|share| *share >= LATE)?;
        Some(Self {
            kind: WarningKind::LateClient,
            seen: format!(
                "the client began {}s and did its other work {} late on average, {} of the mean \
                 response time",
                nouns.operation,
                Nanos(late),
                percent(share)
            ),
            likely_cause: "its CPU is too busy, with the load or with other programs".into(),
            remedy: "do not read the latencies as the server's; give the client more or idle CPUs \
                     (--cpus), or lower --connections"
                .into(),
        })
    }

    /// What the client did late, it did late because of its quota.
    fn stopped_client(quota: QuotaEvidence) -> Self {
        Self {
            kind: WarningKind::LateClient,
            seen: format!(
                "the client's control group was stopped {} of the time, which is in the latencies",
                percent(quota.throttled)
            ),
            likely_cause: format!("its CPU quota of {:.2} CPUs was used up", quota.cpus),
            remedy: "do not read the latencies as the server's; give toll's control group more CPU time \
                     (cpu.max, cpu.cfs_quota_us), or run it outside of that group"
                .into(),
        }
    }

    fn few_operations(operations: &Operations, connections: usize, nouns: Nouns) -> Option<Self> {
        let Nouns { operation, connection } = nouns;
        let completed = operations.completed;
        // Connections that ask at a pace are not all to ask within the window.
        let is_paced = operations.arrivals.is_some_and(|arrivals| arrivals.deadlines.is_some());
        (!is_paced && 0 < completed && completed < connections as u64).then(|| Self {
            kind: WarningKind::FewOperations,
            seen: format!("{completed} {operation}s completed with {connections} {connection}s"),
            likely_cause: format!(
                "one {operation} takes longer than the window, or -n asks for few"
            ),
            remedy: format!(
                "measure longer (--duration) or more (-n); the latencies cover only the fastest \
                 {operation}s"
            ),
        })
    }
}
