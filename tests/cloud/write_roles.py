"""``python -m tests.cloud.write_roles`` writes the functions' roles into ``template.yaml``, as their code asks for.

Read what it changes before you commit it: a right that a function gained is a right that it gained.
``test_permissions.py`` compares role and source in its own way.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from spokesmodel.template import load
from tests.cloud.reach import needed, ports_of_handler
from tests.emulator import ROOT

TEMPLATE: Final = ROOT / "template.yaml"
_START: Final = "  # ---- What each function may do"
_END: Final = "  # ---- Objects."
_HEAD: Final = f"""{_START}: its own log, its own queue, and what its code asks of the adapters: nothing else, and
  # no action is a wildcard. Written by `python -m tests.cloud.write_roles`; tests/cloud/test_permissions.py compares.
"""
_WIDTH: Final = 120
_INDENT: Final = 14
_BELLS: Final = ("Prepare", "Dispatch", "Notify", "Batch")
_OF_THE_STREAMS: Final = """Effect: Allow
Action: [dynamodb:DescribeStream, dynamodb:GetRecords, dynamodb:GetShardIterator, dynamodb:ListStreams]
Resource: [!GetAtt JobsTable.StreamArn, !GetAtt BatchesTable.StreamArn]"""
_ENDPOINTS: Final = [
    f"!Sub arn:${{AWS::Partition}}:sagemaker:${{AWS::Region}}:${{AWS::AccountId}}:endpoint/${{AWS::StackName}}-{name}"
    for name in ("video", "preview")
]


def main() -> None:
    """Write the section anew."""
    text = TEMPLATE.read_text(encoding="utf-8")
    template = load(TEMPLATE)
    queues = {binding.function: binding.queue for binding in template.queue_bindings}
    tables = {
        name: logical
        for logical, name in re.findall(
            r"^  (\w+Table):.*\n(?:    .*\n)*?      TableName: !Sub \$\{AWS::StackName\}-([a-z_]+)$", text, re.MULTILINE
        )
    }
    roles = [
        _role(name.removesuffix("Function"), list(_statements(name, function.handler, queues.get(name), tables)))
        for name, function in template.functions.items()
    ]
    start, end = text.index(_START), text.index(_END)
    TEMPLATE.write_text(text[:start] + _HEAD + "".join(roles) + "\n" + text[end:], encoding="utf-8")
    sys.stdout.write(f"{len(roles)} roles written\n")


def _statements(name: str, handler: str, queue: str | None, tables: dict[str, str]) -> Iterator[str]:
    module = handler.rpartition(".")[0]
    uses, ports = needed(module), ports_of_handler(module)
    plain = {action for action, table in uses if not table}
    if queue is not None:
        more = ["sqs:ChangeMessageVisibility"] if "sqs:ChangeMessageVisibility" in plain else []
        received = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", *more]
        yield _statement(received, [f"!GetAtt {queue}.Arn"])
    if module.endswith(".outbox"):
        yield _OF_THE_STREAMS
        yield _statement(["sqs:SendMessage"], ["!GetAtt OutboxDeadLetters.Arn"])
    if ("step_queue", "send") in ports:
        yield _statement(["sqs:SendMessage"], [f"!GetAtt {bell}Queue.Arn" for bell in _BELLS])
    elif ("step_queue", "ring") in ports:
        yield _statement(["sqs:SendMessage"], ["!GetAtt DispatchQueue.Arn"])
    if ("engine", "start") in ports:
        yield _if("OnQueue", _statement(["sqs:SendMessage"], ["!GetAtt WorkQueue.Arn"]))
    if engine := sorted(action for action in plain if action.startswith("sagemaker:")):
        yield _if("OnSageMaker", _statement(engine, _ENDPOINTS))
    if objects := sorted(action for action in plain if action.startswith("s3:") and action != "s3:ListBucket"):
        yield _statement(objects, ['!Sub "${Bucket.Arn}/*"'])
    if "s3:ListBucket" in plain:
        yield _statement(["s3:ListBucket"], ["!GetAtt Bucket.Arn"])
    for table in sorted({table.partition("/")[0] for _, table in uses if table}):
        actions = sorted(action for action, on in uses if on == table)
        index = [f'!Sub "${{{tables[table]}.Arn}}/index/*"'] if any(on == f"{table}/index" for _, on in uses) else []
        yield _statement(actions, [f"!GetAtt {tables[table]}.Arn", *index])
    if "bedrock:InvokeModel" in plain:
        arns = '!Split [",", !Ref BedrockModelArns]'
        yield _if("WithBedrockArns", _statement(["bedrock:InvokeModel"], [arns]))
    if "polly:SynthesizeSpeech" in plain:
        yield _if("WithPolly", _statement(["polly:SynthesizeSpeech"], ['"*"']) + " # voices have no Arns")


def _statement(actions: Sequence[str], resources: Sequence[str]) -> str:
    parts = {"Action": actions, "Resource": resources}
    short = {key: values[0] if len(values) == 1 else f"[{', '.join(values)}]" for key, values in parts.items()}
    line = f"{{Effect: Allow, Action: {short['Action']}, Resource: {short['Resource']}}}"
    if _INDENT + len("- ") + len(line) <= _WIDTH and "${AWS::" not in line:
        return line
    lines = ["Effect: Allow"]
    for key, values in parts.items():
        fits = _INDENT + 4 + len(key) + len(short[key]) <= _WIDTH or len(values) == 1
        lines += [f"{key}: {short[key]}"] if fits else [f"{key}:", *(f"  - {value}" for value in values)]
    return "\n".join(lines)


def _if(condition: str, statement: str) -> str:
    return f"Fn::If:\n  - {condition}\n{_item(statement, '  ')}\n  - !Ref AWS::NoValue"


def _item(text: str, indent: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([f"{indent}- {first}", *(f"{indent}  {line}" for line in rest)])


def _role(name: str, statements: Sequence[str]) -> str:
    logs = f"{{Effect: Allow, Action: [logs:CreateLogStream, logs:PutLogEvents], Resource: !GetAtt {name}Logs.Arn}}"
    return f"""  {name}Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement: [{{Effect: Allow, Action: sts:AssumeRole, Principal: {{Service: lambda.amazonaws.com}}}}]
      Policies:
        - PolicyName: {name.lower()}
          PolicyDocument:
            Version: "2012-10-17"
            Statement:
{chr(10).join(_item(statement, " " * _INDENT) for statement in (logs, *statements))}
"""


if __name__ == "__main__":
    main()
