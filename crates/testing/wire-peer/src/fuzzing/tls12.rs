//! A server of TLS 1.2 with the right keys, whose messages the input chooses.

use std::sync::{Arc, OnceLock};

use tls::{CertificateKey, Identity, Suite, Version};
use wire::handshake::{Client, ClientCertificate, GivenSession, Offer, Trust, client};
use wire::record::content_type;

use super::input::Input;
use crate::Tls12Puppet;
use crate::messages::{Extensions, in_records, kind, message, vector16};

const SESSION_TICKET: (u16, &[u8]) = (35, &[]);
const EXTENDED_MASTER_SECRET: (u16, &[u8]) = (23, &[]);

/// Messages from which the client takes keys, or sessions.
const CHANGES_KEYS: [u8; 3] =
    [kind::SERVER_HELLO, kind::SERVER_KEY_EXCHANGE, kind::NEW_SESSION_TICKET];

fn identity() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(|| Identity::generate(CertificateKey::EcdsaP256).expect("a key"))
}

/// The client has one too; the same will do.
pub(super) fn client_certificate() -> Arc<ClientCertificate> {
    static CERTIFICATE: OnceLock<Arc<ClientCertificate>> = OnceLock::new();
    let make = || Arc::new(ClientCertificate::new(identity()).expect("a key that signs"));
    CERTIFICATE.get_or_init(make).clone()
}

fn suites() -> [&'static Suite; 2] {
    ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-GCM-SHA384"]
        .map(|name| Suite::parse(name).expect("a suite"))
}

/// The input: a byte that chooses the suite, the extended master secret and whether a ticket is
/// promised, then one handshake after another of one client: steps of a server, each with its content.
pub fn tls12(input: &[u8]) {
    let mut input = Input(input);
    let first = input.byte();
    let suite = suites()[usize::from(first & 1)];
    let offer = Offer {
        suite: Some(suite),
        version: Some(Version::Tls12),
        resumed_percent: 100,
        client_certificate: Some(client_certificate()),
        ..Offer::to("localhost", Trust::Anyone)
    };
    let client = client(&offer, Box::new(|| false)).expect("a client is made");
    let mut extensions = Vec::new();
    extensions.extend((first & 2 != 0).then_some(EXTENDED_MASTER_SECRET));
    extensions.extend((first & 4 != 0).then_some(SESSION_TICKET));
    let mut master = None;
    for _ in 0..3 {
        if input.is_empty() {
            break;
        }
        handshake(&*client, suite, &extensions, &mut master, &mut input);
    }
}

/// One handshake; `master` is the secret of the last one that ended well.
fn handshake(
    client: &dyn Client,
    suite: &'static Suite,
    extensions: &Extensions<'_>,
    master: &mut Option<Vec<u8>>,
    input: &mut Input<'_>,
) {
    let mut handshake = client.start().expect("a client starts");
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    assert!(matches!(handshake.advance(&mut received, &mut to_send), Ok(None)));
    let offered = to_send[44..].get(..to_send[43].into()).unwrap_or_default().to_vec();
    let mut puppet = Tls12Puppet::new(&to_send, suite);
    to_send.clear();
    let (mut has_finished, mut gives_ticket, mut is_heard) = (false, false, false);
    // Whether the puppet knows all that it has sent, so that its keys are right.
    let mut is_known = true;
    while !input.is_empty() {
        match input.byte() % 13 {
            0 => puppet.send(&puppet.hello(&[], extensions)),
            1 => puppet.send(&Tls12Puppet::certificate(identity())),
            2 => {
                let parameters = Tls12Puppet::own_parameters();
                puppet.send(&Tls12Puppet::key_exchange(&parameters, 0x0403, &[1; 70]));
            }
            3 => puppet.send(&message(kind::SERVER_HELLO_DONE, &[])),
            4 => {
                let ticket = input.counted();
                gives_ticket |= !ticket.is_empty();
                let body = [&[0, 0, 0, 9], &vector16(ticket)[..]].concat();
                puppet.send(&message(kind::NEW_SESSION_TICKET, &body));
            }
            5 => {
                puppet.finish();
                has_finished = true;
            }
            6 => {
                let kind = input.byte();
                is_known &= !CHANGES_KEYS.contains(&kind);
                puppet.send(&message(kind, input.counted()));
            }
            7 => {
                let content_type = 20 + input.byte() % 5;
                is_known &= content_type != content_type::HANDSHAKE;
                puppet.out.extend(in_records(content_type, input.counted()));
            }
            8 => {
                let content_type = 20 + input.byte() % 5;
                puppet.seal(content_type, input.counted());
            }
            9 => {
                let share = input.counted();
                is_known = false;
                let parameters = Tls12Puppet::parameters(input.short() as u16, share);
                let scheme = input.short() as u16;
                puppet.send(&Tls12Puppet::key_exchange(&parameters, scheme, input.counted()));
            }
            10 => {
                let id = input.counted();
                puppet.send(&puppet.hello(id, extensions));
            }
            11 => puppet.change(),
            // It resumes what the client has offered.
            _ => {
                puppet.send(&puppet.hello(&offered, extensions));
                if let Some(master) = master.clone().filter(|_| !offered.is_empty()) {
                    puppet.resume(master);
                }
            }
        }
        received.append(&mut puppet.out);
        let result = handshake.advance(&mut received, &mut to_send);
        assert!(to_send.len() < 2000, "the client sends too much");
        match result {
            Ok(None) => {}
            Err(_) => return,
            Ok(Some(established)) => {
                assert!(has_finished, "a handshake without a Finished");
                let negotiated = established.negotiated;
                assert_eq!((negotiated.suite, negotiated.version), (suite, Version::Tls12));
                assert_eq!(negotiated.resumed, negotiated.group.is_none());
                let has_ticket = established.remarks.given == Some(GivenSession::Ticket);
                assert!(has_ticket == gives_ticket || !is_known);
                let is_heard = is_heard || negotiated.resumed && puppet.take(&to_send);
                assert!(is_heard, "no Finished of the client");
                *master = puppet.master();
                return;
            }
        }
        if !to_send.is_empty() {
            is_heard = puppet.take(&to_send);
            assert!(is_heard || !is_known, "the client's flight has other keys");
            to_send.clear();
        }
    }
}
