"""What the visible label says, by language.

China prescribes the elements: "AI" or 人工智能, with 生成 or 合成 (GB 45438-2025, 5.1). Korea's guide to Article 31 of
the AI Basic Act and India's rule 3(3) (2026) ask for words that anyone recognises; Article 50 of the EU's AI Act for a
clear and distinguishable statement, in no set words. Each text names AI as its language does and says that it made
this; ``docs/disclosure.md`` has the sources.
"""

from __future__ import annotations

from typing import Final

FALLBACK_LANGUAGE: Final = "en"
TEXTS: Final = {
    "af": "KI-gegenereer",
    "ar": "مولّد بالذكاء الاصطناعي",
    "be": "Створана ШІ",
    "bg": "Създадено с ИИ",
    "bn": "AI দ্বারা তৈরি",
    "bs": "Kreirano pomoću AI",
    "ca": "Generat amb IA",
    "cs": "Vytvořeno AI",
    "da": "AI-genereret",
    "de": "KI-generiert",
    "el": "Δημιουργήθηκε με ΤΝ",
    "en": "AI-generated",
    "es": "Generado con IA",
    "et": "Loodud TI abil",
    "eu": "AA bidez sortua",
    "fa": "تولیدشده با هوش مصنوعی",
    "fi": "Tekoälyn luoma",
    "fr": "Généré par IA",
    "ga": "Ginte ag AI",
    "gl": "Xerado con IA",
    "gu": "AI દ્વારા બનાવેલ",
    "he": "נוצר באמצעות AI",
    "hi": "AI द्वारा निर्मित",
    "hr": "Stvoreno s pomoću AI",
    "hu": "MI által készült",
    "hy": "Ստեղծված է ԱԲ-ով",
    "id": "Dibuat dengan AI",
    "is": "Búið til með gervigreind",
    "it": "Generato con IA",
    "ja": "AI生成",
    "ka": "შექმნილია AI-ით",
    "kn": "AI ರಚಿತ",
    "ko": "AI로 생성됨",
    "lt": "Sukurta DI",
    "lv": "Radīts ar MI",
    "mk": "Создадено со ВИ",
    "ml": "AI നിർമ്മിതം",
    "mr": "AI द्वारे निर्मित",
    "ms": "Dijana oleh AI",
    "mt": "Iġġenerat bl-IA",
    "nb": "KI-generert",
    "ne": "AI द्वारा निर्मित",
    "nl": "Gemaakt met AI",
    "nn": "KI-generert",
    "no": "KI-generert",
    "pa": "AI ਦੁਆਰਾ ਬਣਾਇਆ",
    "pl": "Wygenerowane przez AI",
    "pt": "Gerado por IA",
    "ro": "Generat de IA",
    "ru": "Создано ИИ",
    "sk": "Vytvorené pomocou AI",
    "sl": "Ustvarjeno z UI",
    "sq": "Krijuar nga AI",
    "sr": "Креирано помоћу AI",
    "sv": "AI-genererad",
    "sw": "Imetengenezwa na AI",
    "ta": "AI உருவாக்கியது",
    "te": "AI రూపొందించింది",
    "th": "สร้างโดย AI",
    "tr": "Yapay zekâ ile üretildi",
    "uk": "Створено ШІ",
    "ur": "AI سے تیار کردہ",
    "vi": "Tạo bởi AI",
    "yue": "AI生成",
    "zh": "AI生成",
}
# Names of the same language, and of those that are written like another one here.
_SAME_AS: Final = {"cmn": "zh", "iw": "he", "in": "id", "hak": "zh", "lzh": "zh"}


def label_text(language: str | None) -> tuple[str, str]:
    """The label's text and the language it is in, for a film in ``language`` (BCP 47); English where none is known."""
    primary = (language or "").replace("_", "-").lower().split("-")[0]
    primary = _SAME_AS.get(primary, primary)
    if primary not in TEXTS:
        return TEXTS[FALLBACK_LANGUAGE], FALLBACK_LANGUAGE
    tagged = language if language and primary in ("zh", "yue") else primary
    return TEXTS[primary], tagged
