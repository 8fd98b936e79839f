"""Words whose kind decides how a fact joins a sentence. A word that is not listed makes its fact stand alone.

Longer than a domain file should be because it is lists; nothing else is here.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VERBS: Final = _words("""
absorb achieve adapt add adjust alert align allow answer apply arrive attract automate avoid balance become begin
believe bend blend block boost bounce breathe brew brighten bring browse build burn buy calm cancel capture carry
catch celebrate change chat check choose clarify cleanse clear click close collaborate collect combine come complete
connect convert cook create cuddle cushion customise customize cut dance delight deliver depart detangle detect
develop dine discover dissolve do download draw dream drop dry earn ease eat elevate eliminate empower enable energise
energize enhance enjoy ensure escape exfoliate experience explore extend fade fall feed feel fight fill find fit
flatter float flow fold follow forget freshen gain generate get give glide go grab grow have heal hear help hide hold
hug hydrate identify illuminate improve include increase inspire install integrate invite join keep know last laugh
lead learn leave let lift live load look lose love maintain make manage meet melt mend minimise minimize moisturise
moisturize monitor motivate move neutralise neutralize nourish offer optimise optimize organise organize outlast
pamper pause pay peel perform personalise personalize pick plump polish prepare preserve prevent produce prolong
protect prove provide publish pull purify push put raise reach read rebuild receive recharge recover recycle reduce
refine refresh reinforce relax release relieve remember remind remove renew rent repel replace request require reserve
resist respond restore reveal revive rinse save say scan schedule see sell send serve share shave shield show shrink
sign simplify sing sip sit skip slide smell smooth snap soak soften solve soothe speak spend spread stay steam stick
stop straighten streamline strengthen stretch suit survive swap sweep swim switch sync synchronise synchronize take
talk tap taste teach tell thicken tighten transform translate treat trust try turn understand unite unlock unwind use
vanish visit wake wash wear weigh welcome whiten wick win wipe withstand work worry write
""")

# Words that are as often nouns: a verb only where what follows shows it.
VERBS_OR_NOUNS: Final = _words("""
age book care charge comfort control cover design dress drink drive end feature focus free fuel grip guard guide
handle heat hike hint host light link lock love massage match mix order pack paint pair plan play plug power press
print pump range rate refill repair report rest result return ride roast roll run scale seal shape shine ship shop sleep
slip smile sound spray stand start step stock store style support surprise time tone touch track trade train travel
trim update upgrade view walk warm watch wrap zip
""")

BE_AND_MODALS: Final = _words("""
are aren't can can't cannot could do does doesn't don't has hasn't have haven't is isn't may might must should was
were will won't would
""")

PRONOUN_STARTS: Final = _words("""
everybody everyone he here's how i i'm it it'll it's nobody she that that's there there's these they they'll they're
this those we we'll we're we've what what's when where who why you you'll you're you've
""")

DETERMINERS: Final = _words("""
a all an any both double each eight enough every few five four half her his hundreds its lots many more most multiple
my nine our over plenty seven several six some ten that the their these this those thousands three triple twelve
twenty two under unlimited up your
""")

NEGATIONS: Final = _words("no zero never")

PREPOSITIONS: Final = _words("""
above across after against and around as at because before behind below beside between but by during for from if in
inside into like near of off on onto or outside over per since so than that through to under until via when where
which while who whose with within without
""")

VERB_COMPLEMENTS: Final = _words("""
a all an any anything anytime anywhere around at away back better both by down each easier easily every everything
everywhere fast faster for free from good great her him his in inside it its less like longer many me more my natural
off on our out outside quickly smarter some that the their them these this those through to together true under up us
well with without you your yourself
""")

ADJECTIVES: Final = _words("""
adjustable affordable airy antibacterial aromatic authentic automatic available award-winning balanced beautiful big
bold breathable bright calm calming certified classic clean clear comfortable comfy compact convenient cool cooling
cordless cosy cozy creamy creative crisp cruelty-free crunchy custom dairy-free decaf deep delicate delicious
dermatologist-tested detachable discreet dishwasher-safe dry durable dye-free easy eco eco-friendly effective
efficient elastic elegant energising energizing ergonomic ethical everyday exclusive extra fair family-friendly fast
fine firm flat flexible foldable fragrance-free free fresh full gentle genuine glossy glowing gluten-free good
gorgeous great green halal handcrafted handmade handy happy healthy heavy-duty high honest hot hygienic hypoallergenic
iconic ideal indoor innovative instant insulated intense intuitive invisible juicy kind kosher large lasting lean
light lightweight local long long-lasting loose low luxurious luxury matte mild minimal minimalist mobile modern
modular natural neat neutral new nice non-greasy non-sticky nutritious odorless odourless offline old-school organic
original outdoor padded perfect personal playful plush portable powerful practical precise premium private
professional proud pure quick quiet ready real rechargeable recyclable recycled refillable refined refreshing reliable
removable resistant reusable rich robust romantic roomy rugged safe satin scalable scented seamless secure sensitive
sheer shiny short shower-ready silent silky simple sleek slim slip-resistant small smart smooth snug soft solid
soothing spacious sparkling special spicy stable stain-resistant stretchy strong stunning sturdy stylish subtle
sugar-free supple supportive sustainable sweet swift tailored tasty thick thin tidy timeless tiny tough toxin-free
traceable traditional transparent trendy trusted unbreakable unique unisex unscented upbeat vegan vegetarian versatile
vibrant vintage warm washable waterproof weatherproof well-made wide wild windproof wireless wrinkle-free young zesty
""")

ADJECTIVE_ENDINGS: Final = (
    "-proof", "proof", "-free", "able", "ible", "less", "ous", "-friendly", "-resistant", "-tested", "-approved",
    "-made", "-safe", "-ready", "-weight", "-neutral", "-based", "-rich", "-certified", "-dyed", "-sewn", "-stitched",
    "-roasted", "-pressed", "-grown", "-traded", "-compliant", "-compatible", "-positive", "-style",
)  # fmt: skip

PARTICIPLES: Final = _words("""
aged approved awarded backed baked balanced based blended born brewed built certified chosen clinically coated cooked
crafted cut cut-out delivered dermatologically designed developed driven dyed encrypted engineered enriched equipped
ethically featured fermented filled finished fitted formulated freshly grown hand-cut hand-knit hand-sewn hand-tied
hand-woven handcrafted handmade handwoven hosted housed infused inspired knit known lined locally located loved made
packed picked powered prepared printed produced proven rated ready recommended responsibly roasted run served set sewn
shaped shipped sourced spun stitched suited surrounded sustainably tailored tested trusted used worn woven wrapped
written
""")

MASS_NOUNS: Final = _words("""
access advice aloe automation balance bamboo bandwidth banking bedding beer billing bread breakfast caffeine
cancellation cancelling candlelight care ceramic checkout cheese chocolate clothing coffee collagen comfort compliance
conditioner confidence control cotton coverage cushioning delivery denim elegance encryption energy fiber fibre flavor
flavour foam focus food footwear freedom freshness fun furniture glass grip growth hair hardware heating hold honey
housekeeping hydration installation insulation insurance internet jewellery jewelry juice keratin laundry leather life
light lighting linen luggage luxury maintenance makeup merino mind moisture money motivation noise noise-cancelling
nutrition oak oil onboarding packaging parking pasta payment peace performance porcelain power precision pricing
privacy protection protein quality relief reporting retinol rice rubber security service setup shampoo shine shipping
silicone silk skin skincare sleep soap software sound space speed stainless steel storage style suede sugar sunscreen
support taste tea time titanium tracking training transparency uptime ventilation volume warmth water wellness wi-fi
wifi wine wood wool wrapping yoga
butter granola kombucha milk pizza tofu yoghurt yogurt
""")

COUNT_NOUNS: Final = _words("""
account aftertaste alarm app applicator appointment assistant backpack bag balcony balm band bar base battery bed bike
blanket blend boot bottle box bracelet brush cable calendar camera cap card case center centre certificate chair
charger chatbot choice class cleanser clip coat code collar collection color colour comb concierge consultation course
courtyard cover cream cup dashboard design desk device discount display dress dropper editor engine export fee feel
filter finish fit fitting formula fragrance frame fringe garden gift glow grinder guarantee guide gym hairline handle
headset heel helmet hem hood hotel inbox insole integration interface jacket jar kettle kit kitchen knit lace-front
lamp layer lens lesson library lid lining lipstick lobby location look lotion machine mascara mask mattress membership
membrane midsole mist mode motor mount mug necklace network newsletter nozzle option outsole pack palette parting
partner pass perfume pillow plan planner platform playground plug pocket pool port price pump range razor recipe
refill report restaurant ring roast roof rooftop room sample sandal sauna scent scooter screen seat selection sensor
serum service set shade shirt shoe shop shuttle silhouette skirt sleeve smile sneaker sole solution spa speaker spray
stand story strap subscription suitcase suite system team tent terrace texture timer toe toner tool toothbrush touch
towel tracker trial tube upper view voucher waist waistband wallet warranty watch weave wig workshop zip
""")

# Last words that end in s and are one thing all the same.
SINGULAR_IN_S: Final = _words("""
access address always analytics atlas basis bliss bonus boss bra bus business cactus campus canvas chassis chess chris
citrus class compass cross darkness dress express fitness focus freshness gas glass grass happiness harness hibiscus
iris kindness kiss lens logistics loss lotus mass mathematics mattress moss news oasis paris pass physics plus press
princess process saas series softness status success swiss tennis texas venus virus wellness
""")

# Capitalised wherever they stand.
PROPER_WORDS: Final = _words("""
africa african alpine america american april arctic asia asian atlantic august australian austrian belgian bluetooth
brazil brazilian british china chinese christmas colombia colombian danish december denmark diwali dutch easter
egyptian english ethiopia ethiopian europe european february france french friday german germany greek halloween i
indian internet irish italian italy january japan japanese july june kenya kenyan korea korean march may mediterranean
mexican monday nordic norway norwegian november october pacific peruvian polish portugal portuguese ramadan saturday
scandinavian scottish september spain spanish sunday sweden swedish swiss switzerland thai thursday tuesday turkish
valentine valentine's vietnamese wednesday welsh wifi
""") - _words("may march internet wifi")

# Capitalised by a title only: no name of a shop or a thing has them.
NEVER_NAMES: Final = _words("all here it me more my now our this today tomorrow tonight us you your yours")

# What stands before a name and takes no article.
TITLES: Final = _words("""
aunt auntie captain chef doctor dr father grandma grandpa lady lord madame mama mother mr mrs ms papa prof professor
saint sir st uncle
""")

# What "do you" can stand before, besides the verbs above. No auxiliary and no past is among them.
ASKED_VERBS: Final = _words("""
commute crave dislike dread hate like listen miss need own snore struggle study suffer want wish
""")

TITLE_SMALL_WORDS: Final = _words("a an the and or but of in on at to for with from by as per vs off up")

# Qualities of more words than one that no ending gives away.
QUALITY_PHRASES: Final = frozenset(
    (
        "fair trade",
        "gluten free",
        "sugar free",
        "true to size",
        "made to measure",
        "made to order",
        "low maintenance",
        "state of the art",
        "family owned",
        "family run",
        "low in sugar",
        "high in protein",
    )
)

# What a customer does, where the product is plural and a base verb could be its own: "save time", but "burn for hours".
CUSTOMER_VERBS: Final = _words("""
bake book build choose connect control cook create discover enjoy escape explore feel find get learn live manage meet
order pick relax run save say see share shop sip sleep step taste track travel try unwind walk
""")

# What stays in capitals in a line that is all capitals.
ACRONYMS: Final = _words("""
ai api bpa b2b crm diy erp eu fda gdpr gps hd hr id ios iso led nfc pc pfas pr ph qr rgb sap seo spf sms tv uk usa
usb uv uva uvb vip vpn vr wifi
""")
