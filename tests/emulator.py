"""An AWS emulator on loopback: ministack, from an environment of its own (``make tools``).

Tables are created from ``template.yaml``, so that there is no second schema. Time, money and IAM it does not know.
"""

from __future__ import annotations

import itertools
import os
import re
import secrets
import socket
import subprocess
import time
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from services.adapters.aws.clients import Clients

ROOT: Final = Path(__file__).resolve().parent.parent
PYTHON: Final = ROOT / ".tools" / "ministack" / "bin" / "python"
ENVIRONMENT: Final = {  # signed S3 links are checked against this secret
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_TABLE_NAME: Final = re.compile(r"^\$\{AWS::StackName\}-([a-z_]+)$")
_START_S: Final = 30.0


class Emulator:
    """The running process. ``environment`` makes boto3 and the product's settings find it.

    Args:
        arguments: More variables for its process.
    """

    def __init__(self, log: Path, **arguments: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.endpoint_url = f"http://127.0.0.1:{self.port}"
        self.environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.endpoint_url}
        own = {"GATEWAY_PORT": str(self.port), "BIND_HOST": "127.0.0.1", "LOG_LEVEL": "WARNING", **arguments}
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [PYTHON, "-m", "ministack"],
                env={**os.environ, **ENVIRONMENT, **own},
                cwd=log.parent,
                stdout=output,
                stderr=output,
            )
        self._clients: dict[str, Any] = {}
        self._wait(log)

    def client(self, service: str) -> Any:
        """A boto3 client; made once for each service, as that takes a while."""
        if service not in self._clients:
            import boto3

            self._clients[service] = boto3.client(
                service,
                endpoint_url=self.endpoint_url,
                region_name="us-east-1",
                aws_access_key_id="test",
                aws_secret_access_key="test",
            )
        return self._clients[service]

    @cached_property
    def clients(self) -> Clients:
        """The product's clients, found by the environment; to be asked for while that is set."""
        return Clients()

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait(self, log: Path) -> None:
        until = time.monotonic() + _START_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                return
            except OSError:
                time.sleep(0.02)
        self.close()
        raise RuntimeError(f"The emulator did not start:\n{log.read_text(errors='replace')[-2000:]}")


class Aws:
    """One test's own corner of the emulator: names that no other test has, made when first asked for."""

    _numbers = itertools.count()

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self.name = f"test-{secrets.token_hex(4)}-{next(self._numbers)}"
        self.table_prefix = f"{self.name}-"
        self.endpoint_url = emulator.endpoint_url
        self._queues: dict[str, str] = {}

    @property
    def clients(self) -> Clients:
        """The product's clients."""
        return self._emulator.clients

    def client(self, service: str) -> Any:
        """A boto3 client of the emulator."""
        return self._emulator.client(service)

    def tables(self, *names: str) -> str:
        """Create the tables that the template calls ``${AWS::StackName}-name``; the prefix of their names."""
        dynamodb = self.client("dynamodb")
        for name in names:
            properties = dict(table_properties()[name])
            ttl = properties.pop("TimeToLiveSpecification", None)
            properties.pop("PointInTimeRecoverySpecification", None)
            if stream := properties.get("StreamSpecification"):
                properties["StreamSpecification"] = {"StreamEnabled": True, **stream}
            if sse := properties.pop("SSESpecification", None):
                properties["SSESpecification"] = {"Enabled": sse["SSEEnabled"]}
            dynamodb.create_table(**{**properties, "TableName": self.table_prefix + name})
            if ttl:
                dynamodb.update_time_to_live(TableName=self.table_prefix + name, TimeToLiveSpecification=ttl)
        return self.table_prefix

    @cached_property
    def bucket(self) -> str:
        """The name of an empty bucket."""
        self.client("s3").create_bucket(Bucket=self.name)
        return self.name

    def queue(self, name: str, **attributes: str) -> str:
        """The address of a standard queue, empty when first asked for."""
        if name not in self._queues:
            made = self.client("sqs").create_queue(QueueName=f"{self.name}-{name}", Attributes=attributes)
            self._queues[name] = made["QueueUrl"]
        return self._queues[name]

    def received(self, queue_url: str) -> list[dict[str, Any]]:
        """Every message that can be had from a queue now, and their deletion."""
        sqs, messages = self.client("sqs"), []
        while found := sqs.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"]
        ).get("Messages"):
            for message in found:
                sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
            messages += found
        return messages

    def topic(self, name: str) -> str:
        """The ARN of a topic."""
        return str(self.client("sns").create_topic(Name=f"{self.name}-{name}")["TopicArn"])


class _Yaml(yaml.SafeLoader):
    """CloudFormation's short forms are left as what they hold."""


def _construct(loader: _Yaml, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_mapping(node, deep=True)


_Yaml.add_multi_constructor("!", _construct)


@lru_cache(maxsize=1)
def table_properties() -> dict[str, dict[str, Any]]:
    """``Properties`` of the template's tables, by the end of their names."""
    document = yaml.load((ROOT / "template.yaml").read_text(encoding="utf-8"), Loader=_Yaml)
    found = {}
    for resource in document["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            name = _TABLE_NAME.match(resource["Properties"]["TableName"])
            assert name is not None, "a table is called ${AWS::StackName}-name"
            found[name[1]] = resource["Properties"]
    return found
