"""The Chinese frame sentences. They greet, present and order; none of them claims anything about a product.

``{x}`` is a phrase, ``{product}`` the product with its brand, ``{name}`` without, ``{this}`` the product with its
measure word (这双跑鞋). Advertising law forbids superlatives; none is here. Frames under ``any`` serve every tone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Table = Mapping[str, tuple[str, ...]]

GREETING: Final[Table] = {
    "friendly": ("大家好！", "你好呀！", "嗨，大家好！"),
    "confident": ("大家好。", "请听我说。"),
    "playful": ("嘿，看过来！", "叮咚！"),
    "calm": ("你好。", "先深呼吸，放松一下。"),
}
HOOK_WISH: Final[Table] = {
    "any": ("想{x}吗？",),
    "friendly": ("你是不是也想{x}？",),
    "playful": ("谁不想{x}呢？",),
    "calm": ("想象一下，{x}。",),
}
HOOK_ASK: Final[Table] = {
    "any": ("{x}？这是为你准备的。",),
    "friendly": ("{x}？那就往下听吧。",),
    "playful": ("{x}？看过来！",),
    "calm": ("{x}？不妨听一听。",),
}
HOOK_PERSON: Final[Table] = {
    "any": ("{x}，这是为你准备的。",),
    "friendly": ("各位{x}，往下听吧。",),
    "playful": ("{x}，看过来！", "{x}，集合啦！"),
    "calm": ("{x}，不妨听一听。",),
}
INTRODUCTION: Final[Table] = {
    "any": ("这是{product}。", "来认识一下{product}。"),
    "friendly": ("今天想跟你聊聊{product}。", "给你介绍一下{product}。"),
    "confident": ("隆重介绍：{product}。", "向你介绍{product}。"),
    "playful": ("当当当，{product}来啦！", "快看，{product}来了！"),
    "calm": ("今天，想把{product}介绍给你。",),
}
AUDIENCE: Final[Table] = {
    "any": ("这是给{x}准备的。",),
    "friendly": ("{this}，就是给{x}准备的。",),
    "calm": ("它是给{x}准备的。",),
}
PREDICATES: Final[Table] = {
    "any": ("它{x}。", "{this}{x}。"),
    "friendly": ("你会发现，它{x}。",),
    "playful": ("而且哦，它{x}！",),
}
WISHES: Final[Table] = {
    "any": ("让你{x}。", "{x}。"),
    "confident": ("有了它，{x}。",),
    "friendly": ("有它陪着，{x}。",),
    "playful": ("一起{x}吧！",),
}
PHRASES: Final[Table] = {
    "any": ("{x}。", "{this}，{x}。", "来看看亮点：{x}。"),
    "friendly": ("跟你说说它的特点：{x}。",),
    "confident": ("看点在这里：{x}。",),
    "playful": ("划重点啦：{x}！",),
    "calm": ("慢慢看，它的特点是：{x}。",),
}
KEYWORDS: Final[Table] = {
    "any": ("关键词：{x}。", "一句话：{x}。"),
    "playful": ("记住这些关键词：{x}！",),
    "calm": ("说起它，会想到{x}。",),
}
KEYWORD: Final[Table] = {"any": ("还有：{x}。",)}
RECAP: Final[Table] = {
    "any": ("再说一遍：{name}，{x}。", "总结一下：{x}。"),
    "confident": ("请记住：{x}。",),
}
PRICE: Final[Table] = {
    "any": ("价格：{x}。", "售价{x}。"),
    "friendly": ("{x}，就可以把它带回家。",),
    "playful": ("价格嘛，{x}！",),
}
PRICE_TERMS: Final[Table] = {"any": ("价格：{x}。", "价格是{x}。"), "playful": ("价格嘛，{x}！",)}
OFFER: Final[Table] = {
    "any": ("现在的优惠：{x}。", "还有优惠：{x}。"),
    "friendly": ("还有一份优惠给你：{x}。",),
    "playful": ("悄悄告诉你，还有优惠：{x}！",),
}
CALL: Final[Table] = {"any": ("{x}。",), "friendly": ("{x}吧！",), "playful": ("{x}吧！", "{x}！")}
CALL_PLACE: Final[Table] = {"any": ("详情请访问{x}。", "请访问{x}。")}
CALL_PHONE: Final[Table] = {"any": ("欢迎致电{x}。",)}
CALL_NONE: Final[Table] = {
    "any": ("欢迎了解{name}。",),
    "friendly": ("来了解一下吧！",),
    "playful": ("快来看看吧！",),
    "calm": ("有空的时候，来了解一下。",),
}
SIGN_OFF: Final[Table] = {
    "friendly": ("我们下次见！", "谢谢收听！"),
    "playful": ("不见不散哦！",),
    "calm": ("谢谢你的聆听。",),
}
LINKS: Final[Table] = {
    "any": ("而且，", "另外，"),
    "friendly": ("还有，",),
    "playful": ("还有哦，",),
    "calm": ("同时，",),
}

# Characters of the frames above whose traditional form differs.
TRADITIONAL: Final = str.maketrans(
    "说过来给备为听请认识这绍记发现会让着谁带价吗么见欢访问电详时谢总结关键词点划优还惠当写松们准诉向试里",
    "說過來給備為聽請認識這紹記發現會讓著誰帶價嗎麼見歡訪問電詳時謝總結關鍵詞點劃優還惠當寫鬆們準訴向試裡",
)
