"""What error texts say, as phrases in the order in which they are tried: the specific before the general.

A phrase is looked for only when one of its trigger words stands in the text, so that a text costs one pass to
split it into words and a handful of searches. Patterns are searched in lower-cased text of bounded length and
hold no nested repetition, so that each search is linear.
"""

from __future__ import annotations

from typing import NamedTuple

from btm.classify.finding import WEAK, WORDS
from btm.model import ErrorKind as K


class Phrase(NamedTuple):
    """A pattern with its trigger words, the kind it means, and how sure it is."""

    kind: K
    triggers: str
    pattern: str
    confidence: float = WORDS
    reached: bool = True


def _tool(triggers: str, pattern: str, sure: float = 0.92) -> Phrase:
    return Phrase(K.UNKNOWN_TOOL, triggers, pattern, sure, reached=False)


def _quota(triggers: str, pattern: str, sure: float = 0.9) -> Phrase:
    return Phrase(K.QUOTA_EXHAUSTED, triggers, pattern, sure, reached=False)


def _rate(triggers: str, pattern: str, sure: float = 0.9) -> Phrase:
    return Phrase(K.RATE_LIMIT, triggers, pattern, sure, reached=False)


def _drift(triggers: str, pattern: str, sure: float = 0.88) -> Phrase:
    return Phrase(K.SCHEMA_DRIFT, triggers, pattern, sure)


def _auth(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    return Phrase(K.AUTH_ERROR, triggers, pattern, sure, reached=False)


def _timeout(triggers: str, pattern: str, sure: float = WORDS, *, reached: bool = True) -> Phrase:
    return Phrase(K.TIMEOUT, triggers, pattern, sure, reached)


def _down(triggers: str, pattern: str, sure: float = WORDS, *, reached: bool = False) -> Phrase:
    return Phrase(K.UNAVAILABLE, triggers, pattern, sure, reached)


def _server(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    return Phrase(K.SERVER_ERROR, triggers, pattern, sure)


def _broken(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    return Phrase(K.MALFORMED, triggers, pattern, sure)


def _missing(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    return Phrase(K.NOT_FOUND, triggers, pattern, sure, reached=False)


def _state(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    return Phrase(K.PRECONDITION_FAILED, triggers, pattern, sure, reached=False)


def _bad(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    return Phrase(K.INVALID_ARGUMENTS, triggers, pattern, sure, reached=False)


def _empty(triggers: str, pattern: str, sure: float = WORDS) -> Phrase:
    return Phrase(K.EMPTY_RESULT, triggers, pattern, sure)


FIRST: tuple[Phrase, ...] = (
    # The tool itself.
    _tool("tool function", r"\b(?:unknown|no such|unrecognized|unregistered|undefined) (?:tool|function)\b"),
    _tool("valid tool", r"is not a (?:valid|known|registered|recognized) (?:tool|function)"),
    _tool("tool", r"\btool\b.{0,80}\b(?:not found|does not exist|doesn't exist|is not (?:registered|available|defined|known)|not registered)"),
    _tool("tool", r"\bno tool (?:named|called|with)|\bcould ?n[o']t find (?:a )?tool\b|\btool not (?:found|available|registered)"),
    _tool("function", r"\bfunction\b.{0,60}\b(?:is )?not (?:registered|in (?:the )?registry|found in registry)"),
    _tool("method", r"^(?:error: ?)?(?:mcp error ?-?\d{0,6}: ?)?method not found\b", 0.86),
    # Money and allowances; before the rate limits, which the same services answer with the same status.
    _rate("quota limit", r"(?:quota|limit)\b.{0,160}\b(?:per|/) ?(?:\d+ )?(?:sec|min|hour)"),
    _rate("secondary", r"secondary rate limit"),
    _rate("calls requests queries", r"(?:calls?|requests?|queries) (?:per|/) ?(?:\d+ )?(?:sec|min|hour)"),
    _quota("quota", r"(?:exceeded|insufficient|out of|over|reached)\b.{0,30}\bquota|quota\b.{0,60}(?:exceeded|exhausted|used up|reached|insufficient|overrun)"),
    _quota("billing", r"enable billing|billing (?:hard |soft )?(?:limit|account|is (?:not|dis)|issue|error|inactive)|check your plan and billing|billing (?:has )?not (?:been )?enabled"),
    _quota("credit credits", r"(?:run |ran )?out of (?:api )?credits?|(?:no|insufficient|not enough|zero) (?:api )?credits?\b|credit (?:limit|balance) (?:\w+ ){0,2}(?:reached|exceeded|too low|exhausted|is)|credits? (?:exhausted|depleted|used up)|purchase (?:more )?credits"),
    _quota("daily monthly weekly yearly annual plan usage spending spend free account trial", r"(?:daily|monthly|weekly|yearly|annual|plan'?s?|usage|spend(?:ing)?|free[ -]tier|account|trial|hard|request) (?:\w+ ){0,3}(?:limit|quota|cap|allowance|allotment)s?\b.{0,40}(?:reached|exceeded|hit|exhausted|used up)"),
    _quota("reached exceeded hit used", r"(?:reached|exceeded|hit|used up|used all)\b.{0,40}\b(?:daily|monthly|weekly|annual|plan|usage|spending|free[ -]tier|account|subscription)(?:'s)? (?:\w+ ){0,3}(?:limit|quota|cap|allowance|credit|request)"),
    _quota("upgrade", r"\bupgrade (?:your|to a|the|to the) (?:\w+ ){0,2}(?:plan|subscription|account|tier)|please upgrade"),
    _quota("payment", r"\bpayment required\b|402 payment"),
    _quota("space disk storage mailbox", r"no space left|disk (?:is )?full|disk quota|storage (?:limit|quota|is full|full)|database or disk is full|mailbox (?:is )?(?:full|over)|insufficient storage"),
    _quota("trial subscription", r"(?:trial|subscription|licen[cs]e|plan) (?:period )?(?:has |is )?(?:expired|ended|lapsed|inactive)"),
    _quota("maxmemory", r"used memory > 'maxmemory'|oom command not allowed"),
    # Throttling.
    _rate("rate", r"\brate[ -_]?limit(?:ed|ing|s)?\b|\brate exceeded|request rate|\bper-?second rate|exceeded .{0,30}\brate\b"),
    _rate("ratelimit ratelimited throttled throttling throttle throttl flood", r"\bratelimit|\bthrottl|flood (?:wait|control)"),
    _rate("many", r"too many (?:\w+ ){0,2}(?:request|call|attempt|quer(?:y|ies)|message|login)s?\b|\btoomanyrequests\b"),
    _rate("toomanyrequests", r"toomanyrequests"),
    _rate("quickly fast frequent frequently slow often", r"too (?:quickly|fast|frequent(?:ly)?|often)\b|\bslow down\b"),
    _rate("requests", r"(?:max(?:imum)?|limit) .{0,30}(?:concurrent )?requests .{0,20}(?:reached|exceeded|per)|request limit (?:reached|exceeded)|reduce your request"),
    _rate("concurrent concurrency", r"concurren(?:t|cy) .{0,40}(?:limit|exceeded|reached)|(?:limit|maximum) .{0,30}concurren"),
    _rate("throughput", r"throughput\b.{0,40}exceeded"),
    # The contract with the service changed.
    _drift("version", r"api[ -]?version .{0,60}(?:not |no longer |un)supported|(?:unsupported|unknown|invalid|deprecated) api[ -]?version|version .{0,40}(?:is |has been |was )?(?:no longer supported|deprecated|retired|sunset|discontinued)"),
    _drift("renamed", r"(?:was|been|is) renamed (?:to|in)"),
    _drift("longer", r"(?:endpoint|api|route|method|resource|field|parameter|operation|version|service)\b.{0,60}no longer (?:supported|available|exists?|accepted|valid|offered)|no longer supported"),
    _drift("deprecated retired sunset discontinued decommissioned", r"(?:endpoint|api|route|method|version|model|operation|service)\b.{0,60}(?:deprecated|retired|sunset|discontinued|decommissioned)|(?:deprecated|retired|sunset|discontinued) (?:endpoint|api|route|method|version|operation)"),
    _drift("removed moved gone", r"(?:endpoint|api|route|get|post|put|delete|patch|field|operation)\b.{0,80}(?:was|has been|have been|been|is) (?:permanently )?(?:removed|moved)|\b410 gone\b|permanently (?:removed|gone|moved)"),
    _drift("route endpoint path url", r"(?:no |unknown |unrecognized |invalid |no such )(?:api )?(?:route|endpoint|request url)s?\b|(?:route|endpoint)\b.{0,60}(?:not found|does not exist|doesn't exist)|unrecognized request url|invalid url \((?:get|post|put|delete|patch)"),
    _drift("query", r"cannot query field"),
    _drift("cannot", r"^(?:.{0,60}\b)?cannot (?:get|post|put|delete|patch) /"),
    _drift("response answer reply result output payload json api body", r"(?:unexpected|unrecognized|changed|unknown|different) (?:api )?(?:response|answer|reply|result|output|payload|json|body|data) (?:format|shape|schema|structure|type|field)"),
    _drift("response answer reply result output payload api body", r"(?:response|answer|reply|result|output|payload|api|body)\b.{0,80}(?:(?:missing|lacks|without|has no|did not (?:contain|include)|does(?: not|n't) (?:contain|include|have)|no longer (?:has|contains)) (?:a |an |the |required |expected |any )?(?:\w+ )?(?:key|field|property|attribute|column|element)?|(?:field|key|property)\b.{0,40}(?:is |was )?(?:missing|not found|absent|renamed))"),
    _drift("missing key field expected", r"(?:missing|expected|no) (?:key|field|property|attribute|column)s?\b.{0,60}\bin (?:the )?(?:\w+ ){0,2}(?:response|answer|reply|result|output|payload|body)|(?:key|field|property)\b.{0,40}(?:missing|not present|absent) (?:from|in) (?:the )?(?:\w+ ){0,2}(?:response|answer|reply|result|output|payload)"),
    _drift("returned sent gave", r"(?:returned|sent|gave)\b.{0,60} as \w+, (?:but )?expected"),
    _drift("output", r"output validation error|structured content does not match|outputschema|output schema"),
    _drift("schema", r"schema (?:mismatch|changed|drift|version)|does not match (?:the )?(?:expected |response )?schema"),
    _drift("upgrade", r"426 upgrade required"),
    _drift("statuscode unimplemented", r"\bunimplemented\b", 0.8),
)
SECOND: tuple[Phrase, ...] = (
    # Argument validation, as validators word it.
    _bad("validation", r"\d+ validation errors? for|input validation error|validation error(?:s)?:|\bvalidation failed"),
    _bad("invalid_type expected received code invalid", r"\"?code\"?: \"?(?:invalid_|too_small|too_big|unrecognized_keys)"),
    _bad("arguments argument parameters args params input", r"^function [\w.-]{1,64} arguments:|(?:arguments?|parameters?|args|params|input|request body)\b[^\n]{0,60}(?:not valid json|invalid json|is not json|as json|could not be parsed|malformed)|pars\w* (?:\w+ ){0,3}(?:arguments?|parameters?|args|params|input|request)\b", 0.93),
    _bad("invoking", r"error invoking tool\b.{0,200}with error"),
    _bad("missing required", r"missing \d+ required|missing (?:a )?required|required (?:argument|parameter|field|propert|option|input|query|value)\w*|is a required|field required|\bare required\b|\bis required\b|must (?:provide|specify|supply|include|contain|have)\b"),
    _bad("unexpected", r"unexpected keyword argument|got an unexpected|unexpected argument|unexpected (?:parameter|property|field)"),
    _bad("takes", r"takes (?:exactly |at (?:least|most) |from )?\d+ (?:to \d+ )?(?:positional )?argument"),
    _bad("type", r"is not of type|invalid type|wrong type|type mismatch|expected type|incorrect type"),
    # The answer could not be read.
    _broken("expecting", r"expecting (?:value|property name|',' delimiter|':' delimiter)|expecting .{0,20}: line \d+ column"),
    _broken("unterminated extra", r"unterminated string|extra data: line"),
    _broken("json", r"(?:not|isn't|invalid|malformed|broken|truncated|bad) (?:valid )?json|json (?:parse|decod|pars)\w*|json\.decoder|in json at position|end of json|expected json but|instead of json|as json\b|json(?:decode)? ?error|is not valid json|non-json|parse json"),
    _broken("token", r"unexpected token .{0,40}(?:in json|is not valid)|unexpected token <|end of json input|in json at position", 0.92),
    _broken("html", r"(?:got|received|returned|was|but|is) (?:an? )?html|html (?:page )?instead|unexpected mimetype|text/html"),
    _broken("mimetype", r"unexpected mimetype"),
    _broken("response answer reply body data feed content message payload", r"(?:invalid|malformed|corrupt(?:ed)?|garbled|truncated|incomplete|unparseable|unreadable|unparsable|undecodable) (?:\w+ ){0,2}(?:response|answer|reply|body|data|feed|content|payload)|(?:could not|couldn't|cannot|can't|failed to|unable to) (?:parse|decode|read|deserialize) (?:\w+(?:'s)? ){0,4}(?:response|answer|reply|body|feed|content|payload)|response .{0,40}(?:could not be|cannot be|can't be) (?:parsed|decoded|read)", 0.7),
    _broken("complete incomplete", r"without sending complete|incomplete (?:read|message|chunked)|incompleteread"),
    _broken("premature closed eof outstanding", r"premature (?:eof|end|close)|closed with outstanding|payload is not completed|unexpected end of (?:data|stream|input|archive|json)"),
    _broken("chunk invalidchunklength decompressing header mangled gzip content-encoding encoding", r"invalidchunk|invalid chunk|while decompressing|incorrect header check|not a gzip|failed to decode it"),
    _broken("codec utf", r"codec can'?t decode|invalid (?:start|continuation) byte|not valid utf|invalid utf"),
    _broken("output", r"(?:could not|couldn't|failed to|unable to) parse (?:the )?(?:llm |model |agent )?output"),
    _broken("zip", r"not a zip file|bad zip|bad magic number"),
    _broken("status", r"bad ?status ?line|illegal status line"),
    _broken("while parsing parse", r"while (?:parsing|scanning) a|mismatched tag|not well-formed|no element found|xml parse|yaml parse"),
    # Who may do what.
    _auth("unauthorized unauthorised unauthenticated", r"\bunauthori[sz]ed\b|\bunauthenticated\b"),
    _auth("authorized authorised", r"not authori[sz]ed"),
    _auth("denied", r"(?:permission|access|authori[sz]ation|authentication|pull access|requested access .{0,40}) (?:is |was )?denied|accessdenied|denied access"),
    _auth("forbidden", r"\bforbidden\b"),
    _auth("authentication authenticate authenticated auth", r"(?:authentication|authenticate|auth)\b.{0,30}(?:fail|required|error|invalid|expired|needed|rejected|failure|missing|method)|not authenticated|requires? authentication|failed to authenticate|unable to authenticate|must be (?:called with the client already )?authenticated|re-?authenticate|no auth"),
    _auth("authorization", r"authorization (?:failed|required|error|header|denied)|(?:missing|invalid|no) authorization"),
    _auth("key", r"(?:invalid|incorrect|missing|expired|bad|no|wrong|revoked) (?:api|access|secret|account|subscription)[ _-]?key|api[ _-]?key (?:\w+ ){0,4}(?:invalid|expired|missing|required|not|incorrect|revoked|disabled)|(?:provide|set|check|supply) (?:an? |your |the |valid )*api[ _-]?key|publickey|host key verification"),
    _auth("token tokens jwt", r"(?:invalid|expired|missing|bad|revoked|no|malformed) (?:\w+ )?(?:token|jwt)\b|(?:token|jwt) (?:\w+ ){0,4}(?:expired|invalid|revoked|missing|not valid|rejected|denied)|personal access token|security token|token is no longer"),
    _auth("credential credentials", r"credentials?\b"),
    _auth("password username login passphrase", r"(?:invalid|incorrect|wrong|bad) (?:user ?name|user|login|password|passphrase)|password authentication|login (?:incorrect|failed|required)|(?:must|please|need to) (?:be )?(?:log|sign)(?:ged)? ?in|password (?:is )?(?:incorrect|invalid|wrong)|could not read (?:username|password)"),
    _auth("permission permissions privilege privileges scope scopes role roles", r"(?:insufficient|lacks?|missing|without|not have|no|required|requires?|needs?|inadequate|sufficient|don't have|doesn't have|need)\b.{0,40}\b(?:permission|privilege|scope|access rights|role)s?\b|requires role|permissions? (?:error|required)"),
    _auth("session", r"session (?:\w+ ){0,3}(?:expired|timed out|invalid)|invalid session"),
    _auth("accessible", r"not accessible by"),
    _auth("access", r"(?:not|n't) (?:have|allowed) (?:\w+ ){0,3}access|no access to|not allowed to access|access (?:is )?(?:restricted|blocked|forbidden|revoked)|access to .{0,60} denied"),
    _auth("allowed permitted", r"not (?:allowed|permitted) to (?:perform|do|view|read|write|use|execute|access|list|create|delete|modify|update)|operation not permitted|not permitted"),
    _auth("certificate certificates x509 cert", r"certificate (?:verify failed|required|has expired|unknown|revoked|is not trusted|signed by|problem)|certificate_(?:verify|required|unknown|expired)|x509|self[- ]signed|client certificate|alert (?:bad |unknown )?certificate|ssl certificate|certificate is not valid|hostname mismatch"),
    _auth("signature", r"signature (?:\w+ ){0,4}(?:not match|invalid|mismatch|expired|failed)|invalid signature"),
    _auth("admin administrator owner", r"(?:only|must be|requires?|need) (?:an? |the )?(?:admin|administrator|owner)s?\b|admin(?:istrator)? (?:rights|access|privileges) "),
    _auth("read-only readonly", r"read-?only (?:file ?system|database)", WEAK),
    _auth("captcha", r"captcha|are you a robot|bot detection"),
    # Time.
    _timeout("timed", r"\btimed[ -]?out\b"),
    _timeout("timeout", r"connect(?:ion)? timeout|timeout (?:while|when) (?:connecting|acquiring)|connecttimeout|pool timeout", 0.86, reached=False),
    _timeout("timeout timeouts", r"\b(?:request|read|gateway|socket|query|statement|operation|execution|command|upstream|server|response|network|write|lock wait|navigation|script|tool|i/o) time-?out\b|\btimeout (?:of|after|exceeded|error|expired|reached|waiting|while|when|occurred|reading|connecting|was reached|\d)|statement timeout|^timeout\b|(?:due to|because of|hit|reached|with|:) (?:a |the )?timeout\b|\btimeouterror\b|wait timeout|\btimeout$|\btimeout[.!]"),
    _timeout("deadline", r"deadline (?:exceeded|expired|was exceeded|reached|passed)|within the (?:deadline|time)|exceeded (?:the |its )?deadline|before (?:the )?deadline"),
    _timeout("respond response answer", r"(?:did not|didn't|failed to|not) (?:respond|answer|reply|receive a response) (?:in time|within|before)|no (?:response|answer|reply) (?:\w+ ){0,3}(?:within|after|in) \d|took too long|response took"),
    _timeout("long", r"(?:took|taking|running|ran|run) (?:for )?too long"),
    _timeout("time", r"(?:exceeded|over|hit|reached) (?:the |its |maximum |max )*(?:execution |processing |run ?)?time(?: limit)?\b|time limit (?:exceeded|reached|of)|maximum (?:statement )?execution time|execution time (?:exceeded|limit)|ran out of time|time-?out"),
)
THIRD: tuple[Phrase, ...] = (
    # Nobody answers, or not now.
    _down("refused", r"connection (?:was )?refused|refused (?:the |to )?connect|\brefused\b.{0,20}connection|was refused - did you|connection to .{0,80} (?:was )?refused"),
    _down("reset", r"connection (?:was )?reset|reset by peer", reached=True),
    _down("closed disconnected dropped lost broken aborted terminated hung interrupted", r"connection (?:\w+ ){0,4}(?:closed|lost|dropped|aborted|terminated|interrupted|broken)|(?:lost|closed|dropped) connection|connection aborted|disconnected|broken pipe|socket hang up|hung up|closed by (?:the )?(?:remote|peer|server|foreign)|closed the connection|end of closed by|remote end closed|(?:transport|stream|channel|socket|pipe|session|browser) (?:is |was |has been |closed|already )*closed|has been closed", reached=True),
    _down("broken", r"broken pipe", reached=True),
    _down("resolve resolved resolution getaddrinfo dns nodename hostname name", r"(?:could not|couldn't|cannot|can't|failed to|unable to) resolve|name (?:or service not known|resolution)|getaddrinfo|name or service|dns (?:error|lookup|resolution|failure|server)|nodename nor servname|no address associated|err_name_not|could not be resolved|name does not resolve|no such host|unknown host"),
    _down("host hosts unknownhost", r"no such host|unknown host|no route to host|host is (?:down|unreachable)|host unreachable|unknownhost"),
    _down("unreachable reachable reached reach", r"unreachable|not (?:be )?reach(?:able|ed)|(?:could not|couldn't|cannot|can't|unable to|failed to) reach|no servers could be reached"),
    _down("connect connecting", r"(?:could not|couldn't|cannot|can't|unable to|failed to|failure to) (?:\w+ ){0,2}connect|error connecting|problem connecting|failed connecting|trouble connecting|not connect to"),
    _down("connection", r"connection (?:issue|problem|error|failed|failure|attempt failed|could not be established|not established|slots|pool)|(?:failed to|could not|unable to|cannot) (?:establish|open|create|obtain|acquire) (?:an? )?(?:\w+ )?connection|no (?:internet |network )?connection|\bconnectionerror\b|apiconnectionerror", 0.82, reached=False),
    _down("network", r"network (?:error|is unreachable|issue|problem|failure|down|unavailable|connection)|net::err"),
    _down("err_connection_refused err_name_not_resolved err_connection_reset err_internet_disconnected", r"err_\w+"),
    _down("unavailable", r"(?:service|server|system|resource|host|database|api|backend|upstream|site|tool|model|engine|currently|temporarily|is|are|was|feature) (?:is |are |was )?(?:\w+ )?(?:temporarily |currently )?unavailable|\b503\b|^unavailable|statuscode\.unavailable|unavailable\.?$"),
    _down("available", r"(?:temporarily|currently) not available|(?:service|server|system|api|database) (?:is |are )?(?:\w+ )?not available"),
    _down("maintenance", r"maintenance"),
    _down("down outage offline", r"\b(?:service|server|system|site|api|backend|database|gateway|portal|network|provider)s? (?:\w+ )?(?:is |are |seems |appears |may be |temporarily |currently )*(?:down|offline)\b|temporarily (?:down|offline)|is (?:currently )?(?:down|offline)\b|\boutage\b"),
    _down("overloaded overload capacity busy", r"overload|(?:at|over|exceeds?|insufficient) capacity|capacity (?:exceeded|reached)|(?:server|system|service|device|resource|redis|database|worker|line)s? (?:is |are |or resource |too )*(?:currently |too )*busy|\bbusy\b.{0,30}(?:try|later|script)|too busy"),
    _down("locked lock deadlock", r"(?:database|table|index|schema)(?: table)? is locked|could not (?:obtain|acquire) (?:a |the )?lock|deadlock|unable to (?:obtain|acquire|lock)|failed to acquire lock|another git process|state lock|dpkg frontend lock"),
    _down("serialize serialization", r"could not serialize access|serialization failure"),
    _down("many", r"too many (?:\w+ )?(?:connections|clients|open files|sessions)"),
    _down("starting startup loading shutdown shutting", r"(?:is )?starting up|still loading|(?:dataset|model|redis) (?:is |\w+ )?(?:currently )?loading|(?:server|system) (?:\w+ )?(?:shutdown|shutting down)|shutdown in progress|terminating connection|not (?:yet )?ready", reached=False),
    _down("daemon", r"cannot connect to the docker daemon|daemon (?:is )?(?:not )?running"),
    _down("broker brokers primary leader", r"no (?:primary|leader|brokers?)\b|not (?:the )?(?:primary|leader|master)|read only replica|readonly you can't write"),
    _down("empty", r"empty reply from server", reached=True),
    _down("ssl eof handshake tls", r"eof occurred in violation|ssl connect error|handshake fail|wrong version number|unexpected_eof|tls handshake"),
    _server("internal", r"internal(?: server|_server)?[ _](?:error|failure|exception|fault)|internalerror|\binternal error"),
    _server("server", r"server (?:had an |encountered an |side )?(?:error|exception|fault)|server encountered|error on (?:our|the server)|unhandled (?:server )?exception"),
    _server("gateway", r"bad gateway"),
    _server("segmentation killed core memory oom oomkilled sigkill signal signals signal.sigkill", r"segmentation fault|core dumped|out of memory|oom[- ]?killed|cannot allocate memory|\bkilled\b$|died with|sigkill|sigsegv|memory exhausted|memory limit|cuda error|allocate memory"),
    _server("process worker", r"(?:process|worker) (?:\w+ ){0,4}(?:terminated abruptly|crashed|died|was killed|exited unexpectedly)"),
    _server("crash crashed panic", r"\bpanic:|\bcrashed\b|panicked"),
    _server("input/output i/o disk output", r"input/output error|disk i/o error|i/o error"),
    _server("image", r"database disk image is malformed"),
    _server("unexpected went", r"unexpected (?:server |backend )error|unexpected error (?:\w+ ){0,2}(?:on|in) (?:the )?server|something went wrong on our (?:side|end)"),
    _server("upstream backend", r"(?:upstream|backend) (?:\w+ ){0,2}(?:error|failure|failed)"),
)
