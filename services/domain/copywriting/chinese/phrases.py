"""What kind of phrase a Chinese fact is, how it is punctuated, and how the product is counted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from services.domain.copywriting.facts import Fact


class Form(StrEnum):
    PREDICATE = "predicate"  # 不含酒精, 适合敏感肌: follows 它
    WISH = "wish"  # 告别毛躁, 睡得更好: follows 让你
    PHRASE = "phrase"  # 24小时保湿, 真人发丝: stands between commas
    SENTENCE = "sentence"  # has a clause mark of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    form: Form
    text: str
    fact: Fact


_HAN: Final = r"\u3400-\u4dbf\u4e00-\u9fff"
_FULL_WIDTH: Final = {",": "，", ";": "；", ":": "：", "!": "！", "?": "？", ".": "。"}
_HALF_MARK: Final = re.compile(rf"(?:(?<=[{_HAN}])\s*([,;:!?.])\s*(?=[{_HAN}\d]|$)|(?<=\d)\s*([,;:!?])\s*(?=[{_HAN}]))")
_HAN_SPACE: Final = re.compile(rf"(?<=[{_HAN}，。！？、；：])\s+(?=[{_HAN}，。！？、；：])")
_WISH: Final = re.compile(
    r"^(?:告别|告別|享受|轻松|輕鬆|睡得|睡出|穿出|吃得|走得|远离|遠離|拥抱|擁抱|找回|重拾|省下|省去|省时|省時|节省|節省|"
    r"随时|隨時|随心|隨心|自由|放心|安心|尽情|盡情|更快|一键|一鍵|快速)"
)
_PREDICATE: Final = re.compile(
    r"^(?:不|无需|無需|无须|没有|沒有|可|能|会|會|适合|適合|采用|採用|支持|支援|含|富含|提供|自带|自帶|拥有|擁有|有|搭载|"
    r"搭載|专为|專為|由|来自|來自|选用|選用|具有|具备|具備|配有|配备|配備|内置|內置|兼容|经过|經過|通过|通過|获|獲|耐|防|"
    r"只需|带有|帶有|帮|幫|让|讓|使用|源自|位于|位於|距|紧邻|緊鄰)"
)
# The measure word of what a product's name ends in.
_MEASURES: Final = (
    (re.compile(r"(鞋|靴|靴子|袜|袜子|襪|襪子|拖鞋|跑鞋)$"), "双", "雙"),
    (re.compile(r"(酒店|餐厅|餐廳|民宿|咖啡馆|咖啡館|店|旅馆|旅館|诊所|診所)$"), "家", "家"),
    (re.compile(r"(假发|假髮|帽|帽子|帐篷|帳篷|头盔|頭盔)$"), "顶", "頂"),
    (re.compile(r"(课程|課程|课|課)$"), "门", "門"),
    (re.compile(r"(服务|服務|方案|计划|計劃|计划书)$"), "项", "項"),
    (re.compile(r"(外套|大衣|衬衫|襯衫|毛衣|夹克|夾克|上衣|T恤|羽绒服|羽絨服|风衣|風衣)$"), "件", "件"),
    (re.compile(r"(裤|裤子|褲|褲子|裙|裙子|连衣裙|連衣裙|项链|項鍊|毛巾|围巾|圍巾)$"), "条", "條"),
    (re.compile(r"(灯|燈|台灯|檯燈)$"), "盏", "盞"),
)
_PRODUCE: Final = re.compile(
    r"(苹果|蘋果|水果|橙子?|脐橙|橘子?|桃子?|梨|[草蓝藍树樹杨楊]莓|莓果|[西蜜哈木南]瓜|葡萄|芒果|香蕉|樱桃|櫻桃|车厘子|大米|小米|玉米|土豆|番茄|"
    r"西红柿|红薯|蔬菜|青菜|鸡蛋|雞蛋|牛肉|羊肉|猪肉|鸡肉|虾|蝦|蟹|海鲜|海鮮|鲜花|鮮花)$"
)
_DEFAULT_MEASURE: Final = "款"
_PERSON: Final = re.compile(
    r"(人|者|族|党|黨|妈妈|媽媽|爸爸|家长|家長|女性|男性|女生|男生|学生|學生|达人|達人|爱好者|愛好者|老板|老闆|控|新手|"
    r"用户|用戶|朋友|们|們|宝妈|寶媽|司机|司機|教师|教師|老师|老師|员|員)$"
)

_WHO: Final = re.compile(
    r"^((?:想|不|没|沒|要|怕|爱|愛|喜欢|喜歡|经常|經常|常|总|總|正在|有|需要|害怕|担心|擔心|讨厌|討厭|热爱|熱愛).{2,})的(?:人|朋友)$"
)


def phrase_of(fact: Fact) -> Phrase:
    text = punctuated(fact.text)
    return Phrase(form=form_of(text), text=text, fact=fact)


def form_of(text: str) -> Form:
    if re.search(r"[，。！？；：]", text):
        return Form.SENTENCE
    if _WISH.match(text):
        return Form.WISH
    return Form.PREDICATE if _PREDICATE.match(text) else Form.PHRASE


def punctuated(text: str) -> str:
    """``text`` with Chinese marks between Chinese words, no spaces between them, and no mark at its end."""
    text = _HALF_MARK.sub(lambda match: _FULL_WIDTH[match.group(1) or match.group(2)], text)
    text = _HAN_SPACE.sub("", text)
    return text.rstrip(" 。，；、：,.;:")


def measure_of(product: str, *, traditional: bool) -> str:
    """The word that counts ``product``; empty for fruit, meat and the like, which 款 does not count."""
    if _PRODUCE.search(product):
        return ""
    for ending, simplified_word, traditional_word in _MEASURES:
        if ending.search(product):
            return traditional_word if traditional else simplified_word
    return _DEFAULT_MEASURE


def asked_of(people: str) -> str | None:
    """What to ask: 不敢开口说英语 of 不敢开口说英语的人; None where no one can be asked so."""
    match = _WHO.match(people)
    return match.group(1) if match else None


def is_person(audience: str) -> bool:
    return bool(_PERSON.search(audience))


def spaced(before: str, after: str) -> str:
    """The two joined; two Latin words get the space they need."""
    needs = before[-1:].isascii() and before[-1:].isalnum() and after[:1].isascii() and after[:1].isalnum()
    return f"{before} {after}" if needs else before + after
