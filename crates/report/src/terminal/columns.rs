//! Aligned columns, of which the less important ones give way where a line is too short.

use unicode_width::UnicodeWidthStr;

/// A column: two lines of header, and a cell for each row.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) cells: Vec<String>,
    pub(crate) align: Align,
    /// The column with the highest number gives way first; those with 0 never do.
    pub(crate) gives_way: u8,
}

/// To which side of its column a cell is pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

const GAP: &str = "  ";

impl Column {
    fn width(&self) -> usize {
        let widths =
            [&self.name, &self.unit].into_iter().chain(&self.cells).map(|text| text.width());
        widths.max().unwrap_or(0)
    }

    fn padded(&self, text: &str, width: usize) -> String {
        let space = " ".repeat(width.saturating_sub(text.width()));
        match self.align {
            Align::Left => format!("{text}{space}"),
            Align::Right => format!("{space}{text}"),
        }
    }
}

/// The header and the rows, in lines of at most `width` columns if columns can give way so far. A
/// column whose cells are all empty is left out.
pub(crate) fn lines(columns: Vec<Column>, rows: usize, width: usize) -> (Vec<String>, Vec<String>) {
    let mut columns: Vec<Column> = columns
        .into_iter()
        .filter(|column| column.cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    while total(&columns) > width {
        let last = columns.iter().map(|column| column.gives_way).max().unwrap_or(0);
        if last == 0 {
            break;
        }
        columns.retain(|column| column.gives_way != last);
    }
    let line = |text: &dyn Fn(&Column) -> String| {
        let padded: Vec<String> =
            columns.iter().map(|column| column.padded(&text(column), column.width())).collect();
        padded.join(GAP).trim_end().to_owned()
    };
    let header = vec![line(&|column| column.name.clone()), line(&|column| column.unit.clone())];
    let row = |i: usize| line(&|column| column.cells.get(i).cloned().unwrap_or_default());
    (header, (0..rows).map(row).collect())
}

fn total(columns: &[Column]) -> usize {
    let gaps = columns.len().saturating_sub(1) * GAP.len();
    columns.iter().map(Column::width).sum::<usize>() + gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, unit: &str, cells: [&str; 2], align: Align, gives_way: u8) -> Column {
        let cells = cells.map(str::to_owned).to_vec();
        Column { name: name.into(), unit: unit.into(), cells, align, gives_way }
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        let columns = vec![
            column("cell", "", ["plain", "x × y"], Align::Left, 0),
            column("CPU", "µs", ["9.5", "640.0"], Align::Right, 2),
            column("nothing", "", ["", ""], Align::Right, 1),
            column("p99", "ms", ["1", "20"], Align::Right, 1),
        ];
        let (header, rows) = lines(columns.clone(), 2, 80);
        assert_eq!(header, ["cell     CPU  p99", "          µs   ms"]);
        assert_eq!(rows, ["plain    9.5    1", "x × y  640.0   20"]);
        let (header, _) = lines(columns.clone(), 2, 12);
        assert_eq!(header[0], "cell   p99");
        let (header, rows) = lines(columns, 2, 1);
        assert_eq!((header[0].as_str(), rows[1].as_str()), ("cell", "x × y"));
    }
}
