"""A DynamoDB table: items of strings, whole numbers and truth values, written under conditions."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from services.adapters.aws.clients import Clients, error_code, translated
from services.adapters.aws.items import SCHEMA, SCHEMA_NAME, Item, can_exist, check_size, pack, packed, unpacked
from services.domain.errors import Unavailable

_MAX_BATCH: Final = 25
_MAX_READ: Final = 100
_NAME: Final = re.compile(r"#(\w+)")
_WRITER: Final = "written_by"
_REFUSED: Final = frozenset(("None", "ConditionalCheckFailed", "TransactionConflict"))
_NOT_YET: Final = f"(attribute_not_exists(#{_WRITER}) OR #{_WRITER} <> :{_WRITER})"  # a sum must not be added twice


class ConditionFailed(Exception):
    """The item is not as the write wants it. ``item``: as it is, None when there is none."""

    def __init__(self, item: dict[str, Any] | None) -> None:
        super().__init__("condition failed")
        self.item = item


class TransactionFailed(Exception):
    """None of the writes was made.

    ``failed``: whether each one's condition did not hold; where none did not, another writer was in the way.
    ``items``: the items as they are, None for those that are not there or did not fail.
    """

    def __init__(self, failed: Sequence[bool], items: Sequence[dict[str, Any] | None]) -> None:
        super().__init__("transaction failed")
        self.failed = failed
        self.items = items


@dataclass(frozen=True, slots=True)
class Put:
    """An item to be written under a condition; see ``Table.put``."""

    item: Item
    condition: str
    values: Item = field(default_factory=dict)


class Table:
    """One table. In expressions every attribute is written ``#name`` and every value ``:name``.

    A write whose answer was lost is sent again by boto3, and then finds its own first copy in its way. So each write
    leaves a random mark in its item, and one that fails at its own mark has succeeded.

    Every method raises ``Unavailable`` (``store_unavailable``, ``aws_throttled`` ...; ``store_too_new`` for an item
    that a newer version of the product wrote), and writes ``ContentRejected`` (``record_too_large``) when an
    item is over the 400 KB that the table takes.
    """

    def __init__(self, clients: Clients, name: str) -> None:
        self._clients = clients
        self.name = name

    def get(self, key: Item, *, consistent: bool = True) -> dict[str, Any] | None:
        """The item with ``key``; without ``consistent`` half the price, and perhaps as it was a moment ago."""
        if not can_exist(key):
            return None
        answer = self._call("get_item", Key=packed(key), ConsistentRead=consistent)
        return unpacked(answer["Item"]) if "Item" in answer else None

    def get_all(self, keys: Sequence[Item], *, attributes: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The items there are with these keys, each asked for once, in no order; ``attributes`` as for ``query``."""
        request: dict[str, Any] = {"ConsistentRead": True}
        if attributes:
            projection = ", ".join(f"#{name}" for name in attributes)
            request |= {"ProjectionExpression": projection, **_expressions(projection, {})}
        found: list[dict[str, Any]] = []
        for start in range(0, len(keys), _MAX_READ):
            rest: Any = [packed(key) for key in keys[start : start + _MAX_READ] if can_exist(key)]
            pause_s = 0.05
            while rest:
                with translated(f"the table {self.name}"):
                    answer = self._clients.get("dynamodb").batch_get_item(
                        RequestItems={self.name: {"Keys": rest, **request}}
                    )
                items = answer["Responses"].get(self.name, [])
                found += [unpacked(item) for item in items]
                rest = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
                if rest and not items:
                    if pause_s > 3:
                        raise Unavailable(f"The table {self.name} is asked too often.", code="aws_throttled")
                    time.sleep(pause_s)
                    pause_s *= 2
        return found

    def put(self, item: Item, *, condition: str | None = None, values: Item | None = None) -> None:
        """Write ``item``, in place of one with the same key.

        Raises:
            ConditionFailed: ``condition`` does not hold for the stored item.
        """
        mark = secrets.token_hex(8)
        marked = {**item, _WRITER: mark, SCHEMA_NAME: SCHEMA}
        self._write(mark, "put_item", condition, values or {}, "", Item=packed(marked))

    def put_together(self, puts: Sequence[Put]) -> None:
        """Write all of the items, or none.

        Raises:
            TransactionFailed: A condition does not hold, or another transaction writes one of the items just now.
        """
        from botocore.exceptions import ClientError

        client = self._clients.get("dynamodb")
        requests = []
        for put in puts:
            marked = {**put.item, _WRITER: secrets.token_hex(8), SCHEMA_NAME: SCHEMA}
            request = {
                "TableName": self.name,
                "Item": packed(marked),
                "ConditionExpression": put.condition,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                **_expressions(put.condition, put.values),
            }
            requests.append({"Put": request})
        token = secrets.token_hex(16)  # a transaction that is sent again, its answer lost, is made once
        with translated(f"the table {self.name}"):
            try:
                client.transact_write_items(TransactItems=requests, ClientRequestToken=token)
            except ClientError as error:
                reasons: Any = error.response.get("CancellationReasons", [])
                codes = {str(reason.get("Code")) for reason in reasons}
                is_failed = error_code(error) == "TransactionCanceledException" and len(reasons) == len(puts)
                if not is_failed or not codes <= _REFUSED:
                    raise
                raise TransactionFailed(
                    [reason.get("Code") == "ConditionalCheckFailed" for reason in reasons],
                    [unpacked(reason["Item"]) if reason.get("Item") else None for reason in reasons],
                ) from error

    def update(self, key: Item, expression: str, *, condition: str | None = None, values: Item) -> dict[str, Any]:
        """Change one item by ``SET`` assignments ``expression``, once; the item afterwards.

        Raises:
            ConditionFailed: ``condition`` does not hold.
        """
        if condition is not None and not can_exist(key):
            raise ConditionFailed(None)
        check_size(values)
        mark = secrets.token_hex(8)
        assignments = f"SET #{_WRITER} = :{_WRITER}, {expression}"
        return self._write(
            mark,
            "update_item",
            _NOT_YET if condition is None else f"({condition}) AND {_NOT_YET}",
            {**values, _WRITER: mark},
            assignments,
            Key=packed(key),
            UpdateExpression=assignments,
            ReturnValues="ALL_NEW",
        )

    def delete(self, key: Item, *, condition: str | None = None, values: Item | None = None) -> bool:
        """Remove one item, if ``condition`` holds; whether it was there and did."""
        if not can_exist(key):
            return False
        request: dict[str, Any] = {"Key": packed(key), "ReturnValues": "ALL_OLD"}
        if condition is not None:
            request |= _expressions(condition, values or {}) | {"ConditionExpression": condition}
        try:
            return "Attributes" in self._call("delete_item", **request)
        except ConditionFailed:
            return False

    def query(
        self,
        condition: str,
        values: Item,
        *,
        index: str | None = None,
        limit: int | None = None,
        descending: bool = False,
        consistent: bool = False,
        attributes: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        """Items of one partition by their sort key, up to ``limit``; an answer's 1 MB bound is not the caller's.

        Args:
            attributes: Only these; all without it.
        """
        projection = ", ".join(f"#{name}" for name in attributes)
        request: dict[str, Any] = {
            "KeyConditionExpression": condition,
            "ScanIndexForward": not descending,
            "ConsistentRead": consistent,
            **_expressions(f"{condition} {projection}", values),
        }
        if projection:
            request["ProjectionExpression"] = projection
        if index is not None:
            request["IndexName"] = index
        found: list[dict[str, Any]] = []
        while limit is None or len(found) < limit:
            if limit is not None:
                request["Limit"] = limit - len(found)
            answer = self._call("query", **request)
            found.extend(unpacked(item) for item in answer["Items"])
            if "LastEvaluatedKey" not in answer:
                break
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        return found

    def count(self, condition: str, values: Item, *, index: str | None = None, consistent: bool = False) -> int:
        """Number of items of one partition; read and paid for as ``query`` would, but not sent."""
        request: dict[str, Any] = {
            "KeyConditionExpression": condition,
            "ConsistentRead": consistent,
            "Select": "COUNT",
            **_expressions(condition, values),
        }
        if index is not None:
            request["IndexName"] = index
        total = 0
        while True:
            answer = self._call("query", **request)
            total += int(answer["Count"])
            if "LastEvaluatedKey" not in answer:
                return total
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def put_all(self, items: Sequence[Item]) -> None:
        """Write items without conditions, 25 at a time; all of them when it returns, any part when it raises."""
        self._batch([{"PutRequest": {"Item": packed({**item, SCHEMA_NAME: SCHEMA})}} for item in items])

    def delete_all(self, keys: Sequence[Item]) -> None:
        """Remove items without conditions, 25 at a time."""
        self._batch([{"DeleteRequest": {"Key": packed(key)}} for key in keys])

    def _batch(self, requests: Sequence[dict[str, Any]]) -> None:
        for start in range(0, len(requests), _MAX_BATCH):
            rest, pause_s = list(requests[start : start + _MAX_BATCH]), 0.05
            while rest:
                with translated(f"the table {self.name}"):
                    answer = self._clients.get("dynamodb").batch_write_item(RequestItems={self.name: rest})
                left = answer.get("UnprocessedItems", {}).get(self.name, [])
                if len(left) == len(rest):  # what could not be taken is throttled, and not repeated by boto3
                    if pause_s > 3:
                        raise Unavailable(f"The table {self.name} is asked too often.", code="aws_throttled")
                    time.sleep(pause_s)
                    pause_s *= 2
                rest = left

    def _write(
        self, mark: str, operation: str, condition: str | None, values: Item, expression: str, **request: Any
    ) -> dict[str, Any]:
        if condition is not None:
            request["ConditionExpression"] = condition
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        request |= _expressions(f"{condition or ''} {expression}", values)
        try:
            answer = self._call(operation, **request)
        except ConditionFailed as failure:
            if failure.item is None or failure.item.get(_WRITER) != mark:
                raise
            return failure.item
        return unpacked(answer.get("Attributes", {}))

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        from botocore.exceptions import ClientError

        client = self._clients.get("dynamodb")
        with translated(f"the table {self.name}"):
            try:
                answer: dict[str, Any] = getattr(client, operation)(TableName=self.name, **request)
            except ClientError as error:
                if error_code(error) != "ConditionalCheckFailedException":
                    raise
                item: Any = error.response.get("Item")
                raise ConditionFailed(None if item is None else unpacked(item)) from error
        return answer


def _expressions(expression: str, values: Item) -> dict[str, Any]:
    request: dict[str, Any] = {}
    names = set(_NAME.findall(expression))
    if names:
        request["ExpressionAttributeNames"] = {f"#{name}": name for name in names}
    if values:
        request["ExpressionAttributeValues"] = {f":{name}": pack(value) for name, value in values.items()}
    return request
