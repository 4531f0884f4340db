//! Histograms between processes: HdrHistogram's V2 form in base64 (RFC 4648, section 4), which keeps
//! every count.

use base64::prelude::{BASE64_STANDARD, Engine};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Reader, Serializer as Writer, V2Serializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(
    histogram: &Histogram<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| S::Error::custom(format!("a histogram: {error}")))?;
    serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Histogram<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = BASE64_STANDARD.decode(text).map_err(D::Error::custom)?;
    Reader::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| D::Error::custom(format!("a histogram: {error}")))
}
