//! What `toll bench` measured, as the study of one round that it is: three tables, and a headline for each
//! algorithm or for the main ones of many. One round decides nothing, so that no figure is called faster than
//! another.

use answer::costs::{AlgorithmRow, Cost, Costs, of_one_round};
use answer::findings::{Findings, ShownAnswer};
use cpus::CpuList;
use journal::Entries;
use journal::primitive::{BoundLine, RowLine};
use primitives::bench::Measurement;
use primitives::instructions::Bound;
use primitives::sampler::too_few_quiet;
use primitives::{Algorithm, Cache, Hardware, Library, Unit};
use report::Run;
use study::primitive::AlgorithmTable;
use study::reference::Reference;
use trial::SCHEMA;
use units::Bytes;

use crate::screen;

/// What was measured, and how.
pub(crate) struct OneRound<'a> {
    pub(crate) measurement: &'a Measurement,
    pub(crate) libraries: &'a [Box<dyn Library>],
    pub(crate) sizes: &'a [usize],
    pub(crate) cache: Cache,
    pub(crate) cpus: &'a CpuList,
    pub(crate) hardware: Hardware,
    /// Quiet samples of a row on each CPU that are enough.
    pub(crate) samples: u16,
    /// Or only OpenSSL and the fastest library of each algorithm.
    pub(crate) shows_all: bool,
    /// The release that toll ran on, where that is not this machine's own.
    pub(crate) system: Option<String>,
}

/// The published figures that the tables show.
const REFERENCES: [&str; 2] = ["xeon-scalable", "isa-l-crypto"];
/// More headlines than these are a table.
const MOST: usize = 3;
/// Those of many algorithms: what web servers spend their time in.
const MAIN: [&str; MOST] =
    ["AES-128-GCM", "ECDSA P-256 sign", "TLS 1.3 P-256 full handshake server"];
/// What is compared where several sizes were measured: the size of a full TLS record.
const RECORD: u64 = 16 << 10;
/// The library that is always shown.
const OPENSSL: &str = "openssl";

/// The name of the table that an algorithm is in.
fn table(algorithm: Algorithm) -> &'static str {
    match (algorithm.unit(), algorithm.takes_a_connection()) {
        (Unit::Operation, _) => "Operations",
        (Unit::Byte, true) => "Records in memory",
        (Unit::Byte, false) => "Algorithms",
    }
}

impl OneRound<'_> {
    /// The figures of all rows.
    pub(crate) fn costs(&self, bounds: Vec<Bound>) -> Costs {
        let (schema, round, order) = (SCHEMA, 0, 0);
        let rows = self.measurement.rows.iter().cloned().map(|row| {
            let table = table(row.key.algorithm).to_owned();
            RowLine { schema, table, row, round, order, started_unix_ms: 0 }
        });
        let bounds = bounds.into_iter().map(|bound| BoundLine { schema, bound, round, order });
        let entries =
            Entries { primitives: rows.collect(), bounds: bounds.collect(), ..Entries::default() };
        let references = REFERENCES.iter().filter_map(|name| Reference::find(name).ok());
        Costs::of_tables(&self.tables(), &references.collect::<Vec<_>>(), &entries)
    }

    fn tables(&self) -> Vec<AlgorithmTable> {
        let mut tables: Vec<AlgorithmTable> = Vec::new();
        for algorithm in self.measurement.rows.iter().map(|row| row.key.algorithm) {
            let name = table(algorithm);
            match tables.iter_mut().find(|table| table.name == name) {
                Some(table) if table.algorithms.contains(&algorithm) => {}
                Some(table) => table.algorithms.push(algorithm),
                None => tables.push(AlgorithmTable {
                    name: name.to_owned(),
                    algorithms: vec![algorithm],
                    libraries: self.libraries.iter().map(|of| of.id().to_owned()).collect(),
                    sizes: self.sizes.iter().map(|size| Bytes(*size as u64)).collect(),
                    caches: vec![self.cache],
                    hardware: vec![self.hardware],
                    cpus: self.cpus.clone(),
                    rounds: 1,
                    samples: self.samples,
                }),
            }
        }
        tables
    }

    /// What is shown of them.
    pub(crate) fn findings(&self, mut costs: Costs) -> Findings {
        let (answers, doubts) = self.headlines(&costs);
        if !self.shows_all {
            let is_shown = costs.rows.iter().map(|row| self.is_shown(row, &costs.rows));
            let mut is_shown = is_shown.collect::<Vec<_>>().into_iter();
            costs.rows.retain(|_| is_shown.next().unwrap_or_default());
        }
        let notes = doubts.into_iter().chain(self.notes(&costs)).collect();
        let mut findings = Findings { answers, notes, ..Findings::default() };
        costs.add_to(&mut findings);
        findings
    }

    /// The first library of each algorithm, and the one that costs least; and what is to doubt.
    fn headlines(&self, costs: &Costs) -> (Vec<ShownAnswer>, Vec<String>) {
        let mut algorithms: Vec<Algorithm> = Vec::new();
        for row in costs.rows.iter().filter(|row| row.cost.is_some()) {
            if !algorithms.contains(&row.key.algorithm) {
                algorithms.push(row.key.algorithm);
            }
        }
        if algorithms.len() > MOST {
            algorithms.retain(|algorithm| MAIN.contains(&algorithm.name()));
        }
        let headline = |algorithm| {
            let rows = at_one_size(&costs.rows, algorithm);
            let (first, _) = *rows.first()?;
            let least = self.least(&rows).map_or(first, |(row, _)| row);
            let other = (least.key != first.key).then_some(first);
            let answer = ShownAnswer {
                headline: Some(of_one_round(least, other)?),
                ..ShownAnswer::default()
            };
            Some((answer, self.doubt(&rows)))
        };
        let (answers, doubts): (Vec<_>, Vec<_>) =
            algorithms.into_iter().filter_map(headline).unzip();
        (answers, doubts.into_iter().flatten().collect())
    }

    /// That too few samples were quiet to compare several libraries, where it is so.
    fn doubt(&self, rows: &[(&AlgorithmRow, &Cost)]) -> Option<String> {
        let disturbed = rows.iter().filter(|(_, cost)| !self.is_comparable(cost)).count();
        (rows.len() > 1 && disturbed > 0).then(|| {
            format!(
                "{}: of {disturbed} of {} libraries too few samples were quiet to compare them; run it again.",
                rows[0].0.key.algorithm,
                rows.len()
            )
        })
    }

    /// The row that costs least; `None` where one of them cannot be compared with the others.
    fn least<'r>(
        &self,
        rows: &[(&'r AlgorithmRow, &'r Cost)],
    ) -> Option<(&'r AlgorithmRow, &'r Cost)> {
        let are_comparable = rows.iter().all(|(_, cost)| self.is_comparable(cost));
        let rows = rows.iter().copied().filter(|_| are_comparable);
        rows.min_by(|(_, a), (_, b)| a.cycles.median().total_cmp(&b.cycles.median()))
    }

    /// Whether enough of a figure's samples were quiet.
    fn is_comparable(&self, cost: &Cost) -> bool {
        let enough = u64::from(self.samples) * self.cpus.len() as u64;
        !cost.is_disturbed() && !too_few_quiet(cost.taken - cost.dropped, cost.taken, enough)
    }

    /// Whether it is of OpenSSL or of the library that costs least, or failed; of an algorithm of which none
    /// is known to cost least, all are shown.
    fn is_shown(&self, row: &AlgorithmRow, all: &[AlgorithmRow]) -> bool {
        let least = self.least(&at_one_size(all, row.key.algorithm));
        row.is_refused()
            || row.key.library == OPENSSL
            || least.is_none_or(|(least, _)| least.key.library == row.key.library)
    }

    /// What a reader should know, beside what holds for every study.
    fn notes(&self, costs: &Costs) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |is_so: bool, text: &str| notes.extend(is_so.then(|| text.to_owned()));
        if let Some(release) = &self.system {
            let titles = self.libraries.iter().map(|library| library.title());
            let titles = titles.collect::<Vec<_>>().join(", ");
            note(true, &format!("All files of toll's process were those of {release} ({titles})."));
        }
        note(!self.shows_all, SHOWN);
        note(self.libraries.len() > 1, COMPARED);
        let is_of_connection =
            |row: &AlgorithmRow| row.key.algorithm.takes_a_connection() && row.cost.is_some();
        note(costs.rows.iter().any(is_of_connection), IN_MEMORY);
        note(cfg!(debug_assertions), UNOPTIMIZED);
        note(true, &format!("Data was {} in the caches: --cache.", self.cache));
        if let (2.., cpus) = (self.cpus.len(), self.cpus.len()) {
            note(
                true,
                &format!(
                    "{cpus} CPUs worked at the same time: cycles are per CPU, rates are for all together."
                ),
            );
        }
        if let (false, [_, (variable, mask)]) =
            (self.hardware == Hardware::All, &self.hardware.environment()[..])
        {
            note(true, &format!("Features were masked with {variable}={mask}."));
            for library in self.libraries {
                let features = library.processor_features().unwrap_or_default();
                let text = format!("{} says that it uses {features}.", library.title());
                note(!features.is_empty(), &text);
            }
        }
        notes
    }
}

const SHOWN: &str = "Shown are OpenSSL and the fastest library of each algorithm; the others: --all. Where figures \
    are disturbed, no library is known to be the fastest, and all are shown.";
const COMPARED: &str = "One round decides no difference between libraries: `toll run` with [[primitives]] \
    measures several.";
const IN_MEMORY: &str = "Records and handshakes are timed for one side, in memory and without sockets. The other \
    side checks the result and is not timed.";
const UNOPTIMIZED: &str =
    "This toll was built without optimization: the Rust libraries are faster than shown.";

/// The figures of an algorithm at the size of a full record, or at the largest; of operations, all.
fn at_one_size(rows: &[AlgorithmRow], algorithm: Algorithm) -> Vec<(&AlgorithmRow, &Cost)> {
    let rows = rows.iter().filter(|row| row.key.algorithm == algorithm);
    let mut rows: Vec<(&AlgorithmRow, &Cost)> =
        rows.filter_map(|row| Some((row, row.cost.as_ref()?))).collect();
    let mut sizes = rows.iter().filter_map(|(row, _)| row.key.size_bytes);
    let size = sizes.clone().find(|&size| size == RECORD).or_else(|| sizes.by_ref().max());
    rows.retain(|(row, _)| row.key.size_bytes == size);
    rows
}

/// Prints findings as those of a study.
pub(crate) fn print(findings: &Findings) {
    let run = Run::of(QUESTION, findings);
    crate::print(&report::terminal(&run, screen::width(), screen::style()));
}

const QUESTION: &str = "What do algorithms cost here?";

#[cfg(test)]
mod tests {
    use primitives::instructions::Bounded;
    use primitives::row::{Measured, Outcome, RowKey};
    use primitives::sampler::{Quality, Quartiles};
    use primitives::{CycleSource, Row};

    use super::*;

    /// A figure of a library at 16 KiB on a core of 3 GHz.
    fn row(algorithm: &str, library: &str, cycles_per_byte: f64) -> Row {
        let quartiles = |median| Quartiles { low: median, median, high: median };
        let cycles_per_op = cycles_per_byte * 16384.0;
        Row {
            key: RowKey {
                algorithm: algorithm.parse().unwrap(),
                library: library.to_owned(),
                size_bytes: Some(16384),
                hardware: Hardware::All,
                cache: Cache::Warm,
                threads: 1,
            },
            library_title: library.to_owned(),
            cycles_source: CycleSource::MeasuredFrequency,
            outcome: Outcome::Measured(Box::new(Measured {
                cycles_per_byte: Some(quartiles(cycles_per_byte)),
                cycles_per_op: quartiles(cycles_per_op),
                core_hz: 3e9,
                ops_per_s: 3e9 / cycles_per_op,
                bytes_per_s: Some(3e9 / cycles_per_byte),
                messages_per_op: 1,
                samples: 30,
                dropped_shared: 0,
                dropped_unsteady: 0,
                quality: Quality::Quiet,
                confirmed_by: "another".to_owned(),
            })),
        }
    }

    /// What is found of rows, with the bound that AES-GCM once had on Zen 3.
    fn found(rows: Vec<Row>, shows_all: bool) -> Findings {
        let names = ["openssl", "ring", "aws-lc", "rustcrypto"];
        let libraries = names.map(|name| primitives::library::open(name).unwrap());
        let source = CycleSource::MeasuredFrequency;
        let bound = Bound { of: Bounded::Gcm, cycles_per_byte: 0.499, arithmetic: String::new() };
        let round = OneRound {
            measurement: &Measurement { rows, source, interrupted: false },
            libraries: &libraries,
            sizes: &[16384],
            cache: Cache::Warm,
            cpus: &CpuList::from(0),
            hardware: Hardware::All,
            samples: 30,
            shows_all,
            system: None,
        };
        round.findings(round.costs(vec![bound]))
    }

    /// The first headline, the libraries of the first table, and whether a bound is refuted.
    fn parts(found: &Findings) -> (String, Vec<String>, bool) {
        let headline = found.answers[0].headline.clone().unwrap().sentence;
        let libraries = &found.overview[0].columns[1];
        let libraries = libraries.cells.iter().map(|cell| cell.text.clone()).collect();
        (headline, libraries, found.notes.iter().any(|note| note.contains("not a bound")))
    }

    fn with_samples(mut row: Row, change: impl Fn(&mut Measured)) -> Row {
        let Outcome::Measured(measured) = &mut row.outcome else { unreachable!() };
        change(measured);
        row
    }

    #[test]
    fn from_few_quiet_samples_no_library_is_called_the_fastest() {
        let headline = |quiet| {
            let few = with_samples(row("SHA-256", "ring", 0.8), |of| {
                (of.samples, of.dropped_shared) = (quiet, 120 - quiet);
            });
            parts(&found(vec![row("SHA-256", "openssl", 0.9), few], true)).0
        };
        assert!(headline(30).contains("0.800 cycles/byte with ring"), "{}", headline(30));
        assert!(!headline(7).contains("ring"), "{}", headline(7));
    }

    #[test]
    fn beside_a_disturbed_row_no_library_is_called_the_fastest_and_all_are_shown() {
        let gcm = |library, cycles| row("AES-128-GCM", library, cycles);
        let all = || vec![gcm("openssl", 0.811), gcm("ring", 0.6), gcm("aws-lc", 0.393)];
        let (headline, libraries, is_beaten) = parts(&found(all(), false));
        assert!(headline.contains("0.393 cycles/byte with aws-lc, 0.811"), "{headline}");
        // One round decides nothing.
        assert!(!headline.contains("as fast"), "{headline}");
        assert_eq!((libraries, is_beaten), (vec!["openssl".to_owned(), "aws-lc".to_owned()], true));
        for place in 0..3 {
            let mut rows = all();
            rows[place] = with_samples(rows[place].clone(), |of| {
                (of.quality, of.dropped_shared) = (Quality::Disturbed, 2);
            });
            let (headline, libraries, is_beaten) = parts(&found(rows, false));
            assert!(headline.contains("0.811") && !headline.contains("aws-lc"), "{headline}");
            assert_eq!(libraries, ["openssl", "ring", "aws-lc"]);
            // A quiet library below the bound refutes it; a disturbed one does not.
            assert_eq!(is_beaten, place != 2);
        }
    }

    #[test]
    fn openssl_and_the_fastest_library_are_shown_and_with_all_every_one() {
        let rows = || {
            let cbc = |library, cycles| row("AES-128-CBC encrypt", library, cycles);
            let gcm = row("AES-128-GCM", "ring", 0.6);
            vec![cbc("openssl", 2.5), cbc("aws-lc", 2.6), gcm]
        };
        let libraries = |shows_all| parts(&found(rows(), shows_all)).1;
        assert_eq!(libraries(false), ["openssl", "ring"]);
        assert_eq!(libraries(true), ["openssl", "aws-lc", "ring"]);
        let all = found(rows(), false);
        assert!(all.notes.iter().any(|note| note.contains("--all")));
        // The bounds of what was measured alone, as the published figures.
        assert!(all.notes.iter().any(|note| note.contains("estimate")));
        let sha = found(vec![row("SHA-1", "openssl", 1.0)], false);
        assert!(!sha.notes.iter().any(|note| note.contains("estimate")), "{:?}", sha.notes);
    }

    #[test]
    fn what_was_published_of_a_row_stands_beside_it() {
        let many = |messages: u16| {
            let mut row = with_samples(row("SHA-1", "multibuffer", 0.5), |of| {
                of.messages_per_op = messages.into();
                of.cycles_per_op = of.cycles_per_op.per(1.0 / f64::from(messages));
                of.ops_per_s /= f64::from(messages);
            });
            row.key.size_bytes = Some(8192);
            with_samples(row, |of| {
                of.cycles_per_op = of.cycles_per_op.per(2.0);
                of.ops_per_s *= 2.0;
            })
        };
        let libraries = [primitives::library::open("multibuffer").unwrap()];
        for (messages, expected) in [(16, vec![0.49]), (8, vec![1.096]), (4, vec![])] {
            let source = CycleSource::MeasuredFrequency;
            let rows = vec![many(messages)];
            let round = OneRound {
                measurement: &Measurement { rows, source, interrupted: false },
                libraries: &libraries,
                sizes: &[8192],
                cache: Cache::Warm,
                cpus: &CpuList::from(0),
                hardware: Hardware::All,
                samples: 30,
                shows_all: true,
                system: None,
            };
            let costs = round.costs(Vec::new());
            let published = costs.rows[0].published.iter().map(|of| of.cycles_per_byte);
            assert_eq!(published.collect::<Vec<_>>(), expected, "{costs:?}");
        }
    }
}
