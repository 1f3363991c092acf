"""Steps as JSON and back.

A step that holds an earlier one names it by its `id`. What an operation needs of its own lies
under `arguments`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, assert_never, get_args
from uuid import UUID

from explorer.errors import DeltaError
from explorer.log.folder.listing import CheckpointFiles, CheckpointKind
from explorer.maintenance.plan.step_types import (
    OPTIMIZE,
    Aim,
    Commit,
    CommitBasis,
    CommitParameters,
    CommitRecord,
    CommittingStep,
    CopyCheckpoint,
    DeleteFiles,
    FileChanges,
    GivenRowIds,
    MissingFiles,
    NeededFile,
    Reads,
    RepairStatistics,
    RestoredFiles,
    RewriteFiles,
    Step,
    TakenRowIds,
    ValidateRows,
    ValidateTraces,
    Validation,
    VectorTombstones,
    WriteCheckpoint,
    WriteChecksum,
    WriteCompaction,
    WriteHint,
)
from explorer.protocol.actions import (
    DomainMetadata,
    Metadata,
    Protocol,
    parse_domain,
    parse_metadata,
    parse_protocol,
)
from explorer.protocol.commit_json import render_action
from explorer.transaction.staged import ValidatedRule

Kind = TypeVar("Kind")
Word = TypeVar("Word", bound=str)
Body = Mapping[str, Any]


def render_step(step: Step) -> dict[str, Any]:
    """One step as JSON."""
    return {
        "id": step.id,
        "kind": step.kind,
        "reason": step.reason,
        "num_files": step.num_files,
        "num_bytes": step.num_bytes,
        "arguments": _render_arguments(step),
    }


def parse_steps(documents: Iterable[Body]) -> tuple[Step, ...]:
    """The steps of a plan; raises `KeyError`, `TypeError` or `ValueError` for what is none."""
    earlier: dict[str, Step] = {}
    for document in documents:
        step = _parse_step(document, earlier)
        earlier[step.id] = step
    return tuple(earlier.values())


def _render_arguments(  # noqa: C901, PLR0911, PLR0912  # a case for each kind
    step: Step,
) -> dict[str, Any]:
    match step:
        case Commit():
            return _render_commit(step)
        case RewriteFiles():
            return {
                "operation": OPTIMIZE,
                "transaction_id": step.transaction_id,
                "parameters": dict(step.parameters),
                "aim": step.aim.parameters,
                "batch": step.batch,
                "num_groups": step.num_groups,
                "groups_sha256": step.groups_sha256,
                "seed": str(step.seed),
            }
        case RepairStatistics():
            return {"transaction_id": step.transaction_id, "first": step.first}
        case WriteCheckpoint():
            every = {} if step.every is None else {"every": step.every}
            of = {"version": step.of} if isinstance(step.of, int) else {"of_step": step.of.id}
            return {**of, **every, "seed": str(step.seed)}
        case WriteChecksum():
            return {"of_step": step.of.id}
        case CopyCheckpoint():
            return {"version": step.version}
        case WriteCompaction():
            return {"first": step.first, "last": step.last}
        case WriteHint():
            return {"version": step.version, "size": step.size, "parts": step.parts}
        case DeleteFiles():
            return _render_deletion(step)
        case ValidateRows():
            return {"expressions": dict(step.expressions)}
        case ValidateTraces():
            return {"feature": step.feature}
        case _:
            assert_never(step)


def _render_commit(step: Commit) -> dict[str, Any]:
    record, basis = step.record, step.basis
    document: dict[str, Any] = {
        "operation": record.operation,
        "transaction_id": record.transaction_id,
        "parameters": dict(record.parameters),
        "metrics": dict(record.metrics),
        "reads": basis.reads,
        "actions": [dict(render_action(action)) for action in step.actions],
        "files": None if step.files is None else _render_files(step.files, step.num_files),
        "counts_step": None if step.counts is None else step.counts.id,
    }
    # left out where there is nothing to say
    if basis.upon is not None:
        document["upon_step"] = basis.upon.id
    if basis.validated:
        rules = [{"key": rule.key, "expression": rule.expression} for rule in basis.validated]
        document["validated"] = rules
    if basis.dropped_feature is not None:
        document["dropped_feature"] = basis.dropped_feature
    if basis.unused_features:
        document["unused_features"] = list(basis.unused_features)
    if step.protects_history:
        document["protects_history"] = True
    return document


def _render_files(files: FileChanges, num_files: int) -> dict[str, Any]:
    match files:
        case RestoredFiles():
            return {"restore_to": files.version}
        case GivenRowIds():
            return {"give_row_ids": True, "num_files": num_files}
        case TakenRowIds():
            return {"take_row_ids": True, "num_files": num_files}
        case VectorTombstones():
            return {"vector_tombstones": True}
        case MissingFiles():
            return {"paths": list(files.paths), "num_files": num_files}
        case _:
            assert_never(files)


def _render_deletion(step: DeleteFiles) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if step.needs:
        document["needs"] = [{"path": need.path, "bytes": need.size} for need in step.needs]
    if step.broken:
        document["broken"] = [
            {"version": found.version, "kind": found.kind, "names": list(found.names)}
            for found in step.broken
        ]
    if step.announced_by is not None:
        document["announced_by"] = step.announced_by.id
    return document


def _parse_step(  # noqa: C901, PLR0911, PLR0912  # a case for each kind
    document: Body, earlier: Mapping[str, Step]
) -> Step:
    body = _of(dict, document["arguments"])
    num_bytes = document["num_bytes"]
    shared: dict[str, Any] = {
        "id": _of(str, document["id"]),
        "reason": _of(str, document["reason"]),
        "num_files": _of(int, document["num_files"]),
        "num_bytes": None if num_bytes is None else _of(int, num_bytes),
    }
    match document["kind"]:
        case Commit.kind:
            return Commit(**shared, **_parse_commit(body, earlier))
        case RewriteFiles.kind:
            return RewriteFiles(
                **shared,
                transaction_id=_of(str, body["transaction_id"]),
                parameters=_parse_parameters(body["parameters"]),
                aim=_parse_aim(body["aim"]),
                batch=_of(int, body["batch"]),
                num_groups=_of(int, body["num_groups"]),
                groups_sha256=_of(str, body["groups_sha256"]),
                seed=UUID(body["seed"]),
            )
        case RepairStatistics.kind:
            return RepairStatistics(
                **shared,
                transaction_id=_of(str, body["transaction_id"]),
                first=_of(int, body["first"]),
            )
        case WriteCheckpoint.kind:
            every = body.get("every")
            return WriteCheckpoint(
                **shared,
                of=_of(int, body["version"])
                if "version" in body
                else _step(CommittingStep, body["of_step"], earlier),
                seed=UUID(body["seed"]),
                every=None if every is None else _of(int, every),
            )
        case WriteChecksum.kind:
            return WriteChecksum(**shared, of=_step(CommittingStep, body["of_step"], earlier))
        case CopyCheckpoint.kind:
            return CopyCheckpoint(**shared, version=_of(int, body["version"]))
        case WriteCompaction.kind:
            first, last = _of(int, body["first"]), _of(int, body["last"])
            return WriteCompaction(**shared, first=first, last=last)
        case WriteHint.kind:
            parts = body["parts"]
            return WriteHint(
                **shared,
                version=_of(int, body["version"]),
                size=_of(int, body["size"]),
                parts=None if parts is None else _of(int, parts),
            )
        case DeleteFiles.kind:
            return DeleteFiles(**shared, **_parse_deletion(body, earlier))
        case ValidateRows.kind:
            return ValidateRows(**shared, expressions=_texts_by_name(body["expressions"]))
        case ValidateTraces.kind:
            return ValidateTraces(**shared, feature=_of(str, body["feature"]))
        case kind:
            raise ValueError(f"a step of the kind {kind!r}")


def _parse_commit(body: Body, earlier: Mapping[str, Step]) -> dict[str, Any]:
    counts, upon = body["counts_step"], body.get("upon_step")
    dropped = body.get("dropped_feature")
    files = body["files"]
    return {
        "record": CommitRecord(
            operation=_of(str, body["operation"]),
            transaction_id=_of(str, body["transaction_id"]),
            parameters=_parse_parameters(body["parameters"]),
            metrics=_texts_by_name(body["metrics"]),
        ),
        "basis": CommitBasis(
            reads=_word(_READS, body["reads"]),
            upon=None if upon is None else _step(Validation, upon, earlier),
            validated=tuple(
                ValidatedRule(key=_of(str, rule["key"]), expression=_of(str, rule["expression"]))
                for rule in body.get("validated", ())
            ),
            dropped_feature=None if dropped is None else _of(str, dropped),
            unused_features=_texts(body.get("unused_features", ())),
        ),
        "actions": tuple(_parse_action(line) for line in body["actions"]),
        "files": None if files is None else _parse_files(files),
        "counts": None if counts is None else _step(DeleteFiles, counts, earlier),
        "protects_history": body.get("protects_history") is True,
    }


def _parse_action(line: Body) -> Protocol | Metadata | DomainMetadata:
    try:
        if "protocol" in line:
            return parse_protocol(line["protocol"], "the plan")
        if "domainMetadata" in line:
            return parse_domain(line["domainMetadata"], "the plan")
        return parse_metadata(line["metaData"], "the plan")
    except DeltaError as error:
        raise ValueError(error.problem) from error


def _parse_files(body: Body) -> FileChanges:
    if "restore_to" in body:
        return RestoredFiles(version=_of(int, body["restore_to"]))
    if "give_row_ids" in body:
        return GivenRowIds()
    if "take_row_ids" in body:
        return TakenRowIds()
    if "vector_tombstones" in body:
        return VectorTombstones()
    return MissingFiles(paths=_texts(body["paths"]))


def _parse_deletion(body: Body, earlier: Mapping[str, Step]) -> dict[str, Any]:
    start = body.get("announced_by")
    return {
        "needs": tuple(
            NeededFile(path=_of(str, need["path"]), size=_of(int, need["bytes"]))
            for need in body.get("needs", ())
        ),
        "broken": tuple(
            CheckpointFiles(
                version=_of(int, found["version"]),
                kind=_word(_CHECKPOINT_KINDS, found["kind"]),
                names=_texts(found["names"]),
            )
            for found in body.get("broken", ())
        ),
        "announced_by": None if start is None else _step(Commit, start, earlier),
    }


def _parse_aim(body: Body) -> Aim:
    where = body["where"]
    return Aim(
        where=None if where is None else _of(str, where),
        target_size=_of(int, body["target_size"]),
        purge=_of(bool, body["purge"]),
        columns=tuple(_texts(path) for path in body["columns"]),
        names=_texts(body["names"]),
        is_clustering=_of(bool, body["is_clustering"]),
        batch_size=_of(int, body["batch_size"]),
    )


def _parse_parameters(body: Body) -> CommitParameters:
    found = _of(dict, body)
    if not all(value is None or isinstance(value, str | int | bool) for value in found.values()):
        raise TypeError("a parameter is neither text, number nor truth value")
    return found


_READS: Sequence[Reads] = get_args(Reads)
_CHECKPOINT_KINDS: Sequence[CheckpointKind] = get_args(CheckpointKind)


def _word(choices: Sequence[Word], value: object) -> Word:
    for choice in choices:
        if choice == value:
            return choice
    raise ValueError(f"{value!r} is none of {choices}")


def _step(kind: Any, name: object, earlier: Mapping[str, Step]) -> Any:
    """The earlier step of that name; raises `KeyError` where there is none, `TypeError` where
    it is of another kind."""
    found = earlier[_of(str, name)]
    if not isinstance(found, kind):
        raise TypeError(f"{found.id!r} is a step of the kind {found.kind}")
    return found


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(_of(str, value) for value in values)


def _texts_by_name(body: object) -> Mapping[str, str]:
    found = _of(dict, body)
    _texts(found.values())
    return found


def _of(kind: type[Kind], value: object) -> Kind:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{type(value).__name__} where {kind.__name__} is written")
    return value
