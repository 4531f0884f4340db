//! What algorithms cost, on a terminal: answers, and a table by size.

use answer::primitive::{Answer, Cost, Costs, Row};
use units::{Bytes, Hertz, PerSecond};

use super::{Column, Look, Page};
use crate::text::on_one_line;

impl Page {
    pub(super) fn primitives(&mut self, found: &Costs) {
        for answer in &found.answers {
            self.primitive_answer(answer);
        }
        let mut names: Vec<&str> = Vec::new();
        for row in &found.rows {
            if !names.contains(&row.place.table.as_str()) {
                names.push(&row.place.table);
            }
        }
        for name in names {
            let rows: Vec<&Row> = found.rows.iter().filter(|row| row.place.table == name).collect();
            self.heading(&format!("{name}: core cycles per byte, or per operation"));
            self.table(columns(&rows), |_| false);
            if rows.iter().filter_map(|row| row.cost.as_ref()).any(is_disturbed) {
                let why = "too few quiet samples in some round: the figure is too high";
                self.paragraph("! ", why, Look::Warning);
            }
        }
        if let Some(source) = found.cycles_source {
            self.blank();
            let words = format!("Core cycles are {}.", source.in_words());
            self.paragraph("", &words, Look::Dim);
        }
        if !found.discarded.is_empty() {
            self.heading("Discarded lines of the journal, not used in any figure");
        }
        for line in &found.discarded {
            self.paragraph(&format!("  {}: ", on_one_line(&line.of)), &line.why, Look::Warning);
        }
    }

    fn primitive_answer(&mut self, answer: &Answer) {
        self.blank();
        if let Some(question) = &answer.question {
            self.paragraph("", question, Look::Dim);
        }
        for (place, sentence) in answer.sentences.iter().enumerate() {
            match place {
                0 => self.paragraph("", sentence, Look::Bold),
                _ => self.paragraph("  - ", sentence, Look::Usual),
            }
        }
        for caveat in &answer.caveats {
            self.paragraph("  But: ", caveat, Look::Warning);
        }
        if !answer.published.is_empty() {
            let words = format!("{}.", answer.published.join("; "));
            self.paragraph("  Published: ", &words, Look::Usual);
        }
        if let Some(projected) = &answer.projected {
            self.paragraph("  Projected, not measured: ", projected, Look::Usual);
        }
    }
}

fn is_disturbed(cost: &Cost) -> bool {
    cost.disturbed_rounds > 0
}

/// A line for all sizes of an algorithm of a library, and for each operation.
fn columns(rows: &[&Row]) -> Vec<Column> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    let key = |row: &Row| {
        let place = &row.place;
        (place.algorithm.clone(), place.library.clone(), place.hardware, place.cache)
    };
    for row in rows {
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let mut sizes: Vec<Option<u64>> = rows.iter().map(|row| row.place.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let text = |name: &str, of: &dyn Fn(&Row) -> String| {
        Column::words(name, groups.iter().map(|group| on_one_line(&of(group[0]))))
    };
    let mut all = vec![
        text("", &|row| row.place.algorithm.clone()),
        text("library", &|row| row.library_title.clone()),
    ];
    let differ = |of: &dyn Fn(&Row) -> String| rows.iter().any(|row| of(row) != of(rows[0]));
    for (name, of) in [
        ("hardware", (|row: &Row| row.place.hardware.to_string()) as fn(&Row) -> String),
        ("data", |row| row.place.cache.to_string()),
    ] {
        if differ(&of) {
            all.push(text(name, &of));
        }
    }
    for (place, size) in sizes.iter().enumerate() {
        let of = |group: &Vec<&Row>| {
            let row = group.iter().find(|row| row.place.size_bytes == *size);
            row.map(|row| cycles(row)).unwrap_or_default()
        };
        let name = size.map_or_else(|| "operation".to_owned(), |size| Bytes(size).to_string());
        // The smallest sizes give way first.
        let gives_way = if place + 1 == sizes.len() { 0 } else { sizes.len() - place + 2 };
        all.push(number(&name, groups.iter().map(of).collect(), gives_way));
    }
    let last = |of: fn(&Row, &Cost) -> String| {
        let of_group = |group: &Vec<&Row>| {
            let row = group.iter().rfind(|row| row.cost.is_some());
            row.and_then(|row| Some(of(row, row.cost.as_ref()?))).unwrap_or_default()
        };
        groups.iter().map(of_group).collect::<Vec<String>>()
    };
    all.push(number("rate", last(|_, cost| rate(cost)), 1));
    all.push(number("core", last(|_, cost| Hertz(cost.core_hz).to_string()), 2));
    let bound = last(|row, _| row.times_the_bound.map_or_else(String::new, |t| format!("{t:.2}x")));
    all.push(number("bound", bound, 1));
    let published = groups.iter().map(|group| {
        let of = group.iter().flat_map(|row| &row.published);
        of.map(|of| format!("{} {}", of.label, of.cycles_per_byte)).collect::<Vec<_>>().join(", ")
    });
    all.push(Column::words("published", published).gives_way(1));
    all
}

fn number(name: &str, cells: Vec<String>, gives_way: usize) -> Column {
    Column::numbers(name, "", cells).gives_way(gives_way)
}

fn cycles(row: &Row) -> String {
    let Some(cost) = &row.cost else {
        return if row.is_refused() { "refused" } else { "-" }.to_owned();
    };
    let mark = if is_disturbed(cost) { "!" } else { "" };
    let median = cost.cycles.estimate.median;
    match row.place.size_bytes {
        Some(_) => format!("{median:.3}{mark}"),
        None => format!("{median:.0}{mark}"),
    }
}

fn rate(cost: &Cost) -> String {
    match cost.bytes_per_s {
        Some(bytes) => format!("{:.2} GB/s", bytes / 1e9),
        None => PerSecond(cost.ops_per_s).to_string(),
    }
}
