//! The state after a ClientHello: takes the ServerHello or HelloRetryRequest.

use ::tls::PrfHash;

use super::common::{Common, no_keys};
use super::flight::ServerHello;
use super::hello::{Hello, Retry};
use super::protected::Protected;
use crate::handshake::encoding::{CHANGE_CIPHER_SPEC, put_records};
use crate::handshake::fixed_share::{fixed, shared};
use crate::handshake::refusal::Refusal;
use crate::handshake::transcript::Transcript;
use crate::record::content_type;

/// How far a handshake is.
pub(super) enum Stage {
    Start,
    /// A ClientHello was sent.
    HelloSent(Box<HelloSent>),
    /// The ServerHello was received; records are protected with the handshake's keys.
    Protected(Box<Protected>),
    Over,
}

/// The ClientHello that was sent, and what came before it.
pub(super) struct HelloSent {
    /// The last ClientHello.
    pub(super) message: Vec<u8>,
    /// The group whose share it carries.
    pub(super) group: u16,
    /// The suite of a HelloRetryRequest, and the transcript up to the last ClientHello.
    pub(super) retried: Option<(u16, Transcript)>,
}

impl HelloSent {
    /// Takes the server's answer and returns the next stage.
    pub(super) fn answered(
        self,
        common: &Common,
        hello: &ServerHello<'_>,
        message: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Stage, Refusal> {
        const TLS13: u16 = 0x0304;
        if hello.version != Some(TLS13) {
            return Err(Refusal::version());
        }
        if hello.has_others {
            return Err(Refusal::unexpected("an extension of ServerHello that was not offered"));
        }
        if hello.session_id != Hello::session_id(&self.message) {
            return Err(Refusal::illegal("a session identifier that is not the client's"));
        }
        let (suite, beginning) = common
            .suites
            .iter()
            .find(|(suite, _)| suite.code_point == hello.suite)
            .ok_or_else(|| Refusal::illegal("a suite that was not offered"))?;
        let retried = self.retried.as_ref();
        if retried.is_some_and(|(suite, _)| *suite != hello.suite) {
            return Err(Refusal::illegal("another suite than the HelloRetryRequest's"));
        }
        if hello.is_retry {
            return self.asked_again(common, hello, suite.prf, message, to_send);
        }
        let group = common
            .groups
            .iter()
            .find(|group| {
                hello.group == Some(group.code_point()) && hello.group == Some(self.group)
            })
            .ok_or_else(|| {
                Refusal::illegal("a key share of a group for which the client sent none")
            })?;
        let shared = shared(*group, hello.share)
            .ok_or_else(|| Refusal::illegal("a key share that is not valid in its group"))?;
        let is_retried = self.retried.is_some();
        let mut transcript = match self.retried {
            Some((_, transcript)) => transcript,
            None => Transcript::new(suite.prf),
        };
        transcript.add(&self.message);
        transcript.add(message);
        let keys = beginning.handshake(&shared, &transcript.hash());
        let protected = Protected::new(suite, *group, transcript, keys, is_retried);
        let protected = protected.ok_or_else(no_keys)?;
        Ok(Stage::Protected(Box::new(protected)))
    }

    /// Answers a HelloRetryRequest (RFC 8446, section 4.1.4).
    fn asked_again(
        self,
        common: &Common,
        hello: &ServerHello<'_>,
        hash: PrfHash,
        message: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Stage, Refusal> {
        if self.retried.is_some() {
            return Err(Refusal::unexpected("a second HelloRetryRequest"));
        }
        let group = hello.group.filter(|group| *group != self.group);
        if group.is_none() && (hello.group.is_some() || hello.cookie.is_none()) {
            return Err(Refusal::illegal("a HelloRetryRequest that changes nothing"));
        }
        let exchange = match group {
            None => None,
            Some(wanted) => {
                let group = common.groups.iter().find(|group| group.code_point() == wanted);
                let exchange = group.and_then(|group| fixed(*group).start().ok());
                Some(exchange.ok_or_else(|| Refusal::illegal("a group that was not offered"))?)
            }
        };
        let retry = Retry {
            share: group.zip(exchange.as_ref().map(|exchange| exchange.pub_key())),
            cookie: hello.cookie,
        };
        let second = Hello::after_retry(&self.message, &retry).ok_or_else(no_keys)?;
        put_records(to_send, content_type::CHANGE_CIPHER_SPEC, [3, 3], &CHANGE_CIPHER_SPEC);
        Hello::put(to_send, &second, false);
        let mut first = Transcript::new(hash);
        first.add(&self.message);
        let mut transcript = first.replaced_by_its_hash(hash);
        transcript.add(message);
        Ok(Stage::HelloSent(Box::new(HelloSent {
            message: second,
            group: group.unwrap_or(self.group),
            retried: Some((hello.suite, transcript)),
        })))
    }
}
