//! The figures of trials that cells are compared by: one table, from which answers, gates, comparisons
//! of runs, tables and exports take what they need. A new metric is a row.

mod better;

use std::borrow::Cow;
use std::str::FromStr;

use keys::did_you_mean;
use load::Operation;
use serde::{Deserialize, Serialize};
use trial::{CoreHz, TrialRecord};
use units::Quantity;

use crate::Cell;

pub use better::{Better, Kind};

/// What is known of a metric, beside its name.
#[derive(Debug)]
pub struct MetricRow {
    /// In a sentence, after "in", and as the heading of a column.
    pub words: &'static str,
    /// What it counts on the axis of a chart, after the unit.
    pub axis: &'static str,
    /// The unit in which it is kept.
    pub quantity: Quantity,
    /// What it says of the server.
    pub kind: Kind,
    /// Whether it is about the bytes of bodies, which handshakes have none of.
    pub is_of_bodies: bool,
    /// Its value in a valid trial; `None` where that was not measured.
    pub of: fn(&TrialRecord) -> Option<f64>,
    /// The metric that is to be compared with it, and so is written in the same unit.
    pub beside: Metric,
    /// Its field in JSON, with the unit in which it is kept.
    pub json: &'static str,
    /// Its columns in `cells.csv`, before `_median` and so on.
    pub csv: &'static str,
    /// Its gauge in OpenMetrics, without the unit.
    pub gauge: &'static str,
    /// The same in a sentence.
    pub help: &'static str,
}

/// A row may leave out what is true of most metrics: the kind is a cost, it is shown beside no other metric, and CSV and
/// OpenMetrics (after `toll_`) have the name that JSON has.
macro_rules! metrics {
    ($($name:ident: $help:literal {
        words: $words:literal, axis: $axis:literal,
        quantity: $quantity:ident, $(kind: $kind:ident,)? $(is_of_bodies: $bodies:literal,)? $(beside: $beside:ident,)?
        $(of: $of:expr,)?
        json: $json:literal, $(csv: $csv:literal,)? $(gauge: $gauge:literal,)?
    })*) => {
        /// A figure of a trial.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[derive(Serialize, Deserialize, strum::Display, strum::IntoStaticStr, strum::VariantArray)]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        pub enum Metric {
            $(#[doc = $help] $name,)*
        }

        static ROWS: &[MetricRow] = &[$(MetricRow {
            words: $words,
            axis: $axis,
            quantity: Quantity::$quantity,
            kind: metrics!(@ $(Kind::$kind)?, Kind::Cost),
            is_of_bodies: metrics!(@ $($bodies)?, false),
            of: metrics!(@ $($of)?, |_| None),
            beside: metrics!(@ $(Metric::$beside)?, Metric::$name),
            json: $json,
            csv: metrics!(@ $($csv)?, $json),
            gauge: metrics!(@ $(concat!("toll_", $gauge))?, concat!("toll_", $json)),
            help: $help,
        }),*];
    };
    (@, $usual:expr) => { $usual };
    (@ $own:expr, $usual:expr) => { $own };
}

metrics! {
    Rate: "Completed operations per second." {
        words: "rate", axis: "operations per second",
        quantity: PerSecond, kind: Throughput, beside: RatePerServerCpu,
        of: |line| line.rate_per_s.filter(|_| line.operations.completed > 0),
        json: "rate_per_s", gauge: "operations_per_second",
    }
    ConnectionRate: "Connections opened per second, over TLS each with its handshake." {
        words: "connection rate", axis: "new connections per second",
        quantity: PerSecond, kind: Throughput,
        of: |line| line.connections_per_s.filter(|rate| *rate > 0.0),
        json: "connections_per_s", gauge: "connections_opened_per_second",
    }
    Goodput: "Proven HTTP body data per second." {
        words: "goodput", axis: "of proven bodies",
        quantity: BitsPerSecond, kind: Throughput, is_of_bodies: true, beside: GoodputPerServerCpu,
        of: |line| line.goodput_bps.map(|bits| bits as f64),
        json: "goodput_bps", gauge: "goodput",
    }
    RatePerServerCpu: "Completed operations per CPU-second of the server: what one core does per second." {
        words: "rate of one core", axis: "operations per second for each CPU that the server uses fully",
        quantity: PerSecond, kind: PerCpu, beside: Rate,
        of: |line| per_server_cpu(line, line.operations.completed).filter(|rate| *rate > 0.0),
        json: "rate_per_server_cpu", csv: "operations_per_server_cpu_s", gauge: "operations_per_server_cpu_second",
    }
    GoodputPerServerCpu: "Proven HTTP body data per CPU-second of the server." {
        words: "goodput of one core", axis: "for each CPU that the server uses fully",
        quantity: BitsPerSecond, kind: PerCpu, is_of_bodies: true, beside: Goodput,
        of: bits_per_server_cpu,
        json: "goodput_per_server_cpu", csv: "bits_per_server_cpu_s",
    }
    TlsTax: "The share of plain HTTP's goodput per CPU-second of the server that is lost." {
        words: "what TLS takes", axis: "of what one core sends over plain HTTP",
        quantity: Share, kind: Tax, is_of_bodies: true,
        // What the share is taken of: a cell by itself has no tax.
        of: bits_per_server_cpu,
        json: "tls_tax", csv: "tls_tax_share",
    }
    ServerCpuPerOperation: "CPU time of the server per operation." {
        words: "server CPU per operation", axis: "of the server's CPU time per operation",
        quantity: Nanos, beside: ClientCpuPerOperation,
        of: |line| line.per_operation(line.cpu_ns.server?),
        json: "server_ns_per_operation", csv: "server_cpu_ns_per_operation", gauge: "server_cpu_per_operation",
    }
    BackendCpuPerOperation: "CPU time of the server's backend per operation." {
        words: "backend CPU per operation", axis: "of the backend's CPU time per operation",
        quantity: Nanos,
        of: |line| line.per_operation(line.cpu_ns.backend?),
        json: "backend_ns_per_operation", csv: "backend_cpu_ns_per_operation", gauge: "backend_cpu_per_operation",
    }
    ClientCpuPerOperation: "CPU time of the client per operation." {
        words: "client CPU per operation", axis: "of the client's CPU time per operation",
        quantity: Nanos, beside: ServerCpuPerOperation,
        of: |line| line.per_operation(line.cpu_ns.client?),
        json: "client_ns_per_operation", csv: "client_cpu_ns_per_operation", gauge: "client_cpu_per_operation",
    }
    ServerCpuPerGigabyte: "CPU time of the server per 10^9 bytes of bodies." {
        words: "server CPU per GB", axis: "of the server's CPU time",
        quantity: SecondsPerGigabyte, is_of_bodies: true, beside: ClientCpuPerGigabyte,
        of: |line| line.per_gigabyte(line.cpu_ns.server?),
        json: "server_s_per_gb", csv: "server_cpu_s_per_gb", gauge: "server_cpu_per_byte",
    }
    ClientCpuPerGigabyte: "CPU time of the client per 10^9 bytes of bodies." {
        words: "client CPU per GB", axis: "of the client's CPU time",
        quantity: SecondsPerGigabyte, is_of_bodies: true, beside: ServerCpuPerGigabyte,
        of: |line| line.per_gigabyte(line.cpu_ns.client?),
        json: "client_s_per_gb", csv: "client_cpu_s_per_gb", gauge: "client_cpu_per_byte",
    }
    ServerBusy: "The share of its CPUs that the server used." {
        words: "server busy", axis: "of the server's CPUs",
        quantity: Share, kind: State, beside: ClientBusy,
        of: |line| line.evidence()?.server_busy,
        json: "server_busy", csv: "server_busy_share",
    }
    ClientBusy: "How busy the busiest load thread was." {
        words: "client busy", axis: "of its CPU",
        quantity: Share, kind: State, beside: ServerBusy,
        of: |line| line.evidence()?.client_busy,
        json: "client_busy", csv: "client_busy_share",
    }
    UsersByLaw: "Users by Little's law, rate x (response time + think time), over those that there are." {
        words: "users by Little's law", axis: "of the users that there are",
        quantity: Share, kind: State,
        of: |line| line.littles_law.filter(|law| law.judged).map(|law| law.users_by_law / law.users as f64),
        json: "users_by_law", csv: "users_by_law_share",
    }
    ServerCpus: "The CPUs that the server kept busy: its CPU time per second." {
        words: "server CPU use", axis: "that the server keeps busy",
        quantity: Cpus,
        of: |line| Some(line.cpu_ns.server? as f64 / line.window_ns as f64),
        json: "server_cpus", gauge: "server_cpus_busy",
    }
    ServerCycles: "Core cycles per second that the server used: its CPU time at the core's frequency." {
        words: "server core cycles per second", axis: "that the server uses",
        quantity: CyclesPerSecond,
        of: |line| {
            let CoreHz { before, after } = line.core_hz;
            let hz = (before? + after?) as f64 / 2.0;
            Some(line.cpu_ns.server? as f64 * hz / line.window_ns as f64)
        },
        json: "server_cycles_per_s", gauge: "server_core_cycles",
    }
    MemoryBandwidth: "Bytes per second between processors and memory, of the whole machine." {
        words: "memory bandwidth", axis: "between processors and memory",
        quantity: BytesPerSecond,
        of: TrialRecord::memory_bandwidth,
        json: "memory_bytes_per_s", gauge: "memory_bandwidth",
    }
    MemoryPerByte: "Bytes between processors and memory per byte of bodies, of the whole machine." {
        words: "memory traffic per byte", axis: "between processors and memory per byte of bodies",
        quantity: BytesPerByte, is_of_bodies: true,
        of: TrialRecord::memory_per_byte,
        json: "memory_bytes_per_byte", csv: "memory_bytes_per_body_byte", gauge: "memory_traffic_per_byte",
    }
    P50: "The median latency of a whole operation." {
        words: "median latency", axis: "from the beginning of an operation to its end",
        quantity: Nanos, beside: P99,
        of: |line| line.latency_ns.whole.p50.map(|ns| ns as f64),
        json: "p50_ns", csv: "latency_p50_ns", gauge: "latency_p50",
    }
    P99: "The 99th percentile of the latency of a whole operation." {
        words: "p99 latency", axis: "from the beginning of an operation to its end",
        quantity: Nanos, beside: P50,
        of: |line| line.latency_ns.whole.p99.map(|ns| ns as f64),
        json: "p99_ns", csv: "latency_p99_ns", gauge: "latency_p99",
    }
    ResponseTime: "The mean latency of a whole operation." {
        words: "response time", axis: "from the beginning of an operation to its end, on average",
        quantity: Nanos,
        of: |line| line.latency_ns.mean.map(|ns| ns as f64),
        json: "mean_ns", csv: "latency_mean_ns", gauge: "latency_mean",
    }
    HandshakeBytesSent: "Bytes of TLS that a connection without a request sends to the server." {
        words: "handshake data to the server", axis: "of TLS to the server per connection",
        quantity: Bytes, beside: HandshakeBytesReceived,
        of: |line| Some(line.traffic?.bytes_sent),
        json: "handshake_bytes_sent", gauge: "handshake_sent",
    }
    HandshakeBytesReceived: "Bytes of TLS that a connection without a request receives from the server." {
        words: "handshake data to the client", axis: "of TLS to the client per connection",
        quantity: Bytes, beside: HandshakeBytesSent,
        of: |line| Some(line.traffic?.bytes_received),
        json: "handshake_bytes_received", gauge: "handshake_received",
    }
    HandshakePacketsSent: "Packets of TCP that a connection without a request sends to the server." {
        words: "packet count to the server", axis: "to the server per connection",
        quantity: Packets, beside: HandshakePacketsReceived,
        of: |line| Some(line.traffic?.packets_sent),
        json: "handshake_packets_sent",
    }
    HandshakePacketsReceived: "Packets of TCP that a connection without a request receives from the server." {
        words: "packet count to the client", axis: "to the client per connection",
        quantity: Packets, beside: HandshakePacketsSent,
        of: |line| Some(line.traffic?.packets_received),
        json: "handshake_packets_received",
    }
    FlightRoundTrips: "Round trips in which the server's part of a handshake arrives on a network, by its bytes." {
        words: "round trips of the server's flight", axis: "until the server's flight has arrived",
        quantity: RoundTrips,
        of: |line| Some(flight_round_trips(line.traffic?.bytes_received)),
        json: "flight_round_trips",
    }
    MemoryPerConnection: "Memory of the server's processes per open connection: the growth of their proportional set sizes." {
        words: "memory per connection", axis: "of the server's processes per open connection",
        quantity: Bytes, beside: SocketBuffersPerConnection,
        of: |line| Some(line.connection_memory?.each()),
        json: "memory_per_connection_bytes", gauge: "memory_per_connection",
    }
    SocketBuffersPerConnection: "Memory of the kernel in the buffers of a server's socket." {
        words: "socket buffers per connection", axis: "in buffers of the kernel per open connection",
        quantity: Bytes, beside: MemoryPerConnection,
        of: |line| Some(line.connection_memory?.each_in_buffers()),
        json: "socket_buffers_per_connection_bytes", gauge: "socket_buffers_per_connection",
    }
    EnergyPerOperation: "Energy of the processors per operation, beyond what they take when idle." {
        words: "energy per operation", axis: "of the processors per operation, beyond idle",
        quantity: Joules,
        of: |line| (line.operations.completed > 0).then_some(line.joules()? / line.operations.completed as f64),
        json: "joules_per_operation", gauge: "energy_per_operation",
    }
    EnergyPerGigabyte: "Energy of the processors per 10^9 bytes of bodies, beyond what they take when idle." {
        words: "energy per GB", axis: "of the processors, beyond idle",
        quantity: JoulesPerGigabyte, is_of_bodies: true,
        of: |line| (line.bytes.body > 0).then_some(line.joules()? / line.bytes.body as f64 * 1e9),
        json: "joules_per_gb", gauge: "energy_per_byte",
    }
    InstructionsPerOperation: "Instructions of the server outside the kernel per operation, where they were counted." {
        words: "instructions per operation", axis: "of the server outside the kernel per operation",
        quantity: Instructions,
        of: |line| Some(line.counted.as_ref()?.per_operation),
        json: "instructions_per_operation",
    }
    InstructionsPerKib: "Instructions of the server outside the kernel per KiB of bodies, where they were counted." {
        words: "instructions per KiB", axis: "of the server outside the kernel per KiB of bodies",
        quantity: InstructionsPerKib, is_of_bodies: true,
        of: |line| line.counted.as_ref()?.per_kib,
        json: "instructions_per_kib",
    }
    CyclesPerByte: "Core cycles of an algorithm per byte of messages." {
        words: "cost per byte", axis: "of messages",
        quantity: CyclesPerByte, kind: Cycles,
        json: "cycles_per_byte",
    }
    CyclesPerOperation: "Core cycles of an algorithm per operation." {
        words: "cost per operation", axis: "per operation",
        quantity: Cycles, kind: Cycles,
        json: "cycles_per_op",
    }
    BytesPerSecond: "Bytes of messages that an algorithm goes over per second." {
        words: "rate of bytes", axis: "of messages",
        quantity: BytesPerSecond, kind: Throughput,
        json: "bytes_per_s",
    }
}

fn bits_per_server_cpu(line: &TrialRecord) -> Option<f64> {
    Some(8.0 * per_server_cpu(line, line.bytes.body)?)
}

/// The count per CPU-second of the server; `None` where its CPU time is not known.
fn per_server_cpu(line: &TrialRecord, count: u64) -> Option<f64> {
    let ns = line.cpu_ns.server.filter(|ns| *ns > 0)?;
    Some(count as f64 / (ns as f64 / 1e9))
}

/// The window in which a sender begins, ten segments of 1,460 bytes (RFC 6928).
const INITIAL_WINDOW: f64 = 14_600.0;

/// How many round trips this many bytes take to arrive, where the window doubles with each (RFC 5681, section 3.1) and
/// nothing is lost.
fn flight_round_trips(bytes: f64) -> f64 {
    (bytes / INITIAL_WINDOW + 1.0).log2().ceil().max(1.0)
}

/// Words of a row, of cells with this operation: an operation of a session is a page.
pub fn words_of(operation: Operation, words: &'static str) -> Cow<'static, str> {
    match operation {
        Operation::Session => {
            words.replace("an operation", "a page").replace("operation", "page").into()
        }
        _ => words.into(),
    }
}

impl Metric {
    /// The metrics that a row has by itself, in the order of tables and exports.
    pub fn of_rows() -> impl Iterator<Item = Self> + Clone {
        let all = <Self as strum::VariantArray>::VARIANTS.iter().copied();
        all.filter(|metric| !matches!(metric, Self::TlsTax))
    }

    /// Those that a cell has.
    pub fn of_cells() -> impl Iterator<Item = Self> + Clone {
        Self::of_rows().filter(|metric| !Self::OF_ALGORITHMS.contains(metric))
    }

    /// What an algorithm costs, which no trial has.
    pub const OF_ALGORITHMS: [Self; 3] =
        [Self::CyclesPerByte, Self::CyclesPerOperation, Self::BytesPerSecond];

    /// What is known of it.
    pub fn row(self) -> &'static MetricRow {
        &ROWS[self as usize]
    }

    /// The name in study files and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its value in a valid trial; `None` where that was not measured.
    pub fn value(self, line: &TrialRecord) -> Option<f64> {
        (self.row().of)(line)
    }

    /// What cells are compared by where nothing else is asked for: what one core of the server does.
    pub fn usual(cell: &Cell) -> Self {
        if cell.load.counter().is_some() {
            return Self::InstructionsPerOperation;
        }
        match has_bodies(cell) {
            true => Self::GoodputPerServerCpu,
            false => Self::RatePerServerCpu,
        }
    }

    /// Whether trials of this cell can have the figure.
    pub fn is_of(self, cell: &Cell) -> bool {
        let is_measured = match cell.load.counter() {
            Some(_) => self.is_of_counts(),
            None => !self.is_of_instructions(),
        };
        let has_bytes = !self.row().is_of_bodies || has_bodies(cell);
        !Self::OF_ALGORITHMS.contains(&self) && has_bytes && is_measured
    }

    /// Whether it is counted in trials of their own, which have no times.
    pub fn is_of_instructions(self) -> bool {
        matches!(self, Self::InstructionsPerOperation | Self::InstructionsPerKib)
    }

    /// Whether trials that count instructions have it: also what a handshake puts on the network, which is the same
    /// whatever is measured beside.
    pub fn is_of_counts(self) -> bool {
        self.is_of_instructions()
            || matches!(
                self,
                Self::HandshakeBytesSent
                    | Self::HandshakeBytesReceived
                    | Self::HandshakePacketsSent
                    | Self::HandshakePacketsReceived
                    | Self::FlightRoundTrips
            )
    }

    /// What the rows of a table of these algorithms have.
    pub fn of_algorithm(unit: primitives::Unit) -> [Self; 2] {
        match unit {
            primitives::Unit::Byte => [Self::CyclesPerByte, Self::BytesPerSecond],
            primitives::Unit::Operation => [Self::CyclesPerOperation, Self::Rate],
        }
    }

    /// Whether it is how long operations take, as the client sees it.
    pub fn is_latency(self) -> bool {
        matches!(self, Self::P50 | Self::P99 | Self::ResponseTime)
    }

    /// Whether the pauses of the client are in it.
    pub fn has_pauses(self) -> bool {
        self.is_latency()
            || matches!(self, Self::ClientCpuPerOperation | Self::ClientCpuPerGigabyte)
    }

    /// The fewest connections whose memory is told from what else a server allocates.
    pub const LEAST_CONNECTIONS: u64 = trial::LEAST_CONNECTIONS;

    /// Whether it is what an open connection takes.
    pub fn is_of_connections(self) -> bool {
        matches!(self, Self::MemoryPerConnection | Self::SocketBuffersPerConnection)
    }

    /// Whether it is what the whole load keeps busy, so that a server which serves less of it has a
    /// smaller figure.
    pub fn covers_whole_load(self) -> bool {
        matches!(self, Self::ServerCpus | Self::ServerCycles | Self::MemoryBandwidth)
    }

    /// Whether a faster machine gives another figure for the same work, so that the figures of two machines do not show
    /// what a program gained or lost. What is counted on the wire is the same on all.
    pub fn depends_on_machine(self) -> bool {
        !self.is_of_instructions()
            && !matches!(
                self,
                Self::HandshakeBytesSent | Self::HandshakeBytesReceived | Self::FlightRoundTrips
            )
    }

    /// What is divided by what where ours is compared with theirs: `(over, under)`. It is ours over theirs, but of
    /// cycles theirs over ours: how many times as fast ours is.
    pub fn ratio<T>(self, ours: T, theirs: T) -> (T, T) {
        match self.row().kind {
            Kind::Cycles => (theirs, ours),
            _ => (ours, theirs),
        }
    }

    /// Which [`ratios`](Self::ratio) are the better ones; `None` where neither are.
    pub fn better_ratio(self) -> Option<Better> {
        self.better().map(|_| match self.is_higher_ratio_better() {
            true => Better::Higher,
            false => Better::Lower,
        })
    }

    /// Whether a larger [`ratio`](Self::ratio) is the better one.
    pub fn is_higher_ratio_better(self) -> bool {
        // A tax is compared by what it is taken from.
        let is_turned = matches!(self.row().kind, Kind::Cycles | Kind::Tax);
        is_turned || self.better() == Some(Better::Higher)
    }

    /// Which figures are the better ones; `None` where neither are.
    pub fn better(self) -> Option<Better> {
        self.row().kind.better()
    }
}

fn has_bodies(cell: &Cell) -> bool {
    cell.load.operation != Operation::Handshakes
}

/// A metric that a row has by itself.
impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == Self::TlsTax.name() {
            return Err(format!(
                "`{text}` compares two cells; use {}, or an [[answer]] with a gate",
                Self::GoodputPerServerCpu
            ));
        }
        Self::of_rows().find(|metric| metric.name() == text).ok_or_else(|| {
            let names = Self::of_rows().map(Self::name);
            format!("`{text}` is not a metric{}", did_you_mean(text, "metrics are", names))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for metric in Metric::of_rows() {
            assert_eq!(metric.name().parse(), Ok(metric));
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
        }
        let refused = ["goodputt", "zzz", "tls-tax"];
        support::assert_golden!(refused.map(|text| (text, text.parse::<Metric>().unwrap_err())));
    }

    /// Scripts read them: they stay.
    #[test]
    fn exported_names_are_kept() {
        let names = |of: fn(&MetricRow) -> &'static str| -> Vec<_> {
            Metric::of_rows().map(|metric| of(metric.row())).collect()
        };
        assert_eq!(
            names(|row| row.json).join(" "),
            "rate_per_s connections_per_s goodput_bps rate_per_server_cpu goodput_per_server_cpu \
             server_ns_per_operation backend_ns_per_operation client_ns_per_operation server_s_per_gb client_s_per_gb \
             server_busy client_busy users_by_law server_cpus server_cycles_per_s memory_bytes_per_s \
             memory_bytes_per_byte p50_ns p99_ns mean_ns handshake_bytes_sent \
              handshake_bytes_received handshake_packets_sent handshake_packets_received \
              flight_round_trips memory_per_connection_bytes socket_buffers_per_connection_bytes \
              joules_per_operation joules_per_gb instructions_per_operation instructions_per_kib \
              cycles_per_byte cycles_per_op bytes_per_s"
        );
        assert_eq!(
            names(|row| row.csv).join(" "),
            "rate_per_s connections_per_s goodput_bps operations_per_server_cpu_s bits_per_server_cpu_s \
             server_cpu_ns_per_operation backend_cpu_ns_per_operation client_cpu_ns_per_operation server_cpu_s_per_gb \
             client_cpu_s_per_gb server_busy_share client_busy_share users_by_law_share server_cpus server_cycles_per_s memory_bytes_per_s \
             memory_bytes_per_body_byte latency_p50_ns \
              latency_p99_ns latency_mean_ns handshake_bytes_sent handshake_bytes_received \
              handshake_packets_sent handshake_packets_received \
              flight_round_trips memory_per_connection_bytes socket_buffers_per_connection_bytes \
              joules_per_operation joules_per_gb instructions_per_operation instructions_per_kib \
              cycles_per_byte cycles_per_op bytes_per_s"
        );
    }

    #[test]
    fn a_flight_beyond_the_first_window_takes_a_round_trip_more() {
        for (bytes, trips) in
            [(0.0, 1.0), (14_600.0, 1.0), (14_601.0, 2.0), (43_800.0, 2.0), (43_801.0, 3.0)]
        {
            assert_eq!(flight_round_trips(bytes), trips, "{bytes}");
        }
    }

    #[test]
    fn ratios_point_where_their_metric_does() {
        let regression = |metric: Metric| metric.better().map(|better| better.regression(2.0));
        for (metric, twice, share) in [
            (Metric::Rate, (2.0, 1.0), Some(-1.0)),
            (Metric::GoodputPerServerCpu, (2.0, 1.0), Some(-1.0)),
            (Metric::P99, (2.0, 1.0), Some(1.0)),
            (Metric::CyclesPerByte, (1.0, 2.0), Some(1.0)),
            (Metric::ServerBusy, (2.0, 1.0), None),
        ] {
            assert_eq!((metric.ratio(2.0, 1.0), regression(metric)), (twice, share), "{metric}");
        }
        for metric in Metric::of_rows() {
            let (over, under) = metric.ratio(2.0, 1.0);
            let is_better = metric.is_higher_ratio_better() == (over > under);
            let expected = metric.better().map(|_| if is_better { -1.0 } else { 1.0 });
            assert_eq!(regression(metric), expected, "{metric}");
        }
    }

    #[test]
    fn no_two_metrics_share_a_name_and_what_stands_beside_one_has_its_unit() {
        type NameOf = fn(&MetricRow) -> &'static str;
        let names: [NameOf; 4] = [|row| row.words, |row| row.json, |row| row.csv, |row| row.gauge];
        for name in names {
            let mut all: Vec<_> = ROWS.iter().map(name).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), ROWS.len(), "{all:?}");
        }
        for metric in Metric::of_rows() {
            let MetricRow { beside, quantity, .. } = metric.row();
            assert_eq!((beside.row().beside, beside.row().quantity), (metric, *quantity));
        }
    }
}
