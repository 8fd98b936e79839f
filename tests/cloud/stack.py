"""The project's own template on the emulator, deployed as AWS does it: transform, change set, staged code in S3."""

from __future__ import annotations

import fcntl
import io
import os
import secrets
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from services.bootstrap import Services, bootstrap
from services.settings import Settings
from tests.emulator import ROOT, Emulator

NAME: Final = "spokes"
PYTHON_VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
_CAPABILITIES: Final = ("CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND")
_DEPLOY_S: Final = 60.0


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time: several test processes may want the folder."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def staged_folder(python_version: str = PYTHON_VERSION) -> Path:
    """The functions' folder, made by the rule that ``sam build`` uses, for this Python."""
    with _alone():
        command = ["make", "-s", "package", f"LAMBDA_PYTHON={python_version}", f"PYTHON={sys.executable}"]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    return ROOT / "build" / f"lambda-{python_version}"


def zipped(folder: Path) -> bytes:
    """The folder as Lambda takes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return buffer.getvalue()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: Any


class Stack:
    """A deployed stack.

    Args:
        folder: What functions are made of; None stages it.
        rewrite: A change of the template's text before it is deployed.
        parameters: Of the template; ``Inference`` is ``queue``, as the emulator knows no SageMaker.
    """

    def __init__(
        self,
        emulator: Emulator,
        *,
        folder: Path | None = None,
        rewrite: Callable[[str], str] = str,
        **parameters: str,
    ) -> None:
        self.emulator = emulator
        self._folder = folder or staged_folder()
        self._rewrite = rewrite
        self.parameters = {"Inference": "queue", "AllowPrivateCallbacks": "true", "Polly": "false", **parameters}
        self.outputs = self._deploy()

    def call(
        self, method: str, path: str, *, key: str | None = None, json: Any = None, headers: Mapping[str, str] = {}
    ) -> Answer:
        """A request to the API, through the emulator's gateway."""
        sent = {"Host": urlsplit(self.outputs["ApiUrl"]).netloc, **headers}
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        answer = httpx.request(method, self.emulator.endpoint_url + path, headers=sent, json=json, timeout=60)
        is_json = bool(answer.content) and "json" in answer.headers.get("Content-Type", "")  # a 204 has no body
        return Answer(status=answer.status_code, headers=answer.headers, body=answer.json() if is_json else answer.text)

    def queue_url(self, name: str) -> str:
        """The address of the queue called ``STACK-name``."""
        return str(self.emulator.client("sqs").get_queue_url(QueueName=f"{NAME}-{name}")["QueueUrl"])

    def num_messages(self, name: str) -> int:
        """Messages of a queue, those hidden too."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        sqs = self.emulator.client("sqs")
        values = sqs.get_queue_attributes(QueueUrl=self.queue_url(name), AttributeNames=names)["Attributes"]
        return sum(int(values[name]) for name in names)

    def function_name(self, logical_id: str) -> str:
        """What AWS calls the function that the template calls ``logical_id``."""
        cloudformation = self.emulator.client("cloudformation")
        found = cloudformation.describe_stack_resource(StackName=NAME, LogicalResourceId=logical_id)
        return str(found["StackResourceDetail"]["PhysicalResourceId"])

    @cached_property
    def settings(self) -> Settings:
        """As the functions have them, from the API function's environment."""
        name = self.function_name("ApiFunction")
        environment = self.emulator.client("lambda").get_function_configuration(FunctionName=name)["Environment"]
        return Settings.from_environment(environment["Variables"])

    @cached_property
    def services(self) -> Services:
        """The operator's own access, as ``spokesmodel admin`` has it; boto3 finds the emulator by the environment."""
        return bootstrap(self.settings)

    def update(self, **parameters: str) -> None:
        """Deploy again, with other parameters: what `sam deploy` does to a stack that there is."""
        self.parameters = {**self.parameters, **parameters}
        self.__dict__.pop("settings", None)
        self.__dict__.pop("services", None)
        self.outputs = self._change("UPDATE")

    def _deploy(self) -> dict[str, str]:
        s3 = self.emulator.client("s3")
        s3.create_bucket(Bucket="code")
        s3.put_object(Bucket="code", Key="functions.zip", Body=zipped(self._folder))
        text = self._rewrite((ROOT / "template.yaml").read_text(encoding="utf-8"))
        text = text.replace("    CodeUri: .\n", "    CodeUri: s3://code/functions.zip\n")  # as `sam package` does
        s3.put_object(Bucket="code", Key="template.yaml", Body=text.encode())
        return self._change("CREATE")

    def _change(self, kind: str) -> dict[str, str]:
        cloudformation, name = self.emulator.client("cloudformation"), f"{kind.lower()}-{secrets.token_hex(4)}"
        cloudformation.create_change_set(
            StackName=NAME,
            ChangeSetName=name,
            ChangeSetType=kind,
            TemplateURL=f"{self.emulator.endpoint_url}/code/template.yaml",
            Parameters=[{"ParameterKey": key, "ParameterValue": text} for key, text in self.parameters.items()],
            Capabilities=_CAPABILITIES,
        )
        _wait(
            lambda: cloudformation.describe_change_set(StackName=NAME, ChangeSetName=name)["Status"], "CREATE_COMPLETE"
        )
        cloudformation.execute_change_set(StackName=NAME, ChangeSetName=name)
        _wait(lambda: cloudformation.describe_stacks(StackName=NAME)["Stacks"][0]["StackStatus"], f"{kind}_COMPLETE")
        outputs = cloudformation.describe_stacks(StackName=NAME)["Stacks"][0]["Outputs"]
        return {output["OutputKey"]: output["OutputValue"] for output in outputs}


class Workers:
    """The engine's container as a worker of the stack's work queue, on this machine."""

    def __init__(self, stack: Stack, folder: Path, *, engines: str) -> None:
        settings = {
            "SPOKESMODEL_PROFILE": "aws",
            "SPOKESMODEL_BUCKET": stack.outputs["BucketName"],
            "SPOKESMODEL_WORK_QUEUE_URL": stack.outputs["WorkQueueUrl"],
            "SPOKESMODEL_ENGINE_QUEUE_URL": stack.outputs["EngineQueueUrl"],
            "SPOKESMODEL_ENGINE_ROLE_ARN": stack.outputs["EngineAttemptRoleArn"],
            "SPOKESMODEL_SIGNING_KEY_ID": stack.outputs["SigningKeyArn"],
        }
        command = [sys.executable, "-m", "models.serving", "--work-queue", "--host", "127.0.0.1", "--port", "0"]
        command += ["--engines", engines, "--with-parent", "--scratch-dir", str(folder / "scratch")]
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **stack.emulator.environment, **settings},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=(folder / "worker.log").open("wb"),
            stderr=subprocess.STDOUT,
        )

    def close(self) -> None:
        """End them."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def _wait(status: Callable[[], str], wanted: str) -> None:
    give_up_at = time.monotonic() + _DEPLOY_S
    while (now := status()) != wanted:
        # An update's stack may still say how its creation ended.
        assert now.endswith(("PENDING", "IN_PROGRESS")) or (now == "CREATE_COMPLETE" and wanted.startswith("UPDATE")), (
            now
        )
        assert time.monotonic() < give_up_at, now
        time.sleep(0.1)
