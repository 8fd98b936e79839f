"""Give a job its own copies of what it is made from, so that uploads may expire and avatars be deleted."""

from __future__ import annotations

from pathlib import PurePosixPath

from services.domain.errors import ContentRejected, NotFound
from services.domain.job import Job
from services.domain.object_key import ObjectKey
from services.domain.storyboard import BackgroundShot, PresenterShot
from services.domain.video import Background, Presenter
from services.ports.catalogue import AvatarCatalogue
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.usecases.fetch_source import SourceReader
from services.usecases.work_key import work_key


def copy_presenter(
    presenter: Presenter,
    job: Job,
    *,
    objects: ObjectStore,
    uploads: UploadStore,
    avatars: AvatarCatalogue,
    fetch: SourceReader,
) -> PresenterShot:
    """The presenter as an object of the job.

    Raises:
        ContentRejected: ``avatar_not_found`` or ``upload_not_found``, when it went since the job was accepted; or
            what ``fetch`` says.
    """
    if presenter.source_url is not None:
        key = fetch(presenter.source_url, "presenter", ("image", "video"), "presenter.source_url")
    elif presenter.avatar_id is None:
        key = copy_upload(
            presenter.upload_id or "", "presenter", job, param="presenter.upload_id", objects=objects, uploads=uploads
        )
    else:
        try:
            source = avatars.get(job.tenant_id, presenter.avatar_id).object_key
            key = copy_object(source, "presenter", job, objects=objects)
        except NotFound as error:
            raise ContentRejected(
                f"Avatar {presenter.avatar_id} is not there any more.",
                code="avatar_not_found",
                param="presenter.avatar_id",
            ) from error
    return PresenterShot(key=key, face=presenter.face)


def copy_background(
    background: Background,
    job: Job,
    *,
    objects: ObjectStore,
    uploads: UploadStore,
    fetch: SourceReader,
    param: str = "background",
) -> BackgroundShot:
    """The background, its picture as an object of the job; ``param`` is the request field that asks for it.

    Raises:
        ContentRejected: ``upload_not_found``, or what ``fetch`` says.
    """
    key = None
    if background.source_url is not None:
        key = fetch(background.source_url, "background", ("image",), f"{param}.source_url")
    if background.upload_id is not None:
        key = copy_upload(
            background.upload_id, "background", job, param=f"{param}.upload_id", objects=objects, uploads=uploads
        )
    return BackgroundShot(kind=background.kind, color=background.color, key=key)


def copy_upload(upload_id: str, role: str, job: Job, *, param: str, objects: ObjectStore, uploads: UploadStore) -> str:
    """Key of the job's own copy of an upload.

    Raises:
        ContentRejected: ``upload_not_found``.
    """
    try:
        return copy_object(uploads.get(job.tenant_id, upload_id).object_key, role, job, objects=objects)
    except NotFound as error:
        raise ContentRejected(
            f"Upload {upload_id} is not there any more; send the file again.", code="upload_not_found", param=param
        ) from error


def copy_object(source: str, role: str, job: Job, *, objects: ObjectStore) -> str:
    """Key of the job's own copy of the object at ``source``, named for its role.

    Raises:
        NotFound: ``object_not_found``.
    """
    source_key = ObjectKey.parse(source)
    target = work_key(job, role + PurePosixPath(source_key.name).suffix)
    objects.copy(source_key, target)
    return str(target)
