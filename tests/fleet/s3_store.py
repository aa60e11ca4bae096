"""A server on this machine that does what S3 does (moto), with one bucket."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from here import answers, free_port

BUCKET = "bucket"
LACKING = [name for name in ("moto", "flask_cors", "fsspec") if not importlib.util.find_spec(name)]
_WAIT_SECONDS = 60


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """Start it; gives the environment in which tools of AWS find it."""
    port = free_port()
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "anybody",
            "AWS_SECRET_ACCESS_KEY": "anything",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        client(environment).create_bucket(Bucket=BUCKET)
        yield environment
    finally:
        server.terminate()
        server.wait(_WAIT_SECONDS)


def client(environment: dict[str, str]):  # type: ignore[no-untyped-def]
    """AWS's own client."""
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=environment["AWS_ENDPOINT_URL"],
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        region_name=environment["AWS_DEFAULT_REGION"],
    )


def _wait_for(port: int) -> None:
    end = time.monotonic() + _WAIT_SECONDS
    while not answers(port):
        assert time.monotonic() < end, "moto does not start"
        time.sleep(0.1)
