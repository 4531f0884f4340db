//! What a reader should know before believing a trial's figures: a table of conditions, with what was seen, the likely
//! cause and what to do next.

#[cfg(test)]
mod tests;

use load::PeerClient;
use observe::{ObserveError, TreeCpuSource};
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Hertz, Nanos, percent, thousands};

use crate::busy_program::BusyProgram;
use crate::counted::CountedInstructions;
use crate::facts::Obtained;
use crate::limit::ERRORS;
use crate::littles_law::{Cause, LittlesLaw};
use crate::neighbours::{Neighbours, NotSteady};
use crate::nouns::Nouns;
use crate::obtained::Pacing;
use crate::operations::Operations;
use crate::quic_use::QuicUse;
use crate::reading::{CoreHz, ProcessesChanged};
use crate::refused_sessions::RefusedSessions;
use crate::stood_still::StoodStill;
use crate::tolerances::{
    DELAYED_ACKNOWLEDGEMENT, FREQUENCY_MOVED, LATE, LATE_LEAST, LEAST_HELD_BACK, LOST, NOT_TAKEN,
    READ_FROM_DISK, RETRIED, SESSIONS_REFUSED, STILL_OPENING,
};
use crate::verdict::Verdict;
use crate::workers::Workers;

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

/// A row is a kind, what decides it, and its three parts; there is no warning where a value is missing or the condition
/// does not hold.
macro_rules! warnings {
    ($($(#[$about:meta])* $kind:ident: $vis:vis fn $name:ident($($arg:ident: $of:ty),*) {
        $(let $local:pat = $value:expr;)*
        $(if $condition:expr;)?
        seen: $seen:literal $(, $seen_of:expr)*;
        likely: $likely:literal $(, $likely_of:expr)*;
        remedy: $remedy:literal $(, $remedy_of:expr)*;
    })*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        pub enum WarningKind {
            $($(#[$about])* $kind,)*
        }

        impl Warning {
            $($(#[$about])* $vis fn $name($($arg: $of),*) -> Option<Self> {
                $(let $local = $value;)*
                warnings!(@ $($condition)?).then(|| Self {
                    kind: WarningKind::$kind,
                    seen: std::fmt::format(format_args!($seen $(, $seen_of)*)),
                    likely_cause: std::fmt::format(format_args!($likely $(, $likely_of)*)),
                    remedy: std::fmt::format(format_args!($remedy $(, $remedy_of)*)),
                })
            })*
        }
    };
    (@) => { true };
    (@ $condition:expr) => { ($condition) };
}

warnings! {
    /// Server and client may run on the same CPU.
    SharedCpus: pub(crate) fn shared_cpus(neighbours: Neighbours) {
        if neighbours == Neighbours::Shared;
        seen: "server and client may run on the same CPU";
        likely: "there is only one CPU, or their lists of CPUs overlap";
        remedy: "compare costs in CPU time, not rates; give each its own CPUs";
    }
    /// Server and client run on hyperthreads of one core.
    SiblingCpus: pub(crate) fn sibling_cpus(neighbours: Neighbours) {
        if neighbours == Neighbours::Siblings;
        seen: "work on the client's CPU slows the server's CPU";
        likely: "they are hyperthreads of one core"; remedy: "give the client CPUs of another core, if there is one";
    }
    /// The hypervisor took CPU time.
    Steal: pub(crate) fn steal(verdict: &Verdict) {
        let share = verdict.evidence.steal.filter(|_| verdict.evidence.has_steal())?.share;
        seen: "the hypervisor took {} of a CPU", percent(share);
        likely: "other virtual machines on the host are busy"; remedy: "measure again later, or on a dedicated host";
    }
    /// Other programs used the CPUs.
    ForeignWork: pub(crate) fn foreign_work(verdict: &Verdict, programs: &[BusyProgram]) {
        let share = verdict.evidence.foreign.filter(|_| verdict.evidence.has_foreign_work())?.share;
        let names = programs.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ");
        let busiest = if names.is_empty() { names } else { format!("; busiest: {names}") };
        seen: "other programs used {} of these CPUs{busiest}", percent(share);
        likely: "other programs run on the CPUs of server or client"; remedy: "stop them, or measure on other CPUs";
    }
    /// The core's frequency changed during the trial.
    FrequencyMoved: pub(crate) fn frequency(core: CoreHz) {
        let (before, after) = (core.before? as f64, core.after? as f64);
        if (after / before - 1.0).abs() > FREQUENCY_MOVED;
        seen: "the core ran at {} before and {} after", Hertz(before), Hertz(after);
        likely: "turbo, heat, or other load on the same processor";
        remedy: "use only medians over several trials, or set a fixed frequency";
    }
    /// Some operations failed, too few to be the limit.
    FewErrors: pub(crate) fn few_errors(verdict: &Verdict, nouns: Nouns) {
        let (noun, share) = (nouns.operation, verdict.evidence.failed_share?);
        if share > 0.0 && share < ERRORS;
        seen: "{} {noun}s failed", thousands(verdict.evidence.failed);
        likely: "see the first error of each kind";
        remedy: "find the cause before you use the latencies: they leave out failed {noun}s";
    }
    /// The client did late what was due, so its wait is in the latencies. Where its quota stopped it, that is why.
    LateClient: pub(crate) fn late_client(verdict: &Verdict, nouns: Nouns) {
        let e = &verdict.evidence;
        let (seen, likely, remedy) = match e.quota_in_latencies() {
            Some(quota) => (
                format!("the client's control group was stopped {} of the time, which is in the latencies",
                    percent(quota.throttled)),
                format!("its CPU quota of {:.2} CPUs was used up", quota.cpus),
                "give toll's control group more CPU time (cpu.max, cpu.cfs_quota_us), or run it outside of that group",
            ),
            None => {
                let late = e.client_late_ns.filter(|late| *late >= LATE_LEAST)?;
                let share = e.client_late.filter(|share| *share >= LATE)?;
                (
                    format!("the client began {}s and did its other work {} late on average, {} of the mean response \
                             time", nouns.operation, Nanos(late), percent(share)),
                    "its CPU is too busy, with the load or with other programs".to_owned(),
                    "give the client more or idle CPUs (--cpus), or lower --connections",
                )
            }
        };
        seen: "{seen}";
        likely: "{likely}"; remedy: "do not read the latencies as the server's; {remedy}";
    }
    /// Less completed than there are connections. Connections that ask at a pace are not all to ask within the window.
    FewOperations: pub(crate) fn few_operations(operations: &Operations, connections: usize, nouns: Nouns) {
        let (Nouns { operation, connection }, completed) = (nouns, operations.completed);
        let is_paced = operations.arrivals.is_some_and(|arrivals| arrivals.deadlines.is_some());
        if !is_paced && 0 < completed && completed < connections as u64;
        seen: "{completed} {operation}s completed with {connections} {connection}s";
        likely: "one {operation} takes longer than the window, or -n asks for few";
        remedy: "measure longer (--duration) or more (-n); the latencies cover only the fastest {operation}s";
    }
    /// A load was to end after a number of operations, and its time was over before as many had ended.
    CountNotReached: pub(crate) fn count_not_reached(ended: u64, count: u64, nouns: Nouns) {
        if ended < count;
        seen: "{} of {} {}s had ended when the load's time was over", thousands(ended), thousands(count), nouns.operation;
        likely: "--duration ends a load of a number, too";
        remedy: "give it more time (--duration); all figures are of those that ended";
    }
    /// A load on kept connections opened more than one per two operations within the window.
    ConnectionsNotKept: pub fn connections_not_kept(opened: u64, completed: u64) {
        if completed > 0 && 2 * opened > completed;
        seen: "{} connections were opened for {} requests, although connections should be kept",
            thousands(opened), thousands(completed);
        likely: "the server closes connections after a response, or the window is short";
        remedy: "let the server keep connections, or measure --operation one-request-per-connection";
    }
    /// The server got or lost processes within the window.
    ProcessesChanged: pub(crate) fn processes_changed(change: ProcessesChanged, window: Nanos) {
        let ProcessesChanged { before, after, began, used } = change;
        let began = began.map(|ago| Nanos(window.0.saturating_sub(ago.0)));
        let began = began.map_or_else(|| "none of them new".to_owned(), |at| format!("the first new one began at {at}"));
        let counted = match used {
            Some((_, TreeCpuSource::ControlGroup)) => "that of its control group, which has them all".to_owned(),
            Some((used, TreeCpuSource::Clocks)) => format!("that of all of them, to {}", used.doubt),
            None => "not known, for some ended that no parent waited for, and the server has no control group of its \
                     own".to_owned(),
        };
        seen: "the server's processes changed during the window ({before} at its start, {after} at its end, {began}); \
               its CPU time is {counted}";
        likely: "it was reloaded, or it starts and stops processes with the load";
        remedy: "do not reload it while it is measured; set a fixed number of processes, or warm up longer (--warmup); \
                 in a control group of its own (systemd-run) the CPU time of all is known";
    }
    /// What each CPU did is not known: noise and idle CPUs could not be seen.
    CoresUnknown: pub(crate) fn cores_unknown(error: &ObserveError) {
        seen: "CPU by core could not be read: {error}";
        likely: "/proc/stat is hidden from this process or has an unknown form";
        remedy: "check by other means that nothing else runs on these CPUs";
    }
    /// The served objects lie on a disk, with a note from the code that wrote them.
    ObjectsOnDisk: pub(crate) fn objects_on_disk(note: &str) {
        seen: "{note}";
        likely: "/dev/shm is missing, or the memory is full"; remedy: "free some memory in /dev/shm, and measure again";
    }
    /// The server's backend runs on the CPUs of server or client.
    SharedBackend: pub(crate) fn shared_backend(verdict: &Verdict) {
        let used = verdict.evidence.backend_busy.map_or_else(|| "an unknown share".to_owned(), percent);
        seen: "the server's backend runs on CPUs of client or server, and used {used} of them";
        likely: "there are no other CPUs";
        remedy: "compare costs per CPU-second, not rates; give the backend a CPU of its own";
    }
    /// A hyperthread beside the server's was busy with neither the server nor the client.
    BusySibling: pub(crate) fn busy_sibling(verdict: &Verdict) {
        let share = verdict.evidence.sibling_busy.filter(|_| verdict.evidence.has_busy_sibling())?.share;
        seen: "a hyperthread on the server's core was {} busy", percent(share);
        likely: "another program runs on a CPU that shares its core with the server";
        remedy: "stop that program or move it to other CPUs (taskset -cp LIST PID): it slows the server";
    }
    /// Of kept connections, each opened once, more than one in a hundred was opened within the window: their handshakes
    /// are part of what the server did.
    StillOpening: pub fn still_opening(opened: u64, connections: usize) {
        if opened as f64 > STILL_OPENING * connections as f64;
        seen: "{} of {} connections were opened within the window, so their handshakes are part of the figures",
            thousands(opened), thousands(connections as u64);
        likely: "the warm-up is too short to open them all"; remedy: "warm up longer (--warmup)";
    }
    /// Handshakes negotiated more than one of what was left open. What was asked for is a mismatch where it differs.
    Mixed: pub(crate) fn mixed(obtained: &Obtained) {
        let Obtained { tls, suite, group, signature_scheme, certificate_key, .. } = obtained;
        let all = [tls, suite, group, signature_scheme, certificate_key];
        let names = all.into_iter().find(|names| names.len() > 1)?;
        let names = names.iter().map(|(name, count)| format!("{name} in {}", thousands(*count))).collect::<Vec<_>>();
        seen: "handshakes differed: {}", names.join(", ");
        likely: "the server's configuration changed, or several servers share the address";
        remedy: "the figures are of a mixture; choose one (--tls, --suite, --group)";
    }
    /// The server has fewer busy threads than CPUs.
    FewWorkers: pub(crate) fn few_workers(verdict: &Verdict) {
        let e = &verdict.evidence;
        let busiest = e.server_busiest_thread.filter(|_| e.has_few_workers())?;
        seen: "the server's busiest thread used {} of a CPU, the server {} of all its CPUs",
            percent(busiest), percent(e.server_busy.unwrap_or_default());
        likely: "the server has fewer workers than CPUs"; remedy: "give the server one worker per CPU, or fewer CPUs";
    }
    /// One of the server's workers did much more than the others, so it is full before they are.
    UnevenWorkers: pub(crate) fn uneven_workers(workers: Workers) {
        let Workers { count, busiest, mean } = workers;
        if workers.are_uneven();
        seen: "the busiest of the server's {count} workers used {} of a CPU, {:.2} times their mean of {}",
            percent(busiest), busiest / mean, percent(mean);
        likely: "connections are spread unevenly among its threads or processes";
        remedy: "raise --connections, or let the server spread connections (nginx: listen ... reuseport): its rate is \
                 that of its busiest worker";
    }
    /// Users, rate and times of a closed loop contradict Little's law: its figures leave out some of its users' time. A
    /// load that `ends_by_itself` has no warm-up, and its beginning and end are part of it.
    LittlesLaw: pub(crate) fn littles_law(law: &LittlesLaw, nouns: Nouns, ends_by_itself: bool) {
        let noun = nouns.operation;
        let (likely, remedy) = match law.cause? {
            Cause::Failures => (
                format!("{noun}s failed (failures): their time is in no figure"),
                "find the cause of the errors before you use rate and latencies",
            ),
            Cause::Client => (
                format!("the client began {noun}s late (client): its CPU is too busy"),
                "give the client more or idle CPUs (--cpus), or lower --connections",
            ),
            Cause::Ramp => (
                format!("the load was not steady in the window (ramp): users joined late, or {noun}s did not end, or had \
                         begun long before"),
                match ends_by_itself {
                    true => "give it more to do (-n, --walks), so that its beginning and end weigh less",
                    false => "warm up longer (--warmup) and measure longer (--duration)",
                },
            ),
        };
        seen: "rate x (response + think) accounts for {:.1} of {} users ({:+.1}%)",
            law.users_by_law, thousands(law.users), law.deviation * 100.0;
        likely: "{likely}"; remedy: "{remedy}";
    }
    /// Another program made the load, and its counts are not verified.
    PeerClient: pub(crate) fn peer_client(peer: &PeerClient) {
        seen: "counts are {}'s own; toll verified nothing", peer.name;
        likely: "another program makes the load, as requested"; remedy: "{}", peer.caution;
    }
    /// The server's speed still changed when its warm-up was over, with the share of its CPU time that its just-in-time
    /// compilers took in this trial.
    NotSteady: pub(crate) fn not_steady(server: NotSteady, compilers: Option<f64>) {
        let NotSteady { after, spread } = server;
        let seen = match spread {
            Some(spread) => format!("after {after} of warm-up its speed still varied by {}", percent(spread)),
            None => format!("it did next to nothing in {after}"),
        };
        let (compiling, others) = match compilers {
            Some(share) => (format!("; in this trial its compilers took {} of its CPU time", percent(share)), ""),
            None => (String::new(), ", or other programs disturb it"),
        };
        seen: "the server was not steady: {seen}{compiling}";
        likely: "its just-in-time compiler still works{others}";
        remedy: "do not compare this trial's costs; measure again on a quiet machine, or warm up longer (target.warmup = \
                 \"60s\")";
    }
    /// Connections in the server's network namespace that the kernel encrypted and the server did not make.
    ForeignKernelTls: pub(crate) fn foreign_kernel_tls(connections: u64) {
        seen: "the kernel's TLS took over {} connections that are not this trial's", thousands(connections);
        likely: "another program used kTLS"; remedy: "stop it: its work disturbs the measurement";
    }
    /// Objects on a disk were read from memory: the server read much less than it sent.
    ObjectsInCache: pub(crate) fn objects_in_cache(read: Option<u64>, sent: u64) {
        let part = read.map(|read| read as f64 / sent as f64);
        if read.is_none_or(|read| (read as f64) < READ_FROM_DISK * sent as f64);
        seen: "the server had only {} of what it sent read from the disk; the rest came from memory",
            part.map_or_else(|| "an unknown part".to_owned(), percent);
        likely: "there are so few files that the load asked for the same ones again";
        remedy: "use more files (target.files), or measure for less time (load.duration)";
    }
    /// The server asked for a certificate of the client, which had none.
    ClientCertificate: pub(crate) fn client_certificate(obtained: &Obtained) {
        let requests = obtained.certificate_requests?;
        if obtained.client_certificates.is_none();
        seen: "the server asked for a client certificate in {} handshakes and got none", thousands(requests);
        likely: "its configuration verifies clients (nginx: ssl_verify_client)";
        remedy: "what it costs the server to verify one is not in these figures; give --client-certificate FILE \
                 --client-key FILE, or turn it off for the measurement";
    }
    /// A certificate that the load was told to trust has expired; these are the subjects of all.
    ExpiredAuthority: pub(crate) fn expired_authority(expired: &[String]) {
        let first = expired.first()?;
        let others = match expired.len() {
            1 => String::new(),
            count => format!(" and {} others", thousands(count as u64 - 1)),
        };
        seen: "a certificate of --ca has expired: {first}{others}";
        likely: "the file is old; toll trusts what is named, and other clients refuse it";
        remedy: "give the current authority with --ca";
    }
    /// Full handshakes took a round trip and a ClientHello more than they need.
    HelloRetryRequests: pub(crate) fn hello_retry_requests(obtained: &Obtained) {
        let retried = obtained.hello_retry_requests?;
        let full = obtained.full.unwrap_or_default();
        let groups = obtained.group.keys().map(String::as_str).collect::<Vec<_>>();
        if retried as f64 > full as f64 * RETRIED;
        seen: "{} handshakes needed a second ClientHello (HelloRetryRequest), {} were full",
            thousands(retried), thousands(full);
        likely: "the server does not take the group of the client's key share, or asks for a cookie";
        remedy: "each took a round trip more, which resumed handshakes do not; give --group {} to measure full ones \
                 without it", groups.join(" or ");
    }
    /// The server's CPU time is not known because it is little for what it may be wrong by.
    CoarseClock: pub(crate) fn coarse_clock(doubt: Nanos, used: Nanos) {
        seen: "the server's CPU time can only be read to {doubt}, which is more than 3% of the {used} that were read, so \
               its CPU time is not known";
        likely: "the server's processes are another user's, whose exact clocks cannot be read, or some of them ended, \
                 whose time the kernel keeps by ticks";
        remedy: "measure longer (--duration, -n), or start the server in a control group of its own (systemd-run)";
    }
    /// What a server sent over loopback waited in a queue, or for a timer of its congestion control. Only servers that
    /// send much for each operation are warned about; where toll has started the server, the remedy is in its own keys.
    Paced: pub(crate) fn paced(obtained: &Obtained, bytes_per_operation: u64, is_started: bool) {
        let Pacing { connections, least_bps, queue } = obtained.pacing.as_ref()?;
        let controls = obtained.server_congestion.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let rate = least_bps.map_or_else(String::new, |bps| format!(", at {} at least", BitsPerSecond(bps)));
        let (seen, remedy) = match queue {
            Some(kind) if *connections == 0 => {
                let waited = format!("what the server sent over loopback waited in the queue {kind}");
                (waited, "remove it: tc qdisc del dev lo root")
            }
            _ => (
                format!("the server sent over loopback by timers ({controls}; {} connections{rate})",
                    thousands(*connections)),
                match is_started {
                    true => "leave target.congestion out, or write cubic or reno; without root, let \
                             net.ipv4.tcp_allowed_congestion_control have one of them",
                    false => "give its network namespace another net.ipv4.tcp_congestion_control, which toll check \
                              names; new connections have it at once",
                },
            ),
        };
        if bytes_per_operation >= LEAST_HELD_BACK;
        seen: "{seen}";
        likely: "BBR, the queue fq or a rate limit of the program: each holds packets back, for which there is no \
                 reason on loopback";
        remedy: "its CPU time is not that of sending; {remedy}";
    }
    /// Of these uses of private keys the server found that eight in a batch cost more than eight one by one: OpenSSL did
    /// them.
    BatchesNeverPay: pub(crate) fn batches_never_pay(obtained: &Obtained) {
        let batches = obtained.accelerator.as_ref()?.counts.batches?;
        let never = batches.uses.used().filter(|(_, counts)| counts.never_pays());
        let names = never.map(|(of, _)| of.to_string()).collect::<Vec<_>>();
        if !names.is_empty();
        seen: "OpenSSL did all operations of {}, because no batch of them costs less here", names.join(", ");
        likely: "to pause the handshake costs this server more than a batch saves, as with short operations in HAProxy; \
                 or the CPU gains little from eight at once, or was busy when the server measured that at its start";
        remedy: "compare both with toll bench --library crypto-mb, and start the server again";
    }
    /// Responses waited for the client's delayed acknowledgement: their end comes as long after their first byte
    /// (medians of both, in ns) as the client's kernel waits before it acknowledges data alone, and the server's kernel
    /// holds back until then what follows a small segment (RFC 1122, section 4.2.3.4).
    DelayedAcknowledgements: pub(crate) fn delayed_acknowledgements(first_byte: Option<u64>, whole: Option<u64>) {
        let rest = whole?.saturating_sub(first_byte?);
        if DELAYED_ACKNOWLEDGEMENT.contains(&rest);
        seen: "half of the responses took {} after their first byte", Nanos(rest);
        likely: "delayed acknowledgement: the server sends head and body apart with Nagle's algorithm on";
        remedy: "let it send both at once, or set TCP_NODELAY there: what waits is neither the server's CPU nor the \
                 client's";
    }
    /// The server closed kept connections when their next requests were on their way.
    KeptConnectionsClosed: pub(crate) fn kept_connections_closed(sent_again: u64, connections: usize) {
        if sent_again > 0;
        seen: "the server closed {} kept connections when their next requests were on their way; these were sent again \
               on new ones", thousands(sent_again);
        likely: "it does not keep {} connections (Apache httpd: MaxRequestWorkers and its spare threads), or only for a \
                 time or a number of requests (keep-alive timeout)", thousands(connections as u64);
        remedy: "raise these limits, or lower --connections: the new handshakes are part of the figures";
    }
    /// Operations had stood still when the window ended, so that no latency is theirs.
    StoodStill: pub(crate) fn stood_still(still: StoodStill, slowest: Option<u64>, nouns: Nouns) {
        let (StoodStill { operations, at_least_ns }, noun) = (still, nouns.operation);
        seen: "{} {noun}s had taken more than {} when the window ended, and the slowest that ended took {}",
            thousands(operations), Nanos(at_least_ns), Nanos(slowest.unwrap_or_default());
        likely: "the server does not go on with them: responses that stop half-way, or that it never begins";
        remedy: "find out what they wait for: the latencies are of {noun}s that ended, and leave these out";
    }
    /// The server did not begin with many requests, which were sent again.
    RequestsNotTaken: pub(crate) fn requests_not_taken(not_taken: u64, completed: u64) {
        if not_taken as f64 > NOT_TAKEN * completed as f64;
        seen: "the server did not take {} requests, which were sent again, and {} completed",
            thousands(not_taken), thousands(completed);
        likely: "it refuses streams (REFUSED_STREAM, H3_REQUEST_REJECTED) because it is at a limit of its own, or ends \
                 connections (GOAWAY) after few requests";
        remedy: "do not compare its CPU time per operation, which is of more requests than completed; lower --streams, \
                 or raise its limits";
    }
    /// Sessions that the server did not take cost it full handshakes.
    SessionsRefused: pub(crate) fn sessions_refused(obtained: &Obtained) {
        let refused = RefusedSessions::of(obtained.sessions_offered?, obtained.resumed?)?;
        if refused.share() > SESSIONS_REFUSED;
        seen: "the server {refused}";
        likely: "several servers or workers with ticket keys of their own at this address, keys that changed with a \
                 reload, tickets that are good for one use, or a session cache that is too small";
        remedy: "give them the same keys (nginx: ssl_session_ticket_key; HAProxy: tls-ticket-keys), or measure one \
                 server: what was refused cost it full handshakes";
    }
    /// Datagrams that a full socket of the client dropped or did not take; over loopback, where nothing else loses any,
    /// also packets that the client misses.
    DatagramsLost: pub(crate) fn datagrams_lost(quic: &QuicUse, is_loopback: bool) {
        let QuicUse { drops, packets_lost, sends_refused, .. } = *quic;
        let of = |count, all| format!("{} of {}", thousands(count), thousands(all));
        let (seen, likely, remedy) = if drops > 0 {
            let dropped = of(drops, quic.datagrams_received + drops);
            (
                format!("the kernel dropped {dropped} datagrams that came"),
                "the client's sockets were full",
                "net.core.rmem_default and rmem_max",
            )
        } else if sends_refused > 0 {
            let refused = of(sends_refused, quic.sends + sends_refused);
            (
                format!("the kernel refused {refused} sends of datagrams"),
                "no room for what the client sends",
                "net.core.wmem_default and wmem_max",
            )
        } else {
            let lost = of(packets_lost, quic.datagrams_sent);
            (
                format!("the client took {lost} packets that it had sent for lost, although loopback loses none"),
                "the server's socket was full (drops in /proc/net/udp), or acknowledged late",
                "net.core.rmem_default and rmem_max, or the server's own setting of its buffers",
            )
        };
        if drops + sends_refused > 0 || is_loopback && quic.lost() >= LOST;
        seen: "{seen}";
        likely: "{likely}";
        remedy: "what is lost is sent again, which costs the server CPU time; raise {remedy}, or load less at once \
                 (--streams, --connections)";
    }
    /// The server sent longer datagrams than the client takes. They were read all the same.
    DatagramsTooLong: pub(crate) fn datagrams_too_long(quic: &QuicUse) {
        let QuicUse { too_long_received, datagrams_received, longest_received, .. } = *quic;
        if too_long_received > 0;
        seen: "{} of {} datagrams that came were longer than the client takes, up to {} bytes",
            thousands(too_long_received), thousands(datagrams_received), thousands(longest_received);
        likely: "the server does not keep to the client's max_udp_payload_size (RFC 9000, section 18.2)";
        remedy: "give the server's length as --max-udp-payload where rows are to have one length";
    }
    /// The path did not carry the client's first datagrams, so that they were lost.
    ShortPath: pub(crate) fn short_path(quic: &QuicUse) {
        let carried = quic.path_payload?;
        seen: "the path to the server did not carry datagrams of {} bytes; {} bytes are sent since",
            thousands(quic.longest_sent), thousands(carried);
        likely: "a tunnel on the way, whose packets are shorter than Ethernet's";
        remedy: "give --max-udp-payload 1200, so that none are lost";
    }
    /// The processor that counted lacks instructions of this one, so that other code may have run.
    OtherCode: pub(crate) fn other_code(counted: &CountedInstructions) {
        let lacking = counted.lacking.as_deref().filter(|lacking| !lacking.is_empty())?;
        seen: "the processor of valgrind lacks {} of this one", lacking.join(", ");
        likely: "valgrind knows no such instructions, so that a library which has code for them ran other code";
        remedy: "compare the count with counts of the same source; what the library runs here by itself is not known";
    }
    /// Whether others get a part of the server's connections is not known, for this reason.
    ListenersUnknown: pub(crate) fn listeners_unknown(why: &str) {
        seen: "several sockets get connections to the server's address, and whether all are the server's is not known: \
               {why}";
        likely: "the server is another user's (nginx: listen ... reuseport has a socket for each worker)";
        remedy: "run toll as root or as the user of the server; if others serve there too, the server's CPU time is that \
                 of a part of the load";
    }
}
