//! Published figures, which stand beside ours in answers and charts: those that a paper states in words
//! or tables, with their source. Nothing is read off a curve.

use primitives::{Algorithm, Cache};
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::Params;

/// What was published of one measurement.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reference {
    schema: u32,
    /// Whose figures they are, as a sentence names them: `Intel's Xeon E5 v3`.
    pub who: String,
    /// Where and when they were published.
    pub source: String,
    #[serde(rename = "figure")]
    figures: Vec<PublishedFigure>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PublishedFigure {
    name: String,
    what: String,
    unit: PublishedUnit,
    /// Absent where only words were published.
    low: Option<f64>,
    high: Option<f64>,
    #[serde(default)]
    is_at_least: bool,
    says: String,
    /// Where in the publication it stands.
    place: Option<String>,
    /// What it is shown next to, where that is not every cell.
    beside: Option<PublishedPlace>,
}

/// What a published figure is shown next to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum PublishedPlace {
    /// Of a cost in cycles/byte: a row of a table.
    Row(PublishedRow),
    /// Cells with these values of swept keys.
    Cells(Params),
}

/// Which row of a table of primitives a published cost stands beside.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedRow {
    /// The algorithm, by toll's name.
    pub algorithm: Algorithm,
    /// Of a message.
    pub size: Bytes,
    /// Whether many messages were hashed at once.
    #[serde(default)]
    pub many_messages: bool,
    /// How many, where that was published.
    pub messages: Option<u64>,
    /// Where the data lay, where that was published.
    pub cache: Option<Cache>,
    /// What tells it from the others of its row: the processor.
    pub label: String,
}

/// One published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Its name in the reference, as study files say it.
    pub name: String,
    /// Whose it is: `Intel's Xeon E5 v3`.
    pub who: String,
    /// Where it was published.
    pub source: String,
    /// What it is of.
    pub what: String,
    /// As a sentence tells it: `2 to 2.4x`.
    pub says: String,
    /// Where it stands there: `Table 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What it counts.
    pub unit: PublishedUnit,
    /// The figure, or the lower end of its range; 0 where only words were published.
    pub low: f64,
    /// The upper end; the same as the lower one where it is one figure.
    pub high: f64,
    /// Whether no upper end was published.
    pub is_at_least: bool,
    /// It is shown next to cells with these values of swept keys; where there are none, next to every
    /// cell but the baseline.
    pub beside: Params,
}

/// What a published figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PublishedUnit {
    /// One thing over another.
    #[serde(rename = "ratio")]
    Ratio,
    /// 10^9 bits a second of all cores.
    #[serde(rename = "Gb/s")]
    Gbps,
    /// 10^9 bits a second of one core.
    #[serde(rename = "Gb/s a core")]
    GbpsPerCore,
    /// 10^9 bits a second of a device that does it instead of the CPU, nominal.
    #[serde(rename = "Gb/s of a device")]
    GbpsOfDevice,
    /// Core cycles for each byte.
    #[serde(rename = "cycles/byte")]
    CyclesPerByte,
    /// Operations per second of all cores.
    #[serde(rename = "1/s")]
    PerSecond,
    /// CPUs that the server keeps busy.
    #[serde(rename = "CPUs")]
    Cpus,
    /// The share of its CPUs that the server keeps busy.
    #[serde(rename = "share")]
    Share,
    /// 10^9 bits a second that paced connections asked for: how large the load was, not a result.
    #[serde(rename = "Gb/s paced")]
    Pace,
    /// Which of two is ahead, without a number.
    #[serde(rename = "words")]
    Words,
}

/// The only form of these files so far.
const SCHEMA: u32 = 1;

/// Each name with its file.
const FILES: [(&str, &str); 7] = [
    ("isa-l-crypto", include_str!("../../../../studies/reference/isa-l-crypto.toml")),
    ("petstore-xeon-e5620", include_str!("../../../../studies/reference/petstore-xeon-e5620.toml")),
    ("quickassist-8955", include_str!("../../../../studies/reference/quickassist-8955.toml")),
    ("tls-stacks", include_str!("../../../../studies/reference/tls-stacks.toml")),
    ("xeon-e5-v3-2014", include_str!("../../../../studies/reference/xeon-e5-v3-2014.toml")),
    ("xeon-gold-6142", include_str!("../../../../studies/reference/xeon-gold-6142.toml")),
    ("xeon-scalable", include_str!("../../../../studies/reference/xeon-scalable.toml")),
];

impl PublishedRow {
    /// Whether it was measured with this number of messages at once.
    pub fn is_of(&self, messages: u64) -> bool {
        self.messages.map_or(self.many_messages == (messages > 1), |own| own == messages)
    }
}

impl Reference {
    /// The names of all built-in references.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        FILES.iter().map(|(name, _)| *name)
    }

    /// The reference of this name.
    ///
    /// # Errors
    /// There is none, or its file is wrong, which is a fault of toll.
    pub fn find(name: &str) -> Result<Self, String> {
        let known = || Self::names().collect::<Vec<_>>().join(", ");
        let file = FILES.iter().find(|(known, _)| *known == name);
        let (_, text) = file.ok_or_else(|| {
            format!("`{name}` is no published measurement that toll knows; there are: {}", known())
        })?;
        Self::parse(text).map_err(|why| format!("the figures of {name} cannot be read: {why}"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let reference: Self = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if reference.schema != SCHEMA {
            return Err(format!("schema = {} is not known here", reference.schema));
        }
        for (place, figure) in reference.figures.iter().enumerate() {
            let PublishedFigure { name, low, high, .. } = figure;
            let is_range = match (*low, *high) {
                (Some(low), high) => {
                    let high = high.unwrap_or(low);
                    low.is_finite() && high.is_finite() && 0.0 < low && low <= high
                }
                (None, high) => high.is_none() && figure.unit == PublishedUnit::Words,
            };
            if !is_range || (figure.is_at_least && high.is_some()) {
                return Err(format!("figure {name}: {low:?} to {high:?} is not a range"));
            }
            if reference.figures[..place].iter().any(|other| other.name == *name) {
                return Err(format!("two figures are named {name}"));
            }
        }
        Ok(reference)
    }

    /// The names of its figures.
    pub fn figures(&self) -> impl Iterator<Item = &str> + Clone {
        self.figures.iter().map(|figure| figure.name.as_str())
    }

    /// The costs that stand beside rows of tables: where, and in cycles per byte.
    pub fn costs(&self) -> impl Iterator<Item = (&PublishedRow, f64)> {
        let costs =
            self.figures.iter().filter(|figure| figure.unit == PublishedUnit::CyclesPerByte);
        costs.filter_map(|figure| match &figure.beside {
            Some(PublishedPlace::Row(beside)) => Some((beside, figure.low?)),
            _ => None,
        })
    }

    pub fn figure(&self, name: &str) -> Option<Published> {
        let figure = self.figures.iter().find(|figure| figure.name == name)?;
        Some(Published {
            name: figure.name.clone(),
            who: self.who.clone(),
            source: self.source.clone(),
            what: figure.what.clone(),
            says: figure.says.clone(),
            place: figure.place.clone(),
            unit: figure.unit,
            low: figure.low.unwrap_or_default(),
            high: figure.high.or(figure.low).unwrap_or_default(),
            is_at_least: figure.is_at_least,
            beside: match &figure.beside {
                Some(PublishedPlace::Cells(params)) => params.clone(),
                _ => Params::default(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_claimed_of_a_paper_says_where_it_stands() {
        for name in ["petstore-xeon-e5620", "quickassist-8955", "xeon-e5-v3-2014", "xeon-gold-6142"]
        {
            let reference = Reference::find(name).unwrap();
            let figures = reference.figures().map(|name| reference.figure(name).unwrap());
            let lacking: Vec<_> =
                figures.filter(|of| of.place.is_none()).map(|of| of.name).collect();
            assert_eq!(lacking, Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn every_shipped_reference_is_read() {
        for name in Reference::names() {
            let reference = Reference::find(name).unwrap();
            assert!(reference.figures().count() > 1, "{name}");
        }
        let figure = Reference::find("xeon-e5-v3-2014").unwrap().figure("nginx-large-files");
        let figure = figure.unwrap();
        assert_eq!((figure.low, figure.high, figure.unit), (2.0, 2.4, PublishedUnit::Ratio));
        assert!(Reference::find("xeon").is_err());
    }

    #[test]
    fn a_file_that_says_something_else_is_refused() {
        let file = |figure: &str| {
            format!(
                "schema = 1\nwho = \"w\"\nsource = \"s\"\n[[figure]]\nname = \"n\"\nwhat = \"w\"\n{figure}"
            )
        };
        let good = "unit = \"ratio\"\nlow = 2.0\nsays = \"2x\"\n";
        assert!(Reference::parse(&file(good)).is_ok());
        let changed = ["high = 1.0", "high = 3.0\nis-at-least = true", "curve = [1.0]"];
        let changed = changed.map(|change| (change, file(&format!("{good}{change}\n"))));
        let twice = format!("{}[[figure]]\nname = \"n\"\nwhat = \"w\"\n{good}", file(good));
        let others = [
            ("schema = 2", file(good).replace("schema = 1", "schema = 2")),
            ("a second figure n", twice),
        ];
        support::assert_golden!(
            changed
                .into_iter()
                .chain(others)
                .map(|(change, text)| { (change, Reference::parse(&text).unwrap_err()) })
        );
    }
}
