//! A server's side of HTTP/2, frame by frame (RFC 9113), right or wrong.

use std::io::{self, Read, Write};
use std::net::TcpStream;

pub const DATA_FRAME: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The setting of a new stream's window.
pub const INITIAL_WINDOW: u16 = 4;

/// A frame of the client.
pub struct Received {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// One connection, over plain TCP or TLS.
pub struct Frames<S = TcpStream>(pub S);

impl<S: Read + Write> Frames<S> {
    /// Takes the client's preface.
    pub fn begin(mut stream: S) -> io::Result<Self> {
        let mut preface = [0; PREFACE.len()];
        stream.read_exact(&mut preface)?;
        assert_eq!(preface, PREFACE);
        Ok(Self(stream))
    }

    /// Takes the client's preface, and sends these settings.
    pub fn accept(stream: S, settings: &[(u16, u32)]) -> io::Result<Self> {
        let mut frames = Self::begin(stream)?;
        let settings: Vec<u8> = settings
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        frames.send(SETTINGS, 0, 0, &settings)?;
        Ok(frames)
    }

    /// The stream of the next request; other frames are dropped.
    pub fn request(&mut self) -> io::Result<u32> {
        loop {
            let frame = self.next()?;
            if frame.kind == HEADERS {
                return Ok(frame.stream);
            }
        }
    }

    /// The next frame. Settings are acknowledged.
    pub fn next(&mut self) -> io::Result<Received> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload)?;
        let (kind, flags) = (head[3], head[4]);
        if kind == SETTINGS && flags & ACK == 0 {
            self.send(SETTINGS, ACK, 0, &[])?;
        }
        Ok(Received { kind, flags, stream, payload })
    }

    /// Lets the client send as many bytes more, on a stream and on the connection.
    pub fn open_windows(&mut self, stream: u32, bytes: u32) -> io::Result<()> {
        for stream in [stream, 0] {
            self.send(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())?;
        }
        Ok(())
    }

    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        self.0.write_all(&frame(kind, flags, stream, payload))
    }

    /// A head with status 200 that promises this length.
    pub fn head(&mut self, stream: u32, length: u64) -> io::Result<()> {
        self.send(HEADERS, END_HEADERS, stream, &ok(Some(length)))
    }

    /// A body in frames of at most 16 KiB, and its end.
    pub fn body(&mut self, stream: u32, body: &[u8]) -> io::Result<()> {
        for piece in body.chunks(16 << 10) {
            self.send(DATA_FRAME, 0, stream, piece)?;
        }
        self.send(DATA_FRAME, END_STREAM, stream, &[])
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The compressed fields of a response with status 200 (RFC 7541, appendix A).
pub fn ok(length: Option<u64>) -> Vec<u8> {
    let mut fields = vec![0x88];
    if let Some(length) = length {
        let text = length.to_string();
        // content-length, not indexed.
        fields.extend([0x0f, 0x0d, text.len() as u8]);
        fields.extend(text.bytes());
    }
    fields
}

/// A field that is not indexed and not known.
pub fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let length = |length: usize| -> Vec<u8> {
        match length.checked_sub(127) {
            None => vec![length as u8],
            Some(mut rest) => {
                let mut bytes = vec![127];
                while rest >= 128 {
                    bytes.push(rest as u8 | 128);
                    rest >>= 7;
                }
                bytes.push(rest as u8);
                bytes
            }
        }
    };
    [&[0], &length(name.len())[..], name.as_bytes(), &length(value.len()), value].concat()
}
