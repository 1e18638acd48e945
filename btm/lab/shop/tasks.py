"""The shop's tasks: what each user says, and the recipe that solves it."""

from __future__ import annotations

from collections.abc import Callable

from btm.lab.environment import Task
from btm.lab.jsonvalue import Path
from btm.lab.script import bind
from btm.lab.shop.data import fresh
from btm.lab.shop.recipes import Recipe, Recipes
from btm.lab.shop.tools import TOOLS, ShopSession

NOT_NEEDED, MISTAKE = "no longer needed", "ordered by mistake"

# user | how they are found | what they say | what solves it
_ROWS: tuple[tuple[str, str, str, Callable[[Recipes], Recipe]], ...] = (
    (
        "ava_stone_114",
        "email",
        "Please cancel order S1001, I no longer need it. My e-mail is ava.stone@mailbox.example.",
        lambda r: r.cancel("S1001", NOT_NEEDED),
    ),
    (
        "ben_novak_207",
        "email",
        "I ordered that tent by mistake - S1006. Cancel it, please. Account: ben.novak@mailbox.example",
        lambda r: r.cancel("S1006", MISTAKE),
    ),
    (
        "lena_fischer_620",
        "name",
        "Lena Fischer, zip 40217. Order S1014 can be cancelled, we are not going hiking after all.",
        lambda r: r.cancel("S1014", NOT_NEEDED),
    ),
    (
        "priya_raman_745",
        "name",
        "Hello, Priya Raman from 73011. The kettle in S1020 was ordered by mistake, cancel the order.",
        lambda r: r.cancel("S1020", MISTAKE),
    ),
    (
        "kenji_mori_682",
        "email",
        "kenji.mori@mailbox.example here. Ten notebook sets was a slip of the finger: please cancel S1027.",
        lambda r: r.cancel("S1027", MISTAKE),
    ),
    (
        "clara_weiss_390",
        "email",
        "Could you cancel S1031? I no longer need the stove. c.weiss@postoffice.example",
        lambda r: r.cancel("S1031", NOT_NEEDED),
    ),
    (
        "ava_stone_802",
        "name",
        "I'm Ava Stone, 51877. I have a daypack on order that I no longer need. Please cancel that order.",
        lambda r: r.cancel_found("S1005", NOT_NEEDED),
    ),
    (
        "mira_novak_551",
        "email",
        "My standing mat has not been sent yet, right? Then cancel it, I ordered it by mistake. mira@novak.example",
        lambda r: r.cancel_found("S1010", MISTAKE),
    ),
    (
        "jonas_novak_309",
        "name",
        "Jonas Novak, zip 73005: please cancel my order with the bread knives, no longer needed.",
        lambda r: r.cancel_found("S1012", NOT_NEEDED),
    ),
    (
        "tom_okafor_918",
        "email",
        "Two desk lamps are on their way to me and it should have been one. Cancel that order. tom@okafor.example",
        lambda r: r.cancel_found("S1024", MISTAKE),
    ),
    (
        "sofia_lund_276",
        "name",
        "This is Sofia Lund (51902). The cutting board order: I no longer need it, please cancel.",
        lambda r: r.cancel_found("S1026", NOT_NEEDED),
    ),
    (
        "omar_haddad_433",
        "email",
        "omar.haddad@inbox.example - cancel the order of two iron pans, that was a mistake.",
        lambda r: r.cancel_found("S1017", MISTAKE),
    ),
    (
        "ava_stone_114",
        "name",
        "Ava Stone in 40213. Send my lantern to my office instead: 3 Foundry Square, Brookfield, 40210.",
        lambda r: r.readdress("S1001", "3 Foundry Square", "Brookfield", "40210"),
    ),
    (
        "ben_novak_207",
        "email",
        "Can my desk lamp go to 8 Weir Street, Lindenau, 60395? I am ben.novak@mailbox.example.",
        lambda r: r.readdress("S1008", "8 Weir Street", "Lindenau", "60395"),
    ),
    (
        "kenji_mori_682",
        "name",
        "Kenji Mori, zip code 88134. The notebook sets should be sent to 2 School Road, Westham, 88101.",
        lambda r: r.readdress("S1027", "2 School Road", "Westham", "88101"),
    ),
    (
        "clara_weiss_390",
        "email",
        "I'm moving! The stove order goes to 51 Abbey Road, Graytown, 73002 please. c.weiss@postoffice.example",
        lambda r: r.readdress("S1031", "51 Abbey Road", "Graytown", "73002"),
    ),
    (
        "priya_raman_745",
        "email",
        "priya.raman@mailbox.example: my kettle should go to 90 Hill Street, Graytown, 73020, it is a present.",
        lambda r: r.readdress("S1020", "90 Hill Street", "Graytown", "73020"),
    ),
    (
        "tom_okafor_918",
        "name",
        "Tom Okafor, 88120. Please send the hiking socks to 14 Meadow End, Westham, 88127.",
        lambda r: r.readdress("S1023", "14 Meadow End", "Westham", "88127"),
    ),
    (
        "ava_stone_114",
        "email",
        "The bread knife in S1002 came with a chipped blade. I'd like its price back. ava.stone@mailbox.example",
        lambda r: r.refund("S1002", "P-413", reason="damaged"),
    ),
    (
        "ben_novak_207",
        "name",
        "Ben Novak, 60391. In S1007 the kettle leaks - it is damaged. Refund the kettle, please.",
        lambda r: r.refund("S1007", "P-411", reason="damaged"),
    ),
    (
        "mira_novak_551",
        "email",
        "mira@novak.example: the wool blanket of S1009 never was in the parcel. Missing! I want it paid back.",
        lambda r: r.refund("S1009", "P-304", reason="missing"),
    ),
    (
        "lena_fischer_620",
        "email",
        "One of two notebook sets in S1015 is missing, please pay that one back. lena.fischer@inbox.example",
        lambda r: r.refund("S1015", "P-523", reason="missing"),
    ),
    (
        "priya_raman_745",
        "name",
        "Priya Raman, zip 73011. One monitor arm of order S1021 arrived damaged. Please refund one of the two.",
        lambda r: r.refund("S1021", "P-524", reason="damaged"),
    ),
    (
        "sofia_lund_276",
        "email",
        "My rain jacket from S1025 is damaged at the zip. Refund it to me. sofia.lund@inbox.example",
        lambda r: r.refund("S1025", "P-631", reason="damaged"),
    ),
    (
        "omar_haddad_433",
        "name",
        "Omar Haddad, 51870. In S1018 the stove and one lantern are damaged. Two refunds, please.",
        lambda r: r.refund("S1018", "P-303", "P-301", reason="damaged"),
    ),
    (
        "clara_weiss_390",
        "email",
        "S1030: standing mat and desk lamp both missing from the box. Refund both. c.weiss@postoffice.example",
        lambda r: r.refund("S1030", "P-522", "P-521", reason="missing"),
    ),
    (
        "ava_stone_802",
        "email",
        "Please order 2 pairs of Hiking Socks for me, on my card. a.stone@postoffice.example",
        lambda r: r.buy("Hiking Socks", 2, "card_9023"),
    ),
    (
        "jonas_novak_309",
        "email",
        "I'd like one Rain Jacket, charged to my card. jonas.n@mailbox.example",
        lambda r: r.buy("Rain Jacket", 1, "card_3090"),
    ),
    (
        "sofia_lund_276",
        "name",
        "Sofia Lund, 51902 - a Daypack, please, and take it off my store credit.",
        lambda r: r.buy("Daypack", 1, "credit_2760"),
    ),
    (
        "lena_fischer_620",
        "email",
        "lena.fischer@inbox.example. One Standing Mat for my desk, pay with my card.",
        lambda r: r.buy("Standing Mat", 1, "card_6205"),
    ),
    (
        "tom_okafor_918",
        "name",
        "Tom Okafor from 88120. Order 4 Notebook Sets, with PayPal.",
        lambda r: r.buy("Notebook Set", 4, "paypal_9181"),
    ),
    (
        "kenji_mori_682",
        "email",
        "Send me one Cast Iron Pan. My account is kenji.mori@mailbox.example, the card is on file.",
        lambda r: r.buy("Cast Iron Pan", 1, "card_6821"),
    ),
    (
        "ben_novak_207",
        "email",
        "Wrong tent! Cancel S1006, it was a mistake, and order one Trail Lantern instead. ben.novak@mailbox.example",
        lambda r: r.swap("S1006", MISTAKE, "Trail Lantern", 1),
    ),
    (
        "priya_raman_745",
        "name",
        "Priya Raman, 73011. I no longer need S1020, cancel it. I'd rather have 2 Bread Knives, same card.",
        lambda r: r.swap("S1020", NOT_NEEDED, "Bread Knife", 2),
    ),
    (
        "ava_stone_114",
        "email",
        "My address ava.stone@mailbox.example will be closed. Change my account to ava@stonehouse.example.",
        lambda r: r.new_email("ava@stonehouse.example"),
    ),
    (
        "mira_novak_551",
        "name",
        "Mira Novak, zip 60391. My new e-mail address is mira.novak@inbox.example, please update it.",
        lambda r: r.new_email("mira.novak@inbox.example"),
    ),
    (
        "kenji_mori_682",
        "name",
        "Kenji Mori, 88134. Where is my parcel S1029? I'd like status and tracking number.",
        lambda r: r.where("S1029"),
    ),
    (
        "jonas_novak_309",
        "email",
        "Has S1011 been sent, and what is its tracking number? jonas.n@mailbox.example",
        lambda r: r.where("S1011"),
    ),
    (
        "omar_haddad_433",
        "email",
        "How much store credit do I have left? omar.haddad@inbox.example",
        lambda r: r.credit(),
    ),
    (
        "tom_okafor_918",
        "email",
        "For my taxes: what was the total of order S1022? tom@okafor.example",
        lambda r: r.total("S1022"),
    ),
    (
        "clara_weiss_390",
        "name",
        "What does the Monitor Arm cost, and how many are there?",
        lambda r: r.price("Monitor Arm"),
    ),
    (
        "lena_fischer_620",
        "name",
        "Do you have the Oak Cutting Board in stock, and at what price?",
        lambda r: r.price("Oak Cutting Board"),
    ),
)


def build_tasks() -> tuple[Task, ...]:
    """Return every task with its script bound to what a clean session shows."""
    return tuple(_build(f"shop-{number:02d}", *row) for number, row in enumerate(_ROWS, start=1))


def _build(task_id: str, user_id: str, by: str, request: str, solve: Callable[[Recipes], Recipe]) -> Task:
    recipes = Recipes(fresh(), user_id, by)
    recipe = solve(recipes)
    facts = {**recipes.facts, **recipe.facts}
    told = (*facts.values(), *recipe.said)

    def given(path: Path, value: object) -> bool:  # noqa: ARG001 - what was said may go anywhere
        return value in told

    session = ShopSession()
    bound = bind(recipe.calls, session, given, {name: spec.effect for name, spec in TOOLS.items()})
    answers = tuple(bound.answer(place) for place in recipe.asks)
    changes = tuple(write.change for write in session.writes)
    return Task(task_id, request, facts, bound.steps, session.digest(), answers, changes)
