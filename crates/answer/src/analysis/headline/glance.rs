//! An answer at a glance, before what others say is known.

/// A headline before it is known what else there is.
pub(super) struct Glance<'a> {
    pub(super) value: String,
    pub(super) unit: String,
    /// Without its full stop.
    pub(super) sentence: String,
    pub(super) of: Of<'a>,
}

/// What a glance is of, so that other answers can say the same.
pub(super) enum Of<'a> {
    /// The tax of a value.
    Tax(&'a str),
    /// How many times as much one value gives as another.
    Ratio(&'a str, &'a str),
    /// Which cell gives most, or least.
    Best,
}
