"""What every kind of storyboard is made with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from services.domain.job import Job
from services.ports.catalogue import AvatarCatalogue, VoiceCatalogue
from services.ports.language_model import LanguageModel
from services.ports.managed_speech import ManagedSpeech
from services.ports.models import ModelCatalogue
from services.ports.objects import ObjectStore
from services.ports.products import ProductStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.fetch_source import SourceReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """A job that is being prepared, where its sources are, and where its own objects go."""

    job: Job
    objects: ObjectStore
    uploads: UploadStore
    avatars: AvatarCatalogue
    voices: VoiceCatalogue
    models: ModelCatalogue
    products: ProductStore
    language_model: LanguageModel | None
    managed_speech: ManagedSpeech | None
    fetch: SourceReader
    settings: Settings


Preparer: TypeAlias = Callable[[Preparation], bytes]
"""The storyboard as JSON. Copies have fixed keys, so that preparing again after a crash writes the same objects.

Raises:
    ContentRejected: What the request names is not there any more, or cannot be used.
    Unavailable: A store or service does not answer; to be tried again.
"""
