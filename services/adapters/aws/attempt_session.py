"""Credentials for one attempt: whoever opens a stranger's files can reach that job's objects and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from services.adapters.aws.clients import Clients, translated
from services.domain.engine import EngineRequest
from services.domain.object_key import Retention

# The container's own role assumes the engine's role; such a chained session lasts an hour at most. Whoever uses it asks
# again a quarter of an hour before its end, so attempts may take longer.
_DURATION_S: Final = 3600


class AttemptSessions:
    """Assumes the engine's role with a policy for one attempt."""

    def __init__(
        self,
        clients: Clients,
        *,
        role_arn: str,
        bucket: str,
        signing_key_id: str = "",
        certificate_secret: str = "",
    ) -> None:
        """``signing_key_id`` and ``certificate_secret``: what signs Content Credentials, as in the settings."""
        self._clients = clients
        self._role_arn = role_arn
        _, self._partition, _, _, self._account, _ = role_arn.split(":", 5)
        self._bucket = bucket
        self._signing_key_id = signing_key_id
        self._certificate_secret = certificate_secret

    def credentials(self, request: EngineRequest) -> Mapping[str, str]:
        """``AccessKeyId``, ``SecretAccessKey``, ``Token`` and ``Expiration``, as containers are given them.

        Raises:
            Unavailable: ``session_not_given`` and others of ``translated``.
        """
        with translated("the engine's role", code="session_not_given"):
            answer = self._clients.get("sts").assume_role(
                RoleArn=self._role_arn,
                RoleSessionName=request.inference_id,
                DurationSeconds=_DURATION_S,
                Policy=json.dumps(self.policy(request), separators=(",", ":")),
            )
        given = answer["Credentials"]
        return {
            "AccessKeyId": given["AccessKeyId"],
            "SecretAccessKey": given["SecretAccessKey"],
            "Token": given["SessionToken"],
            "Expiration": given["Expiration"].isoformat(),
        }

    def policy(self, request: EngineRequest) -> dict[str, Any]:
        """The session policy: what this attempt may do is this, and what the role allows besides is not."""
        bucket = f"arn:{self._partition}:s3:::{self._bucket}"
        job = f"{request.tenant_id}/{request.job_id}"
        statements: list[dict[str, Any]] = [
            {
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": [f"{bucket}/{Retention.WORK}/{job}/*", f"{bucket}/{Retention.RESULT}/{job}/*"],
            },
            {
                "Effect": "Allow",
                "Action": ["s3:PutObject", "s3:AbortMultipartUpload"],
                "Resource": f"{bucket}/{Retention.RESULT}/{job}/{request.attempt}/*",
            },
        ]
        if self._signing_key_id:
            statements.append(self._may_sign())
        if self._certificate_secret:
            statements.append(
                {"Effect": "Allow", "Action": "secretsmanager:GetSecretValue", "Resource": self._secret_arn()}
            )
        return {"Version": "2012-10-17", "Statement": statements}

    def _may_sign(self) -> dict[str, Any]:
        statement: dict[str, Any] = {"Effect": "Allow", "Action": ["kms:Sign", "kms:GetPublicKey"]}
        keys = f"arn:{self._partition}:kms:{self._region()}:{self._account}:key/"
        if self._signing_key_id.startswith("arn:"):
            return statement | {"Resource": self._signing_key_id}
        if self._signing_key_id.startswith("alias/"):  # policies know keys by their ids; an alias is a condition
            return statement | {
                "Resource": f"{keys}*",
                "Condition": {"StringEquals": {"kms:RequestAlias": self._signing_key_id}},
            }
        return statement | {"Resource": keys + self._signing_key_id}

    def _secret_arn(self) -> str:
        if self._certificate_secret.startswith("arn:"):
            return self._certificate_secret
        # Secrets Manager adds a hyphen and six characters of its own to a name.
        name = f"{self._certificate_secret}-??????"
        return f"arn:{self._partition}:secretsmanager:{self._region()}:{self._account}:secret:{name}"

    def _region(self) -> str:
        region: str = self._clients.get("sts").meta.region_name
        return region
