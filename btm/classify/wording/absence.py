"""Phrases of what was looked for and is not there."""

from __future__ import annotations

from btm.classify.finding import WEAK
from btm.classify.wording.phrase import Phrase, bad, empty, missing, state

ABSENCE: tuple[Phrase, ...] = (
    state("empty", r"(?:directory|bucket|folder|container|cart|group|repository|is|are) not empty"),
    empty(
        "results result matches match records rows entries hits items documents data",
        r"\b(?:no|0|zero) (?:\w+ ){0,3}(?:results?|matches|match|records?|rows|entries|hits|items"
        r"|documents?|data)\b(?: (?:were |was |have been )?(?:found|returned|available|matched"
        r"|match|for|retrieved|selected))?|returned no (?:results?|rows|data)|(?:results?|records?"
        r"|rows|hits) ?[:=] ?0\b",
        0.8,
    ),
    empty("nothing", r"nothing (?:was )?found|nothing matched"),
    empty(
        "empty",
        r"(?:empty (?:result|response|list|set)|(?:inbox|mailbox|list|result|cart|folder|directory"
        r"|queue|calendar|table) is empty)",
        0.75,
    ),
    empty("lines", r"no lines (?:were )?matched"),
    # Something named is not there; before the state of things, which is worded more freely.
    bad(
        "empty blank null none negative zero positive",
        r"(?:cannot|can't|must not|may not|should not|can not) be (?:empty|blank|null|none|negative"
        r"|zero|less|greater|more|longer|in the (?:past|future)|before|after|the same)"
        r"|must be (?:\w+ )?(?:positive|negative|non-negative|non-empty|greater|less|at least"
        r"|at most)",
    ),
    bad("code", r"\bno (?:\w+ )?code was found|does not contain (?:\w+ )?code|did not contain (?:\w+ )?code"),
    missing(
        "column columns",
        r"(?:unknown|no such|undefined) column|column\b.{0,80}(?:does not exist|not found"
        r"|doesn't exist)|invalid column name",
    ),
    missing(
        "table tables relation relations database view schema collection index dataset",
        r"(?:unknown|no such|undefined) (?:table|database|relation|view|schema|collection|index"
        r"|dataset)|(?:table|relation|database|view|schema|collection|index"
        r"|dataset)\b.{0,100}(?:does not exist|doesn't exist|not found|n'existe pas|existiert nicht"
        r"|no existe)|invalid object name",
    ),
    bad("function procedure operator", r"no function matches|operator does not exist"),
    missing(
        "record entry account profile session file order user customer reservation booking ticket document",
        r"\bno (?:\w+ ){0,3}(?:record|entry|account|profile|session|file|order|user|customer|reservation|booking"
        r"|ticket|document)s? (?:for|with|named|matching)\b",
    ),
    missing("such", r"\bno such (?!host|tool|option|argument|parameter)\w+"),
    missing(
        "found", r"\b(?:not|n't|never|could ?n[o']t be|cannot be) (?:be )?(?:found|located)\b|\bnot_found\b"
    ),
    missing(
        "found", r"\bno \w+(?: \w+){0,4} (?:was |were |is |could be )?found\b|command not found|404 page", 0.8
    ),
    missing("notfound", r"\bnotfound\b|\b(?:enoent|notfounderror|notfoundexception)\b"),
    missing(
        "exist exists exiting", r"(?:does|do|did)(?: not|n't) exist|no longer exists?|non-?exist|not exist"
    ),
    missing("existent nonexistent nonexisting", r"non-?exist"),
    missing("find", r"(?:could not|couldn't|cannot|can't|unable to|failed to|did not|didn't) find\b"),
    missing("locate", r"(?:could not|couldn't|cannot|can't|unable to|failed to) locate\b"),
    missing(
        "unknown",
        r"\bunknown (?:user|customer|account|order|item|product|id|file|host|revision|model|project"
        r"|ticket|channel|recipient|entity|record|resource|city|location|symbol|station|database"
        r"|repository|branch|key|code|airport|flight|package|object|device|currency|contact)\b",
    ),
    missing(
        "match matching matches",
        r"did not match any|does not match any|no matching (?:\w+ )?(?:distribution|version|package"
        r"|record|order|user|customer|item|entr|key|rule|file|host|account|product)"
        r"|could not match any",
    ),
    missing(
        "available",
        r"no \w+(?: \w+){0,3} (?:is |are )?available for|not found or available"
        r"|no .{0,40}\brecord is available",
        0.8,
    ),
    missing(
        "pathspec revision manifest ref distribution satisfies target",
        r"unknown revision|manifest unknown|pathspec|could not find a version"
        r"|no matching distribution|src refspec",
    ),
    missing(
        "registered recorded exist",
        r"is not registered\b|no record of|not (?:on|in) (?:file|our records|the list)",
        0.8,
    ),
    missing("resource", r"doesn't have a resource type|resource missing"),
    missing(
        "item there",
        r"there is no (?:item|user|order|file|record|account|such|member|entry|customer|product"
        r"|key)\b",
    ),
    missing("module", r"no module named", WEAK),
    missing("error 404", r"\b404\b (?:not found|error)"),
)
