//! What timed algorithms cost, as a report shows it beside answers.

use super::{AlgorithmRow, Costs, Discarded, LowerBound, table};
use crate::findings::{Column, Findings, Item, Listing, Section, Table, TableCell};
use crate::wording::{grouped, list, unique};
use units::Quantity;

impl Costs {
    /// Puts what a report shows of it beside what there is.
    pub fn add_to(&self, findings: &mut Findings) {
        if self.rows.is_empty() {
            return;
        }
        let rows = grouped(self.rows.iter().map(|row| (row.table.as_str(), row))).into_iter();
        let tables: Vec<Table> = rows.map(|(name, rows)| table::table(name, &rows, self)).collect();
        let measured = self.rows.iter().filter(|row| row.cost.is_some()).count();
        let method = "A cost is the median over the rounds of each round's median of quiet samples; small \
                      print gives the quartiles. Ratios are computed per round, with their intervals in \
                      brackets. Every result was checked against a second library before and after it was \
                      timed.";
        let notes = self.notes();
        let bounds = (!self.bounds.is_empty()).then(|| self.bounds_table());
        let costs = format!("the costs of {measured} combinations of algorithm, library and size");
        let lacking = (self.done < self.planned).then(|| {
            let planned = units::thousands(self.planned as u64);
            format!("{} of {planned} figures of primitives were measured", self.done)
        });
        findings.overview.extend(tables.iter().map(table::brief));
        findings.tables.push(Section {
            title: "Costs",
            about: "Every algorithm, library and size. Click a header to sort.",
            tables: tables.into_iter().chain(bounds).collect(),
        });
        findings
            .method
            .extend([("What a cost is", method.to_owned()), ("Notes on costs", notes.join(" "))]);
        findings.notes.extend(notes);
        findings.rejected.push(Listing {
            title: "Discarded lines of the journal, not used in any figure",
            about: "",
            items: self.discarded.iter().map(Item::from).collect(),
        });
        findings.measured.push(costs);
        findings.lacking.extend(lacking);
        findings.is_empty &= self.done == 0;
        findings.is_whole &= self.is_whole();
        let started = [findings.started_unix_ms, self.started_unix_ms];
        findings.started_unix_ms = started.into_iter().flatten().min();
    }

    /// How to read the figures.
    fn notes(&self) -> Vec<String> {
        let cycles = self.cycles_source.map(|s| format!("Core cycles are {}.", s.in_words()));
        let mut notes: Vec<String> = cycles.into_iter().collect();
        let has = |is_it: fn(&AlgorithmRow) -> bool| self.rows.iter().any(is_it);
        if has(|row| row.cost.as_ref().is_some_and(|cost| cost.contention_unknown)) {
            notes.push(
                "toll cannot detect on this processor whether other work used the core.".to_owned(),
            );
        }
        if has(|row| row.times_the_bound.is_some()) {
            notes.push(
                "Bound: what the instructions allow, in cycles/byte; ~ is an estimate.".to_owned(),
            );
        }
        notes.extend(
            self.bounds
                .iter()
                .filter_map(|bound| Some(format!("{}: {}.", bound.of, bound.beaten.as_ref()?))),
        );
        let sources = unique(self.rows.iter().flat_map(|row| &row.published).map(|of| &of.source));
        notes.extend(
            sources.into_iter().map(|source| format!("Published, not measured here: {source}.")),
        );
        notes.extend(self.lacking());
        notes
    }

    /// What has no figure, by library and reason.
    fn lacking(&self) -> Vec<String> {
        let lacking = self.rows.iter().filter_map(|row| {
            let why = &row.no_figure.as_ref()?.why;
            Some(((!row.is_refused(), &row.library_title, why), row.key.algorithm.name()))
        });
        let mut reasons = grouped(lacking);
        reasons.sort_by_key(|((is_unavailable, ..), _)| *is_unavailable);
        let sentence = |((_, library, why), names): ((bool, &String, &String), Vec<&str>)| {
            const MOST: usize = 3;
            let names = unique(names);
            let mut shown: Vec<String> =
                names.iter().take(MOST).map(|name| (*name).to_owned()).collect();
            if names.len() > MOST {
                shown.push(format!("{} more", names.len() - MOST));
            }
            format!("{library}, {}: {why}.", list(shown))
        };
        reasons.into_iter().map(sentence).collect()
    }

    /// The bound of a row.
    pub(super) fn bound(&self, row: &AlgorithmRow) -> Option<&LowerBound> {
        self.bounds.iter().find(|bound| row.bound == Some(bound.of))
    }
}

impl From<&Discarded> for Item {
    fn from(line: &Discarded) -> Self {
        Self { label: line.of.clone(), text: line.why.clone(), is_warning: true }
    }
}

impl LowerBound {
    /// `0.176`; `~0.176` where it is an estimate.
    pub(super) fn in_short(&self) -> String {
        let sign = if self.of.is_estimate() { "~" } else { "" };
        let cycles = self.cycles_per_byte.median();
        format!("{sign}{}", Quantity::CyclesPerByte.unit_for([cycles]).number(cycles))
    }
}

impl Costs {
    /// What the instructions allow.
    pub fn bounds_table(&self) -> Table {
        let bounds = || self.bounds.iter();
        let medians = bounds().map(|bound| bound.cycles_per_byte.median());
        let unit = Quantity::CyclesPerByte.unit_for(medians);
        let cost = |bound: &LowerBound| TableCell::figure(&bound.cycles_per_byte, &unit);
        let beaten = |of: &LowerBound| of.beaten.clone().unwrap_or_else(|| of.of.word().to_owned());
        Table {
            title: "What the instructions allow".to_owned(),
            count: format!("{} bounds and estimates", self.bounds.len()),
            columns: vec![
                Column::words("of", bounds().map(|bound| bound.of.to_string())),
                Column::words("bound or estimate", bounds().map(beaten)),
                Column::numbers("cycles/byte", "range of the rounds", bounds().map(cost)),
                Column::words("how", bounds().map(|bound| bound.arithmetic.clone())),
            ],
            ..Table::default()
        }
    }
}
