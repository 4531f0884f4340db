"""Serves a file over HTTP/3 with aioquic, whatever is asked for: arguments are the file, a certificate and its key. Prints
the port, and ends when its input does."""

import asyncio
import sys

from aioquic.asyncio import serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

FILE, CERTIFICATE, KEY = sys.argv[1:]
with open(FILE, "rb") as file:
    BODY = file.read()


class Server(QuicConnectionProtocol):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.http = H3Connection(self._quic)

    def quic_event_received(self, event):
        for part in self.http.handle_event(event):
            if isinstance(part, HeadersReceived):
                fields = [(b":status", b"200"), (b"content-length", str(len(BODY)).encode())]
                self.http.send_headers(part.stream_id, fields)
                self.http.send_data(part.stream_id, BODY, end_stream=True)
        self.transmit()


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(CERTIFICATE, KEY)
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Server)
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
