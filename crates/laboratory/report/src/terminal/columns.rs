//! Aligned columns, of which the less important ones give way where a line is too short.

use answer::findings::{Column, SortKey};
use unicode_width::UnicodeWidthStr;

use crate::text::on_one_line;

/// The lines of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<String>,
    /// The names of the columns for which there was no room.
    pub(crate) left_out: Vec<String>,
}

const GAP: &str = "  ";

/// How long the longest bar is, in columns.
const LEAST_BAR: usize = 4;
const MOST_BAR: usize = 40;

/// A column as it is written: two lines of header, then its cells, each on one line.
struct Written {
    texts: Vec<String>,
    width: usize,
    is_number: bool,
    yields_to: usize,
}

impl Written {
    fn of(column: Column) -> Self {
        let texts = [column.name, column.unit].into_iter();
        let texts: Vec<String> = texts
            .chain(column.cells.into_iter().map(|cell| cell.text))
            .map(|text| on_one_line(&text))
            .collect();
        let width = texts.iter().map(|text| text.width()).max().unwrap_or(0);
        Self { texts, width, is_number: column.is_number, yields_to: column.yields_to }
    }

    /// Bars, the longest of which has this length.
    fn drawn(column: &Column, longest: usize) -> Self {
        let length = |key: &Option<SortKey>| match key {
            Some(SortKey::Number(length)) => *length,
            _ => 0.0,
        };
        let lengths = || column.cells.iter().map(|cell| length(&cell.key));
        let most = lengths().fold(0.0, f64::max);
        let bar = |length: f64| "█".repeat((length / most * longest as f64).round() as usize);
        let texts = [String::new(), String::new()].into_iter().chain(lengths().map(bar));
        Self { texts: texts.collect(), width: longest, is_number: false, yields_to: 0 }
    }

    fn padded(&self, line: usize) -> String {
        let text = &self.texts[line];
        let space = " ".repeat(self.width - text.width());
        match self.is_number {
            true => format!("{space}{text}"),
            false => format!("{text}{space}"),
        }
    }
}

/// The table in lines of at most `width` columns if enough columns can give way. A column whose cells
/// are all empty is left out, and so is a header's line of units without any. Bars stand last.
pub(crate) fn table(columns: Vec<Column>, width: usize) -> Table {
    let shown = columns.into_iter().filter(|column| !column.is_empty());
    let (bars, texts): (Vec<Column>, Vec<Column>) = shown.partition(|column| column.is_bars);
    let mut columns: Vec<Written> = texts.into_iter().map(Written::of).collect();
    let mut left_out = Vec::new();
    while total(&columns) > width {
        let last = columns.iter().map(|column| column.yields_to).max().unwrap_or(0);
        if last == 0 {
            break;
        }
        let given = columns.extract_if(.., |column| column.yields_to == last);
        left_out.extend(given.map(|mut column| column.texts.swap_remove(0)));
    }
    let room = width.saturating_sub(total(&columns) + GAP.len());
    let longest = room.clamp(LEAST_BAR, MOST_BAR);
    columns.extend(bars.iter().map(|bars| Written::drawn(bars, longest)));
    let lines = columns.first().map_or(0, |column| column.texts.len());
    let line = |line| {
        let cells: Vec<String> = columns.iter().map(|column| column.padded(line)).collect();
        cells.join(GAP).trim_end().to_owned()
    };
    let mut header: Vec<String> = (0..lines).map(line).collect();
    let rows = header.split_off(lines.min(2));
    header.retain(|line| !line.is_empty());
    Table { header, rows, left_out }
}

fn total(columns: &[Written]) -> usize {
    let gaps = columns.len().saturating_sub(1) * GAP.len();
    columns.iter().map(|column| column.width).sum::<usize>() + gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_is_seen_and_give_way() {
        let cells = |cells: [&str; 2]| cells.map(str::to_owned);
        let columns = vec![
            Column::words("cell", cells(["plain", "x × y"])),
            Column::numbers("CPU", "µs", cells(["9.5", "640.0"])).yields_to(2),
            Column::numbers("nothing", "", cells(["", ""])).yields_to(1),
            Column::numbers("p99", "ms", cells(["1", "20"])).yields_to(1),
        ];
        let whole = table(columns.clone(), 80);
        assert_eq!(whole.header, ["cell     CPU  p99", "          µs   ms"]);
        assert_eq!(whole.rows, ["plain    9.5    1", "x × y  640.0   20"]);
        assert!(whole.left_out.is_empty());
        let narrow = table(columns.clone(), 12);
        assert_eq!(
            (narrow.header[0].as_str(), &narrow.left_out[..]),
            ("cell   p99", &["CPU".to_owned()][..])
        );
        let least = table(columns, 1);
        assert_eq!(
            (least.header, least.rows),
            (vec!["cell".to_owned()], cells(["plain", "x × y"]).to_vec())
        );
    }
}
