"""A service that does nothing but run: it answers with its environment's word for itself."""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Ok(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text = os.environ.get("WORD", "").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


if "--fail" in sys.argv:
    sys.exit("no such table: 4539 5787 6362 1486")
if "--wait" in sys.argv:
    sys.stdin.read()
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Ok).serve_forever()
