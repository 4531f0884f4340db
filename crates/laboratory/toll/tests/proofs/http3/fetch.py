"""Fetches over HTTP/3 with aioquic from the host and port given, and prints what came as lines of JSON."""

import asyncio
import hashlib
import json
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

LIMIT = 60


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.http = H3Connection(self._quic)
        # It takes a response to HEAD for one whose body is too short.
        self.http._check_content_length = lambda stream: None
        self.responses = {}

    def quic_event_received(self, event):
        for part in self.http.handle_event(event):
            response = self.responses[part.stream_id]
            if isinstance(part, HeadersReceived):
                response["fields"] = {k.decode(): v.decode() for k, v in part.headers}
            elif isinstance(part, DataReceived):
                response["hash"].update(part.data)
                response["length"] += len(part.data)
            if part.stream_ended:
                response["whole"].set_result(None)

    async def fetch(self, method, path):
        stream = self._quic.get_next_available_stream_id()
        whole = asyncio.get_running_loop().create_future()
        response = {"hash": hashlib.sha256(), "length": 0, "whole": whole}
        self.responses[stream] = response
        fields = {":method": method, ":scheme": "https", ":authority": "localhost", ":path": path}
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        self.http.send_headers(stream, pairs, end_stream=True)
        self.transmit()
        await asyncio.wait_for(whole, LIMIT)
        return {
            "method": method,
            "path": path,
            "fields": response["fields"],
            "length": response["length"],
            "sha256": response["hash"].hexdigest(),
        }


async def main(host, port):
    tickets = []
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=["h3"], server_name="localhost", verify_mode=ssl.CERT_NONE
    )

    def on_connection(**named):
        return connect(
            host,
            port,
            configuration=configuration,
            create_protocol=Client,
            session_ticket_handler=tickets.append,
            **named,
        )

    async with on_connection() as client:
        for method, path in [
            ("GET", "/bytes/1MiB"),
            ("GET", "/bytes/0B"),
            ("HEAD", "/bytes/1MiB"),
            ("GET", "/nothing"),
        ]:
            print(json.dumps(await client.fetch(method, path)))
        many = [client.fetch("GET", "/bytes/64KiB") for _ in range(32)]
        for response in await asyncio.gather(*many):
            print(json.dumps(response))
    configuration.session_ticket = tickets[0] if tickets else None
    async with on_connection() as client:
        await client.fetch("GET", "/bytes/64KiB")
        print(json.dumps({"tickets": len(tickets), "resumed": client._quic.tls.session_resumed}))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
