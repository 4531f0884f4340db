//! Aligned columns, of which the less important ones give way where a line is too short.

use unicode_width::UnicodeWidthStr;

/// A column of a table: two lines of header, and a cell for each row.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    unit: String,
    cells: Vec<String>,
    align: Align,
    gives_way: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// The lines of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<String>,
    /// The names of the columns for which there was no room.
    pub(crate) left_out: Vec<String>,
}

const GAP: &str = "  ";

impl Column {
    /// Words, which begin under each other.
    #[must_use]
    pub fn words(name: &str, cells: impl IntoIterator<Item = String>) -> Self {
        let (name, cells) = (name.to_owned(), cells.into_iter().collect());
        Self { name, unit: String::new(), cells, align: Align::Left, gives_way: 0 }
    }

    /// Numbers in a unit, which end under each other.
    #[must_use]
    pub fn numbers(name: &str, unit: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self { unit: unit.to_owned(), align: Align::Right, ..Self::words(name, cells) }
    }

    /// Leaves the column out where there is no room for it, before those with a lower number.
    #[must_use]
    pub fn gives_way(self, gives_way: usize) -> Self {
        Self { gives_way, ..self }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        [&self.name, &self.unit].into_iter().chain(&self.cells).map(String::as_str)
    }

    fn width(&self) -> usize {
        self.texts().map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    fn padded(&self) -> impl Iterator<Item = String> {
        let width = self.width();
        self.texts().map(move |text| {
            let space = " ".repeat(width - text.width());
            match self.align {
                Align::Left => format!("{text}{space}"),
                Align::Right => format!("{space}{text}"),
            }
        })
    }
}

/// The table in lines of at most `width` columns if enough columns can give way. A column whose cells
/// are all empty is left out, and so is a header's line of units without any.
pub(crate) fn table(mut columns: Vec<Column>, width: usize) -> Table {
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    let mut left_out = Vec::new();
    while total(&columns) > width {
        let last = columns.iter().map(|column| column.gives_way).max().unwrap_or(0);
        if last == 0 {
            break;
        }
        let given = columns.extract_if(.., |column| column.gives_way == last);
        left_out.extend(given.map(|column| column.name));
    }
    let mut padded: Vec<_> = columns.iter().map(Column::padded).collect();
    let mut lines = std::iter::from_fn(|| {
        let cells: Option<Vec<String>> = padded.iter_mut().map(Iterator::next).collect();
        cells.filter(|cells| !cells.is_empty()).map(|cells| cells.join(GAP).trim_end().to_owned())
    });
    let mut header: Vec<String> = lines.by_ref().take(2).collect();
    header.retain(|line| !line.is_empty());
    Table { header, rows: lines.collect(), left_out }
}

fn total(columns: &[Column]) -> usize {
    let gaps = columns.len().saturating_sub(1) * GAP.len();
    columns.iter().map(Column::width).sum::<usize>() + gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_is_seen_and_give_way() {
        let cells = |cells: [&str; 2]| cells.map(str::to_owned);
        let columns = vec![
            Column::words("cell", cells(["plain", "x × y"])),
            Column::numbers("CPU", "µs", cells(["9.5", "640.0"])).gives_way(2),
            Column::numbers("nothing", "", cells(["", ""])).gives_way(1),
            Column::numbers("p99", "ms", cells(["1", "20"])).gives_way(1),
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
