"""Phrases of a service whose interface changed."""

from __future__ import annotations

from btm.classify.wording.phrase import Phrase, drift
from btm.model import ErrorKind as K

CONTRACT: tuple[Phrase, ...] = (
    # LangChain's complaint about the tool itself: it ran, and gave something else than it had declared.
    Phrase(
        K.UNKNOWN, "response_format two-tuple", r"response_format=.{0,40}two-tuple .{0,80}is expected", 0.92
    ),
    # The contract with the service changed.
    drift(
        "version",
        r"api[ -]?version .{0,60}(?:not |no longer |un)supported|(?:unsupported|unknown|invalid"
        r"|deprecated) api[ -]?version|version .{0,40}(?:is |has been |was )?(?:no longer supported"
        r"|deprecated|retired|sunset|discontinued)",
    ),
    drift("renamed", r"(?:was|been|is) renamed (?:to|in)"),
    drift(
        "longer",
        r"(?:endpoint|api|route|method|resource|field|parameter|operation|version"
        r"|service)\b.{0,60}no longer (?:supported|available|exists?|accepted|valid|offered)"
        r"|no longer supported",
    ),
    drift(
        "deprecated retired sunset discontinued decommissioned",
        r"/v\d\S{0,60} (?:has been|was|is) (?:deprecated|retired|sunset|discontinued)"
        r"|(?:endpoint|api|route|method|version|model|operation|service)\b.{0,60}(?:deprecated"
        r"|retired|sunset|discontinued|decommissioned)|(?:deprecated|retired|sunset"
        r"|discontinued) (?:endpoint|api|route|method|version|operation)",
    ),
    drift(
        "removed moved gone",
        r"(?:endpoint|api|route|get|post|put|delete|patch|field|operation)\b.{0,80}(?:was|has been"
        r"|have been|been|is) (?:permanently )?(?:removed|moved)|\b410 gone\b"
        r"|permanently (?:removed|gone|moved)",
    ),
    drift(
        "route endpoint path url",
        r"(?:no |unknown |unrecognized |invalid |no such )(?:api )?(?:route|endpoint"
        r"|request url)s?\b|(?:route|endpoint)\b.{0,60}(?:not found|does not exist|doesn't exist)"
        r"|unrecognized request url|invalid url \((?:get|post|put|delete|patch)",
    ),
    drift("query", r"cannot query field"),
    drift("cannot", r"^(?:.{0,60}\b)?cannot (?:get|post|put|delete|patch) /"),
    drift(
        "response answer reply result output payload json api body",
        r"(?:unexpected|unrecognized|changed|unknown|different) (?:api )?(?:response|answer|reply"
        r"|result|output|payload|json|body|data) (?:format|shape|schema|structure|type|field)",
    ),
    drift(
        "response answer reply result output payload api body",
        r"(?:response|answer|reply|result|output|payload|api|body)\b.{0,80}(?:(?:missing|lacks"
        r"|without|has no|did not (?:contain|include)|does(?: not|n't) (?:contain|include|have)"
        r"|no longer (?:has|contains)) (?:a |an |the |required |expected |any )?(?:\w+ )?(?:key"
        r"|field|property|attribute|column|element)?|(?:field|key|property)\b.{0,40}(?:is "
        r"|was )?(?:missing|not found|absent|renamed))",
    ),
    drift(
        "missing key field expected",
        r"(?:missing|expected|no) (?:key|field|property|attribute"
        r"|column)s?\b.{0,60}\bin (?:the )?(?:\w+ ){0,2}(?:response|answer|reply|result|output"
        r"|payload|body)|(?:key|field|property)\b.{0,40}(?:missing|not present|absent) (?:from"
        r"|in) (?:the )?(?:\w+ ){0,2}(?:response|answer|reply|result|output|payload)",
    ),
    drift("returned sent gave", r"(?:returned|sent|gave)\b.{0,60} as \w+, (?:but )?expected"),
    drift("output", r"output validation error|structured content does not match|outputschema|output schema"),
    drift(
        "schema",
        r"schema (?:mismatch|changed|drift|version)|does not match (?:the )?(?:expected "
        r"|response )?schema",
    ),
    drift("upgrade", r"426 upgrade required"),
    drift("statuscode unimplemented", r"\bunimplemented\b", 0.8),
)
