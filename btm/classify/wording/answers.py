"""Phrases of validators, and of answers that cannot be read."""

from __future__ import annotations

from btm.classify.wording.phrase import Phrase, bad, broken

ANSWERS: tuple[Phrase, ...] = (
    # Argument validation, as validators word it.
    bad(
        "validation",
        r"\d+ validation errors? for|input validation error|validation error(?:s)?:"
        r"|\bvalidation failed",
    ),
    bad(
        "invalid_type expected received code invalid",
        r"\"?code\"?: \"?(?:invalid_|too_small|too_big|unrecognized_keys)",
    ),
    bad(
        "arguments argument parameters args params input",
        r"^function [\w.-]{1,64} arguments:|(?:arguments?|parameters?|args|params|input"
        r"|request body)\b[^\n]{0,60}(?:not valid json|invalid json|is not json|as json"
        r"|could not be parsed|malformed)|pars\w* (?:\w+ ){0,3}(?:arguments?|parameters?|args"
        r"|params|input|request)\b",
        0.93,
    ),
    bad("invoking", r"error invoking tool\b.{0,200}with error"),
    bad(
        "missing required",
        r"missing \d+ required|missing (?:a )?required|required (?:argument|parameter|field|propert"
        r"|option|input|query|value)\w*|is a required|field required|\bare required\b"
        r"|\bis required\b|must (?:provide|specify|supply|include|contain|have)\b",
    ),
    bad(
        "unexpected",
        r"unexpected keyword argument|got an unexpected|unexpected argument|unexpected (?:parameter"
        r"|property|field)",
    ),
    bad("takes", r"takes (?:exactly |at (?:least|most) |from )?\d+ (?:to \d+ )?(?:positional )?argument"),
    bad("type", r"is not of type|invalid type|wrong type|type mismatch|expected type|incorrect type"),
    # The answer could not be read.
    broken(
        "expecting",
        r"expecting (?:value|property name|',' delimiter|':' delimiter)"
        r"|expecting .{0,20}: line \d+ column",
    ),
    broken("unterminated extra", r"unterminated string|extra data: line"),
    broken(
        "json",
        r"(?:not|isn't|invalid|malformed|broken|truncated|bad) (?:valid )?json|json (?:parse|decod"
        r"|pars)\w*|json\.decoder|in json at position|end of json|expected json but|instead of json"
        r"|as json\b|json(?:decode)? ?error|is not valid json|non-json|parse json",
    ),
    broken(
        "token",
        r"unexpected token .{0,40}(?:in json|is not valid)|unexpected token <|end of json input"
        r"|in json at position",
        0.92,
    ),
    broken(
        "html",
        r"(?:got|received|returned|was|but|is) (?:an? )?html|html (?:page )?instead"
        r"|unexpected mimetype|text/html",
    ),
    broken("mimetype", r"unexpected mimetype"),
    broken(
        "response answer reply body data feed content message payload",
        r"(?:invalid|malformed|corrupt(?:ed)?|garbled|truncated|incomplete|unparseable|unreadable"
        r"|unparsable|undecodable) (?:\w+ ){0,2}(?:response|answer|reply|body|data|feed|content"
        r"|payload)|(?:could not|couldn't|cannot|can't|failed to|unable to) (?:parse|decode|read"
        r"|deserialize) (?:\w+(?:'s)? ){0,4}(?:response|answer|reply|body|feed|content|payload)"
        r"|response .{0,40}(?:could not be|cannot be|can't be) (?:parsed|decoded|read)",
        0.7,
    ),
    broken(
        "truncated bytes",
        r"(?:response|body|answer|payload|download)\b.{0,40}\btruncated"
        r"|expected \d+ (?:more )?bytes|\d+ bytes (?:read|received).{0,30}expected",
    ),
    broken(
        "complete incomplete", r"without sending complete|incomplete (?:read|message|chunked)|incompleteread"
    ),
    broken(
        "premature closed eof outstanding",
        r"premature (?:eof|end|close)|closed with outstanding|payload is not completed"
        r"|unexpected end of (?:data|stream|input|archive|json)",
    ),
    broken(
        "chunk invalidchunklength decompressing header mangled gzip content-encoding encoding",
        r"invalidchunk|invalid chunk|while decompressing|incorrect header check|not a gzip"
        r"|failed to decode it",
    ),
    broken("codec utf", r"codec can'?t decode|invalid (?:start|continuation) byte|not valid utf|invalid utf"),
    broken(
        "output", r"(?:could not|couldn't|failed to|unable to) parse (?:the )?(?:llm |model |agent )?output"
    ),
    broken("zip", r"not a zip file|bad zip|bad magic number"),
    broken("status", r"bad ?status ?line|illegal status line"),
    broken(
        "while parsing parse",
        r"while (?:parsing|scanning) a|mismatched tag|not well-formed|no element found|xml parse"
        r"|yaml parse",
    ),
)
