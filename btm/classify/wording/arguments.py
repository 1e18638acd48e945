"""Phrases about what was passed and is not taken."""

from __future__ import annotations

from btm.classify.wording.phrase import Phrase, bad, state, tool

ARGUMENTS: tuple[Phrase, ...] = (
    # What was passed is not what is taken.
    bad(
        "syntax",
        r"syntax ?error|error in your sql|invalid syntax|syntax (?:is )?invalid|syntax error at"
        r"|incorrect syntax",
    ),
    bad("invalid", r"\binvalid\b"),
    bad(
        "valid",
        r"(?:not|isn't|n't) (?:a |an |)valid\b|(?:provide|enter|specify|use|supply) (?:a "
        r"|an )?valid|valid (?:values|options|choices) (?:are|include)",
    ),
    bad(
        "must should",
        r"\b(?:must|should|has to|have to|needs to)(?: either| only| not)? (?:be|match|have|contain"
        r"|start|end|equal|not|consist|follow|use|add|sum|only|differ)\b",
    ),
    bad(
        "unsupported supported",
        r"\bunsupported\b|(?:is |are )?not supported|doesn't yet support|does not support",
    ),
    bad(
        "unrecognized unrecognised unknown",
        r"unrecogni[sz]ed|unknown (?:encoding|locale|option|parameter|argument|field|command|property|flag"
        r"|attribute|format|type|value|operator|unit|method|query|language|keyword|variable"
        r"|function|setting|action|category)",
    ),
    bad("expected expects", r"\bexpect(?:ed|s)\b"),
    bad("ambiguous", r"\bambiguous\b"),
    bad(
        "argument arguments parameter parameters operand operands option options",
        r"(?:missing|extra|bad|wrong|too (?:many|few)|illegal|not enough|malformed|incorrect"
        r"|without) (?:\w+ ){0,2}(?:arguments?|parameters?|operands?|values?|options?)"
        r"|(?:arguments?|parameters?|options?) (?:\w+ ){0,3}(?:missing|required|invalid|not"
        r"|expected|out of)|requires an argument|argument (?:of|must|should|list)",
    ),
    bad(
        "convert parse parsing cast",
        r"(?:could not|couldn't|cannot|can't|unable to|failed to|failure to) (?:convert|parse|cast"
        r"|interpret|coerce|understand)",
    ),
    bad("literal", r"invalid literal|literal_error"),
    bad(
        "range bounds",
        r"out of (?:range|bounds)|outside (?:of )?(?:the )?(?:valid |allowed |permitted )?(?:range"
        r"|bounds)|not in (?:the )?(?:valid |allowed )?range|must be in",
    ),
    bad(
        "format formatted",
        r"(?:wrong|bad|incorrect|does not match|unknown|expected|date|time) (?:\w+ ){0,2}format"
        r"|not (?:\w+ )?formatted|format (?:is|must|should)",
    ),
    bad("match", r"(?:does|do|did)(?: not|n't) match"),
    bad(
        "length long short large big exceeds exceed maximum minimum greater less",
        r"(?:too (?:long|short|large|big|small|high|low|deep|complex)|exceeds? (?:the )?(?:max"
        r"|limit|allowed|context|size|length)|maximum (?:context )?(?:length|size|value|allowed)"
        r"|context length|is (?:greater|less) than (?:or equal to )?the (?:max|min)"
        r"|greater than or equal to|less than or equal to)",
    ),
    bad(
        "specify provide provided specified",
        r"(?:please|must|need to|should|you must) (?:specify|provide|supply|pass|give|enter)|(?:not"
        r"|n't|no \w+(?: \w+){0,2}) (?:been )?(?:provided|specified|supplied|given)"
        r"|was not (?:provided|specified)",
    ),
    bad("malformed ill-formed illegal", r"\bmalformed\b|\bill-?formed\b|\billegal\b"),
    bad(
        "isn't not",
        r"\bnot an? (?:number|integer|string|valid|list|object|boolean|directory|date|uuid|regular"
        r"|positive)\b|not a valid|must not be",
    ),
    bad("directory", r"is a directory|not a directory|omitting directory|same file"),
    bad(
        "eof matching unexpected",
        r"unexpected (?:eof|end of file|character|token|identifier|indent|input|value)"
        r"|while looking for matching",
    ),
    bad("precede paths usage binary", r"paths must precede|cannot execute binary|exec format|^usage: "),
    bad(
        "contain code action",
        r"(?:did|does) not contain (?:\w+ )?(?:code|sql|bash)|no (?:\w+ )?code was found",
    ),
    bad(
        "subquery aggregate group query nonaggregated columns",
        r"subquery returns more|group by|invalid use of group|different number of columns"
        r"|aggregate function",
    ),
    bad("introduced edit", r"introduced new syntax error"),
    bad("zero", r"division by zero|divide by zero|zero division"),
    bad("characters encode", r"can'?t encode|illegal characters|non-ascii"),
    bad("wrongtype holding", r"wrong kind of value|wrongtype"),
    bad("request", r"\bbad request\b|bad_request|malformed request|invalid request"),
    bad("params", r"invalid params"),
    bad(
        "choose select",
        r"please (?:choose|select|use) (?:one|a|another|different)|choose from|try one of"
        r"|one of the following|one of:",
        0.7,
    ),
    bad(
        "cannot",
        r"\bcannot (?:be )?(?:convert|cast|compare|parse|interpret|add|combine|index|concatenate"
        r"|insert null|use)\b",
        0.7,
    ),
    state("cannot can't unable", r"\b(?:cannot|can't|can not)\b", 0.55),
    tool("tool", r"^tool\b.{0,40}\bunavailable\b", 0.55),
    bad("violates constraint", r"violates", 0.55),
)
