"""How texts begin, and how whole sentences read, that are errors; and how texts read that are not."""

from __future__ import annotations

import re
from functools import cache

WRAPPED = re.compile(
    r"(?:error|failed|failure)(?: while| when| during| in)? (?:executing|invoking|calling"
    r"|running|using|in|from)? ?"
    r"(?:the )?(?:tool|function|command|action|query"
    r"|method)s?\b ?[\"'`]?([\w./-]{0,60})[\"'`]?(?: with [^\n]{0,200}?)?\s*[:\-\u2013]\s*",
    re.IGNORECASE,
)
MARK = re.compile(
    r"[\s\W]{0,6}(?:"
    r"(?:[\w.'/-]{1,30} ){0,3}?(?:error|exception"
    r"|failure)s?(?: \d{3,5})?(?: \(\w{5}\))?[\s*]{0,3}[:\uff1a!](?!\d)"  # "Error:", "API error 410:"
    r"|(?:error|err!?|fatal|critical|panic|failed|failure|fehler|erreur|erro|errore|error:)\s?[:\uff1a!\]]"
    r"|error (?:code|\d{3}\b|executing|invoking|calling|running|while|when|during|occurred|from"
    r"|in tool|fetching|reading"
    r"|processing|getting|creating|updating|loading|parsing|opening|connecting|retrieving"
    r"|performing|sending|searching)\b"
    r"|an? (?:\w+ )?(?:error|exception) (?:has )?(?:occurred|happened|was)"
    r"|(?:\w+(?:\.\w+)*\.)?[A-Z]\w{1,60}(?:Error|Exception|Timeout|Failure|Exceeded|Refused)\b ?[:(]"
    r"|traceback \(most recent call last\)"
    r"|(?:[\w']+ ){0,3}(?:returned|responded with|answered(?: with)?"
    r"|replied with)(?: an?)?(?: error)?(?: http)?(?: status)?(?: code)? ?[45]\d\d\b(?=\s*"
    r"(?:[:{(\-\u2013]|$|error|(?-i:[A-Z])))"
    r"|http(?:/\d(?:\.\d)?)?(?: error| status)?[ :]{1,2}[45]\d\d\b"
    r"|status(?: code)?[ :=]{1,2}[45]\d\d\b|[45]\d\d\b[ :]{1,2}(?:[{\"]|client error"
    r"|server error)"
    r"|npm err!|fatal: |(?:\w+: )?error response from daemon|error from server|e: "
    r"|curl: \(\d+\)|error\[|\(error\) |request failed with status"
    r"|错误|錯誤|出错|失败|エラー|异常|例外[:\uff1a]"
    r")",
    re.IGNORECASE,
)
FAILED = re.compile(
    r"[\s\W]{0,4}(?:failed to |failure to |could not |couldn't |cannot |can't |can not "
    r"|unable to |unknown |invalid |unsupported |missing "
    r"|access denied|permission denied|command (?:failed|timed)|exit code [1-9-]"
    r"|exited with (?:code|status) [1-9-]|process exited|tool ['\"`]"
    r"|no such |not (?:authori|found|allowed)|unauthorized|forbidden|input validation"
    r"|validation (?:error|failed)|expected json"
    r"|your (?:proposed edit|last|api key|account|session|token|credit|request|quota)"
    r"|you (?:have (?:exceeded|reached|no |insuff|run out)|are (?:not|being)|do not|don't|must"
    r"|need|exceeded|reached)"
    r"|request (?:failed|timed|error|rejected|was)|connection (?:refused|reset|closed|error"
    r"|failed|timed|aborted|lost)|something went wrong|oops|unhandled"
    r"|operation (?:failed|timed|not)|execution (?:failed|timed|error)|tool execution (?:failed"
    r"|error)|failed\b|timed? ?out|timeout|server |service |the (?:server|service|api|request"
    r"|tool|operation|model) "
    r"|rate limit|too many|quota|internal |bad (?:gateway|request|credentials)|gateway |usage: )",
    re.IGNORECASE,
)
# Openings after which nothing else has to be looked at: no document begins like this.
STRONG = re.compile(
    r"(?:failed to (?:fetch|retrieve|get|load|parse|decode|connect|create|update|read|open"
    r"|execute|generate|delete|send|find|process|authenticate)|(?:could not|couldn't|cannot"
    r"|unable to) (?:connect|fetch|parse|decode|reach|retrieve|resolve|load)\b"
    r"|unknown tool|tool ['\"`][^'\"`\n]{1,60}['\"`] (?:not|is not|does not)|expected json"
    r"|input validation error|your proposed edit|command timed out|unhandled errors? in)",
    re.IGNORECASE,
)
CLI_TOOL = re.compile(
    r"git|npm|pip|docker|kube|k8s|helm|terraform|cargo|make|aws|gcloud|apt|brew|yarn|bash|shell"
    r"|terminal|exec|command|run|install|push|merge|cli|deploy|build",
    re.IGNORECASE,
)
CLI_LINE = re.compile(
    r"^(?:fatal|error|npm err!|e|err!)(?::| code | )|^conflict \(|^! \[(?:remote )?rejected\]", re.IGNORECASE
)
# A text of these shapes talks about something else, whatever words it uses.
NOT_ERROR = re.compile(
    r"\bkein\w* (?:\w+ )?(?:fehler|problem|konflikt)|\b(?:sin|no (?:hay"
    r"|se encontraron)) (?:\w+ )?(?:error|problem|conflict)|aucune? (?:\w+ )?(?:erreur|probl"
    r"|conflit)|->|→|=>|\?(?:\s|$)|^\s*#|^\s*\||^\s*(?:\d{1,2}:\d{2}|\d{4}-\d\d-\d\d|\[\d)"
    r"|^\s*[-*] |\bsuccess|\bno errors?\b|\b0 (?:errors?|failed|failures)\b"
    r"|\bresolved\b|\bfixed\b|\bfailed[: ]{1,2}0\b|\bpassed\b|^v?\d+\.\d+\.\d+|\bwas issued\b"
    r"|\bconfirmed\b",
    re.IGNORECASE,
)
ABOUT = re.compile(
    r"^(?!.*(?:send|create|update|post|delete|write|save|publish|generate))(?:.*[_\W])?(?:docs?"
    r"|documents?|articles?|page|faq|lyrics|policy|policies|summar\w*|translat\w*|explain\w*"
    r"|emails?|mail"
    r"|contract|notes?|logs?|books|wiki|wikipedia|manual|terms|rules?|guides?|guidelines?"
    r"|instructions?|description|help|titles?|names?|artists?|songs?|movies?|albums?|repl(?:y"
    r"|ies)|caption|headlines?|readme|news|transcript|reviews?|story|release|changelog|define"
    r"|dictionary|definition|quotes?|joke|poem|comments?|think|thought)(?:$|[_\W])",
    re.IGNORECASE,
)
# Whole sentences that are errors without a mark: searched from the beginning of the lower-cased, unquoted text.
_SENTENCES: tuple[str, ...] = (
    r"(?:[^\s:]{1,30} ){0,6}timed[ -]?out\b[^\n]{0,120}$|(?:the )?(?:request|gateway"
    r"|connection|read|query|server|operation|execution|socket|lock wait|command|tool"
    r"|network|response|api|upstream) time-?out\b",
    r"execution timed out|gateway time-?out|deadline exceeded|timeout$"
    r"|[^\n:]{1,80} (?:due to|because of) (?:a |the )?time-?out\W*$",
    r"(?:connect|read|write|getaddrinfo|request|socket|listen) e[a-z]{3,20}\b"
    r"|unexpected (?:response|answer|end of|token|eof|server)|tool call exceeded",
    r"(?:http |api |global |the |request |your |you have |you've |you are |you're |we are "
    r"|sorry,? )*(?:exceeded |reached |hit |being |the |your |a |secondary "
    r"|api )*(?:rate[ -]limit|too many requests|ratelimit|throttl)",
    r"(?:[^\s:]{1,20} ){0,6}(?:(?:temporarily |currently )?unavailable|overloaded"
    r"|unreachable|down for|under maintenance|temporarily (?:down|offline))\b[^\n]{0,100}$",
    r"(?:an? )?(?:internal |unexpected |unknown |server |unhandled "
    r"|critical )+(?:server )?(?:error|exception|failure)",
    r"bad gateway|bad request|bad credentials|unauthorized|forbidden|payment required"
    r"|method not allowed|conflict$",
    r"(?:access|permission|authentication|authorization|request"
    r"|login) (?:to [^\n]{1,60} )?(?:is |was |has been )?(?:denied|failed|required|rejected"
    r"|forbidden|refused)\b[^\n]{0,100}$",
    r"(?:invalid|incorrect|expired|missing|wrong|bad|malformed|unsupported|unknown"
    r"|unrecognized) (?:[\w-]+ ){0,2}?(?:tool|function|command|error|argument|parameter"
    r"|params?|option|value|field|input|request|format|date|time|id|identifier|key|token"
    r"|credential|password|login|user|username|account|email|address|number|code|type|url"
    r"|uri|path|file|column|table|database|host|query|syntax|expression|character|signature"
    r"|session|certificate|currency|location|city|method|operation|action|state|status"
    r"|transition|version|api|json|response|header|body|reason|name|order|item|product"
    r"|customer|symbol|station|license|api-key|properties|property|arguments|parameters"
    r"|values|fields|characters|credentials|required)s?\b[^\n]{0,160}$|(?:invalid|unknown"
    r"|unsupported|missing) [^\n:]{1,40}: [^\n]{1,120}$",
    r"(?:your |the |this )?(?:api |access |auth |security |session )*(?:key|token|session"
    r"|credentials?|license|subscription) (?:is |are |has |have |was )?(?:invalid|expired"
    r"|missing|revoked|not valid|incorrect|required)",
    r"(?:insufficient|not enough|no (?:more )?credits|out of)\b[^\n]{1,120}$",
    r"(?:you |your account |account |user )?(?:has |have |do(?:es)? )?(?:not|n't|no"
    r"|insufficient) (?:have )?(?:\w+ )?(?:permission|access|authoriz|privilege|rights"
    r"|quota|credit)",
    r"(?:failed|failure|unable|cannot|can't|could not|couldn't) (?:to )?[^\n]{2,180}$",
    r"(?:connection|connect|network|socket|dns|ssl|tls)\b[^\n]{0,60}(?:refused|reset|closed"
    r"|lost|aborted|failed|failure|error|broken)\b[^\n]{0,100}$",
    r"(?:something|oops|oh no|sorry|unfortunately)\b[^\n]{0,40}(?:wrong|work|error|fail"
    r"|unable|could|cannot|can't)",
    r"oops\b",
    r"(?:operation|execution|command|request|action|call|tool|tool call|tool execution"
    r"|process|query|job|task|upload|update|search|it|this)?(?: has| was"
    r"| execution)? ?(?:failed|aborted|unsuccessful|errored)\b[^\n]{0,60}$",
    r"(?:fehler|erreur)[.!]?$|error\.?$|err$|failure\.?$|failed\.?$|exception\.?$|unknown error|error occurred|fail$",
    r"unhandled (?:errors?|exception)|unknown (?:tool|function|error|command)",
    r"[\w.'/-]{1,60} is not a valid tool",
    r"nothing (?:was )?found|query executed[^\n]{0,40}\b0 rows|(?:found|returned) (?:0"
    r"|no) (?:results?|matches|rows|records|items|documents)|empty (?:result|set|response)"
    r"|search returned no|exit code 1 \(no",
    r"(?:your |the )?(?:account |credit |monthly |daily |api |plan |free |usage |storage "
    r"|sending )*(?:quota|credits?|balance|limit|allowance)\b[^\n]{0,40}(?:exceeded|reached"
    r"|exhausted|used up|run out|too low|insufficient|ran out)",
    r"you (?:have |'ve )?(?:exceeded|reached|run out|used (?:up|all)|hit)\b[^\n]{0,120}$",
    r"(?:[\w#@-]+ ){0,6}already (?:exists?|been|in use|taken|registered|cancell?ed|closed"
    r"|archived|in status|in state)\b[^\n]{0,80}$",
    r"your (?:proposed edit|last `?)",
    r"es ist ein (?:\w+ )?fehler|ein (?:\w+ )?fehler ist|unbekannter fehler"
    r"|se (?:ha )?produ(?:jo|cido) un error|(?:ha )?ocurri(?:do|ó) un error"
    r"|error (?:interno|desconocido|inesperado)|une erreur|erreur (?:interne|inconnue"
    r"|inattendue)",
)


@cache
def failing() -> tuple[re.Pattern[str], ...]:
    """Return the whole sentences that are errors without a mark; compiled at first use."""
    return tuple(re.compile(pattern) for pattern in _SENTENCES)


# Sentences that are errors only when their words say which: "no X found" may be good news.
_SAYING: tuple[str, ...] = (
    r"(?:the |this |that |your |requested |specified |given |no "
    r"|any )*[\w#@./-]*(?: [\w#@./-]+){0,7} (?:was |were |is |are |could |has |have |be "
    r"|can )*(?:not|n't) (?:be |been )?(?:found|located|exist|recognized|authorized"
    r"|permitted|registered)(?:[.!]?$|: | (?:for|in|with|on|under|matching|to"
    r"|by this) [^\n]{1,80}$|[.!;,] ?[^\n]{0,60}$)",
    r"(?:the |this |your |requested )*[\w#@./-]*(?: [\w#@./-]+){0,6} (?:does|do|did)(?: not"
    r"|n't) (?:exist|match|respond)\b[^\n]{0,60}$",
    r"(?:missing|no|zero|0) (?:\w+ ){0,4}(?:results?|matches|match|records?|rows|entries"
    r"|hits|items|documents?|data|files?)\b(?: (?:were |was |have been )?(?:found|returned"
    r"|available|matched|match|selected)\b[^\n]{0,160}|[.!]?$| (?:for|in)\b[^\n]{0,160})",
    r"no \w+(?: \w+)? (?:is )?(?:open|selected|loaded|connected)\b[^\n]{0,80}$",
    r"no [\w ,'-]{1,80} (?:found|exists?)\b[^\n]{0,120}$",
)


@cache
def saying() -> tuple[re.Pattern[str], ...]:
    """Return the sentences that are errors only when their words say which: "no X found" may be good news."""
    return tuple(re.compile(pattern) for pattern in _SAYING)


GOOD_NEWS = re.compile(
    r"^\W{0,3}(?:no|0|zero) (?:\w+ ){0,2}(?:conflict|issue|error|problem|threat|violation"
    r"|warning|vulnerabilit|duplicate|difference|change|update"
    r"|alert|incident|failure|unread|new|virus|match(?:es)? for (?:error|fail))"
)
SHELL = re.compile(
    r"(?:;; )?(?:[\w./+-]{1,60}: )?(?:line \d+: |-c: |error: |fatal: "
    r"|warning: )*[^\n]{0,160}?(?:no such file|not found|permission denied|invalid option"
    r"|missing (?:argument|operand)"
    r"|syntax error|is a directory|not a directory|file exists|cannot (?:access|stat|open"
    r"|create|remove|execute|touch|move|overwrite|delete)|unrecognized option|unexpected (?:eof"
    r"|token|character|end of file)"
    r"|must precede|operation not permitted|no space left|connection (?:refused|timed out"
    r"|reset)|could not resolve|name or service not known|temporary failure|no route to host"
    r"|illegal option|requires an argument"
    r"|input/output error|read error|is not recognized|are the same file|directory not empty"
    r"|device or resource busy|broken pipe|killed|segmentation fault|omitting directory"
    r"|bad substitution|ambiguous redirect"
    r"|try '[^'\n]{1,60}--help'|extra operand|unknown (?:primary|predicate|option|host)"
    r"|invalid (?:number|argument|mode|character|user|regular)|command not found"
    r"|no servers could be reached|runaway)",
    re.IGNORECASE,
)
SHELL_OPENS = re.compile(r"(?:;; \w|[\w./{}$()*+~-]{1,60}: (?:line \d+: |-c: |[\w./'`\u2018\"-]+))")
FILE = re.compile(r"file|content|text|source|code|blob|snippet|output", re.IGNORECASE)
NO_PLURAL = re.compile(
    r"no (?!sql|code)(?:\w+ ){0,3}\w+s (?:were |was )?(?:found|available|matched)\b(?! with (?:the "
    r"|this |that )?(?:id|name|number|email))"
)
EUROPEAN_SENTENCE = 140
REFUSES = re.compile(r"kann nicht|no se puede|no puede|ne peut (?:pas|plus)|impossible|nicht möglich")
ASIAN_REFUSES = re.compile("无法|不能|不可|失败|错误|不允许|不足|先|できません|不可|エラー|ません")
ASIAN_SENTENCE = 60
ASIAN_NOT = re.compile("成功|完了|[\uff1a:] ?0(?![0-9.])|0件|[次数]0(?![0-9.])")
