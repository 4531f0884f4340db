//! ECDHE and sessions of TLS 1.2 with a server that breaks the rules, but has the right keys.

use tls::{CertificateKey, Identity, Suite};
use wire::handshake::{Client, Established, GivenSession, Offer};
use wire::record::content_type;
use wire::{ErrorKind, Failure};
use wire_peer::Tls12Puppet;
use wire_peer::messages::{Extensions, in_records, kind, message, vector16, vector24};

use super::static_rsa::{offering, suite};
use super::{client_of, hello_of, to_anyone};

const EXTENDED_MASTER_SECRET: (u16, &[u8]) = (23, &[]);
const SESSION_TICKET: (u16, &[u8]) = (35, &[]);
const WITH_TICKET: &Extensions<'_> = &[EXTENDED_MASTER_SECRET, SESSION_TICKET];
const WITHOUT_TICKET: &Extensions<'_> = &[EXTENDED_MASTER_SECRET];

fn identity() -> &'static Identity {
    super::identity(CertificateKey::EcdsaP256)
}

fn cbc() -> &'static Suite {
    suite("ECDHE-ECDSA-AES128-SHA")
}

fn client() -> Box<dyn Client> {
    client_of(&offering(cbc()))
}

fn resuming() -> Box<dyn Client> {
    client_of(&Offer { resumed_percent: 100, ..offering(cbc()) })
}

fn done() -> Vec<u8> {
    message(kind::SERVER_HELLO_DONE, &[])
}

fn ticket(content: &[u8]) -> Vec<u8> {
    let body = [&[0, 0, 0, 9], &vector16(content)[..]].concat();
    message(kind::NEW_SESSION_TICKET, &body)
}

/// An honest ServerKeyExchange.
fn key_exchange(puppet: &Tls12Puppet) -> Vec<u8> {
    let parameters = Tls12Puppet::own_parameters();
    let signature = puppet.signature(identity(), &parameters);
    Tls12Puppet::key_exchange(&parameters, 0x0403, &signature)
}

/// What the server sends up to its ServerHelloDone.
fn honest(puppet: &mut Tls12Puppet, extensions: &Extensions<'_>) {
    puppet.send(&puppet.hello(&[], extensions));
    puppet.send(&Tls12Puppet::certificate(identity()));
    puppet.send(&key_exchange(puppet));
    puppet.send(&done());
}

/// The session identifier of a ClientHello.
fn session_id(hello: &[u8]) -> Vec<u8> {
    hello[44..44 + usize::from(hello[43])].to_vec()
}

/// The client's result where the server answers its ClientHello with the first, and its Finished, if it
/// sends one then, with the second.
fn result_of(
    client: &dyn Client,
    answer: impl FnOnce(&mut Tls12Puppet, &[u8]),
    ending: impl FnOnce(&mut Tls12Puppet),
) -> Result<Option<(Established, Tls12Puppet)>, Failure> {
    let mut handshake = client.start().unwrap();
    let hello = hello_of(&mut *handshake);
    let mut puppet = Tls12Puppet::new(&hello, cbc());
    answer(&mut puppet, &hello);
    let (mut received, mut to_send) = (std::mem::take(&mut puppet.out), Vec::new());
    let mut result = handshake.advance(&mut received, &mut to_send);
    if matches!(result, Ok(None)) && !to_send.is_empty() {
        assert!(puppet.take(&to_send), "the client has other keys");
        to_send.clear();
        ending(&mut puppet);
        received = std::mem::take(&mut puppet.out);
        result = handshake.advance(&mut received, &mut to_send);
    }
    if let Err(failure) = &result
        && !matches!(failure.kind, ErrorKind::Alert | ErrorKind::EarlyClose)
    {
        assert!(!to_send.is_empty(), "no alert was sent for {}", failure.seen);
    }
    if let Ok(Some(established)) = &result
        && established.negotiated.resumed
    {
        assert!(puppet.take(&to_send), "no right Finished of the client");
    }
    result.map(|established| established.map(|established| (established, puppet)))
}

#[track_caller]
fn assert_refused(
    client: &dyn Client,
    (kind, seen): (ErrorKind, &str),
    answer: impl FnOnce(&mut Tls12Puppet, &[u8]),
    ending: impl FnOnce(&mut Tls12Puppet),
) {
    let Err(failure) = result_of(client, answer, ending) else { panic!("accepted: {seen}") };
    assert_eq!(failure.kind, kind, "{}", failure.seen);
    assert!(failure.seen.contains(seen), "`{}`", failure.seen);
}

#[test]
fn an_honest_puppet_is_accepted() {
    for extensions in [WITHOUT_TICKET, &[]] {
        let answer = |puppet: &mut Tls12Puppet, _: &[u8]| honest(puppet, extensions);
        let (established, _) = result_of(&*client(), answer, Tls12Puppet::finish).unwrap().unwrap();
        assert!(established.remarks.is_signature_verified);
        assert_eq!(established.remarks.given, None);
    }
}

#[test]
fn bad_key_exchanges_are_refused() {
    use ErrorKind::{Authentication, Handshake};
    let refused = |expected, exchange: &dyn Fn(&Tls12Puppet) -> Vec<u8>| {
        let answer = |puppet: &mut Tls12Puppet, _: &[u8]| {
            puppet.send(&puppet.hello(&[], WITHOUT_TICKET));
            puppet.send(&Tls12Puppet::certificate(identity()));
            puppet.send(&exchange(puppet));
        };
        assert_refused(&*client(), expected, answer, |_| panic!("the flight was accepted"));
    };
    let own = Tls12Puppet::own_parameters();
    let signed = |puppet: &Tls12Puppet, parameters: &[u8], scheme| {
        let signature = puppet.signature(identity(), parameters);
        Tls12Puppet::key_exchange(parameters, scheme, &signature)
    };
    let forged = "a signature that does not match the handshake";
    refused((Authentication, forged), &|_| Tls12Puppet::key_exchange(&own, 0x0403, &[1; 70]));
    refused((Authentication, forged), &|puppet| signed(puppet, &own, 0x0503));
    refused((Authentication, forged), &|puppet| {
        // Signed is another share.
        let signature = puppet.signature(identity(), &Tls12Puppet::parameters(29, &[8; 32]));
        Tls12Puppet::key_exchange(&own, 0x0403, &signature)
    });
    refused((Authentication, forged), &|puppet| {
        // Signed in another handshake.
        let other = Tls12Puppet::new(&[9; 100], cbc());
        let _ = puppet;
        Tls12Puppet::key_exchange(&own, 0x0403, &other.signature(identity(), &own))
    });
    for scheme in [0x0804, 0x0401, 0x0807, 0x0402, 0x0703, 0] {
        refused((Handshake, "a signature scheme that"), &|puppet| signed(puppet, &own, scheme));
    }
    for group in [26, 30, 4588, 0] {
        let parameters = Tls12Puppet::parameters(group, &[7; 32]);
        refused((Handshake, "a group that was"), &|puppet| signed(puppet, &parameters, 0x0403));
    }
    for (group, share) in
        [(29, vec![7; 31]), (29, vec![]), (23, vec![4; 64]), (24, vec![4; 98]), (25, vec![4; 132])]
    {
        let parameters = Tls12Puppet::parameters(group, &share);
        refused((Handshake, "a key share that"), &|puppet| signed(puppet, &parameters, 0x0403));
    }
    let malformed = (Handshake, "a malformed ServerKeyExchange");
    let exchange = |content: &[u8]| message(kind::SERVER_KEY_EXCHANGE, content);
    for content in [&[][..], &[3], &[3, 0, 29], &[3, 0, 29, 32, 7], &[1, 0, 29, 0, 4, 3, 0, 0]] {
        refused(malformed, &|_| exchange(content));
    }
    refused(malformed, &|puppet| exchange(&[&key_exchange(puppet)[4..], &[0]].concat()));
    refused(malformed, &|puppet| {
        let whole = key_exchange(puppet);
        exchange(&whole[4..whole.len() - 1])
    });
}

/// Where the version is the server's choice, and where the share is fresh, SHA-1 is not offered.
#[test]
fn a_scheme_that_was_not_offered_is_refused_in_each_kind_of_handshake() {
    let fresh = Offer { fixed_key_exchange: false, ..to_anyone() };
    for (offer, seen) in [
        (to_anyone(), "a signature scheme that was not offered"),
        (fresh, "unadvertised sig scheme"),
    ] {
        for samples in [true, false] {
            let client = match samples {
                true => client_of(&offer),
                false => wire::handshake::client(&offer, Box::new(|| false)).unwrap(),
            };
            let mut handshake = client.start().unwrap();
            let hello = hello_of(&mut *handshake);
            let mut puppet = Tls12Puppet::new(&hello, suite("ECDHE-ECDSA-AES128-GCM-SHA256"));
            puppet.send(&puppet.hello(&[], WITHOUT_TICKET));
            puppet.send(&Tls12Puppet::certificate(identity()));
            let own = Tls12Puppet::own_parameters();
            let signature = puppet.signature(identity(), &own);
            puppet.send(&Tls12Puppet::key_exchange(&own, 0x0203, &signature));
            puppet.send(&done());
            let (mut received, mut alert) = (std::mem::take(&mut puppet.out), Vec::new());
            let failure = handshake.advance(&mut received, &mut alert).err().unwrap();
            assert_eq!(failure.kind, ErrorKind::Handshake, "{}", failure.seen);
            assert!(failure.seen.to_lowercase().contains(seen), "{}", failure.seen);
            assert!(!alert.is_empty());
        }
    }
}

#[test]
fn messages_out_of_order_are_refused() {
    let refused = |seen: &str, messages: &dyn Fn(&Tls12Puppet) -> Vec<Vec<u8>>| {
        let answer = |puppet: &mut Tls12Puppet, _: &[u8]| {
            for message in messages(puppet) {
                puppet.send(&message);
            }
        };
        let expected = (ErrorKind::Handshake, seen);
        assert_refused(&*client(), expected, answer, |_| panic!("the flight was accepted"));
    };
    let certificate = || Tls12Puppet::certificate(identity());
    let request = || message(kind::CERTIFICATE_REQUEST, &[1, 1, 0, 2, 4, 1, 0, 0]);
    let hello = |puppet: &Tls12Puppet| puppet.hello(&[], WITHOUT_TICKET);
    refused("a message of type 12", &|puppet| vec![hello(puppet), key_exchange(puppet)]);
    refused("a message of type 14", &|puppet| vec![hello(puppet), certificate(), done()]);
    refused("a message of type 13", &|puppet| vec![hello(puppet), certificate(), request()]);
    refused("a message of type 11", &|puppet| vec![hello(puppet), certificate(), certificate()]);
    let exchanged = |puppet: &Tls12Puppet| vec![hello(puppet), certificate(), key_exchange(puppet)];
    for (seen, more) in [
        ("a message of type 12", vec![message(kind::SERVER_KEY_EXCHANGE, &[])]),
        ("a message of type 13", vec![request(), request()]),
        ("a message of type 22", vec![message(22, &[1, 0, 0, 0])]),
        ("a message of type 4", vec![ticket(b"early")]),
    ] {
        refused(seen, &|puppet| [exchanged(puppet), more.clone()].concat());
    }
}

/// RFC 5246, section 6.2.1.
#[test]
fn a_message_in_one_record_that_is_too_long_is_refused() {
    let certificate = Tls12Puppet::certificate(identity());
    let chain: Vec<u8> = certificate[7..].repeat(1 + (1 << 14) / (certificate.len() - 7));
    let long = message(kind::CERTIFICATE, &vector24(&chain));
    let sends = |puppet: &mut Tls12Puppet, is_cut: bool| {
        puppet.send(&puppet.hello(&[], WITHOUT_TICKET));
        match is_cut {
            true => puppet.send(&long),
            false => puppet.out.extend([&[22, 3, 3], &vector16(&long)[..]].concat()),
        }
    };
    assert!(result_of(&*client(), |puppet, _| sends(puppet, true), |_| {}).is_ok());
    let expected = (ErrorKind::Handshake, "more than 2^14 bytes");
    assert_refused(&*client(), expected, |puppet, _| sends(puppet, false), |_| {});
}

#[test]
fn a_certificate_of_another_kind_than_the_suites_is_refused() {
    let rsa = super::identity(CertificateKey::Rsa(2048));
    let answer = |puppet: &mut Tls12Puppet, _: &[u8]| {
        puppet.send(&puppet.hello(&[], WITHOUT_TICKET));
        puppet.send(&Tls12Puppet::certificate(rsa));
    };
    let expected = (ErrorKind::Authentication, "not of the suite's kind");
    assert_refused(&*client(), expected, answer, |_| {});
}

#[test]
fn bad_tickets_are_refused() {
    let refused = |expected, ending: &dyn Fn(&mut Tls12Puppet)| {
        let answer = |puppet: &mut Tls12Puppet, _: &[u8]| honest(puppet, WITH_TICKET);
        assert_refused(&*resuming(), (ErrorKind::Handshake, expected), answer, ending);
    };
    let malformed = "a malformed NewSessionTicket";
    for content in [&[][..], &[0, 0, 0, 9], &[0, 0, 0, 9, 0, 2, 7], &[0, 0, 0, 9, 0, 1, 7, 7]] {
        refused(malformed, &|puppet| puppet.send(&message(kind::NEW_SESSION_TICKET, content)));
    }
    // It is announced, and does not come.
    refused("a record of type 20", &Tls12Puppet::finish);
    refused("a message of type 4", &|puppet| {
        puppet.send(&ticket(b"one"));
        puppet.send(&ticket(b"two"));
    });
    refused("a message of type 4", &|puppet| {
        puppet.send(&ticket(b"one"));
        puppet.change();
        puppet.seal(content_type::HANDSHAKE, &ticket(b"two"));
    });
    // Half of a message, and then other keys.
    refused("a record of type 20", &|puppet| {
        puppet.send(&ticket(b"one"));
        puppet.out.extend(in_records(content_type::HANDSHAKE, &ticket(b"two")[..9]));
        puppet.change();
    });
    // It is not announced.
    let answer = |puppet: &mut Tls12Puppet, _: &[u8]| honest(puppet, WITHOUT_TICKET);
    let unexpected = (ErrorKind::Handshake, "a message of type 4");
    assert_refused(&*resuming(), unexpected, answer, |puppet| puppet.send(&ticket(b"one")));
    // It is not asked for.
    let answer = |puppet: &mut Tls12Puppet, _: &[u8]| puppet.send(&puppet.hello(&[], WITH_TICKET));
    let unasked = (ErrorKind::Handshake, "extension 35, which was not offered");
    assert_refused(&*client(), unasked, answer, |_| {});
}

/// A client that has the session of an honest handshake, and the session's secret.
fn with_session(gives: GivenSession) -> (Box<dyn Client>, Vec<u8>) {
    let client = resuming();
    let answer = |puppet: &mut Tls12Puppet, _: &[u8]| match gives {
        GivenSession::Ticket => honest(puppet, WITH_TICKET),
        GivenSession::Id => {
            puppet.send(&puppet.hello(b"identifier", WITHOUT_TICKET));
            puppet.send(&Tls12Puppet::certificate(identity()));
            puppet.send(&key_exchange(puppet));
            puppet.send(&done());
        }
    };
    let ending = |puppet: &mut Tls12Puppet| {
        if gives == GivenSession::Ticket {
            puppet.send(&ticket(b"ticket"));
        }
        puppet.finish();
    };
    let (established, puppet) = result_of(&*client, answer, ending).unwrap().unwrap();
    assert_eq!(established.remarks.given, Some(gives));
    (client, puppet.master().unwrap())
}

#[test]
fn an_honest_puppet_resumes_and_renews() {
    for gives in [GivenSession::Ticket, GivenSession::Id] {
        let (client, master) = with_session(gives);
        for (extensions, is_renewed) in [(WITHOUT_TICKET, false), (WITH_TICKET, true)] {
            let answer = |puppet: &mut Tls12Puppet, hello: &[u8]| {
                assert!(!session_id(hello).is_empty());
                puppet.send(&puppet.hello(&session_id(hello), extensions));
                puppet.resume(master.clone());
                if is_renewed {
                    puppet.send(&ticket(b"another"));
                }
                puppet.finish();
            };
            let (established, _) = result_of(&*client, answer, |_| {}).unwrap().unwrap();
            assert!(established.negotiated.resumed);
            let given = is_renewed.then_some(GivenSession::Ticket);
            assert_eq!(established.remarks.given, given);
        }
        // The renewed ticket is offered now.
        let hello = hello_of(&mut *client.start().unwrap());
        assert!(hello.windows(7).any(|window| window == b"another"));
    }
}

#[test]
fn bad_resumptions_are_refused() {
    use ErrorKind::{Authentication, Handshake};
    let (client, master) = with_session(GivenSession::Ticket);
    let refused = |expected, answer: &dyn Fn(&mut Tls12Puppet, Vec<u8>)| {
        let answer = |puppet: &mut Tls12Puppet, hello: &[u8]| answer(puppet, session_id(hello));
        assert_refused(&*client, expected, answer, |_| panic!("a full handshake"));
    };
    refused((Handshake, "another kind of master secret"), &|puppet, id| {
        puppet.send(&puppet.hello(&id, &[]));
    });
    // Not the session's secret, and a server without it.
    refused((Handshake, "not authentic"), &|puppet, id| {
        puppet.send(&puppet.hello(&id, WITHOUT_TICKET));
        puppet.resume(vec![1; 48]);
        puppet.finish();
    });
    refused((Authentication, "a Finished that does not match"), &|puppet, id| {
        puppet.send(&puppet.hello(&id, WITHOUT_TICKET));
        puppet.resume(master.clone());
        puppet.change();
        puppet.seal(content_type::HANDSHAKE, &message(kind::FINISHED, &[0; 12]));
    });
    refused((Handshake, "a message of type 20"), &|puppet, id| {
        puppet.send(&puppet.hello(&id, WITHOUT_TICKET));
        puppet.resume(master.clone());
        puppet.send(&puppet.finished());
    });
    refused((Handshake, "a message of type 11"), &|puppet, id| {
        puppet.send(&puppet.hello(&id, WITHOUT_TICKET));
        puppet.send(&Tls12Puppet::certificate(identity()));
    });
    // It resumes nothing that was offered.
    refused((Handshake, "a record of type 20"), &|puppet, _| {
        puppet.send(&puppet.hello(&[5; 32], WITHOUT_TICKET));
        puppet.resume(master.clone());
        puppet.finish();
    });
    // Records are protected with the session's keys, but the client's are not yet: an alert is plain.
    let mut handshake = client.start().unwrap();
    let hello = hello_of(&mut *handshake);
    let mut puppet = Tls12Puppet::new(&hello, cbc());
    puppet.send(&puppet.hello(&session_id(&hello), WITHOUT_TICKET));
    puppet.send(&done());
    let mut to_send = Vec::new();
    assert!(handshake.advance(&mut puppet.out, &mut to_send).is_err());
    assert_eq!(to_send, [21, 3, 3, 0, 2, 2, 10]);
}

#[test]
fn another_suite_than_the_sessions_is_refused() {
    let client = client_of(&Offer { suite: None, resumed_percent: 100, ..offering(cbc()) });
    let [first, second] =
        ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"].map(suite);
    let mut handshake = client.start().unwrap();
    let mut puppet = Tls12Puppet::new(&hello_of(&mut *handshake), first);
    honest(&mut puppet, WITH_TICKET);
    let mut to_send = Vec::new();
    assert!(handshake.advance(&mut puppet.out, &mut to_send).unwrap().is_none());
    assert!(puppet.take(&to_send));
    puppet.send(&ticket(b"ticket"));
    puppet.finish();
    assert!(handshake.advance(&mut puppet.out, &mut to_send).unwrap().is_some());

    let mut handshake = client.start().unwrap();
    let hello = hello_of(&mut *handshake);
    let mut puppet = Tls12Puppet::new(&hello, second);
    puppet.send(&puppet.hello(&session_id(&hello), WITHOUT_TICKET));
    let failure = handshake.advance(&mut puppet.out, &mut to_send).err().unwrap();
    assert_eq!(failure.kind, ErrorKind::Handshake);
    assert!(failure.seen.contains("another suite"), "{}", failure.seen);
}

#[test]
fn encrypt_then_mac_means_nothing_with_aead() {
    let gcm = suite("ECDHE-ECDSA-AES128-GCM-SHA256");
    let client = client_of(&Offer { encrypt_then_mac: true, ..offering(gcm) });
    let mut handshake = client.start().unwrap();
    let mut puppet = Tls12Puppet::new(&hello_of(&mut *handshake), gcm);
    honest(&mut puppet, &[EXTENDED_MASTER_SECRET, (22, &[])]);
    let mut to_send = Vec::new();
    assert!(handshake.advance(&mut puppet.out, &mut to_send).unwrap().is_none());
    assert!(puppet.take(&to_send));
    puppet.finish();
    let established = handshake.advance(&mut puppet.out, &mut to_send).unwrap().unwrap();
    assert!(!established.negotiated.encrypt_then_mac);
}
