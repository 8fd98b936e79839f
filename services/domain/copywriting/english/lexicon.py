"""Words whose kind decides how a fact joins a sentence. A word that is not listed makes its fact stand alone.

Longer than a domain file should be because it is a list; nothing but the list is here.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VERBS: Final = _words("""
absorb achieve adapt add adjust alert align allow answer apply arrive attract automate avoid balance become begin
believe bend cancel pause blend block boost bounce breathe brew brighten bring browse build burn buy calm capture carry catch
celebrate change chat check choose clarify cleanse clear click close collaborate collect combine come complete connect
convert cook create cuddle customise customize cut cushion dance deliver delight depart detangle detect develop dine
discover dissolve do download draw dream drop dry earn ease eat elevate eliminate empower enable energise energize
enhance enjoy ensure escape exfoliate experience explore extend fade fall feed feel fight fill find fit flatter float
flow fold follow forget freshen gain generate get give glide go grab grow have heal hear help hide hold hug hydrate
identify illuminate improve include increase inspire install integrate invite join keep know last laugh lead learn
leave let lift live load look lose love maintain make manage meet melt mend minimise minimize moisturise moisturize
monitor motivate move neutralise neutralize nourish offer optimise optimize organise organize outlast pamper pay
perform personalise personalize pick plump polish prepare preserve prevent produce prolong protect prove provide
publish pull purify push put raise reach read rebuild receive recharge recover recycle reduce refine refresh reinforce
relax release relieve remember remind remove renew rent repel replace request require reserve resist respond restore
reveal revive rinse save say scan schedule see sell send serve share shave shield show shrink sign simplify sing sip
sit skip slide smell smooth snap soak soften solve soothe speak spend spread stay steam stick stop straighten
strengthen stretch streamline suit survive swap sweep swim switch sync synchronise synchronize take talk taste teach
tell thicken tighten transform translate treat trust try turn understand unite unlock unwind use vanish visit wake
wash wear weigh welcome whiten win wipe withstand work worry write wick
""")

# Words that are as often nouns: a verb only where what follows shows it.
VERBS_OR_NOUNS: Final = _words("""
age book care charge comfort control cover design dress drink drive end feature focus free fuel grip guard guide
handle heat hike hint host light link lock love massage match mix order pack paint pair plan play plug power press
print pump range refill repair report rest return ride roast run scale seal shape ship shop shine sleep slip smile
sound spray stand start step stock store style support surprise time tone touch track trade train travel trim update
upgrade view walk warm watch wrap zip result rate
""")

BE_AND_MODALS: Final = _words("""
is are was were isn't aren't has have hasn't haven't can can't cannot will won't does doesn't do don't must should
may might could would
""")

PRONOUN_STARTS: Final = _words("""
it they you we i he she this that these those everyone everybody nobody there it's they're you're we're you'll we'll
it'll they'll you've we've here's there's that's what's i'm who what when where why how
""")

DETERMINERS: Final = _words("""
a an the your our their its my his her this that these those every each all any some both many several few more
most up over under plenty lots unlimited enough half double triple multiple two three four five six seven eight nine
ten twelve twenty hundreds thousands
""")

NEGATIONS: Final = _words("no zero never")

PREPOSITIONS: Final = _words("""
for with without in from by on under at of to into onto over after before during through across between within
against around near off as like per via behind beside above below inside outside until since while when if that which
who whose where because so and or but than
""")

VERB_COMPLEMENTS: Final = _words("""
a an the your our their its my his her this that these those every each all any some both many you it them us me him
up out off on away down in back better faster longer more less smarter easier easily well great good fast quickly
together anywhere anytime everywhere everything anything yourself outside inside free natural true like with without
to for from at by under through around
""")

ADJECTIVES: Final = _words("""
affordable airy antibacterial authentic automatic beautiful big bold breathable bright calm calming certified classic
clean clear comfortable comfy compact convenient cordless cosy cozy cool cooling creamy creative crisp crunchy
custom dairy-free decaf deep delicate delicious detachable discreet dry durable dye-free easy eco eco-friendly
effective efficient elastic elegant energising energizing ergonomic ethical everyday exclusive extra fair
family-friendly fast fine firm flat flexible foldable fresh fragrance-free full gentle genuine glossy glowing
gluten-free good gorgeous great green halal handcrafted handmade handy happy healthy heavy-duty high honest hot
hygienic hypoallergenic iconic ideal indoor innovative insulated instant intense intuitive invisible juicy kind
kosher large lasting lean light lightweight local long long-lasting loose low luxurious luxury matte mild minimal
minimalist mobile modern modular natural neat neutral new nice nutritious odourless odorless offline old-school
organic original outdoor padded perfect personal playful plush portable powerful practical precise premium private
professional proud pure quick quiet ready real rechargeable recyclable recycled refillable refined refreshing
reliable removable resistant reusable rich robust romantic roomy rugged safe satin scalable scented seamless secure
sensitive sheer shiny short shower-ready silent silky simple sleek slim slip-resistant small smart smooth snug soft
soothing solid spacious sparkling special spicy stable stain-resistant stretchy strong stunning sturdy stylish
subtle sugar-free supple supportive sustainable sweet swift tasty tailored thick thin tidy timeless tiny tough
toxin-free traceable traditional transparent trendy trusted unique unisex unscented upbeat vegan vegetarian versatile vibrant
vintage warm washable waterproof weatherproof well-made wide wild windproof wireless wrinkle-free young zesty free
unbreakable adjustable available aromatic balanced award-winning non-greasy non-sticky dermatologist-tested
cruelty-free dishwasher-safe
""")

ADJECTIVE_ENDINGS: Final = (
    "-proof", "proof", "-free", "able", "ible", "less", "ous", "-friendly", "-resistant", "-tested", "-approved",
    "-made", "-safe", "-ready", "-weight", "-neutral", "-based", "-rich", "-certified", "-dyed", "-sewn", "-stitched",
    "-roasted", "-pressed", "-grown", "-traded", "-compliant", "-compatible", "-positive", "-style",
)  # fmt: skip

PARTICIPLES: Final = _words("""
made built woven handwoven hand-woven sewn grown brewed cut worn known born driven proven chosen knit spun hand-cut
hand-tied hand-sewn hand-knit handcrafted handmade loved trusted backed powered inspired designed crafted tested
approved recommended rated roasted infused enriched packed filled lined coated based certified sourced picked
developed tailored engineered produced prepared cooked baked fermented aged dyed printed stitched finished delivered
shipped hosted encrypted located housed surrounded set fitted equipped featured awarded blended balanced formulated
ready suited used run served wrapped shaped cut-out dermatologically clinically ethically sustainably responsibly
locally freshly
""")

MASS_NOUNS: Final = _words("""
comfort support protection hydration coverage control quality shipping delivery life storage volume shine hold grip
cushioning insulation flavor flavour taste sound sleep care advice service access security privacy freedom confidence
energy power space light water leather cotton wool merino linen silk wood bamboo oak steel glass ceramic porcelain
hair skin coffee tea chocolate breakfast parking wifi wi-fi internet cancellation installation training onboarding
checkout pricing billing tracking setup time money precision performance speed style elegance warmth freshness fun
peace mind luxury transparency reporting automation payment moisture nutrition sunscreen shampoo conditioner skincare
makeup clothing footwear jewellery jewelry furniture luggage bedding software hardware encryption compliance
maintenance ventilation lighting heating noise cancelling noise-cancelling uptime bandwidth caffeine sugar protein
fibre fiber collagen keratin retinol aloe denim suede rubber foam silicone stainless titanium packaging wrapping
housekeeping laundry yoga wellness relief growth balance focus motivation
""")

COUNT_NOUNS: Final = _words("""
guarantee warranty trial lining sole insole heel upper toe strap handle lid case cover design formula texture finish
fit battery motor screen display camera app dashboard interface editor calendar planner library team bar pool spa
terrace view garden gym restaurant room suite kitchen bed roof rooftop lobby location cap base parting fringe hairline
band clip comb brush kit set pack box bag bottle jar pump tube refill blend roast recipe plan pass card account
subscription membership discount voucher sample gift code filter lens frame stand mount cable plug port charger timer
alarm mode option solution collection range choice selection touch look feel glow scent fragrance serum cream cleanser
mask shade color colour palette tool platform system assistant engine tracker sensor seat chair desk mattress pillow
blanket zip pocket hood collar sleeve waistband waist hem silhouette weave knit membrane layer midsole outsole shoe
sneaker boot sandal wig hotel shop mug cup grinder kettle machine device watch ring necklace bracelet coat jacket shirt
dress skirt toothbrush razor towel lamp speaker headset backpack suitcase wallet bike scooter helmet tent bottle
course lesson class workshop newsletter guide service centre center aftertaste story smile partner price fee network
lace-front nozzle applicator dropper balm lotion toner mist spray perfume lipstick mascara report export integration
inbox chatbot consultation fitting appointment certificate concierge sauna balcony shuttle courtyard playground
""")

# Last words that end in s and are one thing all the same.
SINGULAR_IN_S: Final = _words("""
glass dress lens bus canvas mattress wellness fitness express plus atlas oasis bra business access class process
address analytics gas iris cactus news physics mathematics series saas campus status bonus focus virus lotus hibiscus
citrus venus texas paris chris bliss moss boss cross chess press success princess loss grass mass pass kiss swiss
compass harness darkness softness freshness happiness kindness tennis basis chassis oasis logistics always
""")

# Capitalised wherever they stand.
PROPER_WORDS: Final = _words("""
italian italy french france german germany spanish spain portuguese portugal japanese japan chinese china korean korea
swiss switzerland danish denmark swedish sweden norwegian norway nordic scandinavian british english scottish irish
welsh dutch belgian austrian polish greek turkish egyptian indian thai vietnamese brazilian brazil colombian colombia
ethiopian ethiopia kenyan kenya american america european europe african africa asian asia australian mexican peruvian
alpine mediterranean atlantic pacific arctic monday tuesday wednesday thursday friday saturday sunday january february
march april may june july august september october november december christmas easter halloween ramadan diwali
valentine valentine's bluetooth internet wifi i
""") - _words("may march internet wifi")

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
