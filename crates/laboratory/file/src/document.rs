//! What a study file may say: its keys are the fields of these types, and what each means is their doc
//! comments, from which the tables of `docs/study-files.md` are made.
//!
//! What stands in tables that are merged for each cell is checked here for unknown keys and wrong values
//! wherever it stands, and read once more when it is merged.

use std::collections::BTreeMap;

use load::{Plan, Rank};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_with::DeserializeFromStr;
use study::{Hosts, Metric, RatioGate, Until};
use targets::{Restart, Target};

use super::primitives::{PrimitiveKeys, Scaled};
use super::search_keys::SearchKeys;
use super::up_to::UpTo;

/// The only form of study files so far.
const SCHEMA: u32 = 1;

/// A study file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "tables are read again where they are merged")]
pub(super) struct Document {
    /// The form of the file; `1` [default: an error]
    schema: Schema,
    /// What the study asks, in one line [default: an error]
    pub(super) question: Sentence,
    /// The published measurement that it repeats, `xeon-e5-v3-2014`, `xeon-gold-6142`, `xeon-scalable`,
    /// `petstore-xeon-e5620` or `quickassist-8955` (in [`studies/reference/`](../studies/reference/))
    /// [default: open]
    pub(super) reference: Option<String>,
    /// What results are named after [default: the file's name without `.toml`]
    pub(super) name: Option<StudyName>,
    /// Decides the order of the trials, and what is random within each (arrivals of `poisson`): no two trials
    /// have the same arrivals [default: 7]
    #[serde(default = "seed")]
    pub(super) seed: u64,
    /// How many times each cell is measured; no interval reaches 95% with fewer than 6, and [several
    /// comparisons](figures.md#how-does-a-study-combine-trials) take more [default: 7]
    #[serde(default = "trials")]
    pub(super) trials: Trials,
    /// Measure more rounds than `trials` where that is needed: `{ interval = "5%", at-most = "3min" }` adds
    /// rounds until all intervals of the answers lie within 5% of their medians, or the trials take three
    /// minutes; disturbed trials are repeated in that time ([how](figures.md#when-are-there-enough-rounds))
    /// [default: open]
    pub(super) until: Option<Until>,
    /// When servers are started again: `round` (before each round but the first), `trial` (before each trial but
    /// the first, as `memory-per-connection` needs it) or `never`
    /// ([why](figures.md#when-are-servers-started-again)). A server of `address`, and one whose load is
    /// searched for, keeps its process in any case [default: `round` for `embedded`, `nginx`, `haproxy` and
    /// `apache`, `never` for `tomcat`, `command` and `address`]
    pub(super) restart: Option<Restart>,
    /// Sample where the servers' CPU time goes, as `toll run --profile` does
    /// ([how](figures.md#where-does-the-cpu-time-go)) [default: `false`]
    #[serde(default)]
    pub(super) profile: bool,
    /// How other machines are reached [default: open]
    #[serde(default)]
    pub(super) hosts: Hosts,
    /// A host that makes a part of the load, a `[[rank]]` for each [default: this machine makes it]
    #[serde(default)]
    pub(super) rank: Vec<Rank>,
    /// The server, for all cases [default: open]
    target: Option<Target>,
    /// What the clients do, for all cases [default: open]
    load: Option<Plan>,
    /// What is searched for, for all cases [default: nothing]
    find: Option<SearchKeys>,
    /// What is measured, a `[[case]]` each [default: none]
    #[serde(default)]
    case: Vec<CaseKeys>,
    /// Keys that all cases sweep, `"target.library" = ["openssl", "rustls-ring"]`, a `[[vary]]` each: their values are
    /// compared with the first in the metrics of the answers; `--vary` adds one [default: none]
    #[serde(default)]
    vary: Vec<BTreeMap<String, IgnoredAny>>,
    /// Algorithms that are measured alone, a table of them for each `[[primitives]]` [default: none]
    #[serde(default)]
    primitives: Vec<PrimitiveKeys>,
    /// What is said of the figures, an `[[answer]]` each [default: none]
    #[serde(default)]
    answer: Vec<IgnoredAny>,
    /// What the published measurement claims, and the rows that show whether it holds, a `[[claim]]` each
    /// [default: none]
    #[serde(default)]
    claim: Vec<IgnoredAny>,
    /// The studies that this one consists of, by name or path: each is measured by itself, one after the other,
    /// into one result folder; such a study has no cases, and its scales are those of the others
    /// [default: none]
    #[serde(default)]
    pub(super) include: Vec<String>,
    /// Other sizes of the same study [default: none]
    #[serde(default)]
    scale: BTreeMap<String, ScaleKeys>,
}

/// A `[[case]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "cases are read again where they are merged")]
pub(super) struct CaseKeys {
    /// Small letters, digits and hyphens; part of the names of its cells [default: an error]
    name: Option<String>,
    /// Keys of the server, `target.object = "4MiB"`, which come before those for all cases [default: open]
    target: Option<Target>,
    /// Keys of the load, `load.connections = 8` [default: open]
    load: Option<Plan>,
    /// Keys of the search, `find.to = 64` [default: open]
    find: Option<SearchKeys>,
    /// Keys with the values that they take, `sweep."load.suite" = [...]` [default: one cell]
    #[serde(default)]
    sweep: BTreeMap<String, IgnoredAny>,
}

/// A `[scale.NAME]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "scales are read again where they are applied")]
pub(super) struct ScaleKeys {
    /// How many times each cell is measured [default: as in the study]
    trials: Option<Trials>,
    /// The names of the cases that are measured [default: all]
    #[serde(default)]
    cases: Vec<String>,
    /// Keys of target and load for one case, `case.NAME.load.duration = "5s"`, which come before those for all [default: as in the study]
    #[serde(default)]
    case: BTreeMap<String, CaseOfScale>,
    /// Keys of the server, for all cases [default: as in the study]
    target: Option<Target>,
    /// Keys of the load, for all cases [default: as in the study]
    load: Option<Plan>,
    /// Keys of the search, for the cases that have one [default: as in the study]
    find: Option<SearchKeys>,
    /// Other values for swept keys [default: as in the study]
    #[serde(default)]
    sweep: BTreeMap<String, IgnoredAny>,
    /// `rounds`, `samples` and `sizes` of all tables [default: as in the study]
    primitives: Option<Scaled>,
}

/// What a scale says of one case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "scales are read again where they are applied")]
struct CaseOfScale {
    target: Option<Target>,
    load: Option<Plan>,
}

/// An `[[answer]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "what depends on the case or the table is read with it")]
pub(super) struct AnswerKeys {
    /// The case whose cells it compares [default: an error, but for `primitives`]
    case: Option<String>,
    /// Instead of a case: the `[[primitives]]` table whose rows it compares, in the core cycles that they take: the
    /// ratio is how many times as fast [default: none]
    primitives: Option<String>,
    /// What it asks, the title of its figures in the report [default: toll's]
    pub(super) question: Option<Sentence>,
    /// With `case`: the figure that it compares, one of those above [default: an error]
    metric: Option<Metric>,
    /// A key that the case sweeps, whose values are compared; of a table `algorithm`, `library`, `hardware` or
    /// `cache` [default: an error]
    compare: String,
    /// The value that the others are compared with [default: an error]
    baseline: IgnoredAny,
    /// With `case`: the cells that it is about, by values that they have, `{ "target.server" = "nginx" }`, or a list of
    /// such, of which a cell matches one. The fewer are compared, the fewer trials decide [default: all]
    only: Option<IgnoredAny>,
    /// With `case`: another swept key, such as `target.object`: one answer for all its values, with a chart of the
    /// figure and one of the server's CPU, instead of an answer each; along `load.connections` the chart has curves,
    /// with the bounds of Little's law ([how](figures.md#do-rate-and-latency-agree-with-the-number-of-users))
    /// [default: an answer for each value]
    along: Option<String>,
    /// With `primitives`: the sizes at which rows are compared [default: the table's largest]
    at: Option<IgnoredAny>,
    /// What it shows beside its figures, a name or a list of them ([which](#what-else-an-answer-shows))
    /// [default: none]
    show: Option<IgnoredAny>,
    /// With `show = "bill"`: the name of a `[[primitives]]` table: what the server's private key does in a handshake of each cell
    /// (`"RSA-2048 sign"`; with static RSA `"RSA-2048 decrypt"`) is shown beside the rate of full handshakes,
    /// and must be in the table. Where the table has the cell's handshake too (`"TLS 1.3 RSA-2048 full
    /// handshake server"`; the study sets `load.tls = "1.3"` and `load.group`), the answer has the [bill of a
    /// handshake](figures.md#what-is-a-full-handshake-made-of). Of several libraries the first counts. With
    /// `rate-per-server-cpu`, not with `along`. With `tls-tax`: the ciphers of the suites (`"AES-128-GCM"`,
    /// `"AES-128-CBC-HMAC-SHA1"`) at the size of a record (`"16KiB"`), of which the answer says [how much of
    /// the cost is theirs](figures.md#how-does-a-study-combine-trials), for servers that run on that library
    /// [default: none]
    nominal: Option<String>,
    /// A figure of the study's `reference`, by its name there, or a list of them; they are in a
    /// column of the table and outlined in the chart [default: none]
    #[serde(default)]
    published: Vec<String>,
    /// With `show = "projection"`: numbers of cores, `[8, 16]`, to which the measurement is projected: with `rate` or `goodput` (over
    /// `target.cores`, where that is swept), or of a table the rate of one core at the largest of `at`
    /// [default: none]
    #[serde(default)]
    pub(super) project: Vec<Cores>,
    /// What the ratio of every other value to the baseline must be, `"ratio >= 4"` or `"ratio <= 1.1"`, or a
    /// list of both; not with `tls-tax`. What a library does not support is not judged [default: none]
    #[serde(default)]
    pub(super) gate: Vec<RatioGate>,
    /// With `headline`: `rows.NAME` is a cell or a row of the table ([how](#a-headline-in-your-words))
    /// [default: none]
    rows: Option<IgnoredAny>,
    /// With `headline`: two rows, which decide between it and `same` [default: none]
    decides: Option<IgnoredAny>,
    /// What it says first, in your words ([how](#a-headline-in-your-words)) [default: toll's]
    headline: Option<Sentence>,
    /// With `decides`: what it says where the two do not differ significantly [default: an error]
    same: Option<Sentence>,
    /// With `decides`: what to do, where the first is surely the better one [default: none]
    advice: Option<Sentence>,
}

/// A `[[claim]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "what depends on the case or the table is read with it")]
pub(super) struct ClaimKeys {
    /// The figure of the study's reference that is claimed. It holds where the interval of what was measured
    /// lies in its range; of one figure, where the two do not differ significantly [default: an error]
    published: Option<String>,
    /// The figure that decides it [default: an error, but for what no study can measure]
    pub(super) metric: Option<Metric>,
    /// The row that has it: `{ case = "files", "target.object" = "64MiB" }`, or `{ primitives = "ciphers",
    /// algorithm = "AES-128-GCM" }` [default: as `metric`]
    of: Option<IgnoredAny>,
    /// Another row, which it is divided by, where a ratio was published; of cycles the ratio is how many times as
    /// fast `of` is [default: none]
    over: Option<IgnoredAny>,
    /// With `than-over`: two rows whose ratio that of `of` and `over` is divided by, where it was published that a gain
    /// is larger in one place than in another [default: none]
    than: Option<IgnoredAny>,
    /// What `than` is divided by [default: as `than`]
    than_over: Option<IgnoredAny>,
    /// What differs from the published setup, or why it cannot be measured, in a clause [default: none]
    pub(super) why: Option<Sentence>,
}

pub(super) type Trials = UpTo<10_000>;

/// More cores than any machine has are too many.
pub(super) type Cores = UpTo<65_536>;

#[derive(Deserialize)]
#[serde(try_from = "u32")]
struct Schema;

/// A text that is not empty and has no line ends.
#[derive(DeserializeFromStr)]
pub(super) struct Sentence(pub(super) String);

/// What a study is called, and the folder of its results.
#[derive(DeserializeFromStr)]
pub(super) struct StudyName(pub(super) String);

fn seed() -> u64 {
    7
}

fn trials() -> Trials {
    UpTo(7)
}

impl TryFrom<u32> for Schema {
    type Error = String;

    fn try_from(schema: u32) -> Result<Self, String> {
        match schema {
            SCHEMA => Ok(Self),
            _ => Err(format!("{schema} is not known here; this toll reads schema = {SCHEMA}")),
        }
    }
}

impl std::str::FromStr for Sentence {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.trim().is_empty() || text.chars().any(char::is_control) {
            false => Ok(Self(text.to_owned())),
            true => Err("write one line of text, not empty"),
        }
    }
}

impl std::str::FromStr for StudyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        match begins && text.chars().all(fits) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "`{text}` is not a valid name for a study; use letters, digits and hyphens"
            )),
        }
    }
}
