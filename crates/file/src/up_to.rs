//! Whole numbers with a limit.

use serde::Deserialize;

/// A number from 1 to `MOST`.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "u32")]
pub(super) struct UpTo<const MOST: u32>(pub(super) u32);

impl<const MOST: u32> TryFrom<u32> for UpTo<MOST> {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        match (1..=MOST).contains(&number) {
            true => Ok(Self(number)),
            false => Err(format!("{number} is too many; write a whole number from 1 to {MOST}")),
        }
    }
}
