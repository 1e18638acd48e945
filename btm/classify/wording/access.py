"""Phrases about who may do what, and about time running out."""

from __future__ import annotations

from btm.classify.finding import WEAK
from btm.classify.wording.phrase import Phrase, auth, missing, timeout

ACCESS: tuple[Phrase, ...] = (
    # Whether it is there is not told; what was named is what to look at.
    missing(
        "exist found", r"(?:does not exist|doesn't exist|not found),? or you (?:do not|don't|lack|may not)"
    ),
    # Who may do what.
    auth("unauthorized unauthorised unauthenticated", r"\bunauthori[sz]ed\b|\bunauthenticated\b"),
    auth("authorized authorised", r"not authori[sz]ed"),
    auth(
        "denied",
        r"(?:permission|access|authori[sz]ation|authentication|pull access"
        r"|requested access .{0,40}) (?:is |was )?denied|accessdenied|denied access",
    ),
    auth("forbidden", r"\bforbidden\b"),
    auth(
        "authentication authenticate authenticated auth",
        r"(?:authentication|authenticate|auth)\b.{0,30}(?:fail|required|error|invalid|expired"
        r"|needed|rejected|failure|missing|method)|not authenticated|requires? authentication"
        r"|failed to authenticate|unable to authenticate"
        r"|must be (?:called with the client already )?authenticated|re-?authenticate|no auth",
    ),
    auth(
        "authorization",
        r"authorization (?:failed|required|error|header|denied)|(?:missing|invalid|no) authorization",
    ),
    auth(
        "key",
        r"(?:invalid|incorrect|missing|expired|bad|no|wrong|revoked) (?:api|access|secret|account"
        r"|subscription)[ _-]?key|api[ _-]?key (?:\w+ ){0,4}(?:invalid|expired|missing|required|not"
        r"|incorrect|revoked|disabled)|(?:provide|set|check|supply) (?:an? |your |the "
        r"|valid )*api[ _-]?key|publickey|host key verification",
    ),
    auth(
        "token tokens jwt",
        r"(?:invalid|expired|missing|bad|revoked|no|malformed) (?:\w+ )?(?:token|jwt)\b|(?:token"
        r"|jwt) (?:\w+ ){0,4}(?:expired|invalid|revoked|missing|not valid|rejected|denied)"
        r"|personal access token|security token|token is no longer",
    ),
    auth("credential credentials", r"credentials?\b"),
    auth(
        "password username login passphrase",
        r"(?:invalid|incorrect|wrong|bad) (?:user ?name|user|login|password|passphrase)"
        r"|password authentication|login (?:incorrect|failed|required)|(?:must|please"
        r"|need to) (?:be )?(?:log|sign)(?:ged)? ?in|password (?:is )?(?:incorrect|invalid|wrong)"
        r"|could not read (?:username|password)",
    ),
    auth(
        "permission permissions privilege privileges scope scopes role roles",
        r"(?:insufficient|lacks?|missing|without|not have|no|required|requires?|needs?|inadequate"
        r"|sufficient|don't have|doesn't have|need)\b.{0,40}\b(?:permission|privilege|scope"
        r"|access rights|role)s?\b|requires role|permissions? (?:error|required)",
    ),
    auth("session", r"session (?:\w+ ){0,3}(?:expired|timed out|invalid)|invalid session"),
    auth("accessible", r"not accessible by"),
    auth(
        "access",
        r"(?:not|n't) (?:have|allowed) (?:\w+ ){0,3}access|no access to|not allowed to access"
        r"|access (?:is )?(?:restricted|blocked|forbidden|revoked)|access to .{0,60} denied",
    ),
    auth(
        "allowed permitted",
        r"not (?:allowed|permitted) to (?:perform|do|view|read|write|use|execute|access|list|create"
        r"|delete|modify|update)|operation not permitted|not permitted",
    ),
    auth(
        "certificate certificates x509 cert",
        r"certificate (?:verify failed|required|has expired|unknown|revoked|is not trusted"
        r"|signed by|problem)|certificate_(?:verify|required|unknown|expired)|x509|self[- ]signed"
        r"|client certificate|alert (?:bad |unknown )?certificate|ssl certificate"
        r"|certificate is not valid|hostname mismatch",
    ),
    auth(
        "signature", r"signature (?:\w+ ){0,4}(?:not match|invalid|mismatch|expired|failed)|invalid signature"
    ),
    auth(
        "admin administrator owner",
        r"(?:only|must be|requires?|need) (?:an? |the )?(?:admin|administrator|owner)s?\b"
        r"|admin(?:istrator)? (?:rights|access|privileges) ",
    ),
    auth("read-only readonly", r"read-?only (?:file ?system|database)", WEAK),
    auth("captcha", r"captcha|are you a robot|bot detection"),
    # Time.
    timeout("timed", r"\btimed[ -]?out\b"),
    timeout(
        "timeout",
        r"connect(?:ion)? timeout|timeout (?:while|when) (?:connecting|acquiring)|connecttimeout"
        r"|pool timeout",
        0.86,
        reached=False,
    ),
    timeout(
        "timeout timeouts",
        r"\b(?:request|read|gateway|socket|query|statement|operation|execution|command|upstream"
        r"|server|response|network|write|lock wait|navigation|script|tool|i/o) time-?out\b"
        r"|\btimeout (?:of|after|exceeded|error|expired|reached|waiting|while|when|occurred|reading"
        r"|connecting|was reached|\d)|statement timeout|^timeout\b|(?:due to|because of|hit|reached"
        r"|with|:) (?:a |the )?timeout\b|\btimeouterror\b|wait timeout|\btimeout$|\btimeout[.!]",
    ),
    timeout(
        "deadline",
        r"deadline (?:exceeded|expired|was exceeded|reached|passed)|within the (?:deadline|time)"
        r"|exceeded (?:the |its )?deadline|before (?:the )?deadline",
    ),
    timeout(
        "respond response answer",
        r"(?:did not|didn't|failed to|not) (?:respond|answer|reply|receive a response) (?:in time"
        r"|within|before)|no (?:response|answer|reply) (?:\w+ ){0,3}(?:within|after|in) \d"
        r"|took too long|response took",
    ),
    timeout("long", r"(?:took|taking|running|ran|run) (?:for )?too long"),
    timeout(
        "time",
        r"(?:exceeded|over|hit|reached) (?:the |its |maximum |max )*(?:execution |processing "
        r"|run ?)?time(?: limit)?\b|time limit (?:exceeded|reached|of)"
        r"|maximum (?:statement )?execution time|execution time (?:exceeded|limit)|ran out of time"
        r"|time-?out",
    ),
)
