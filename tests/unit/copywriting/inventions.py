"""Scripts as a careless or misled language model writes them, each with what is invented in it."""

from __future__ import annotations

from services.domain.brief import Brief

LUMO = Brief(
    product="Lumo desk lamp",
    brand="Lumo",
    language="en-US",
    duration_s=20,
    audience="people who work at night",
    benefits=(
        "dims in 12 steps",
        "warm light",
        "folds flat",
        "runs 24 hours on one charge",
        "ships with a 2-year warranty",
    ),
    price="$49",
    offer="20% off in May",
    call_to_action="Order at lumo.example",
)
CREAM = Brief(
    product="修护面霜",
    language="zh-CN",
    duration_s=20,
    benefits=("24小时保湿", "不含酒精", "适合敏感肌"),
    price="199元",
    offer="首单立减30元",
    call_to_action="点击链接下单",
)
GERMAN = Brief(
    product="Lumo", language="de", duration_s=10, benefits=("spendet 24 Stunden Licht", "warmes Licht"), price="49 €"
)
FRENCH = Brief(product="Lumo", language="fr", duration_s=10, benefits=("24 heures de lumière",), price="49 €")
SPANISH = Brief(product="Lumo", language="es", duration_s=10, benefits=("24 horas de luz",), price="49 €")
JAPANESE = Brief(product="Lumo", language="ja", duration_s=10, benefits=("12段階で調光",), price="4900円")

# brief, script, a part of the script that must be named
INVENTED = [
    # numbers, in figures and in words
    (LUMO, "It dims in 14 steps.", "14"),
    (LUMO, "It dims in fourteen steps.", "fourteen"),
    (LUMO, "It runs 48 hours.", "48"),
    (LUMO, "It runs 24 days on one charge.", "24"),
    (LUMO, "It runs twenty-four weeks.", "twenty-four"),
    (LUMO, "A five-year warranty.", "five"),
    (LUMO, "Twice the light.", "twice"),
    (LUMO, "Half the price of others.", "half"),
    (FRENCH, "A dozen colours.", "dozen"),
    (LUMO, "Hundreds love it.", "hundreds"),
    (LUMO, "Light 24/7.", "24/7"),
    (LUMO, "Light around the clock.", "around the clock"),
    (LUMO, "Ten times brighter.", "ten"),
    (LUMO, "A tenfold glow.", "tenfold"),
    (LUMO, "Ready in one minute.", "one"),
    (LUMO, "Rated 4.9 out of 5.", "4.9"),
    (LUMO, "Nine out of ten owners smile.", "ten"),
    (LUMO, "It has １８ colours.", "18"),
    (LUMO, "It has ٧ colours.", "٧"),
    # prices and percentages
    (LUMO, "Only $39.", "39"),
    (LUMO, "For 49 euros.", "49"),
    (LUMO, "Thirty percent off in May.", "thirty"),
    (LUMO, "20 dollars off in May.", "20"),
    (LUMO, "Free for you.", "free"),
    (LUMO, "With free shipping.", "free"),
    (LUMO, "Save money with it.", "save money"),
    (LUMO, "The cheapest lamp.", "cheapest"),
    (LUMO, "Get a gift.", "gift"),
    # dates and haste
    (LUMO, "Until Sunday.", "sunday"),
    (LUMO, "From June on.", "june"),
    (LUMO, "Until March 3.", "march"),
    (LUMO, "Today only!", "today only"),
    (LUMO, "For a limited time.", "limited time"),
    (LUMO, "While stocks last.", "while stocks last"),
    (LUMO, "Hurry!", "hurry"),
    # names and places
    (LUMO, "As seen at Ikea.", "Ikea"),
    (LUMO, "Loved by Oprah.", "Oprah"),
    (LUMO, "Designed in Berlin.", "Berlin"),
    (LUMO, "With NASA light.", "NASA"),
    (LUMO, "Order at lumo-lamps.example.", "lumo-lamps.example"),
    (LUMO, "Write to hello@lumo.example.", "hello@lumo.example"),
    # ranks and comparisons
    (LUMO, "The best lamp.", "best"),
    (LUMO, "The brightest lamp.", "brightest"),
    (LUMO, "The number one lamp.", "number one"),
    (LUMO, "Brighter than any lamp.", "than"),
    (LUMO, "The most elegant lamp.", "most"),
    (LUMO, "The only lamp you need.", "the only"),
    (LUMO, "A unique lamp.", "unique"),
    (LUMO, "Award-winning light.", "award-winning"),
    (LUMO, "Our bestselling lamp.", "bestselling"),
    (LUMO, "It always works.", "always"),
    (LUMO, "It never fails.", "never"),
    # health, law, nature
    (LUMO, "It cures insomnia.", "cures"),
    (LUMO, "It helps against migraines.", "migraines"),
    (LUMO, "Good for your health.", "health"),
    (LUMO, "Doctors recommend it.", "doctors"),
    (LUMO, "Clinically proven light.", "clinically"),
    (LUMO, "Studies show that it works.", "studies"),
    (LUMO, "FDA approved.", "fda"),
    (LUMO, "Money-back guarantee.", "money-back"),
    (LUMO, "Totally risk-free.", "risk-free"),
    (LUMO, "No side effects.", "side effects"),
    (LUMO, "A flicker-free light.", "flicker-free"),
    (LUMO, "Eco-friendly light.", "eco-friendly"),
    (LUMO, "Natural light.", "natural"),
    (LUMO, "A waterproof lamp.", "waterproof"),
    # Chinese
    (CREAM, "四十八小时保湿。", "四十八"),
    (CREAM, "三天见效。", "三"),
    (CREAM, "用两周看到改变。", "两"),
    (CREAM, "只要九十九元。", "九十九"),
    (CREAM, "打八折。", "八"),
    (CREAM, "半价抢购。", "半价"),
    (CREAM, "第一的面霜。", "第一"),
    (CREAM, "最好的面霜。", "最好"),
    (CREAM, "全网热销。", "全网"),
    (CREAM, "治疗湿疹。", "治疗"),
    (CREAM, "医生推荐。", "推荐"),
    (CREAM, "无副作用。", "副作用"),
    (CREAM, "百分之百有效。", "百"),
    (CREAM, "限时优惠。", "限时"),
    (CREAM, "免费试用。", "免费"),
    (CREAM, "美白淡斑。", "美白"),
    (CREAM, "国家认证。", "国家"),
    (CREAM, "明星同款。", "明星"),
    (CREAM, "永久年轻。", "永久"),
    (CREAM, "来自 Paris 的面霜。", "Paris"),
    (CREAM, "周六见。", "周六"),
    (CREAM, "纯天然成分。", "天然"),
    # other languages
    (GERMAN, "Lumo leuchtet achtundvierzig Stunden.", "achtundvierzig"),
    (GERMAN, "Lumo leuchtet 24 Tage.", "24"),
    (GERMAN, "Die beste Lampe.", "beste"),
    (GERMAN, "Sie heilt Kopfschmerzen.", "heilt"),
    (GERMAN, "Mit Garantie.", "garantie"),
    (GERMAN, "Kostenlos für dich.", "kostenlos"),
    (FRENCH, "Quarante-huit heures de lumière.", "quarante-huit"),
    (FRENCH, "La meilleure lampe.", "meilleure"),
    (FRENCH, "C'est gratuit.", "gratuit"),
    (FRENCH, "Vue chez Ikea.", "Ikea"),
    (SPANISH, "Cuarenta y ocho horas de luz.", "cuarenta y ocho"),
    (SPANISH, "La mejor lámpara.", "mejor"),
    (SPANISH, "Cura el dolor.", "cura"),
    (JAPANESE, "世界一のランプです。", "世界一"),
    (JAPANESE, "無料でお届けします。", "無料"),
    (JAPANESE, "24段階で調光。", "24"),
]

HONEST = [
    (LUMO, "Work late? The Lumo desk lamp dims in twelve steps, gives warm light and folds flat. It runs 24 hours on "
     "one charge and has a two-year warranty. It's yours for $49, with 20% off in May. Order at lumo.example."),
    (LUMO, "This one is for you who work at night. Forty-nine dollars, twenty percent off in May."),
    (LUMO, "Meet Lumo. I love how it folds. Its warm light stays twenty-four hours on one charge."),
    (LUMO, "One day you will wonder how you worked at night without warm light."),
    (CREAM, "新的一天，从修护面霜开始。"),
    (CREAM, "认识一下修护面霜。二十四小时保湿，不含酒精，适合敏感肌。一百九十九元，首单立减三十元。点击链接下单。"),
    (GERMAN, "Das ist Lumo. Lumo spendet vierundzwanzig Stunden warmes Licht. Für 49 Euro."),
    (FRENCH, "Voici Lumo. Vingt-quatre heures de lumière, pour 49 euros."),
    (SPANISH, "Conoce Lumo. Veinticuatro horas de luz, por 49 euros."),
    (JAPANESE, "Lumoは12段階で調光できます。4900円です。"),
]  # fmt: skip
