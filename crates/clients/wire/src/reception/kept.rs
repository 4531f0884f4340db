//! A response that is kept whole for its reader to judge: a page of a session.

use crate::{ErrorKind, Failure};

use super::http::{BodyEnd, body_end, is_bodyless, status};

/// The longest body that is kept. A page of a web application is far shorter, and each user keeps
/// one while it arrives.
pub(super) const LONGEST_BODY: u64 = 16 << 20;

/// The most room that is made for a promised body before any of it has come.
const MOST_ROOM: u64 = 64 << 10;

/// What a server answered, whatever its status.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KeptResponse {
    pub status: u16,
    pub location: Option<Vec<u8>>,
    /// The values of the Set-Cookie fields.
    pub cookies: Vec<Vec<u8>>,
    pub body: Vec<u8>,
}

impl KeptResponse {
    /// Keeps what a session reads of a head. Returns where the body ends, and whether the connection
    /// closes after it.
    pub(super) fn take_head(
        &mut self,
        head: &httparse::Response<'_, '_>,
    ) -> Result<(BodyEnd, bool), Failure> {
        let values = |name: &'static str| {
            let named =
                head.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
            named.map(|field| field.value.to_vec())
        };
        self.status = head.code.unwrap_or(0);
        self.cookies.extend(values("set-cookie"));
        self.location = values("location").next();
        if values("location").nth(1).is_some() {
            return Err(status("two Locations"));
        }
        let (end, closes) = body_end(head, is_bodyless(self.status))?;
        if let BodyEnd::Length(promised) = end {
            self.body.reserve(promised.min(MOST_ROOM) as usize);
        }
        Ok((end, closes))
    }

    pub(super) fn take_body(&mut self, content: &[u8]) -> Result<(), Failure> {
        if (self.body.len() + content.len()) as u64 > LONGEST_BODY {
            return Err(too_large());
        }
        self.body.extend_from_slice(content);
        Ok(())
    }
}

pub(super) fn too_large() -> Failure {
    Failure::new(ErrorKind::LongBody, "a page of more than 16 MiB")
}
