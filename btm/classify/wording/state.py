"""Phrases of a world that is not in the state which the call needs."""

from __future__ import annotations

from btm.classify.wording.phrase import Phrase, bad, state

STATE: tuple[Phrase, ...] = (
    # The world is not in the state that the call needs.
    bad(
        "null",
        r"(?:null value|not[ -]null constraint|not null)\b|cannot be null|violates not-null"
        r"|may not be null|not[ _]null",
    ),
    state("already", r"\balready\b (?!authenticated)"),
    state(
        "exists exist taken use",
        r"(?:file|name|key|user|username|email|branch|id|address|slug|record|entry|path|bucket"
        r"|resource|index) (?:\w+ )?(?:exists|is taken|taken|in use)\b|: file exists"
        r"|\bis (?:already )?(?:in use|taken)\b|already (?:exists|in use|taken)",
    ),
    state(
        "duplicate unique",
        r"duplicate (?:key|entry|record|value|request|name|id|item)|unique constraint"
        r"|must be unique|violates unique",
    ),
    state(
        "constraint",
        r"(?:foreign key|check|unique|exclusion|constraint).{0,60}(?:violat|failed|fails)"
        r"|violates .{0,40}constraint",
    ),
    state("conflict conflicts conflicting conflicted", r"\bconflict"),
    bad("balance payment total amounts amount", r"does not add up|do(?:es)? not (?:match|equal|sum)"),
    state(
        "insufficient enough",
        r"(?:insufficient|not enough|not sufficient|too little|lacks? (?:sufficient"
        r"|enough)) (?:\w+ ){0,5}(?:balance|funds?|stock|seats?|inventory|quantity|points?|units?"
        r"|miles|tickets?|items?|rooms?|money|shares?|supply|gas)|(?:balance|funds|stock|inventory"
        r"|seats|quantity|points)\b.{0,30}(?:is |are )?(?:not enough|insufficient|too low"
        r"|not sufficient)|insufficient (?!perm|privil|scope|access|auth|quota|credit|arg|data|info"
        r"|capacity|storage)",
    ),
    state("stock sold", r"out of stock|sold out|not in stock|no longer in stock"),
    state("declined", r"\bdeclined\b"),
    state(
        "first",
        r"\bfirst\b[.!'\"]?\s*$|(?:please|must|need to|have to|should) .{0,80}\bfirst\b"
        r"|\bfirst\b.{0,40}(?:before|to (?:create|open|generate|start))|(?:call|run|use|open|create"
        r"|start|initialize|generate) .{0,60} first",
    ),
    state(
        "still",
        r"\bstill (?:not|open|pending|active|in progress|running|in use|being|has|have|has"
        r"|referenced|processing|contains|owes|attached|waiting)",
    ),
    state("yet", r"(?:not|n't|hasn't|haven't)\b.{0,40}\byet\b"),
    state(
        "must needs need has",
        r"\b(?:must|needs? to|has to|have to) (?:first )?be (?:\w+ ){1,4}(?:to|before|in order"
        r"|prior|for) (?!a |an |the )(?:be |\w+)",
    ),
    state(
        "must needs",
        r"must be (?:approved|active|suspended|pending|open|closed|completed|paid|verified"
        r"|confirmed|enabled|published|in \w+ state|draft|unlocked|delivered|shipped|cancelled"
        r"|running|stopped|idle)\b",
    ),
    state(
        "non non-pending non-delivered pending delivered",
        r"\bnon-\w+ (?:order|item|reservation|ticket|user|request|task|account|line|invoice|booking"
        r"|subscription)s?\b",
    ),
    state(
        "cannot can't can could not",
        r"(?:cannot|can't|can not|could not|may not|must not) be (?:re)?(?:cancel|used|modif|chang"
        r"|exchang|return|delet|updat|edit|refund|clos|reopen|merg|approv|process|book|ship|upgrad"
        r"|transfer|remov|archiv|resum|suspend|start|stopp|complet|appli|combin|redeem|renew|assign"
        r"|undone|reversed|sent|moved|transition|publish|renam|reschedul|activat|deactivat|add|paid"
        r"|charged|purchased|scheduled|issued|revert|schedul|fulfill|shipp|alter|issu|paus|unlock"
        r"|extend|split|void|captur|post|submit|convert|dispatched|amend)\w*",
        0.8,
    ),
    state(
        "not is",
        r"is not (?:overdue|active|pending|open|approved|available|eligible|mergeable|editable"
        r"|cancell?able|refundable|enabled|ready|verified|allowed in|in a|in the (?:right|correct)"
        r"|running|started|connected|suspended|delivered|confirmed|paid|published|modifiable"
        r"|refundable|installed|initialized|assigned|empty|a git)\b",
    ),
    state(
        "available",
        r"\bnot available (?:on|for|at|in|between|during)\b|(?:seat|room|slot|flight|appointment"
        r"|item|product|time)s?\b.{0,60}not available|no longer available|no (?:seats?|rooms?"
        r"|slots?|tables?|tickets?) (?:are |is )?(?:left|available)",
        0.8,
    ),
    state("eligible ineligible", r"not eligible|ineligible"),
    state("mergeable", r"not mergeable"),
    state(
        "transition",
        r"(?:invalid|illegal|no such|not a valid) (?:state |status )?transition"
        r"|transition .{0,40}not (?:allowed|valid|possible)",
    ),
    state(
        "state status phase",
        r"(?:invalid|illegal|wrong|incorrect|current|unexpected|not in (?:the |a )?(?:right|valid"
        r"|correct)) (?:\w+ )?(?:state|status)\b|in (?:the |its )?(?:\w+ )?(?:state|status"
        r"|phase)\b.{0,40}(?:cannot|not allowed|can't)|in status\b",
    ),
    state("locked lock", r"(?:is|are|was|been) locked|locked by"),
    state(
        "expired",
        r"(?:card|coupon|offer|voucher|promo\w*|reservation|hold|invitation|link|quote|period"
        r"|window|deadline|promotion|order|gift card|return window|listing|cart) (?:\w+ )?(?:has "
        r"|is |was |have )*(?:expired|passed|closed)",
    ),
    state(
        "precondition pre-condition prerequisite requirement requirements",
        r"pre-?condition|prerequisite|requirements? (?:not|are not|is not|were not) (?:met"
        r"|satisfied|fulfilled)",
    ),
    state(
        "version etag revision stale changed modified",
        r"(?:version|etag|revision) (?:\w+ )?(?:mismatch|conflict|does not match|is stale)"
        r"|(?:has been|was|were) (?:modified|changed|updated) (?:by|since|in the meantime)"
        r"|non-fast-forward|would be overwritten",
    ),
    state(
        "rejected",
        r"\[?(?:remote )?rejected\]?.{0,100}(?:fast-forward|fetch first|hook|protected)"
        r"|failed to push",
    ),
    state(
        "git repository commit",
        r"not a git repository|nothing to commit|nothing to (?:undo|redo|revert)|unmerged",
    ),
    state(
        "limit maximum max exceeds exceed exceeded over many",
        r"(?:exceeds?|over|above|beyond|reached|exceeded) (?:your |the |its |their "
        r"|max(?:imum)? )*(?:\w+ ){0,3}(?:credit limit|limit of (?:reservations|items|bookings"
        r"|seats))|too many (?:reservations|certificates|items in|bookings|open orders)",
        0.8,
    ),
    state(
        "allowed permitted possible",
        r"(?:action|operation|transition|cancell?ation|change|return|refund|exchange|modification"
        r"|upgrade|deletion|update|booking)s? (?:is |are |was )?(?:\w+ )?not (?:allowed|permitted"
        r"|possible)|not (?:allowed|permitted|possible) (?:for|on|in|when|while|after|because"
        r"|on) (?:\w+ ){0,3}(?:order|reservation|ticket|state|status|item|booking|account|fare"
        r"|economy|once|shipped|closed)",
        0.8,
    ),
    state(
        "another",
        r"(?:held|owned|used|claimed|booked|reserved|in progress|edited|checked out) by (?:another"
        r"|someone)|another \w+ is (?:already |currently )?(?:running|in progress|using|editing"
        r"|active)",
    ),
    state(
        "unless until without",
        r"(?:cannot|can't|not) .{0,80}\b(?:unless|until|without|while|because)\b",
        0.75,
    ),
    state(
        "no open connected generated selected loaded initialized active session",
        r"\bno (?:\w+ )?(?:open|active|selected|loaded|generated|current|initialized|running"
        r"|connected) (?:\w+)|\bno \w+ (?:is )?(?:open|generated|selected|loaded|initialized"
        r"|connected|running|active|set|configured)\b|is not initialized|not been initialized"
        r"|not connected\b",
    ),
    state(
        "approved approval", r"(?:not|n't|awaiting|pending|requires?|needs?|without) (?:\w+ )?approv(?:ed|al)"
    ),
    state("awaiting", r"awaiting (?:payment|approval|confirmation)"),
    state(
        "cannot can't",
        r"\bcannot (?:cancel|close|modify|delete|update|merge|return|refund|exchange|transfer"
        r"|archive|resume|suspend|start|book|remove|approve|transition|reopen|ship|change|upgrade"
        r"|complete|edit|drop|truncate|execute \w+ in a read-only)\b",
        0.78,
    ),
)
