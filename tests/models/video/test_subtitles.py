from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from models.video.subtitles import Cue, CueLimits, cues_from_timeline, to_srt, to_vtt
from models.video.subtitles.segmentation import reading_length, width
from services.domain.timeline import SpeechTimeline, TimelineSource, Word

SPOKEN = regex.compile(r"\p{Han}|[\p{Hiragana}\p{Katakana}ー]+|\p{Thai}+|[\p{L}\p{M}\p{N}]+")


def spoken(text: str, *, rate: float = 13.0, pauses: bool = True) -> SpeechTimeline:
    """Words of ``text`` one after another, ``rate`` letters a second, with a pause after each full stop."""
    time_s, words = 0.2, []
    for match in SPOKEN.finditer(text):
        end_s = time_s + len(match.group()) / rate
        words.append(
            Word(text=match.group(), start_s=time_s, end_s=end_s, char_start=match.start(), char_end=match.end())
        )
        stop = pauses and text[match.end() : match.end() + 1] in (".", "!", "?", "。", "！", "？", "।")
        time_s = end_s + (0.6 if stop else 0.05)
    return SpeechTimeline(duration_s=time_s + 0.3, source=TimelineSource.SYNTHESIS, words=tuple(words))


def without_space(text: str) -> str:
    return "".join(text.split())


def lines(text: str, language: str | None = None, **options: object) -> list[str]:
    return [cue.text for cue in cues_from_timeline(spoken(text), text, language, **options)]  # type: ignore[arg-type]


TEXTS = {
    "en": "Meet Aurora 🏃‍♀️, the running shoe that learns from every step. Dr. Smith's team measured 705A soles over "
    "10,000 km: 32 % less fatigue! **Order** before Friday and you save $20 — free returns, of course.",
    "de": "Unsere Kaffeemaschine brüht Espresso in 25 Sekunden – leiser als jede andere. Und weil sie sich selbst "
    "entkalkt, müssen Sie sich um nichts kümmern, z. B. um den Filter.",
    "zh": "新品上市，限时八折！我们的智能手表可以全天候监测心率、睡眠和血氧，续航长达十四天。"
    "现在下单，还赠送一条运动表带🎁。",
    "ja": "新しいランニングシューズが発売されました。軽くて、疲れにくくて、毎日の散歩にもぴったりです。",
    "th": "สวัสดีค่ะ วันนี้เรามีรองเท้าวิ่งรุ่นใหม่มาแนะนำ น้ำหนักเบามากและใส่สบายทั้งวัน สั่งซื้อวันนี้รับส่วนลดทันที",
    "ar": "مرحبًا بكم في متجرنا الجديد! نقدم لكم أفضل العروض على الأحذية الرياضية، مع خصم 20% حتى نهاية الأسبوع.",
    "hi": "नमस्ते! हमारे नए स्मार्टफ़ोन में शानदार कैमरा और लंबी बैटरी है। आज ही ऑर्डर करें।",
    "ko": "새로운 러닝화를 만나보세요. 지금 주문하면 무료로 배송해 드립니다! 이번 주말까지만 할인합니다.",
}


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("frame", [(1920, 1080), (1080, 1080), (1080, 1920)])
def test_every_language_keeps_its_words_and_fits_the_lines(language: str, frame: tuple[int, int]) -> None:
    text, limits = TEXTS[language], CueLimits.for_frame(*frame)
    rate = 5.0 if language in ("zh", "ja") else 13.0
    cues = cues_from_timeline(spoken(text, rate=rate), text, language, limits=limits)
    assert without_space("".join(cue.text for cue in cues)) == without_space(text.replace("**", ""))
    for cue in cues:
        assert len(cue.lines) <= 2
        assert max(map(width, cue.lines)) <= limits.line_width
        assert reading_length(cue.text) / (cue.end_s - cue.start_s) <= 20
        assert cue.end_s - cue.start_s <= 7.001


ALPHABETS = st.sampled_from(
    [*"abcdeé ßøñ  ,.!?–\"'()\n", *"新品上市，。！（）", *"สวัสดี", *"مرحبا،", "🎁", "👨‍👩‍👧‍👦", "ก็", "नि"]
)


@settings(max_examples=250, deadline=None)
@given(text=st.lists(ALPHABETS, max_size=400).map("".join), rate=st.floats(1, 60), narrow=st.booleans())
def test_no_character_is_lost_and_times_only_rise(text: str, rate: float, narrow: bool) -> None:
    timeline = spoken(text, rate=rate)
    cues = cues_from_timeline(timeline, text, limits=CueLimits(line_width=20) if narrow else None)
    if not timeline.words:
        assert cues == []
        return
    assert without_space("".join(cue.text for cue in cues)) == without_space(text)
    previous_s = 0.0
    for cue in cues:
        assert previous_s <= cue.start_s < cue.end_s <= timeline.duration_s + 0.001
        assert all(line == line.strip() for line in cue.lines)
        previous_s = cue.end_s


def test_sentences_and_clauses_are_preferred_to_the_middle_of_a_phrase() -> None:
    text = "We built it for runners who train in rain, and it never lets the water in. It weighs nothing."
    assert lines(text) == [
        "We built it for runners who train in rain,\nand it never lets the water in.",
        "It weighs nothing.",
    ]
    assert lines(text, limits=CueLimits(line_width=24)) == [
        "We built it for runners\nwho train in rain,",
        "and it never lets\nthe water in.",
        "It weighs nothing.",
    ]


MARKED_UP = (
    "**Big sale!** Visit [our shop](https://x.example) <b>now</b> &amp; save 🎁.<br>Only 5 &lt; 10 <!-- never -->.\n\n"
    "# Why\n- It is `un`**believably** _light_\n> 3 * 4 = 12"
)


def test_markup_is_no_part_of_a_subtitle_and_emoji_are() -> None:
    shown = " ".join(" ".join(lines(MARKED_UP)).split())
    assert shown == ("Big sale! Visit our shop now & save 🎁. Only 5 < 10 . Why It is unbelievably light 3 * 4 = 12")


def test_words_keep_their_times_when_markup_before_them_is_left_out() -> None:
    # By hand: "now" stands at 52 in the script, and is said from 4.0 s on.
    text = "<p class='offer of the week'>**Hello.**</p>\n\nHere, [now](https://x.example/a-long-address)."
    words = tuple(
        Word(text=word, start_s=at, end_s=at + 0.5, char_start=text.index(word), char_end=text.index(word) + len(word))
        for word, at in (("Hello", 1.0), ("Here", 3.0), ("now", 4.0))
    )
    timeline = SpeechTimeline(duration_s=5.0, source=TimelineSource.SYNTHESIS, words=words)
    cues = cues_from_timeline(timeline, text)
    assert [(cue.start_s, cue.text) for cue in cues] == [(1.0, "Hello."), (3.0, "Here, now.")]


def test_srt_has_no_styling_that_a_player_would_take_for_its_own() -> None:
    cue = Cue(start_s=0, end_s=1, lines=("<i>not</i> a <chip> {\\an8}<FONT color='red'>5 < 6",))
    assert to_srt([cue]).split("\n")[2] == "not a <chip> 5 < 6"


def test_cue_shows_while_its_words_are_said() -> None:
    text = "First sentence is here. Second sentence follows it."
    timeline = spoken(text)
    cues = cues_from_timeline(timeline, text)
    assert cues[0].start_s == pytest.approx(timeline.words[0].start_s, abs=0.001)
    second = next(word for word in timeline.words if word.text == "Second")
    shown = next(cue for cue in cues if "Second" in cue.text)
    assert shown.start_s <= second.start_s + 0.001
    if len(cues) > 1:
        assert cues[1].start_s == pytest.approx(second.start_s, abs=0.001)


def test_silence_ends_a_cue() -> None:
    text = "Hello there. Welcome back."
    words = (
        Word(text="Hello", start_s=0.0, end_s=0.4, char_start=0, char_end=5),
        Word(text="there", start_s=0.4, end_s=0.8, char_start=6, char_end=11),
        Word(text="Welcome", start_s=5.0, end_s=5.5, char_start=13, char_end=20),
        Word(text="back", start_s=5.5, end_s=5.9, char_start=21, char_end=25),
    )
    cues = cues_from_timeline(SpeechTimeline(duration_s=8, source=TimelineSource.ALIGNMENT, words=words), text)
    assert [cue.text for cue in cues] == ["Hello there.", "Welcome back."]
    assert cues[0].end_s < 2.5
    assert cues[0].end_s - cues[0].start_s >= 1.0
    assert cues[1].start_s == 5.0


def test_number_read_as_several_words_stays_whole() -> None:
    """ "705A" is said as four words that share its place in the text."""
    text = "Model 705A is here."
    words = (
        Word(text="Model", start_s=0.0, end_s=0.4, char_start=0, char_end=5),
        *(Word(text="705A", start_s=0.4 + n, end_s=1.4 + n, char_start=6, char_end=10) for n in range(4)),
        Word(text="is", start_s=4.4, end_s=4.6, char_start=11, char_end=13),
        Word(text="here", start_s=4.6, end_s=5.0, char_start=14, char_end=18),
    )
    cues = cues_from_timeline(SpeechTimeline(duration_s=5.5, source=TimelineSource.SYNTHESIS, words=words), text)
    assert "".join(cue.text for cue in cues).replace("\n", " ") == text
    assert cues[-1].end_s <= 5.5


def test_abbreviations_and_decimals_do_not_end_a_sentence() -> None:
    text = "Ask Dr. Miller about the 3.5 litre engine, e.g. for the family car of the year."
    for cue in lines(text, limits=CueLimits(line_width=30)):
        assert not cue.endswith(("Dr.", "3.", "e.g."))


def test_long_address_is_cut_rather_than_lost() -> None:
    address = "https://example.com/" + "a" * 150
    shown = lines(f"Visit {address} now.")
    assert not any(line.endswith("-") for cue in shown for line in cue.split("\n"))
    assert without_space("".join(shown)) == without_space(f"Visit {address} now.")
    assert max(width(line) for cue in shown for line in cue.split("\n")) <= 42


def test_chinese_lines_never_begin_with_closing_punctuation() -> None:
    for text in (TEXTS["zh"], TEXTS["ja"]):
        for limit in (16, 20, 26, 32, 42):
            for cue in lines(text, "zh", limits=CueLimits(line_width=limit)):
                assert not any(line[0] in "，。！？、：；）」』" for line in cue.split("\n"))


def test_cue_ends_with_the_sentence_in_scripts_without_spaces() -> None:
    text = "新しい水筒をご紹介します。24時間冷たいままです。"
    shown = ["".join(cue.split()) for cue in lines(text, "ja", limits=CueLimits.for_frame(1080, 1920))]
    assert shown == ["新しい水筒をご紹介します。", "24時間冷たいままです。"]


def test_last_cue_of_unpunctuated_chinese_is_no_single_character() -> None:
    text = "新品上市限时八折我们的智能手表可以全天候监测心率睡眠和血氧续航长达十四天现在下单还赠送一条运动表带吧"
    for length in range(18, len(text) + 1):
        for frame in ((1080, 1920), (1080, 1080), (1920, 1080)):
            part = text[:length]
            cues = cues_from_timeline(spoken(part, rate=5), part, "zh", limits=CueLimits.for_frame(*frame))
            assert len(without_space(cues[-1].text)) >= 3, (length, frame)


def test_long_word_is_parted_with_a_hyphen_where_a_syllable_begins() -> None:
    text = "Rechtsschutzversicherungsgesellschaften sind da."
    rows = [row for cue in lines(text, "de", limits=CueLimits(line_width=26)) for row in cue.split("\n")]
    assert rows[:2] == ["Rechtsschutzversicherungs-", "gesellschaften sind da."]


def test_cue_does_not_join_a_sentence_end_to_the_first_words_of_the_next() -> None:
    text = "Die Namen der Donaudampfschifffahrtsgesellschaften sind lang. Besuchen Sie uns heute."
    for rate in (13, 20, 28):
        cues = cues_from_timeline(spoken(text, rate=rate, pauses=False), text, "de")
        assert cues[-1].text == "Besuchen Sie uns heute."


def test_recording_without_words_has_no_cues() -> None:
    assert cues_from_timeline(SpeechTimeline(duration_s=3, source=TimelineSource.ENVELOPE), "some text") == []


CUES = [
    Cue(start_s=0.0, end_s=1.25, lines=("Fish & <chips>", "for 5 -->")),
    Cue(start_s=3599.9995, end_s=3661.007, lines=("مرحبًا 🎁",)),
]
SRT = re.compile(r"(\d+)\n(\d\d):(\d\d):(\d\d),(\d{3}) --> (\d\d):(\d\d):(\d\d),(\d{3})\n((?:.+\n)+)(?:\n|\Z)")


def seconds(*parts: str) -> float:
    hours, minutes, whole, thousandths = map(int, parts)
    return timedelta(hours=hours, minutes=minutes, seconds=whole, milliseconds=thousandths).total_seconds()


def test_srt_reads_back() -> None:
    blocks = SRT.findall(to_srt(CUES))
    assert [block[0] for block in blocks] == ["1", "2"]
    assert [(seconds(*block[1:5]), seconds(*block[5:9])) for block in blocks] == [(0.0, 1.25), (3600.0, 3661.007)]
    assert blocks[0][9] == "Fish & <chips>\nfor 5 →\n"
    assert blocks[1][9] == "مرحبًا 🎁\n"


def test_vtt_reads_back() -> None:
    text = to_vtt(CUES)
    header, *blocks = text.strip().split("\n\n")
    assert header == "WEBVTT"
    assert blocks[0].split("\n")[0] == "00:00:00.000 --> 00:00:01.250"
    assert html.unescape("\n".join(blocks[0].split("\n")[1:])) == CUES[0].text
    assert all(block.count("-->") == 1 for block in blocks)
    assert blocks[1].startswith("01:00:00.000 --> 01:01:01.007\n")


def test_files_of_no_cues_are_valid() -> None:
    assert to_srt([]) == ""
    assert to_vtt([]).startswith("WEBVTT")


def test_ffmpeg_reads_the_srt(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """A peer reader: as many events, at the same times."""
    import av

    path = tmp_path / "a.srt"
    path.write_text(to_srt(CUES), encoding="utf-8")
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(subtitles=0) if packet.size]
    assert [float((packet.pts or 0) * packet.time_base) for packet in packets] == pytest.approx(
        [0.0, 3600.0], abs=0.001
    )
    assert bytes(packets[1]).decode() == "مرحبًا 🎁"
