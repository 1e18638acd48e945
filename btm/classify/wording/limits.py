"""Phrases about the tool itself, allowances and throttling."""

from __future__ import annotations

from btm.classify.wording.phrase import Phrase, quota, rate, tool

LIMITS: tuple[Phrase, ...] = (
    # The tool itself.
    tool("tool function", r"\b(?:unknown|no such|unrecognized|unregistered|undefined) (?:tool|function)\b"),
    tool("valid tool", r"is not a (?:valid|known|registered|recognized) (?:tool|function)"),
    tool(
        "tool",
        r"\btool\b.{0,80}\b(?:not found|does not exist|doesn't exist|is not (?:registered|available"
        r"|defined|known)|not registered)",
    ),
    tool(
        "tool function",
        r"\binvalid (?:tool|function) name|\bfunction \S{0,60} ?is not defined|\b(?:tool"
        r"|function) .{0,40}is not defined",
    ),
    tool(
        "tool",
        r"\bno tool (?:named|called|with)|\bcould ?n[o']t find (?:a )?tool\b|\btool not (?:found"
        r"|available|registered)",
    ),
    tool(
        "function", r"\bfunction\b.{0,60}\b(?:is )?not (?:registered|in (?:the )?registry|found in registry)"
    ),
    tool("method", r"^(?:error: ?)?(?:mcp error ?-?\d{0,6}: ?)?method not found\b", 0.86),
    # Money and allowances; before the rate limits, which the same services answer with the same status.
    rate("quota limit", r"(?:quota|limit)\b.{0,160}\b(?:per|/) ?(?:\d+ )?(?:sec|min|hour)"),
    rate("secondary", r"secondary rate limit"),
    rate("calls requests queries", r"(?:calls?|requests?|queries) (?:per|/) ?(?:\d+ )?(?:sec|min|hour)"),
    rate(
        "rate",
        r"\brate[ -_]?limit(?:ed|ing|s)?\b|\brate exceeded|request rate|\bper-?second rate"
        r"|exceeded .{0,30}\brate\b",
    ),
    quota(
        "quota",
        r"(?:exceeded|insufficient|out of|over|reached)\b.{0,30}\bquota|quota\b.{0,60}(?:exceeded"
        r"|exhausted|used up|reached|insufficient|overrun)",
    ),
    quota(
        "billing",
        r"enable billing|billing (?:hard |soft )?(?:limit|account|is (?:not|dis)|issue|error"
        r"|inactive)|check your plan and billing|billing (?:has )?not (?:been )?enabled",
    ),
    quota(
        "credit credits",
        r"(?:run |ran )?out of (?:api )?credits?|(?:no|insufficient|not enough"
        r"|zero) (?:api )?credits?\b|credit (?:limit|balance) (?:\w+ ){0,2}(?:reached|exceeded"
        r"|too low|exhausted|is)|credits? (?:exhausted|depleted|used up)|purchase (?:more )?credits",
    ),
    quota(
        "daily monthly weekly yearly annual plan usage spending spend free account trial",
        r"(?:daily|monthly|weekly|yearly|annual|plan'?s?|usage|spend(?:ing)?|free[ -]tier|account"
        r"|trial|hard|request) (?:\w+ ){0,3}(?:limit|quota|cap|allowance"
        r"|allotment)s?\b.{0,40}(?:reached|exceeded|hit|exhausted|used up)",
    ),
    quota(
        "reached exceeded hit used",
        r"(?:reached|exceeded|hit|used up|used all)\b.{0,40}\b(?:daily|monthly|weekly|annual|plan"
        r"|usage|spending|free[ -]tier|account|subscription)(?:'s)? (?:\w+ ){0,3}(?:limit|quota|cap"
        r"|allowance|credit|request)",
    ),
    quota(
        "upgrade",
        r"\bupgrade (?:your|to a|the|to the) (?:\w+ ){0,2}(?:plan|subscription|account|tier)"
        r"|please upgrade",
    ),
    quota("payment", r"\bpayment required\b|402 payment"),
    quota(
        "space disk storage mailbox",
        r"no space left|disk (?:is )?full|disk quota|storage (?:limit|quota|is full|full)"
        r"|database or disk is full|mailbox (?:is )?(?:full|over)|insufficient storage",
    ),
    quota(
        "trial subscription",
        r"(?:trial|subscription|licen[cs]e|plan) (?:period )?(?:has |is )?(?:expired|ended|lapsed"
        r"|inactive)",
    ),
    quota("maxmemory", r"used memory > 'maxmemory'|oom command not allowed"),
    # Throttling.
    rate(
        "ratelimit ratelimited throttled throttling throttle throttl flood",
        r"\bratelimit|\bthrottl|flood (?:wait|control)",
    ),
    rate(
        "many",
        r"too many (?:\w+ ){0,2}(?:request|call|attempt|quer(?:y|ies)|message|login)s?\b"
        r"|\btoomanyrequests\b",
    ),
    rate("toomanyrequests", r"toomanyrequests"),
    rate(
        "quickly fast frequent frequently slow often",
        r"too (?:quickly|fast|frequent(?:ly)?|often)\b|\bslow down\b",
    ),
    rate(
        "requests",
        r"(?:max(?:imum)?|limit) .{0,30}(?:concurrent )?requests .{0,20}(?:reached|exceeded|per)"
        r"|request limit (?:reached|exceeded)|reduce your request",
    ),
    rate(
        "concurrent concurrency",
        r"concurren(?:t|cy) .{0,40}(?:limit|exceeded|reached)|(?:limit|maximum) .{0,30}concurren",
    ),
    rate("throughput", r"throughput\b.{0,40}exceeded"),
)
