from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from models.video.audio import load_audio
from services.domain.errors import ContentRejected
from tests.models.video.conftest import AWKWARD_NAMES, dominant_hz, tone

Make = Callable[..., Path]


@pytest.mark.parametrize("rate_hz", [8000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])
@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_any_rate_channels_and_depth_keep_length_pitch_and_level(
    make_wav: Make, rate_hz: int, channels: int, width: int
) -> None:
    samples = tone(0.5, rate_hz=rate_hz)
    audio = load_audio(make_wav(np.tile(samples[:, None], channels), rate_hz=rate_hz, width=width))
    assert audio.sample_rate_hz == 48_000
    assert len(audio.samples) == round(len(samples) * 48_000 / rate_hz)
    assert dominant_hz(audio.samples, 48_000) == pytest.approx(440, abs=2)
    assert np.abs(audio.samples[4800:-4800]).max() == pytest.approx(0.5, abs=0.02)
    assert audio.samples.dtype == np.float32
    assert (audio.source_sample_rate_hz, audio.source_channels) == (rate_hz, channels)


CODECS = [
    ("mp3", "libmp3lame", "mp3", 44_100),
    ("m4a", "aac", "mp4", 44_100),
    ("mp4", "aac", "mp4", 48_000),
    ("flac", "flac", "flac", 44_100),
    ("opus", "libopus", "ogg", 48_000),
    ("webm", "libopus", "webm", 48_000),
    ("aiff", "pcm_s16be", "aiff", 44_100),
    ("mkv", "ac3", "matroska", 48_000),
]


def encode(path: Path, samples: NDArray[np.float32], codec: str, kind: str, rate_hz: int) -> Path:
    with av.open(str(path), "w", format=kind) as container:
        stream = container.add_stream(codec, rate=rate_hz, layout="mono")
        sample_format = stream.codec_context.format.name
        resampler = av.AudioResampler(format=sample_format, layout="mono", rate=rate_hz)
        frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = rate_hz, 0, Fraction(1, rate_hz)
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(("ending", "codec", "kind", "rate_hz"), CODECS)
def test_codecs_keep_length_and_place_within_20_ms(
    tmp_path: Path, ending: str, codec: str, kind: str, rate_hz: int
) -> None:
    """A click at .7 s must be heard there: an encoder's delay is taken out."""
    samples = 0.02 * tone(1.5, rate_hz=rate_hz, level=1.0)
    click = round(0.7 * rate_hz)
    samples[click : click + 8] = [0.9, -0.9] * 4
    audio = load_audio(encode(tmp_path / f"a.{ending}", samples, codec, kind, rate_hz))
    assert audio.duration_s == pytest.approx(1.5, abs=0.02)
    assert np.abs(audio.samples).argmax() / 48_000 == pytest.approx(0.7, abs=0.02)


def test_video_with_sound_gives_its_sound(make_video: Make) -> None:
    audio = load_audio(make_video(num_frames=30, sound=tone(1.0)))
    assert audio.duration_s == pytest.approx(1.0, abs=0.02)
    assert dominant_hz(audio.samples, 48_000) == pytest.approx(440, abs=2)


def test_silent_channels_do_not_halve_the_voice(make_wav: Make) -> None:
    stereo = np.stack([tone(0.3), np.zeros(14_400, np.float32)], axis=1)
    assert np.abs(load_audio(make_wav(stereo)).samples).max() == pytest.approx(0.5, abs=0.01)


def test_opposite_channels_do_not_cancel(make_wav: Make) -> None:
    stereo = np.stack([tone(0.3), -tone(0.3)], axis=1)
    assert np.abs(load_audio(make_wav(stereo)).samples).max() == pytest.approx(0.5, abs=0.01)


def test_offset_is_removed_and_told(make_wav: Make) -> None:
    audio = load_audio(make_wav(tone(0.5, level=0.3) + 0.2))
    assert abs(float(audio.samples.mean())) < 1e-4
    assert any("+0.200" in note for note in audio.notes)


def test_clipping_is_told(make_wav: Make) -> None:
    audio = load_audio(make_wav(np.clip(tone(0.5, level=3.0), -1, 1)))
    assert any("clipped" in note for note in audio.notes)
    assert np.abs(audio.samples).max() <= 1.0


def test_float_sound_beyond_full_scale_is_brought_back(tmp_path: Path) -> None:
    path = encode(tmp_path / "loud.wav", tone(0.3, level=2.5), "pcm_f32le", "wav", 48_000)
    samples = load_audio(path).samples
    assert np.abs(samples).max() == pytest.approx(1.0, abs=1e-3)
    assert np.abs(samples - tone(0.3, level=1.0)).max() < 0.01


def test_samples_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    bad = tone(0.3)
    bad[100] = np.nan
    with pytest.raises(ContentRejected) as caught:
        load_audio(encode(tmp_path / "nan.wav", bad, "pcm_f32le", "wav", 48_000))
    assert caught.value.code == "unreadable_media"


def test_hole_in_the_time_stamps_becomes_silence(tmp_path: Path) -> None:
    """Half a second of sound, one second of nothing, half a second of sound."""
    path = tmp_path / "hole.mkv"
    with av.open(str(path), "w", format="matroska") as container:
        stream = container.add_stream("pcm_s16le", rate=48_000, layout="mono")
        for start in (0, 72_000):
            frame = av.AudioFrame.from_ndarray((tone(0.5)[None] * 32767).astype(np.int16), format="s16", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = 48_000, start, Fraction(1, 48_000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    audio = load_audio(path)
    assert audio.duration_s == pytest.approx(2.0, abs=0.01)
    assert np.abs(audio.samples[30_000:66_000]).max() < 0.01
    assert np.abs(audio.samples[75_000:]).max() > 0.4


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_any_file_name_works(make_wav: Make, name: str) -> None:
    assert load_audio(make_wav(tone(0.1), name=f"{name}.jpg")).duration_s == pytest.approx(0.1)


def test_no_sound_track_is_refused_by_name(make_video: Make) -> None:
    with pytest.raises(ContentRejected) as caught:
        load_audio(make_video(), name="Interview.mp4")
    assert caught.value.code == "no_audio_stream"
    assert "Interview.mp4" in caught.value.detail


def test_too_long_is_refused_with_both_numbers(make_wav: Make) -> None:
    with pytest.raises(ContentRejected) as caught:
        load_audio(make_wav(tone(1.0)), max_duration_s=0.5)
    assert caught.value.code == "audio_too_long"
    assert "1.0 s" in caught.value.detail
    assert "0.5 s" in caught.value.detail


@pytest.mark.parametrize("channels", [1, 2])
def test_too_long_is_refused_where_the_container_does_not_say(tmp_path: Path, channels: int) -> None:
    with av.open(str(tmp_path / "a.aac"), "w", format="adts") as container:
        stream = container.add_stream("aac", rate=48_000, layout="mono" if channels == 1 else "stereo")
        frame = av.AudioFrame.from_ndarray(
            np.tile(tone(2.0), (channels, 1)), format="fltp", layout="mono" if channels == 1 else "stereo"
        )
        frame.sample_rate = 48_000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(ContentRejected) as caught:
        load_audio(tmp_path / "a.aac", max_duration_s=1.0)
    assert caught.value.code == "audio_too_long"


def test_empty_files_are_refused(make_wav: Make, tmp_path: Path) -> None:
    (tmp_path / "nothing.wav").touch()
    for path in (tmp_path / "nothing.wav", make_wav(np.zeros(0, np.float32))):
        with pytest.raises(ContentRejected) as caught:
            load_audio(path)
        assert caught.value.code == "empty_file"


@pytest.mark.parametrize(("ending", "codec", "kind", "rate_hz"), [CODECS[1], CODECS[3]])
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_cut_off_sound_is_refused(
    tmp_path: Path, ending: str, codec: str, kind: str, rate_hz: int, share: float
) -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 3 * rate_hz).astype(np.float32)
    path = encode(tmp_path / f"memo.{ending}", noise, codec, kind, rate_hz)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(ContentRejected) as caught:
        load_audio(path)
    assert caught.value.code == "unreadable_media"
    assert "memo" in caught.value.detail


def test_cut_off_wav_is_refused(make_wav: Make) -> None:
    path = make_wav(tone(3.0))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ContentRejected) as caught:
        load_audio(path)
    assert caught.value.code == "unreadable_media"


def test_wav_from_a_pipe_whose_header_states_no_length_is_read(make_wav: Make) -> None:
    """Programs that write to a pipe cannot go back to fill in the length."""
    path = make_wav(tone(1.0))
    content = bytearray(path.read_bytes())
    content[4:8] = content[40:44] = b"\xff\xff\xff\xff"
    path.write_bytes(bytes(content))
    assert load_audio(path).duration_s == pytest.approx(1.0)


@pytest.mark.parametrize("content", [b"hello, this is text", b"\x89PNG\r\n\x1a\n" + bytes(50), bytes(5000)])
def test_what_is_no_sound_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.mp3").write_bytes(content)
    with pytest.raises(ContentRejected) as caught:
        load_audio(tmp_path / "a.mp3")
    assert caught.value.code in ("unsupported_media", "unreadable_media")


def test_real_recordings_agree_across_formats(shared_data: Path) -> None:
    folder = shared_data / "speech"
    wav, m4a = load_audio(folder / "en_lj_22k.wav"), load_audio(folder / "en_lj.m4a")
    assert m4a.duration_s == pytest.approx(wav.duration_s, abs=0.02)
    length = min(len(wav.samples), len(m4a.samples))
    assert np.corrcoef(wav.samples[:length], m4a.samples[:length])[0, 1] > 0.97
    for path in sorted(folder.iterdir()):
        assert load_audio(path).duration_s > 1
