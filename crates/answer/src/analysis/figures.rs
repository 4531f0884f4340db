//! All figures of one cell.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use study::Metric;

use crate::figure::Figure;

/// The figures of a cell, by metric; those that were not measured are not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures(BTreeMap<Metric, Figure>);

impl Figures {
    /// What `figure` gives of each metric that a cell has by itself.
    pub fn of(figure: impl Fn(Metric) -> Option<Figure>) -> Self {
        let figures = Metric::of_cells().filter_map(|metric| Some((metric, figure(metric)?)));
        Self(figures.collect())
    }

    /// That of a metric; `None` where it was not measured.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<&Figure> {
        self.0.get(&metric)
    }
}

/// Every metric is a field, `null` where it was not measured.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for metric in Metric::of_cells() {
            map.serialize_entry(metric.row().json, &self.get(metric))?;
        }
        map.end()
    }
}
