"""Near-duplicates: found among copies, not among unlike pictures; the hash is ImageHash's."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps

from tests.training.data.drawn import picture
from training.data.likeness import Clusters, likeness_of, mirrored, perceptual_hash

# `imagehash.phash` of ImageHash 4.3.2 with Pillow 13, for picture(seed, 200, 160).
PEER_HASHES = {
    1: "e237374accc08fcc",
    2: "9ff2e09638496ce8",
    3: "ea6a6252d695a5a5",
    4: "99a5d84763fc2607",
    5: "ea3d16bd1c42adc2",
    6: "f0f0f0d5b6160d2d",
}


def jpeg(rgb, quality):
    _, data = cv2.imencode(".jpg", rgb[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.ascontiguousarray(cv2.imdecode(data, cv2.IMREAD_COLOR)[:, :, ::-1])


def middle(rgb, share):
    height, width = rgb.shape[:2]
    rows, columns = round(height * (1 - share) / 2), round(width * (1 - share) / 2)
    return np.ascontiguousarray(rgb[rows : height - rows, columns : width - columns])


COPIES = {
    "jpeg": lambda rgb: jpeg(rgb, 40),
    "smaller": lambda rgb: cv2.resize(rgb, None, fx=0.4, fy=0.4, interpolation=cv2.INTER_AREA),
    "brighter": lambda rgb: np.clip(rgb * 1.1 + 5, 0, 255).astype(np.uint8),
    "warmer": lambda rgb: np.clip(rgb * [1.06, 1, 0.92], 0, 255).astype(np.uint8),
    "mirrored": lambda rgb: np.ascontiguousarray(rgb[:, ::-1]),
    "blurred": lambda rgb: cv2.GaussianBlur(rgb, (0, 0), 2),
    "cropped": lambda rgb: middle(rgb, 0.95),
}


@pytest.mark.parametrize("seed", sorted(PEER_HASHES))
def test_hash_equals_image_hashs(seed):
    assert perceptual_hash(picture(seed, 200, 160)) == int(PEER_HASHES[seed], 16)


@pytest.fixture(scope="module")
def real(shared_data):
    found = []
    for path in sorted((shared_data / "finetune").glob("*.[wj][ep][bg]*")) + sorted(
        (shared_data / "garments").glob("*.jpg")
    ):
        image = ImageOps.exif_transpose(Image.open(path)).convert("RGBA")
        plain = Image.new("RGBA", image.size, "white")
        plain.alpha_composite(image)
        plain.thumbnail((256, 256))
        found.append(np.asarray(plain.convert("RGB")))
    return found


def test_unlike_products_on_the_same_ground_are_clusters_of_their_own(real):
    clusters = Clusters()
    assert [clusters.add(likeness_of(rgb)) for rgb in real] == list(range(len(real)))


@pytest.mark.parametrize("copy", sorted(COPIES))
def test_copies_join_the_cluster_of_what_they_are_copies_of(real, copy):
    clusters = Clusters()
    for rgb in real:
        clusters.add(likeness_of(rgb))
    joined = [clusters.add(likeness_of(COPIES[copy](rgb))) for rgb in real]
    assert joined == list(range(len(real)))


def test_mirrored_embedding_is_that_of_the_mirror_image():
    rgb = picture(3, 128, 128)
    turned = likeness_of(np.ascontiguousarray(rgb[:, ::-1])).embedding
    assert float(mirrored(likeness_of(rgb).embedding[None])[0] @ turned) > 0.99
    assert float(likeness_of(rgb).embedding @ turned) < 0.95


def test_recoloured_product_is_another_product():
    rgb = np.full((200, 200, 3), 250, np.uint8)
    cv2.rectangle(rgb, (50, 40), (150, 170), (200, 30, 40), -1)
    blue = np.ascontiguousarray(rgb[:, :, ::-1])
    clusters = Clusters()
    assert [clusters.add(likeness_of(one)) for one in (rgb, blue, rgb)] == [0, 1, 0]


def test_nearness_does_not_chain_from_one_end_of_a_slow_change_to_the_other():
    first, last = picture(1, 96, 96).astype(float), picture(2, 96, 96).astype(float)
    clusters = Clusters()
    frames = [((1 - t) * first + t * last).astype(np.uint8) for t in np.linspace(0, 1, 60)]
    numbers = [clusters.add(likeness_of(frame)) for frame in frames]
    assert numbers[0] != numbers[-1]
    assert 1 < len(set(numbers)) < 30


def test_grows_past_its_first_room():
    clusters = Clusters()
    generator = np.random.default_rng(0)
    likenesses = [likeness_of(generator.integers(0, 255, (64, 64, 3)).astype(np.uint8)) for _ in range(1)]
    blank = likenesses[0]
    from dataclasses import replace

    for number in range(2100):
        vector = generator.normal(size=blank.embedding.shape).astype(np.float32)
        vector /= np.linalg.norm(vector)
        one = replace(blank, hash=int(generator.integers(2**63)), embedding=vector)
        assert clusters.add(one) == number
    assert len(clusters) == 2100
