"""Whether a plain text is an error at all. Documents, logs and notes talk about errors too, so the bar is high:

a text is an error when it begins with an error's mark, or is short and as a whole an error's sentence.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from btm.classify import foreign, texts
from btm.classify.finding import WEAK, Finding
from btm.model import ErrorKind as K

HEAD = 400
SENTENCE = 220
"""Characters up to which an unmarked text may be an error as a whole."""


class Opening(NamedTuple):
    """What the beginning of a text shows: ``rest`` is what follows the mark; ``firm`` marks need no words after."""

    rest: str
    firm: bool


_WRAPPED = re.compile(
    r"(?:error|failed|failure)(?: while| when| during| in)? (?:executing|invoking|calling|running|using|in|from)? ?"
    r"(?:the )?(?:tool|function|command|action|query|method)s?\b ?[\"'`]?([\w./-]{0,60})[\"'`]?(?: with [^\n]{0,200}?)?\s*[:\-–]\s*",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"[\s\W]{0,6}(?:"
    r"(?:[\w.'/-]{1,30} ){0,3}?(?:error|exception|failure)s?(?: \d{3})?[\s*]{0,3}[:：!](?!\d)"  # "Error:", "API error 410:"
    r"|(?:error|err!?|fatal|critical|panic|failed|failure|fehler|erreur|erro|errore|error:)\s?[:：!\]]"
    r"|error (?:code|\d{3}\b|executing|invoking|calling|running|while|when|during|occurred|from|in tool|fetching|reading"
    r"|processing|getting|creating|updating|loading|parsing|opening|connecting|retrieving|performing|sending|searching)\b"
    r"|an? (?:\w+ )?(?:error|exception) (?:has )?(?:occurred|happened|was)"
    r"|(?:\w+(?:\.\w+)*\.)?[A-Z]\w{1,60}(?:Error|Exception|Timeout|Failure|Exceeded|Refused)\b ?[:(]"
    r"|traceback \(most recent call last\)"
    r"|(?:[\w']+ ){0,3}(?:returned|responded with|answered(?: with)?|replied with)(?: an?)?(?: error)?(?: http)?(?: status)?(?: code)? ?[45]\d\d\b"
    r"|http(?:/\d(?:\.\d)?)?(?: error| status)?[ :]{1,2}[45]\d\d\b|status(?: code)?[ :=]{1,2}[45]\d\d\b|[45]\d\d\b[ :]{1,2}(?:[{\"]|client error|server error)"
    r"|npm err!|fatal: |(?:\w+: )?error response from daemon|error from server|e: |curl: \(\d+\)|error\[|\(error\) |request failed with status"
    r"|错误|錯誤|出错|失败|エラー|异常|例外[:：]"
    r")",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"[\s\W]{0,4}(?:failed to |failure to |could not |couldn't |cannot |can't |can not |unable to |unknown |invalid |unsupported |missing "
    r"|access denied|permission denied|command (?:failed|timed)|exit code [1-9-]|exited with (?:code|status) [1-9-]|process exited|tool ['\"`]"
    r"|no such |not (?:authori|found|allowed)|unauthorized|forbidden|input validation|validation (?:error|failed)|expected json"
    r"|your (?:proposed edit|last|api key|account|session|token|credit|request|quota)|you (?:have (?:exceeded|reached|no |insuff|run out)|are (?:not|being)|do not|don't|must|need|exceeded|reached)"
    r"|request (?:failed|timed|error|rejected|was)|connection (?:refused|reset|closed|error|failed|timed|aborted|lost)|something went wrong|oops|unhandled"
    r"|operation (?:failed|timed|not)|execution (?:failed|timed|error)|tool execution (?:failed|error)|failed\b|timed? ?out|timeout|server |service |the (?:server|service|api|request|tool|operation|model) "
    r"|rate limit|too many|quota|internal |bad (?:gateway|request|credentials)|gateway |usage: )",
    re.IGNORECASE,
)
# Openings after which nothing else has to be looked at: no document begins like this.
_STRONG = re.compile(
    r"(?:failed to (?:fetch|retrieve|get|load|parse|decode|connect|create|update|read|open|execute|generate|delete|send|find|process|authenticate)|(?:could not|couldn't|cannot|unable to) (?:connect|fetch|parse|decode|reach|retrieve|resolve|load)\b"
    r"|unknown tool|tool ['\"`][^'\"`\n]{1,60}['\"`] (?:not|is not|does not)|expected json|input validation error|your proposed edit|command timed out|unhandled errors? in)",
    re.IGNORECASE,
)
_CLI_TOOL = re.compile(r"git|npm|pip|docker|kube|k8s|helm|terraform|cargo|make|aws|gcloud|apt|brew|yarn|bash|shell|terminal|exec|command|run|install|push|merge|cli|deploy|build", re.IGNORECASE)
_CLI_LINE = re.compile(r"^(?:fatal|error|npm err!|e|err!)(?::| code | )|^conflict \(|^! \[(?:remote )?rejected\]", re.IGNORECASE)
# A text of these shapes talks about something else, whatever words it uses.
_NOT_ERROR = re.compile(
    r"->|→|=>|\?(?:\s|$)|^\s*#|^\s*\||^\s*(?:\d{1,2}:\d{2}|\d{4}-\d\d-\d\d|\[\d)|^\s*[-*] |\bsuccess|\bno errors?\b|\b0 (?:errors?|failed|failures)\b"
    r"|\bresolved\b|\bfixed\b|\bfailed[: ]{1,2}0\b|\bpassed\b|^v?\d+\.\d+\.\d+|\bwas issued\b|\bconfirmed\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"^(?!.*(?:send|create|update|post|delete|write|save|publish|generate))(?:.*[_\W])?(?:docs?|documents?|articles?|page|faq|lyrics|policy|policies|summar\w*|translat\w*|explain\w*|emails?|mail"
    r"|contract|notes?|logs?|books|wiki|wikipedia|manual|readme|news|transcript|reviews?|story|release|changelog|define|dictionary|definition|quotes?|joke|poem|comments?|think|thought)(?:$|[_\W])",
    re.IGNORECASE,
)
# Whole sentences that are errors without a mark: searched from the beginning of the lower-cased, unquoted text.
_SENTENCES: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:the |this |that |your |requested |specified |given |no |any )*[\w#@./-]*(?: [\w#@./-]+){0,7} (?:was |were |is |are |could |has |have |be |can )*(?:not|n't) (?:be |been )?(?:found|located|available|exist|recognized|supported|authorized|permitted|allowed|registered|valid)\b[^\n]{0,80}$",
        r"(?:the |this |your |requested )*[\w#@./-]*(?: [\w#@./-]+){0,6} (?:does|do|did)(?: not|n't) (?:exist|match|respond)\b[^\n]{0,60}$",
        r"(?:[^\s:]{1,30} ){0,6}timed[ -]?out\b[^\n]{0,120}$|(?:the )?(?:request|gateway|connection|read|query|server|operation|execution|socket|lock wait|command|tool|network|response|api|upstream) time-?out\b",
        r"execution timed out|gateway time-?out|deadline exceeded|timeout$",
        r"(?:http |api |global |the |request |your |you have |you've |you are |you're |we are |sorry,? )*(?:exceeded |reached |hit |being |the |your |a |secondary |api )*(?:rate[ -]limit|too many requests|ratelimit|throttl)",
        r"(?:[^\s:]{1,20} ){0,6}(?:(?:temporarily |currently )?unavailable|overloaded|unreachable|down for|under maintenance|temporarily (?:down|offline))\b[^\n]{0,100}$",
        r"(?:an? )?(?:internal |unexpected |unknown |server |unhandled |critical )+(?:server )?(?:error|exception|failure)",
        r"bad gateway|bad request|bad credentials|unauthorized|forbidden|payment required|method not allowed|conflict$",
        r"(?:access|permission|authentication|authorization|request|login) (?:to [^\n]{1,60} )?(?:is |was |has been )?(?:denied|failed|required|rejected|forbidden|refused)\b[^\n]{0,100}$",
        r"(?:invalid|incorrect|expired|missing|wrong|bad|malformed|unsupported|unknown|unrecognized) [^\n]{1,160}$",
        r"(?:your |the |this )?(?:api |access |auth |security |session )*(?:key|token|session|credentials?|license|subscription) (?:is |are |has |have |was )?(?:invalid|expired|missing|revoked|not valid|incorrect|required)",
        r"(?:insufficient|not enough|no (?:more )?credits|out of)\b[^\n]{1,120}$",
        r"(?:you |your account |account |user )?(?:has |have |do(?:es)? )?(?:not|n't|no|insufficient) (?:have )?(?:\w+ )?(?:permission|access|authoriz|privilege|rights|quota|credit)",
        r"(?:failed|failure|unable|cannot|can't|could not|couldn't) (?:to )?[^\n]{2,180}$",
        r"(?:connection|connect|network|socket|dns|ssl|tls)\b[^\n]{0,60}(?:refused|reset|closed|lost|aborted|failed|failure|error|broken)\b[^\n]{0,100}$",
        r"(?:something|oops|oh no|sorry|unfortunately)\b[^\n]{0,40}(?:wrong|work|error|fail|unable|could|cannot|can't)",
        r"oops\b",
        r"(?:operation|execution|command|request|action|call|tool|tool call|tool execution|process|query|job|task|upload|update|search|it|this)?(?: has| was| execution)? ?(?:failed|aborted|unsuccessful|errored)\b[^\n]{0,60}$",
        r"error\.?$|err$|failure\.?$|failed\.?$|exception\.?$|unknown error|error occurred|fail$",
        r"unhandled (?:errors?|exception)|unknown (?:tool|function|error|command)",
        r"[\w.'/-]{1,60} is not a valid tool",
        r"(?:missing|no|zero|0) (?:\w+ ){0,4}(?:results?|matches|match|records?|rows|entries|hits|items|documents?|data|files?)\b(?: (?:were |was |have been )?(?:found|returned|available|matched|match|selected)\b[^\n]{0,160}|[.!]?$| (?:for|in)\b[^\n]{0,160})",
        r"no [\w ,'-]{1,80} (?:found|available|exists?)\b[^\n]{0,120}$",
        r"nothing (?:was )?found|query executed[^\n]{0,40}\b0 rows|(?:found|returned) (?:0|no) (?:results?|matches|rows|records|items|documents)|empty (?:result|set|response)|search returned no|exit code 1 \(no",
        r"(?:your |the )?(?:account |credit |monthly |daily |api |plan |free |usage |storage |sending )*(?:quota|credits?|balance|limit|allowance)\b[^\n]{0,40}(?:exceeded|reached|exhausted|used up|run out|too low|insufficient|ran out)",
        r"you (?:have |'ve )?(?:exceeded|reached|run out|used (?:up|all)|hit)\b[^\n]{0,120}$",
        r"(?:[\w#@-]+ ){0,6}already (?:exists?|been|in use|taken|registered|cancell?ed|closed|archived|in status|in state)\b[^\n]{0,80}$",
        r"your (?:proposed edit|last `?)",
        r"(?:es ist ein fehler|ein fehler|unbekannter fehler|interner|se (?:ha )?produ|ha ocurrido|ocurri|error (?:interno|desconocido|de|del|en|al)|une erreur|erreur (?:interne|inconnue|lors|de)|demasiadas|trop de|zu viele|zugriff|acc[eè]s|acceso|permis|no (?:se|tiene|est)|nicht|keine?\b|ung[uü]ltig|aucune?\b|impossible|tiempo|d[eé]lai|zeit(?:ü|ue)berschreitung)",
        r"[^\n]{0,120}(?:nicht gefunden|existiert nicht|introuvable|n'existe pas|no encontrad[oa]|no existe|nicht verfügbar|indisponible|no disponible|fehlgeschlagen|[ée]chou[ée]e?|verweigert|refus[ée]e?|denegado|abgelehnt|zeitüberschreitung|abgelaufen|expir[ée]e?|expirado|überlastet|no (?:se )?(?:encontr|puede)|nicht (?:\w+ )?werden|storniert)[^\n]{0,40}$",
    )
)
_SHELL = re.compile(
    r"(?:;; )?(?:[\w./+-]{1,60}: )?(?:line \d+: |-c: |error: |fatal: |warning: )*[^\n]{0,160}?(?:no such file|not found|permission denied|invalid option|missing (?:argument|operand)"
    r"|syntax error|is a directory|not a directory|file exists|cannot (?:access|stat|open|create|remove|execute|touch|move|overwrite|delete)|unrecognized option|unexpected (?:eof|token|character|end of file)"
    r"|must precede|operation not permitted|no space left|connection (?:refused|timed out|reset)|could not resolve|name or service not known|temporary failure|no route to host|illegal option|requires an argument"
    r"|input/output error|read error|is not recognized|are the same file|directory not empty|device or resource busy|broken pipe|killed|segmentation fault|omitting directory|bad substitution|ambiguous redirect"
    r"|try '[^'\n]{1,60}--help'|extra operand|unknown (?:primary|predicate|option|host)|invalid (?:number|argument|mode|character|user|regular)|command not found|no servers could be reached|runaway)",
    re.IGNORECASE,
)
_SHELL_OPENS = re.compile(r"(?:;; \w|[\w./{}$()*+~-]{1,60}: (?:line \d+: |-c: |[\w./'`‘\"-]+))")
_ASIAN_SENTENCE = 60
_ASIAN_NOT = ("0", "成功", "已取消，", "済み", "完了")


def opening(text: str) -> Opening | None:
    """Return the error mark that a text begins with, or None."""
    wrapped = _WRAPPED.match(text)
    if wrapped:
        return Opening(text[wrapped.end() :], firm=True)
    if _MARK.match(text):
        return Opening(text, firm=True)
    if _FAILED.match(text):
        return Opening(text, firm=False)
    return None


def of_plain_text(text: str, tool: str, now: float | None) -> Finding | None:
    """Return what failure a plain result is, or None when it reads as a success."""
    head = text[:HEAD]
    about = _ABOUT.search(tool[:80]) is not None
    stripped = head.lstrip()
    opened = opening(stripped)
    if opened is not None and opened.firm:
        if about and len(text) > 600:
            return None
        whole = texts.trim(text.strip())
        return marked(opening(whole) or opened, now)
    shell = _of_shell(stripped, tool)
    if shell is not None:
        return shell
    cli = _of_cli(text, tool) if len(text) <= 4_000 else None
    if cli is not None:
        return cli
    if stripped.lower().startswith("usage: ") and "\nerror" in stripped.lower():
        return texts.of_error_text(stripped[stripped.lower().index("\nerror") + 1 :], now) or _nothing("usage")
    if about and _STRONG.match(stripped) is None:
        return None
    return _sentence(text, opened, now)


def marked(opened: Opening, now: float | None) -> Finding:
    """Return what a text with an error mark says; UNKNOWN when it says no more than that."""
    first = opened.rest.strip()
    line = first.split("\n", 1)[0]
    if first.lower().startswith("traceback"):
        first = first.rstrip().rsplit("\n", 1)[-1]
    # A long body after the first line (the file that exists already) is not the error.
    found = texts.of_error_text(line[:600], now) if len(first) > 600 else None
    return found or texts.of_error_text(first, now) or _nothing("mark")


def _nothing(rule: str) -> Finding:
    return Finding(K.UNKNOWN, f"plain:{rule}", "the text says that it failed, and not why", 0.7)


def _of_shell(text: str, tool: str) -> Finding | None:
    first = text.split("\n", 1)[0]
    if first.lower().startswith(("exit code ", "exit status ")):
        code = texts.exit_code_in(first)
        if not code:
            return None
        return texts.of_error_text(text) or _nothing("exit code")
    if not (_SHELL_OPENS.match(first) and _SHELL.match(first)) or _NOT_ERROR.search(first):
        return None
    return texts.of_error_text(text[:600])


def _of_cli(text: str, tool: str) -> Finding | None:
    """A command's output with an error line of its own among the first or last few."""
    if not _CLI_TOOL.search(tool[:80]):
        return None
    lines = text.strip().split("\n")
    for line in lines[:4] + lines[4:][-2:]:
        if _CLI_LINE.match(line):
            return texts.of_error_text(text.strip()[:600]) or _nothing("cli")
    return None


def _sentence(text: str, opened: Opening | None, now: float | None) -> Finding | None:
    stripped = text.strip() if len(text) < 2_000 else text[:2_000].strip()
    if len(stripped) > SENTENCE:
        # Only what opens like a failure may be longer.
        if opened is None or len(stripped) > 1_500:
            return None
        first = stripped.split("\n", 1)[0]
        if len(first) > SENTENCE + 80:
            return None
        stripped_low = first.lower()
    else:
        stripped_low = stripped.lower()
    if foreign.has_ideographs(stripped):
        return _asian_sentence(stripped)
    bare = texts.unquoted(stripped_low).strip()
    strong = _STRONG.match(stripped_low) is not None
    if not strong:
        if _NOT_ERROR.search(bare) or bare.count(". ") > 2:
            return None
        bare = bare.lstrip(" -–—*!❌⚠️[(")
        if not any(pattern.match(bare) for pattern in _SENTENCES):
            return None
    found = texts.of_error_text(stripped, now)
    if found is None or found.confidence < WEAK:
        return _nothing("sentence")
    return found._replace(confidence=min(found.confidence, 0.85))


def _asian_sentence(text: str) -> Finding | None:
    if len(text) > _ASIAN_SENTENCE or any(piece in text for piece in _ASIAN_NOT):
        return None
    found = texts.of_error_text(text)
    if found is not None:
        return found if found.confidence > WEAK else None
    failed = ("失败" in text or "失敗" in text or "出错" in text or "エラーが発生" in text or "异常" in text) and len(text) < 30
    return _nothing("sentence") if failed else None
