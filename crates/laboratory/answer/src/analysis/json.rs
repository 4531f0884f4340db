//! A row as programs get it.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use study::Metric;

use super::cycles::Cycles;
use super::row::Row;
use crate::circumstance::Circumstance;
use crate::measured::MeasuredRow;

/// Every metric is a field with its unit in the name, `null` where it was not measured.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let MeasuredRow { name, case, label, params, library, trials, .. } = &self.measured;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cell", name)?;
        map.serialize_entry("case", case)?;
        map.serialize_entry("label", label)?;
        map.serialize_entry("params", params)?;
        if let Some(library) = library {
            map.serialize_entry("library", library)?;
        }
        map.serialize_entry("trials", trials)?;
        for metric in Metric::of_rows() {
            map.serialize_entry(metric.row().json, &self.figure(metric))?;
        }
        map.serialize_entry("limits", &self.limits)?;
        map.serialize_entry("mark", &self.mark)?;
        if let Some(congestion) = self.circumstances.get(&Circumstance::Congestion) {
            map.serialize_entry("congestion", congestion)?;
        }
        map.serialize_entry("search", &self.search)?;
        map.serialize_entry("cpus", &self.cpus())?;
        if let Some(cycles) = Cycles::of(self) {
            map.serialize_entry("cycles", &cycles)?;
        }
        map.end()
    }
}
