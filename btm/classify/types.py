"""Exception types by name: the libraries are never imported, so that a class is known by what it is called.

A name in ``_FIRM`` says what went wrong whatever the text; one in ``_LOOSE`` gives the kind only when neither a
code nor the text says more. Where one name means different things in different libraries, it is given with its
root package (``redis.ConnectionError``).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from btm.classify.finding import DEFAULT, EXACT, WEAK
from btm.model import ErrorKind as K

_FIRM: dict[K, str] = {
    K.TIMEOUT: """Timeout ReadTimeout WriteTimeout ConnectTimeout PoolTimeout TimeoutException
        TimeoutError TimeoutExpired APITimeoutError ConnectTimeoutError ReadTimeoutError
        ServerTimeoutError SocketTimeoutError ConnectionTimeoutError ConnectionTimeout DeadlineExceeded
        GatewayTimeout NetworkTimeout ExecutionTimeout WTimeoutError LockTimeout
        ServiceRequestTimeoutError ServiceResponseTimeoutError KafkaTimeoutError QueryCanceledError
        SoftTimeLimitExceeded TimeLimitExceeded CommandTimedOut ToolTimeoutError QueryTimeout
        socket.timeout nats.TimeoutError""",
    K.RATE_LIMIT: """RateLimitError TooManyRequests RateLimitExceededException RateLimitExceeded
        RateLimited Throttled ThrottlingException ProvisionedThroughputExceededException
        TooManyRequestsException SlowDown FloodWait FloodWaitError TooManyRequestsError""",
    K.SERVER_ERROR: """BrokenProcessPool BrokenThreadPool InternalServerError MemoryError BadGateway DataLoss
        WorkerLostError SystemError ServerError""",
    K.UNAVAILABLE: """ConnectError ConnectionRefusedError ConnectionResetError BrokenPipeError
        ConnectionAbortedError ServiceUnavailable ServiceUnavailableError OverloadedError
        EndpointConnectionError ConnectionClosedError ConnectionClosedOK ServerDisconnectedError
        ClientConnectorDNSError RemoteDisconnected BusyLoadingError ClusterDownError MasterDownError
        AutoReconnect NotPrimaryError ServerSelectionTimeoutError NoValidConnectionsError
        SMTPServerDisconnected SMTPConnectError SMTPHeloError NameResolutionError NewConnectionError
        NoBrokersAvailable gaierror herror CannotConnectNow TooManyConnections TooManyConnectionsError
        DeadlockDetected DeadlockDetectedError SerializationFailure SerializationError LockNotAvailable
        LockNotAvailableError BusyResourceError MaxConnectionsError CannotConnectNowError AdminShutdown
        ProxyConnectionError SSLEOFError SSLZeroReturnError ConnectionDoesNotExistError
        AMQPConnectionError StreamLostError BlockingIOError DisconnectionError ClosedResourceError
        BrokenResourceError ReadOnlyError BrokerUnavailable ClientConnectorDNSError""",
    K.MALFORMED: """JSONDecodeError ContentTypeError ClientPayloadError ContentDecodingError DecodingError
        UnicodeDecodeError BadZipFile BadGzipFile ScannerError ParserError ExpatError XMLSyntaxError
        TOMLDecodeError IncompleteRead IncompleteReadError BadStatusLine ContentTooShortError
        UnpicklingError ParseError UnidentifiedImageError ResponseStreamingError InvalidChunkLength
        DecodeError PdfReadError PdfStreamError LineTooLong InvalidPayloadData ChecksumError
        ResponseParserError EmptyDataError csv.Error zlib.error LZMAError yaml.YAMLError YAMLError
        struct.error tarfile.ReadError ComposerError ConstructorError FlexibleChecksumError
        RepresenterError InvalidHeaderDeferred""",
    K.AUTH_ERROR: """PermissionError PermissionDenied PermissionDeniedError AuthenticationError
        AuthenticationException NoPermissionError ClientAuthenticationError NoCredentialsError
        PartialCredentialsError CredentialUnavailableError BadCredentialsException SMTPAuthenticationError
        InsufficientPrivilege InsufficientPrivilegeError Unauthenticated Unauthorized UnauthorizedError
        Forbidden ForbiddenError RefreshError DefaultCredentialsError AuthenticationWrongNumberOfArgsError
        AuthorizationError AuthorizationException BadHostKeyException PasswordRequiredException
        InvalidPassword InvalidPasswordError InvalidAuthorizationSpecification TwoFactorException
        UnauthorizedSSOTokenError SSOTokenLoadError TokenRetrievalError CredentialRetrievalError
        ProfileNotFound SSLCertVerificationError CertificateError ClientConnectorCertificateError
        ExpiredSignatureError InvalidSignatureError InvalidTokenError SignatureVerificationError
        NotAuthenticated AuthenticationFailed TokenExpiredError InvalidGrantError AccessDenied
        AuthorizationFailure AccessDeniedException InvalidAuthorizationSpecificationError OAuth2Error
        ExpiredTokenError UnauthorizedException""",
    K.QUOTA_EXHAUSTED:
        "QuotaExceeded QuotaExceededError InsufficientQuotaError BudgetExceededError DiskFull "
        "DiskFullError",
    K.SCHEMA_DRIFT: """APIResponseValidationError Gone GoneError MethodNotImplemented NoSuchMethod
        UnknownApiVersion ResponseValidationError BadAttributeException MethodNotAllowed""",
    K.NOT_FOUND: """FileNotFoundError NotFoundError NotFound NotFoundException ResourceNotFoundError
        ResourceNotFoundException NoSuchKey NoSuchBucket UndefinedTable UndefinedTableError
        UndefinedColumn UndefinedColumnError UndefinedObject UndefinedObjectError InvalidCatalogName
        InvalidCatalogNameError InvalidSchemaName ObjectDoesNotExist DoesNotExist UnknownObjectException
        NoSuchTableError NoResultFound NoSuchModuleError ProcessLookupError UnknownTopicOrPartitionError
        Http404 NoScriptError NoSuchEntityException NodeNotFound NoNode NoSuchElementException
        TemplateNotFound EntityNotFound NoSuchOptionError NoSectionError NoOptionError
        ZoneInfoNotFoundError CursorNotFound NetworkXNoPath HasNoPath""",
    K.UNKNOWN_TOOL:
        "ToolNotFoundError UnknownToolError NotRegistered ToolNotFound NoSuchToolError "
        "InvalidToolError",
    K.PRECONDITION_FAILED: """FileExistsError UniqueViolation UniqueViolationError ForeignKeyViolation
        ForeignKeyViolationError CheckViolation CheckViolationError ExclusionViolation
        ExclusionViolationError RestrictViolation DuplicateTable DuplicateTableError DuplicateObject
        DuplicateObjectError DuplicateColumn DuplicateDatabase DuplicateKeyError AlreadyExists Conflict
        ConflictError ResourceExistsError ResourceModifiedError StaleDataError WatchError
        ConditionalCheckFailedException FailedPrecondition ObjectInUse ObjectInUseError
        ObjectNotInPrerequisiteState InFailedSqlTransaction InFailedSQLTransactionError
        ReadOnlySqlTransaction ReadOnlySQLTransactionError CardError PendingRollbackError
        LockNotOwnedError NodeExists TransactionCanceledException BucketAlreadyExists
        BucketAlreadyOwnedByYou PreconditionFailed ResourceInUseException ProtectedError RestrictedError
        Locked""",
    K.INVALID_ARGUMENTS: """ParamValidationError ToolInvocationError UnprocessableEntityError
        UnprocessableEntity DataError InvalidTextRepresentation InvalidTextRepresentationError SyntaxError
        PostgresSyntaxError NotNullViolation NotNullViolationError NumericValueOutOfRange DatatypeMismatch
        AmbiguousColumn InvalidDatetimeFormat DatetimeFieldOverflow DivisionByZero UndefinedFunction
        UndefinedFunctionError StringDataRightTruncation InvalidArgument OutOfRange IsADirectoryError
        NotADirectoryError UnsupportedProtocol InvalidURL InvalidUrl InvalidUrlClientError
        NonHttpUrlClientError MissingSchema InvalidSchema InvalidHeader URLRequired LocationParseError
        LocationValueError LocalProtocolError UnicodeEncodeError ZeroDivisionError OverflowError
        InvalidOperation IndentationError TabError PatternError NoRegionError InvalidDocument
        DocumentTooLarge InvalidName InvalidURI InvalidId InvalidBSON BadParameter BadOptionUsage
        NoSuchOption MissingParameter UsageError ArgumentTypeError ArgumentError SameFileError
        DateParseError InvalidRegionError UnknownServiceError UnknownKeyError MissingParametersError
        RequestError400 InvalidSQLStatementNameError InvalidArgumentError GroupingError WrongObjectType
        AmbiguousFunction InvalidTextFormat re.error InvalidEndpointDiscoveryConfigurationError
        DatatypeMismatchError AmbiguousColumnError ObjectNotExecutableError MultipleResultsFound
        StringDataRightTruncationError NumericValueOutOfRangeError DivisionByZeroError
        CardinalityViolation CardinalityViolationError""",
}  # fmt: skip
_LOOSE: dict[K, str] = {
    K.UNAVAILABLE: """ConnectionError NetworkError TransportError APIConnectionError OperationalError
        ClientConnectionError ClientConnectorError ClientOSError ReadError WriteError CloseError
        ProxyError MaxRetryError ProtocolError RemoteProtocolError HTTPClientError InterfaceError
        ConnectionFailure URLError SSLError SSLSyscallError ServiceRequestError ServiceResponseError
        WebSocketException ConnectionClosed SSHException InvalidHandshake DNSError ChannelException
        ConnectionInterrupted EndOfStream ServerConnectionError QueueFull ClientConnectorSSLError
        error_temp CommunicationError ConnectionException ConnectionExceptionError PostgresConnectionError
        PoolError CouldNotConnectError NoHostAvailable""",
    K.SERVER_ERROR: "InternalError APIError ServerErrorException TooManyRedirects SSLWantReadError "
    "InternalErrorException",
    K.INVALID_ARGUMENTS: """ValidationError BadRequestError BadRequest InvalidRequestError
        ProgrammingError RequestError NotSupportedError ValidationException RequestValidationError
        FieldError StatementError CompileError InvalidParams BadRequestException ClickException
        SchemaError InvalidParameterError HTTPValidationError SerializationTypeError binascii.Error""",
    K.PRECONDITION_FAILED: "IntegrityError ReadOnlyTransaction RaiseException IdempotencyError LockError "
    "ResourceNotReadyError",
    K.MALFORMED: "OutputParserException DatabaseDecodeError StreamError",
    K.TIMEOUT: "WaiterError LockWaitTimeout",
    K.RATE_LIMIT: "ResourceExhausted",
    K.NOT_FOUND: "NoSuchColumnError ModelNotFound UnknownModelError",
    K.UNKNOWN: """Exception BaseException RuntimeError LookupError ArithmeticError OSError IOError
        EnvironmentError BufferError Warning ToolException ToolError ToolExecutionError AttributeError
        NameError UnboundLocalError ImportError ModuleNotFoundError AssertionError StopIteration
        StopAsyncIteration NotImplementedError RecursionError EOFError IndexError KeyError TypeError
        ValueError UnicodeError CancelledError KeyboardInterrupt SystemExit GeneratorExit ExceptionGroup
        BaseExceptionGroup HTTPError HTTPStatusError ClientError APIStatusError ClientResponseError
        HttpError HttpResponseError ApiException RpcError McpError MCPError GoogleAPICallError
        GoogleAPIError BotoCoreError StripeError GithubException PyMongoError RedisError ResponseError
        SMTPException OperationFailure DatabaseError SubprocessError CalledProcessError RetryError Error
        LangChainException OpenAIError AnthropicError PydanticUserError DetachedInstanceError
        GraphRecursionError SQLAlchemyError DBAPIError""",
}
_ELSEWHERE: dict[str, tuple[K, float]] = {
    "redis.ConnectionError": (K.UNAVAILABLE, 0.8),
    "redis.AuthorizationError": (K.AUTH_ERROR, EXACT),
    "redis.OutOfMemoryError": (K.QUOTA_EXHAUSTED, 0.8),
    "elasticsearch.RequestError": (K.INVALID_ARGUMENTS, WEAK),
    "elasticsearch.BadRequestError": (K.INVALID_ARGUMENTS, WEAK),
    "elasticsearch.ConnectionError": (K.UNAVAILABLE, 0.8),
    "httpx.RequestError": (K.UNAVAILABLE, DEFAULT),
    "ssl.SSLError": (K.UNAVAILABLE, DEFAULT),
    "stripe.APIError": (K.SERVER_ERROR, WEAK),
    "stripe.PermissionError": (K.AUTH_ERROR, EXACT),
    "sqlalchemy.InvalidRequestError": (K.UNKNOWN, DEFAULT),
    "sqlalchemy.TimeoutError": (K.TIMEOUT, WEAK),
    "asyncio.IncompleteReadError": (K.MALFORMED, 0.8),
    "asyncio.QueueEmpty": (K.EMPTY_RESULT, WEAK),
    "pandas.ParserError": (K.MALFORMED, EXACT),
    "dateutil.ParserError": (K.INVALID_ARGUMENTS, EXACT),
    "argparse.ArgumentError": (K.INVALID_ARGUMENTS, EXACT),
    "botocore.InvalidRegionError": (K.INVALID_ARGUMENTS, EXACT),
    "google.Unknown": (K.UNKNOWN, WEAK),
    "google.Aborted": (K.PRECONDITION_FAILED, WEAK),
    "google.InternalServerError": (K.SERVER_ERROR, EXACT),
    "jwt.DecodeError": (K.AUTH_ERROR, EXACT),
    "builtins.SyntaxError": (K.INVALID_ARGUMENTS, 0.8),
    "requests.ChunkedEncodingError": (K.MALFORMED, 0.8),  # also wraps a reset in the middle of a body
    "openai.APIError": (K.SERVER_ERROR, DEFAULT),
    "socket.gaierror": (K.UNAVAILABLE, EXACT),
    "google.protobuf.DecodeError": (K.MALFORMED, EXACT),
}
# A class that starts like this never reached the place where a write would have happened.
_NOT_REACHED = re.compile(
    r"Connect(?:ion)?(?:Timeout|Refused)|^ConnectError|PoolTimeout|NewConnection|NameResolution"
    r"|gaierror|herror"
    r"|ClientConnector|EndpointConnection|ServerSelection|TooManyConn|MaxConn|NoBrokers"
    r"|NoValidConn|SMTPConnect"
    r"|CannotConnect|BusyLoading|LockNotAvail|Deadlock|Serializ|BusyResource|BlockingIO"
    r"|ProxyConn|InvalidU"
)
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


class Known(NamedTuple):
    """What a class name says: a kind, how sure, and whether the request may have reached its goal."""

    kind: K
    sure: float
    reached: bool


def _table() -> dict[str, tuple[K, float]]:
    table = {name: (kind, DEFAULT) for kind, names in _LOOSE.items() for name in names.split()}
    table |= {name: (kind, EXACT) for kind, names in _FIRM.items() for name in names.split()}
    return table | _ELSEWHERE


_NAMES = _table()


@lru_cache(maxsize=2_048)
def known_type(name: str, root: str = "") -> Known | None:
    """Look a bare class name up, first with its root package; None for a class nobody told us about."""
    found = _NAMES.get(f"{root}.{name}") or _NAMES.get(name)
    if found is None:
        return None
    return Known(found[0], found[1], _NOT_REACHED.search(name) is None)


@lru_cache(maxsize=2_048)
def name_as_words(name: str) -> str:
    """Return a class name as words: ``OrderNotFoundError`` is ``order not found error``."""
    return " ".join(_CAMEL.findall(name[:80].replace("_", " "))).lower()
