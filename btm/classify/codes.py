"""Machine-readable error codes: Slack, Stripe, AWS, Google, gRPC, JSON-RPC, SQLSTATE, MySQL, errno, SMTP.

A code is read without case and punctuation, so that ``TOO_MANY_REQUESTS``, ``tooManyRequests`` and
``TooManyRequestsException`` are one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from btm.classify.finding import CODE, EXACT, WEAK, Finding, names
from btm.model import ErrorKind as K

_TABLE: dict[K, str] = {
    K.TIMEOUT: """timeout timedout requesttimeout requesttimedout gatewaytimeout deadlineexceeded
        etimedout esockettimedout econnaborted readtimeout connecttimeout connectiontimeout
        operationtimedout querytimeout statementtimeout tooltimeout executiontimeout maxtimemsexpired
        upstreamtimeout""",
    K.RATE_LIMIT: """ratelimit ratelimited ratelimitexceeded ratelimitreached toomanyrequests throttled
        throttling requestthrottled requestlimitexceeded slowdown provisionedthroughputexceeded
        userratelimitexceeded overquerylimit ec2throttled toomanyrequestexception apilimitexceeded
        concurrencylimitexceeded concurrentrequestlimitexceeded throughputexceeded resourceexhausted
        requestratetoolarge floodwait slowmodewait priorrequestnotcomplete usageratelimitexceeded
        callslimitexceeded secondaryratelimit bandwidthlimitexceeded""",
    K.QUOTA_EXHAUSTED: """insufficientquota quotaexceeded quotaexhausted quotalimitexceeded
        dailylimitexceeded overdailylimit billinghardlimitreached billing billingnotactive
        billingnotenabled paymentrequired insufficientbalance insufficientcredit insufficientcredits
        creditsexhausted outofcredits nocredits creditlimitreached planlimit planlimitreached
        planlimitexceeded usagelimit usagelimitreached usagelimitexceeded monthlylimitexceeded
        monthlylimitreached servicequotaexceeded limitexceeded storagequotaexceeded dailyquotaexceeded
        overquota enospc edquot amountnotenough spendinglimitreached accountoverdue accountlimitexceeded
        vcpulimitexceeded instancelimitexceeded trialexpired subscriptionexpired upgraderequired
        credittoolow arrearage""",
    K.AUTH_ERROR: """unauthorized unauthorised unauthenticated authenticationrequired authenticationfailed
        authentication auth authfailed authorizationfailed forbidden permissiondenied permission
        accessdenied nopermission notauthorized invalidtoken expiredtoken tokenexpired tokenrevoked
        tokeninvalid invalidaccesstoken accesstokenexpired invalidapikey apikeyinvalid invalidkey
        missingapikey apikeyexpired invalidauth notauthed accountinactive invalidcredentials
        badcredentials invalidclient invalidgrant unauthorizedclient unauthorizedoperation
        unrecognizedclient invalidclienttokenid signaturedoesnotmatch incompletesignature
        invalidaccesskeyid missingauthenticationtoken missingauthorization missingscope insufficientscope
        insufficientpermission insufficientpermissions insufficientfilepermissions insufficientprivilege
        requestdenied eacces eperm loginrequired sessionexpired noperm noauth wrongpass restrictedaction
        requesttimetooskewed requestexpired credentialsnotfound nocredentials tokenmissing missingtoken
        ekmaccessdenied accessforbidden mfarequired twofactorrequired consentrequired interactionrequired
        optinrequired expiredtokenexception kmsaccessdenied invalidsignature cloudflareblocked
        authenticationtoken authorizationerror""",
    K.NOT_FOUND: """notfound nosuchkey nosuchbucket nosuchentity resourcemissing resourcenotfound enoent
        entitynotfound filenotfound unknownuser unknownaccount itemnotfound objectnotfound nodata
        doesnotexist noresult norecord unknownresource unknownobject manifestunknown nameunknown
        nosuchversion unknownhost404 etarget e404""",
    K.UNKNOWN_TOOL: """unknowntool toolnotfound nosuchtool methodnotfound unknownfunction functionnotregistered
        toolnotavailable invalidtool unregisteredtool actionnotfound unknownaction""",
    K.SCHEMA_DRIFT: """apiversionunsupported unsupportedapiversion apiversionnotsupported
        versionnotsupported unsupportedversion endpointretired endpointnotfound endpointdeprecated
        endpointremoved routenotfound deprecated methoddeprecated apideprecated apideprecation gone
        unimplemented notimplemented unknownmethod methodnotallowed schemamismatch schemachanged
        schemavalidation responsevalidation invalidapiversion invalidversion unexpectedresponse
        unexpectedschema operationnotsupported""",
    K.PRECONDITION_FAILED: """conflict alreadyexists resourceinuse conditionalcheckfailed
        preconditionfailed failedprecondition duplicatekey duplicate duplicateentry uniqueviolation
        invalidstate invalidstatus invalidstatetransition invalidobjectstate illegalstate operationaborted
        aborted optimisticlock versionconflict carddeclined cardexpired expiredcard insufficientfunds
        balanceinsufficient outofstock notenoughstock insufficientstock locked resourcelocked eexist
        enotempty bucketnotempty bucketalreadyownedbyyou isarchived notinchannel nametaken notmergeable
        notallowedinstate dependencyviolation deleteconflict resourcenotready incorrectstate
        incorrectinstancestate concurrentmodification mergeconflict stalerevision revisionconflict card
        invalidchargeamount idempotencykeyinuse cantarchivegeneral entityalreadyexists eresolve soldout
        unavailableforpurchase statemismatch transactioncanceled transactionconflict""",
    K.INVALID_ARGUMENTS: """invalidargument invalidarguments invalidparameter invalidparameters
        invalidparametervalue invalidparametercombination validation validationfailed invalidrequest
        badrequest missingparameter missingfield missingargument requiredfield required invalidinput
        invalidparams invalidparam malformedrequest unprocessable unprocessableentity invalidformat
        invalidvalue invalidtype invaliddate parameterinvalidempty parameterinvalidinteger
        parametermissing parameterunknown unknownparameter outofrange toolong msgtoolong notext noitems
        contextlengthexceeded stringtoolong einval syntax parsingexception parsing queryparsing eisdir
        enotdir enametoolong fielderror argument toolargument toolarguments schemavalidationfailed
        unsupportedvalue payloadtoolarge requesttoolarge entitytoolarge emailinvalid invalidemail
        amounttoosmall amounttoolarge malformedquerystring invalidquery badsyntax invalidusage usage
        parsererror""",
    K.SERVER_ERROR: """internal apierror internalerror internalservererror servererror server
        internalfailure backenderror fatalerror badgateway unexpectedservererror applicationerror dataloss
        crashed panic segfault unhandledexception serverfault systemerror executionfailed500""",
    K.UNAVAILABLE: """unavailable serviceunavailable temporarilyunavailable maintenance undermaintenance
        overloaded overload engineoverloaded econnrefused econnreset enotfound eaiagain epipe ehostunreach
        enetunreach enetdown network networkerror connection connectionerror connectionrefused
        connectionreset connectionclosed busy resourcebusy serverbusy ebusy eagain backendunavailable
        notready outage servicedown serviceoffline offline serverisbusy modeloverloaded modelnotready
        circuitopen circuitbreakeropen upstreamunavailable dnsresolutionfailed emfile enfile
        serverselection internalservererroroverloaded namenotresolved notprimary primarysteppeddown
        interruptedatshutdown""",
    K.MALFORMED: """invalidresponse badresponse malformedresponse decode jsondecode invalidjsonresponse
        parseresponse incompleteresponse truncatedresponse ejsonparse responseparse""",
    K.EMPTY_RESULT: "zeroresults noresults emptyresult noresultsfound nomatches nomatch nohits",
    K.UNKNOWN: "error unknown unknownerror failed failure exception unspecified unexpected "
    "unexpectederror err generalerror",
}
_KINDS: dict[str, K] = {code: kind for kind, codes in _TABLE.items() for code in codes.split()}
_ENDINGS: tuple[tuple[str, K], ...] = (
    ("notfound", K.NOT_FOUND),
    ("doesnotexist", K.NOT_FOUND),
    ("quotaexceeded", K.QUOTA_EXHAUSTED),
    ("ratelimitexceeded", K.RATE_LIMIT),
    ("limitexceeded", K.QUOTA_EXHAUSTED),
    ("throttled", K.RATE_LIMIT),
    ("accessdenied", K.AUTH_ERROR),
    ("permissiondenied", K.AUTH_ERROR),
    ("unauthorized", K.AUTH_ERROR),
    ("alreadyexists", K.PRECONDITION_FAILED),
    ("exists", K.PRECONDITION_FAILED),
    ("conflict", K.PRECONDITION_FAILED),
    ("timeout", K.TIMEOUT),
    ("timedout", K.TIMEOUT),
    ("unavailable", K.UNAVAILABLE),
    ("required", K.INVALID_ARGUMENTS),
    ("isrequired", K.INVALID_ARGUMENTS),
    ("invalid", K.INVALID_ARGUMENTS),
)
_STARTS: tuple[tuple[str, K], ...] = (
    ("nosuch", K.NOT_FOUND),
    ("deprecated", K.SCHEMA_DRIFT),
    ("already", K.PRECONDITION_FAILED),
    ("throttl", K.RATE_LIMIT),
    ("invalid", K.INVALID_ARGUMENTS),
    ("missing", K.INVALID_ARGUMENTS),
    ("malformed", K.INVALID_ARGUMENTS),
    ("toomany", K.RATE_LIMIT),
)
NOT_REACHED = names(
    "econnrefused enotfound eaiagain ehostunreach enetunreach enetdown connectionrefused "
    "connecttimeout busy ebusy"
    " serverbusy maintenance undermaintenance overloaded emfile enfile circuitopen "
    "circuitbreakeropen"
)
# Names of whole classes of errors: a sentence beside them says more.
_BROAD = names(
    "invalidrequest badrequest validation validationfailed network connection server internal "
    "usage syntax auth"
    " permission argument parsing decode card apierror resourceexhausted aborted limitexceeded "
    "duplicate required"
    " operationaborted forbidden billing conflict invalidargument unprocessableentity"
)
_PUNCTUATION = re.compile(r"[\W_]+")
_ABOUT_ACCESS = re.compile(
    r"(?:invalid|missing|expired|bad|no|revoked|malformed)\w{0,12}(?:auth|token|credential|apikey"
    r"|accesskey|signature|session|password)"
)
_SUFFIX = re.compile(r"(?:exception|error|err|fault|code)$")

JSON_RPC: dict[int, K] = {
    -32700: K.MALFORMED,
    -32600: K.INVALID_ARGUMENTS,
    -32601: K.UNKNOWN_TOOL,
    -32602: K.INVALID_ARGUMENTS,
    -32603: K.SERVER_ERROR,
    -32001: K.TIMEOUT,  # MCP: RequestTimeout, https://github.com/modelcontextprotocol/typescript-sdk
    -32002: K.NOT_FOUND,  # MCP: resource not found
    -32042: K.AUTH_ERROR,  # MCP: URL elicitation required
}
GRPC: tuple[K | None, ...] = (  # by number, https://grpc.io/docs/guides/status-codes/
    None, K.UNKNOWN, K.UNKNOWN, K.INVALID_ARGUMENTS, K.TIMEOUT, K.NOT_FOUND, K.PRECONDITION_FAILED, K.AUTH_ERROR,
    K.RATE_LIMIT, K.PRECONDITION_FAILED, K.PRECONDITION_FAILED, K.INVALID_ARGUMENTS, K.SCHEMA_DRIFT, K.SERVER_ERROR,
    K.UNAVAILABLE, K.SERVER_ERROR, K.AUTH_ERROR,
)  # fmt: skip


@lru_cache(maxsize=2_048)
def of_code(code: str) -> Finding | None:
    """Return what a textual code (at most 80 characters of it are read) means, or None when it is not known."""
    key = _PUNCTUATION.sub("", code[:80].lower())
    stem = _SUFFIX.sub("", key)
    last = _PUNCTUATION.sub("", code[:80].lower().rsplit(".", 1)[-1])
    for name in (key, stem, last, _SUFFIX.sub("", last)):
        kind = _KINDS.get(name)
        if kind is not None:
            sure = 0.3 if kind is K.UNKNOWN else 0.7 if name in _BROAD else EXACT
            return Finding(
                kind, f"code:{code[:40]}", f"error code {code[:40]}", sure, reached=name not in NOT_REACHED
            )
    for ending, kind in _ENDINGS:
        if stem.endswith(ending):
            return Finding(kind, f"code:{code[:40]}", f"error code {code[:40]}", CODE)
    if _ABOUT_ACCESS.search(stem):
        return Finding(K.AUTH_ERROR, f"code:{code[:40]}", f"error code {code[:40]}", CODE - 0.01)
    for start, kind in _STARTS:
        if stem.startswith(start):
            return Finding(kind, f"code:{code[:40]}", f"error code {code[:40]}", CODE - 0.01)
    return None


def of_json_rpc(code: int) -> Finding | None:
    """Return what a JSON-RPC or MCP error number means; its message may still say something surer."""
    kind = JSON_RPC.get(code)
    if kind is not None:
        # -32602 is also what servers answer for an unknown tool, so that words go first.
        sure = WEAK if code == -32602 else 0.8
        return Finding(kind, f"json-rpc:{code}", f"JSON-RPC error {code}", sure)
    if -32099 <= code <= -32000:
        return Finding(K.SERVER_ERROR, f"json-rpc:{code}", f"JSON-RPC server error {code}", 0.4)
    return None
