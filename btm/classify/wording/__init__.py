"""What error texts say: phrases in the order in which they are tried, the specific before the general.

A phrase is looked for only when one of its trigger words stands in the text, so that a text costs one pass to
split it into words and a handful of searches. Patterns are searched in lower-cased text of bounded length and
hold no nested repetition, so that a search takes time linear in the text.
"""

from __future__ import annotations

from btm.classify.wording.absence import ABSENCE
from btm.classify.wording.access import ACCESS
from btm.classify.wording.answers import ANSWERS
from btm.classify.wording.arguments import ARGUMENTS
from btm.classify.wording.contract import CONTRACT
from btm.classify.wording.european import EUROPEAN
from btm.classify.wording.limits import LIMITS
from btm.classify.wording.phrase import Phrase
from btm.classify.wording.service import SERVICE
from btm.classify.wording.state import STATE

PHRASES: tuple[Phrase, ...] = (
    LIMITS + CONTRACT + EUROPEAN + ANSWERS + ACCESS + SERVICE + ABSENCE + STATE + ARGUMENTS
)
EUROPEAN_POSITIONS = range(len(LIMITS) + len(CONTRACT), len(LIMITS) + len(CONTRACT) + len(EUROPEAN))
