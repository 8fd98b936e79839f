"""Text as a person reads it. Expected readings are written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.speech.normalize import speakable

ENGLISH = {
    "Room 705A": "Room seven oh five A.",
    "It costs $19.99, or €1,234.56.": (
        "It costs nineteen dollars and ninety-nine cents, "
        "or one thousand two hundred thirty-four euros and fifty-six cents."
    ),
    "$5M, $1.5 million, $10-20, $0.99": (
        "five million dollars, one point five million dollars, ten to twenty dollars, ninety-nine cents."
    ),
    "On 11/30/2025 at 9:30 am": "On November thirtieth, twenty twenty-five at nine thirty a.m.",
    "2024-12-25, Dec. 25, 2024, 25 Dec": (
        "December twenty-fifth, twenty twenty-four, December twenty-fifth, twenty twenty-four, December twenty-fifth."
    ),
    "Open 8am-5pm, 9:00–17:00 and 00:30": "Open eight a.m. to five p.m., nine to five p.m. and twelve thirty a.m.",
    "It's 5 km away; -5 °C, 50% off": "It's five kilometers away; minus five degrees Celsius, fifty percent off.",
    "Call +1 (555) 010-9999": "Call plus one, five five five, zero one zero, nine nine nine nine.",
    "Version 2.0.1 and v3.2": "Version two point zero point one and version three point two.",
    "GPT-4o, COVID-19, MP3, B2B": "G P T four o, COVID nineteen, M P three, B two B.",
    "In 1998 we sold 1,500 units to 2000 people": (
        "In nineteen ninety-eight we sold one thousand five hundred units to two thousand people."
    ),
    "1st, 22nd and the 3rd": "first, twenty-second and the third.",
    "10-20 pages, 2019–2021, the 1990s": (
        "ten to twenty pages, twenty nineteen to twenty twenty-one, the nineteen nineties."
    ),
    "Visit https://www.example.com/shop?x=1 now": "Visit example dot com slash shop now.",
    "Mail info@acme.co.uk, @acme #SummerSale2025": (
        "Mail info at acme dot co dot uk, at acme hashtag Summer Sale twenty twenty-five."
    ),
    "½ cup, 3/4, 2 ½ cups, 24/7": "one half cup, three quarters, two and one half cups, twenty-four seven.",
    "5x faster, 10x20 cm, 16:9": "five times faster, ten by twenty centimeters, sixteen to nine.",
    "Dr. Smith of AT&T, #1": "doctor Smith of AT and T, number one.",
    "GET IT FOR FREE NOW": "get it for free now.",
    "Node.js and .NET": "Node dot js and dot NET.",
    "$9.99/month": "nine dollars and ninety-nine cents per month.",
    "~5 to 7, ~nice~, 50%OFF, 6 ÷ 2 = 3": (
        "about five to seven, nice, fifty percent OFF, six divided by two equals three."
    ),
    "𝓯𝓪𝓷𝓬𝔂 𝔘𝔫𝔦 ①": "fancy Uni one.",
    "007 and .5 and 1,000,000": "zero zero seven and point five and one million.",
}

OTHERS = [
    ("en-GB", "On 11/12/2025, 101 times", "On the eleventh of December twenty twenty-five, one hundred and one times."),
    ("de", "10 Äpfel, 1 Minute, 1 kg, 21 Euro", "zehn Äpfel, eine Minute, ein Kilogramm, einundzwanzig Euro."),
    (
        "de",
        "Am 30. November 2025 um 9:30 Uhr",
        "Am dreißigsten November zweitausendfünfundzwanzig um neun Uhr dreißig.",
    ),
    ("de", "19,99 € oder 0,99 €", "neunzehn Euro neunundneunzig oder neunundneunzig Cent."),
    (
        "de",
        "1.000 km, 3,5 %, z. B. am 3. Tag",
        "eintausend Kilometer, drei Komma fünf Prozent, zum Beispiel am dritten Tag.",
    ),
    ("de", "Seit 1998, Raum 705A", "Seit neunzehnhundertachtundneunzig, Raum sieben null fünf A."),
    (
        "fr",
        "Le 1er mars 2025 à 9h30, 19,99 € et 80 %",
        "Le premier mars deux mille vingt-cinq à neuf heures trente, dix-neuf euros quatre-vingt-dix-neuf "
        "et quatre-vingts pour cent.",
    ),
    (
        "fr",
        "01 23 45 67 89, 1 heure, 12 345,6 km",
        "zéro un, vingt-trois, quarante-cinq, soixante-sept, quatre-vingt-neuf, une heure, "
        "douze mille trois cent quarante-cinq virgule six kilomètres.",
    ),
    ("es", "21 euros, 1 hora, 200 libras", "veintiún euros, una hora, doscientas libras."),
    (
        "es",
        "El 30/11/2025 cuesta $1.000.000",
        "El treinta de noviembre de dos mil veinticinco cuesta un millón de dólares.",
    ),
    ("es-419", "$1,234.50", "mil doscientos treinta y cuatro dólares con cincuenta centavos."),
    ("pt-BR", "R$ 19,90, 2 horas, 21 reais", "dezenove reais e noventa centavos, duas horas, vinte e um reais."),
    ("it", "alle 9:30 costa 19,99 €", "alle nove e trenta costa diciannove euro e novantanove centesimi."),
    (
        "ru",
        "в 2025 году, 2 недели, 21 ₽, 5 км",
        "в две тысячи двадцать пятом году, две недели, двадцать один рубль, пять километров.",
    ),
    ("ru", "3-й день, 1 999,50 руб.", "третий день, одна тысяча девятьсот девяносто девять рублей пятьдесят копеек."),
    (
        "vi",
        "30/11/2025 giá 1.005 ₫",
        "ngày ba mươi tháng mười một năm hai nghìn không trăm hai mươi lăm giá một nghìn không trăm linh năm đồng.",
    ),
    ("ko", "2025년 6월 30일, 사과 3개, 9:30", "이천이십오년 유월 삼십일, 사과 세 개, 아홉 시 삼십 분."),
    ("ko", "₩5,000, 50%, 20살", "오천 원, 오십 퍼센트, 스무 살."),
    ("zh", "2025年11月30日9:30", "二零二五年十一月三十日九点三十分."),
    ("zh", "房间705A，2个苹果，50%", "房间七零五 A, 两个苹果, 百分之五十."),
    ("zh", "价格是¥19.99，1.5万，10500", "价格是十九点九九元, 一点五万, 一万零五百."),
    ("zh", "电话13812345678，第2名，-5℃", "电话幺三八, 幺二三四, 五六七八, 第二名, 零下五摄氏度."),
    ("ja", "りんごを3本と1,980円", "りんごを さんぼんと せんきゅうひゃくはちじゅう えん."),
    ("ja", "2025年4月1日9時10分", "にせんにじゅうごねん しがつ ついたち くじ じゅっぷん."),
    ("ja", "私は学生です。", "わたしわ がくせいです."),
    ("hi", "₹1,99,999.50, 25 लोग", "एक लाख निन्यानवे हज़ार नौ सौ निन्यानवे रुपये पचास पैसे, पच्चीस लोग."),
    ("hi", "9:05 और १२३", "नौ बजकर पाँच मिनट और एक सौ तेईस."),
]


def spoken(text: str, language: str = "en-US", pronunciations: dict[str, str] | None = None) -> str:
    sentences = speakable(text, language=language, pronunciations=pronunciations or {})
    return " ".join(sentence.spoken for sentence in sentences)


def words(text: str, language: str = "en-US") -> list[tuple[str, str]]:
    """(written, spoken) of every token."""
    return [
        (text[token.char_start : token.char_end], sentence.spoken[token.spoken_start : token.spoken_end])
        for sentence in speakable(text, language=language, pronunciations={})
        for token in sentence.tokens
    ]


@pytest.mark.parametrize(("text", "expected"), ENGLISH.items())
def test_english_is_read_as_a_person_would(text, expected):
    assert spoken(text) == expected


@pytest.mark.parametrize(("language", "text", "expected"), OTHERS)
def test_numbers_are_read_in_the_texts_language(language, text, expected):
    assert spoken(text, language) == expected


def test_every_reading_leads_back_to_what_the_viewer_sees():
    assert words("Only $19.99 at 9:30 am in room 705A!") == [
        ("Only", "Only"),
        ("$19.99", "nineteen dollars and ninety-nine cents"),
        ("at", "at"),
        ("9:30 am", "nine thirty a.m."),
        ("in", "in"),
        ("room", "room"),
        ("705A", "seven oh five A"),
    ]


def test_decomposed_umlauts_are_spoken_whole_and_kept_as_written():
    text = "Scho\u0308ne Gru\u0308ße"
    assert words(text, "de") == [("Scho\u0308ne", "Schöne"), ("Gru\u0308ße", "Grüße")]


def test_emoji_and_markdown_are_not_spoken():
    text = "# Sale 🎉\n\n**Bold** and _nice_, `code`, [our shop](http://x.example/y) 👩🏽‍💻 :)\n- <b>one</b> &amp; two"
    assert spoken(text) == "Sale. Bold and nice, code, our shop. one and two."


def test_a_new_line_pauses_and_a_wrapped_line_does_not():
    sentences = speakable("One\nTwo\n\nThree is\nwrapped", language="en-US", pronunciations={})
    assert [(one.spoken, one.ends_paragraph) for one in sentences] == [
        ("One.", False),
        ("Two.", True),
        ("Three is wrapped.", False),
    ]


def test_abbreviations_do_not_end_a_sentence_and_their_dot_can():
    sentences = speakable("Mr. Fox met J. F. Lane, Inc. Then he left.", language="en-US", pronunciations={})
    assert [one.spoken for one in sentences] == ["mister Fox met J F Lane, incorporated.", "Then he left."]


@pytest.mark.parametrize("text", ["", "   \n ", "?!… — ()", "😀🎉❤️", "***\n---\n```", "<br/>", "👍🏽 !!!"])
def test_nothing_is_found_where_nothing_can_be_said(text):
    assert speakable(text, language="en-US", pronunciations={}) == ()


def test_pronunciations_come_first_and_take_whole_words():
    said = {"SQL": "sequel", "C++": "see plus plus", "Qi": "chee", "🙂": "smile"}
    assert spoken("SQL, SQLite, C++ and Qi 🙂", pronunciations=said) == "sequel, SQLite, see plus plus and chee smile."


def test_pronunciations_are_read_like_any_text():
    assert spoken("the HQ", pronunciations={"HQ": "office no. 5"}) == "the office no five."


def test_pronunciation_keeps_the_written_word():
    text = "our SQL course"
    token = speakable(text, language="en-US", pronunciations={"SQL": "sequel"})[0].tokens[1]
    assert text[token.char_start : token.char_end] == "SQL"


def test_a_language_without_rules_keeps_its_numbers_for_the_voice():
    assert spoken("Bugün %25 indirim, 19,99 TL", "tr") == "Bugün %25 indirim, 19,99 TL."


LANGUAGES = [
    "en-US",
    "en-GB",
    "de",
    "fr",
    "es",
    "es-419",
    "pt-BR",
    "pt-PT",
    "it",
    "ru",
    "zh",
    "ja",
    "ko",
    "vi",
    "hi",
    "tr",
    "sr",
]


@settings(max_examples=300, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    text=st.one_of(
        st.text(max_size=80),
        st.text(alphabet="0123456789.,:/-–$€¥%° aAzZpPmM()+#@'\n", max_size=60),
        st.text(alphabet="这是2个3.5日本ひらカタ한글 приветаñöüß🎉1é\u0308\u200d", max_size=60),
    ),
)
def test_tokens_are_in_order_inside_the_text_and_never_empty(language, text):
    at = 0
    for sentence in speakable(text, language=language, pronunciations={}):
        said = 0
        assert sentence.tokens
        for token in sentence.tokens:
            assert at <= token.char_start < token.char_end <= len(text)
            assert text[token.char_start : token.char_end].strip()
            assert said <= token.spoken_start < token.spoken_end <= len(sentence.spoken)
            at, said = token.char_end, token.spoken_end


@settings(max_examples=200, deadline=None)
@given(language=st.sampled_from(LANGUAGES), text=st.text(alphabet="abc déñß 你好 あ가 привет 12 .,!?\n", max_size=60))
def test_no_letter_is_left_unspoken(language, text):
    covered = set()
    for sentence in speakable(text, language=language, pronunciations={}):
        for token in sentence.tokens:
            covered |= set(range(token.char_start, token.char_end))
    missing = [sign for index, sign in enumerate(text) if sign.isalnum() and index not in covered]
    assert missing == []
