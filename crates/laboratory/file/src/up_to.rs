//! Whole numbers with a limit.

use std::num::NonZeroU32;

use serde::Deserialize;

/// A number from 1 to `MOST`.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "NonZeroU32")]
pub(super) struct UpTo<const MOST: u32>(pub(super) u32);

impl<const MOST: u32> TryFrom<NonZeroU32> for UpTo<MOST> {
    type Error = String;

    fn try_from(number: NonZeroU32) -> Result<Self, String> {
        match number.get() <= MOST {
            true => Ok(Self(number.get())),
            false => Err(format!("{number} is too many; write a whole number from 1 to {MOST}")),
        }
    }
}
