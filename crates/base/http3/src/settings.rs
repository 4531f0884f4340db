//! SETTINGS (RFC 9114, section 7.2.4).

use crate::{Breach, ErrorCode, LONGEST_HEAD, frame, put_varint, varint};

const MAX_FIELD_SECTION_SIZE: u64 = 6;

/// What a peer announces that is heeded here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// The largest head that the peer takes, where it says so: RFC 9114, section 4.2.2, counts 32 bytes more for
    /// each field than its name and value have.
    pub max_field_section_size: Option<u64>,
}

impl Settings {
    /// What is announced here. That no dynamic table is allowed is the default of QPACK's settings.
    pub const OWN: Self = Self { max_field_section_size: Some(LONGEST_HEAD as u64) };

    /// Appends the frame.
    pub fn put(self, out: &mut Vec<u8>) {
        let mut payload = Vec::new();
        if let Some(size) = self.max_field_section_size {
            put_varint(&mut payload, MAX_FIELD_SECTION_SIZE);
            put_varint(&mut payload, size);
        }
        frame::put_settings(out, &payload);
    }

    pub(crate) fn read(mut payload: &[u8]) -> Result<Self, Breach> {
        let (mut settings, mut seen) = (Self::default(), Vec::new());
        while !payload.is_empty() {
            let (Some(id), Some(value)) = (varint::take(&mut payload), varint::take(&mut payload))
            else {
                return Err(Breach::new(ErrorCode::FrameError, "SETTINGS that end in a setting"));
            };
            match id {
                MAX_FIELD_SECTION_SIZE => settings.max_field_section_size = Some(value),
                0 | 2..=5 => {
                    let what = "a setting that only HTTP/2 has";
                    return Err(Breach::new(ErrorCode::SettingsError, what));
                }
                _ => {}
            }
            seen.push(id);
        }
        seen.sort_unstable();
        if seen.windows(2).any(|two| two[0] == two[1]) {
            return Err(Breach::new(ErrorCode::SettingsError, "a setting twice"));
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_and_wrong_ones_are_refused() {
        let mut frame = Vec::new();
        Settings::OWN.put(&mut frame);
        assert_eq!(Settings::read(&frame[2..]), Ok(Settings::OWN));
        let grease = [0x21, 5, 1, 0, 7, 0];
        assert_eq!(Settings::read(&grease), Ok(Settings::default()));
        for (payload, code) in [
            (&[6, 1, 6, 1][..], ErrorCode::SettingsError),
            (&[0, 1], ErrorCode::SettingsError),
            (&[2, 1], ErrorCode::SettingsError),
            (&[5, 1], ErrorCode::SettingsError),
            (&[6], ErrorCode::FrameError),
            (&[6, 0x40], ErrorCode::FrameError),
        ] {
            assert_eq!(Settings::read(payload).map_err(|breach| breach.code), Err(code));
        }
    }
}
