//! Answers about primitives in words.

use primitives::Hardware;
use units::{Bytes, Hertz};

use super::super::row::{Beside, Cost, Row};
use super::group::{Group, of_cache, of_hardware};
use crate::figure::Decided;
use crate::wording::{
    all_of, capitalized, grouped, list, listed, size as size_in_words, times, unique,
};
use stats::Decision;
use study::primitive::{Dimension, Rule, Table};

/// A compared value as the subject or the object of a comparison.
pub(super) fn value(dimension: Dimension, row: &Row) -> String {
    match dimension {
        Dimension::Algorithm => row.key.algorithm.to_string(),
        Dimension::Library => library(row),
        Dimension::Hardware => of_hardware(row.key.hardware).to_owned(),
        Dimension::Cache => of_cache(row.key.cache).to_owned(),
    }
}

/// `OpenSSL 3.0.22`, `toll's multi-buffer kernels`; without the part in brackets, which the tables
/// show.
fn library(row: &Row) -> String {
    let title = row.library_title.split(" (").next().unwrap_or_default();
    match title.strip_prefix("multi-buffer") {
        Some("") => "toll's multi-buffer kernels".to_owned(),
        Some(backend) => format!("toll's{backend} kernels"),
        None => title.to_owned(),
    }
}

/// The verb that a compared value takes as a subject.
fn is(row: &Row, dimension: Dimension) -> &'static str {
    let is_many = match dimension {
        Dimension::Library => row.key.library.starts_with("multibuffer"),
        Dimension::Hardware => matches!(row.key.hardware, Hardware::All | Hardware::None),
        Dimension::Algorithm | Dimension::Cache => false,
    };
    if is_many { "are" } else { "is" }
}

/// How a value compares with the baseline.
struct Speed {
    /// `is`, `are`, `takes`, `take` or `has`.
    verb: &'static str,
    /// `2.9x [2.8, 3.0]`, or that there is no difference.
    times: String,
    /// `as fast` or `as long`; empty where no difference is shown.
    how: &'static str,
}

impl Speed {
    /// A much slower value is described by how much longer it takes, which is easier to read than a
    /// small fraction.
    fn of(ratio: &Decided, row: &Row, dimension: Dimension) -> Self {
        const SLOW: f64 = 0.5;
        let is_many = is(row, dimension) == "are";
        let undecided = |what: &str| Self {
            verb: if is_many { "have" } else { "has" },
            times: format!("{what} ({})", times(ratio)),
            how: "",
        };
        match ratio.decision {
            Decision::NoDifference => return undecided("no significant difference"),
            Decision::TooFew => return undecided("too few rounds to compare"),
            Decision::Sure(_) => {}
        }
        match Some(ratio).filter(|ratio| ratio.median() < SLOW).and_then(|of| of.inverse()) {
            None => Self { verb: is(row, dimension), times: times(ratio), how: "as fast" },
            Some(longer) => {
                let verb = if is_many { "take" } else { "takes" };
                Self { verb, times: times(&longer), how: "as long" }
            }
        }
    }

    /// `is 2.9x [2.8, 3.0] as fast as OpenSSL 3.0.22`
    fn whole(&self, baseline: &str) -> String {
        match self.how {
            "" => format!("{} {} against {baseline}", self.verb, self.times),
            how => format!("{} {} {how} as {baseline}", self.verb, self.times),
        }
    }

    /// The same after a whole one, with the same baseline.
    fn short(&self) -> String {
        match self.how {
            "as fast" => format!("{} as fast", self.times),
            how => format!("{} {} {how}", self.verb, self.times).trim_end().to_owned(),
        }
    }
}

/// A compared value after what it costs: `with OpenSSL 3.0.22`, `16 messages at once`.
fn compared_value(dimension: Dimension, row: &Row, cost: &Cost) -> String {
    let preposition = match dimension {
        Dimension::Algorithm => "for",
        Dimension::Library | Dimension::Cache | Dimension::Hardware => "with",
    };
    let at_once = match cost.messages_per_op {
        1 => String::new(),
        messages => format!(", {messages} messages at once"),
    };
    format!("{preposition} {}{at_once}", value(dimension, row))
}

/// What a group is of: `AES-128-GCM of OpenSSL 3.0.22 (data in memory)`.
pub(super) fn subject(group: &Group<'_>) -> String {
    let Some(row) = any(group) else { return String::new() };
    let what = match group.rule.compare {
        Dimension::Algorithm => library(row),
        Dimension::Library => row.key.algorithm.to_string(),
        Dimension::Hardware | Dimension::Cache => {
            format!("{} of {}", row.key.algorithm, library(row))
        }
    };
    qualified(what, group)
}

/// With what distinguishes a group from the others in brackets: `SHA-1 (data in memory)`.
fn qualified(what: String, group: &Group<'_>) -> String {
    let qualifiers = group.qualifiers().join(", ");
    match (what.is_empty(), qualifiers.is_empty()) {
        (_, true) => what,
        (true, false) => qualifiers,
        (false, false) => format!("{what} ({qualifiers})"),
    }
}

/// A row of the group, one with a figure if there is any.
fn any<'a>(group: &Group<'a>) -> Option<&'a Row> {
    let rows = || group.values.iter().flatten();
    rows().find(|row| row.cost.is_some()).or_else(|| rows().next()).copied()
}

/// What a group is of beside the others of its table: `SHA-1 (data in memory)`.
fn short(group: &Group<'_>) -> String {
    let Some(row) = any(group) else { return String::new() };
    let mut words = Vec::new();
    words.extend(group.has_several(Dimension::Algorithm).then(|| row.key.algorithm.to_string()));
    words.extend(group.has_several(Dimension::Library).then(|| library(row)));
    qualified(words.join(" of "), group)
}

impl Group<'_> {
    /// `At 8 KiB AES-128-GCM costs 0.580 cycles/byte with OpenSSL 3.0.22 (4.67 GB/s at 2.71 GHz) and ...:
    /// AWS-LC is 2.9x [2.8, 3.0] as fast as OpenSSL 3.0.22.`
    ///
    /// Without its ratios where one sentence gives those of all groups.
    pub(super) fn sentence(&self, has_ratios: bool) -> Option<String> {
        let size = self.sizes().pop()?;
        let rows = self.at(size);
        if rows.is_empty() {
            return None;
        }
        let item = |(row, cost): &(&Row, &Cost)| {
            let compared = compared_value(self.rule.compare, row, cost);
            format!("{} {compared} ({})", cycles(row, cost), rate(row, cost))
        };
        let items = list(rows.iter().map(item));
        let at = size.map_or_else(String::new, |size| format!("at {} ", size_in_words(size)));
        let verb = if self.rule.compare == Dimension::Algorithm { "takes" } else { "costs" };
        let mut text = format!("{at}{} {verb} {items}", subject(self));
        if has_ratios {
            if let Some(compared) = self.compared(size) {
                text = format!("{text}: {compared}");
            }
            let mut others = self.sizes();
            others.pop();
            for size in others.into_iter().flatten() {
                let ratios = self.ratios_at(Some(size)).map_or(Vec::new(), |(_, ratios)| ratios);
                let short = |(row, ratio): &(&Row, &Decided)| {
                    Speed::of(ratio, row, self.rule.compare).short()
                };
                if let Some(ratios) = listed(ratios.iter().map(short)) {
                    text = format!("{text}; at {} {ratios}", size_in_words(size));
                }
            }
        }
        Some(capitalized(&format!("{text}.")))
    }

    fn compared(&self, size: Option<Bytes>) -> Option<String> {
        let (baseline, ratios) = self.ratios_at(size)?;
        let baseline = value(self.rule.compare, baseline);
        let clause = |(place, (row, ratio)): (usize, &(&Row, &Decided))| {
            let dimension = self.rule.compare;
            let speed = Speed::of(ratio, row, dimension);
            let name = value(dimension, row);
            match place {
                0 => format!("{name} {}", speed.whole(&baseline)),
                _ => format!("{name} {}", speed.short()),
            }
        };
        listed(ratios.iter().enumerate().map(clause))
    }
}

/// All groups in one sentence: `At 8 KiB AWS-LC is 2.9x [2.8, 3.0] as fast as OpenSSL 3.0.22 for
/// AES-128-GCM and 1.0x [1.0, 1.0] for AES-128-CBC encrypt.`
///
/// One sentence for each of the shown sizes, the largest first.
pub(super) fn leads(groups: &[Group<'_>]) -> Vec<String> {
    let Some(first) = groups.first() else { return Vec::new() };
    let sizes = first.sizes().into_iter().rev();
    sizes.filter_map(|size| lead(groups, first.rule, size)).collect()
}

fn lead(groups: &[Group<'_>], rule: &Rule, size: Option<Bytes>) -> Option<String> {
    let mut clauses: Vec<(String, Vec<String>)> = Vec::new();
    for group in groups {
        let Some((baseline, ratios)) = group.ratios_at(size) else { continue };
        let baseline = value(rule.compare, baseline);
        for (row, ratio) in ratios {
            let name = value(rule.compare, row);
            let of = format!("for {}", short(group));
            let speed = Speed::of(ratio, row, rule.compare);
            let known = clauses.iter_mut().find(|(known, _)| *known == name);
            match known {
                Some((_, items)) => items.push(format!("{} {of}", speed.short())),
                None => clauses.push((name, vec![format!("{} {of}", speed.whole(&baseline))])),
            }
        }
    }
    let clause = |(name, items): &(String, Vec<String>)| format!("{name} {}", list(items));
    let clauses = all_of(clauses.iter().map(clause), "; ")?;
    let at = size.map_or_else(String::new, |size| format!("at {} ", size_in_words(size)));
    Some(capitalized(&format!("{at}{clauses}.")))
}

/// `0.580 cycles/byte`, `967 kilocycles per operation`.
fn cycles(row: &Row, cost: &Cost) -> String {
    let median = cost.cycles.median();
    match row.key.size_bytes {
        Some(_) => format!("{} cycles/byte", three_digits(median)),
        None => format!("{} kilocycles per operation", three_digits(median / 1e3)),
    }
}

/// `4.67 GB/s at 2.71 GHz, 3.3x the estimate`.
fn rate(row: &Row, cost: &Cost) -> String {
    let rate = match cost.bytes_per_s {
        Some(bytes) => format!("{} GB/s", three_digits(bytes / 1e9)),
        None => format!("{} per second", units::thousands(cost.ops_per_s.round() as u64)),
    };
    let of_all = match row.key.threads {
        1 => String::new(),
        threads => format!(" of {threads} CPUs"),
    };
    let bound = row.times_the_bound.zip(row.bound).map_or_else(String::new, |(times, bound)| {
        format!(", {}x the {}", three_digits(times), bound.word())
    });
    format!("{rate}{of_all} at {}{bound}", Hertz(cost.core_hz))
}

/// With three significant digits, but at most three decimals.
pub(super) fn three_digits(number: f64) -> String {
    if number >= 999.5 {
        return units::thousands(number.round() as u64);
    }
    let places = match number {
        _ if number >= 99.95 => 0,
        _ if number >= 9.995 => 1,
        _ if number >= 0.9995 => 2,
        _ => 3,
    };
    format!("{number:.places$}")
}

/// What was published: the figures that the rule names, and those beside its rows.
pub(super) fn published(rule: &Rule, groups: &[Group<'_>]) -> Vec<String> {
    let named = rule.published.iter().map(|p| format!("{}: {}", p.what, p.says));
    let beside = |row: &&Row| {
        let figure = |of: &Beside| format!("{} cycles/byte on {}", of.cycles_per_byte, of.label);
        let figures = listed(row.published.iter().map(figure))?;
        let size = row.key.size_bytes;
        let size = size.map_or_else(String::new, |s| format!(" at {}", size_in_words(Bytes(s))));
        let many = match row.cost.as_ref().is_some_and(|cost| cost.messages_per_op > 1) {
            true => " over many messages",
            false => "",
        };
        Some(format!("{}{many}{size}: {figures}", row.key.algorithm))
    };
    let rows = groups.iter().flat_map(|group| group.values.iter().flatten());
    unique(named.chain(rows.filter_map(beside)))
}

/// What many cores would do with the fastest of each group.
pub(super) fn projected(rule: &Rule, groups: &[Group<'_>]) -> Option<String> {
    if rule.project.is_empty() {
        return None;
    }
    let mut clauses = Vec::new();
    for group in groups {
        let Some(size) = group.sizes().pop() else { continue };
        let rows = group.at(size).into_iter().filter(|(row, _)| row.key.threads == 1);
        let fastest = rows.min_by(|(_, a), (_, b)| a.cycles.median().total_cmp(&b.cycles.median()));
        let Some((row, cost)) = fastest else { continue };
        let at = |cores: &u32| {
            let cores_in_words = units::thousands(u64::from(*cores));
            let many = f64::from(*cores);
            let rate = match cost.bytes_per_s {
                Some(bytes) => format!("{} GB/s", three_digits(bytes * many / 1e9)),
                None => format!("{} per second", units::thousands((cost.ops_per_s * many) as u64)),
            };
            format!("{rate} on {cores_in_words} cores")
        };
        let rates = list(rule.project.iter().map(at));
        let of = match rule.compare {
            Dimension::Algorithm => row.key.algorithm.to_string(),
            _ => qualified(row.key.algorithm.to_string(), group),
        };
        clauses.push(format!("{of} with {}: {rates}", library(row)));
    }
    let clauses = all_of(clauses, "; ")?;
    Some(format!(
        "{clauses}. This multiplies the rate of one core at the measured frequency. It ignores that \
         many busy cores run at lower frequencies and share memory and caches, and that two \
         hyperthreads share one core."
    ))
}

/// Rows without figures, of disturbed samples, or with too few rounds.
pub(super) fn caveats(table: &Table, groups: &[Group<'_>]) -> Vec<String> {
    let rows = || groups.iter().flat_map(|group| group.values.iter().flatten().copied());
    let mut caveats = Vec::new();
    let compare = groups.first().map_or(Dimension::Algorithm, |group| group.rule.compare);
    let is_as = |a: &Row, b: &Row| compare.of(&a.key) == compare.of(&b.key);
    let reason = |row: &Row| {
        let why = row.no_figure.as_ref()?.why.clone();
        // What a library does not support is in the table; it matters here only where nothing else
        // is left.
        if !row.is_refused() && rows().any(|other| is_as(row, other) && other.cost.is_some()) {
            return None;
        }
        Some((why, format!("{} with {}{}", row.key.algorithm, library(row), masked(row))))
    };
    let reasons = grouped(unique(rows().filter_map(reason))).into_iter();
    caveats.extend(reasons.map(|(why, names)| format!("{}: {why}.", list(&names))));
    let costs = || rows().filter_map(|row| row.cost.as_ref());
    let disturbed = costs().filter(|cost| cost.is_disturbed()).count();
    if disturbed > 0 {
        caveats.push(format!(
            "{disturbed} of {} figures had too few quiet samples in some round, because other work used \
             the core: they are too high, and ratios with them are doubtful. Measure again while \
             nothing else runs.",
            rows().count()
        ));
    }
    if costs().any(|cost| cost.contention_unknown) {
        caveats.push(
            "toll cannot detect on this processor whether other work used the core.".to_owned(),
        );
    }
    let is_short = |row: &&Row| {
        row.no_figure.is_none()
            && row.cost.as_ref().map_or(0, |cost| cost.rounds.len()) < table.rounds as usize
    };
    let short = rows().filter(is_short).count();
    if short > 0 {
        caveats.push(format!(
            "The run is not complete: {short} of {} figures lack some of their {} rounds.",
            rows().count(),
            table.rounds
        ));
    }
    caveats
}

fn masked(row: &Row) -> String {
    match row.key.hardware {
        Hardware::All => String::new(),
        hardware => format!(" (hardware {hardware})"),
    }
}
