"""Phrases of a service that is not there, not now, or broken."""

from __future__ import annotations

from btm.classify.wording.phrase import Phrase, down, server

SERVICE: tuple[Phrase, ...] = (
    # Nobody answers, or not now.
    down(
        "refused",
        r"connection (?:was )?refused|refused (?:the |to )?connect|\brefused\b.{0,20}connection"
        r"|was refused - did you|connection to .{0,80} (?:was )?refused",
    ),
    down("reset", r"connection (?:was )?reset|reset by peer", reached=True),
    down(
        "closed disconnected dropped lost broken aborted terminated hung interrupted",
        r"connection (?:\w+ ){0,4}(?:closed|lost|dropped|aborted|terminated|interrupted|broken)"
        r"|(?:lost|closed|dropped) connection|connection aborted|disconnected|broken pipe"
        r"|socket hang up|hung up|closed by (?:the )?(?:remote|peer|server|foreign)"
        r"|closed the connection|end of closed by|remote end closed|(?:transport|stream|channel"
        r"|socket|pipe|session|browser) (?:is |was |has been |closed|already )*closed"
        r"|has been closed",
        reached=True,
    ),
    down("broken", r"broken pipe", reached=True),
    down(
        "resolve resolved resolution getaddrinfo dns nodename hostname name",
        r"(?:could not|couldn't|cannot|can't|failed to|unable to) resolve"
        r"|name (?:or service not known|resolution)|getaddrinfo|name or service|dns (?:error|lookup"
        r"|resolution|failure|server)|nodename nor servname|no address associated|err_name_not"
        r"|could not be resolved|name does not resolve|no such host|unknown host",
    ),
    down(
        "host hosts unknownhost",
        r"no such host|unknown host|no route to host|host is (?:down|unreachable)|host unreachable"
        r"|unknownhost",
    ),
    down(
        "unreachable reachable reached reach",
        r"unreachable|not (?:be )?reach(?:able|ed)|(?:could not|couldn't|cannot|can't|unable to"
        r"|failed to) reach|no servers could be reached",
    ),
    down(
        "connect connecting",
        r"(?:could not|couldn't|cannot|can't|unable to|failed to|failure to) (?:\w+ ){0,2}connect"
        r"|error connecting|problem connecting|failed connecting|trouble connecting|not connect to",
    ),
    down(
        "connection",
        r"connection (?:issue|problem|error|failed|failure|attempt failed|could not be established"
        r"|not established|slots|pool)|(?:failed to|could not|unable to|cannot) (?:establish|open"
        r"|create|obtain|acquire) (?:an? )?(?:\w+ )?connection|no (?:internet |network )?connection"
        r"|\bconnectionerror\b|apiconnectionerror",
        0.82,
        reached=False,
    ),
    down(
        "network",
        r"network (?:error|is unreachable|issue|problem|failure|down|unavailable|connection)"
        r"|net::err",
    ),
    down(
        "err_connection_refused err_name_not_resolved err_connection_reset err_internet_disconnected",
        r"err_\w+",
    ),
    down(
        "unavailable",
        r"(?:service|server|system|resource|host|database|api|backend|upstream|site|tool|model"
        r"|engine|currently|temporarily|is|are|was|feature) (?:is |are "
        r"|was )?(?:\w+ )?(?:temporarily |currently )?unavailable|\b503\b|^unavailable"
        r"|statuscode\.unavailable|unavailable\.?$",
    ),
    down(
        "available",
        r"(?:temporarily|currently) not available|(?:service|server|system|api|database) (?:is "
        r"|are )?(?:\w+ )?not available",
    ),
    down("maintenance", r"maintenance"),
    down(
        "down outage offline",
        r"\b(?:service|server|system|site|api|backend|database|gateway|portal|network"
        r"|provider)s? (?:\w+ )?(?:is |are |seems |appears |may be |temporarily "
        r"|currently )*(?:down|offline)\b|temporarily (?:down|offline)|is (?:currently )?(?:down"
        r"|offline)\b|\boutage\b",
    ),
    down(
        "overloaded overload capacity busy",
        r"overload|(?:at|over|exceeds?|insufficient) capacity|capacity (?:exceeded|reached)"
        r"|(?:server|system|service|device|resource|redis|database|worker|line)s? (?:is |are "
        r"|or resource |too )*(?:currently |too )*busy|\bbusy\b.{0,30}(?:try|later|script)|too busy",
    ),
    down(
        "locked lock deadlock",
        r"(?:database|table|index|schema)(?: table)? is locked|could not (?:obtain|acquire) (?:a "
        r"|the )?lock|deadlock|unable to (?:obtain|acquire|lock)|failed to acquire lock"
        r"|another git process|state lock|dpkg frontend lock",
    ),
    down("serialize serialization", r"could not serialize access|serialization failure"),
    down("many", r"too many (?:\w+ )?(?:connections|clients|open files|sessions)"),
    down(
        "starting startup loading shutdown shutting",
        r"(?:is )?starting up|still loading|(?:dataset|model|redis) (?:is "
        r"|\w+ )?(?:currently )?loading|(?:server|system) (?:\w+ )?(?:shutdown|shutting down)"
        r"|shutdown in progress|terminating connection|not (?:yet )?ready",
        reached=False,
    ),
    down("daemon", r"cannot connect to the docker daemon|daemon (?:is )?(?:not )?running"),
    down(
        "broker brokers primary leader",
        r"no (?:primary|leader|brokers?)\b|not (?:the )?(?:primary|leader|master)|read only replica"
        r"|readonly you can't write",
    ),
    down("empty", r"empty reply from server", reached=True),
    down(
        "ssl eof handshake tls",
        r"eof occurred in violation|ssl connect error|handshake fail|wrong version number"
        r"|unexpected_eof|tls handshake",
    ),
    server(
        "internal",
        r"internal(?: server|_server)?[ _](?:error|failure|exception|fault)|internalerror"
        r"|\binternal error",
    ),
    server(
        "server",
        r"server (?:had an |encountered an |side )?(?:error|exception|fault)|server encountered"
        r"|error on (?:our|the server)|unhandled (?:server )?exception",
    ),
    server("gateway", r"bad gateway"),
    server(
        "segmentation killed core memory oom oomkilled sigkill signal signals signal.sigkill",
        r"segmentation fault|core dumped|out of memory|oom[- ]?killed|cannot allocate memory"
        r"|\bkilled\b$|died with|sigkill|sigsegv|memory exhausted|memory limit|cuda error"
        r"|allocate memory",
    ),
    server(
        "process worker",
        r"(?:process|worker) (?:\w+ ){0,4}(?:terminated abruptly|crashed|died|was killed"
        r"|exited unexpectedly)",
    ),
    server("crash crashed panic", r"\bpanic:|\bcrashed\b|panicked"),
    server("input/output i/o disk output", r"input/output error|disk i/o error|i/o error"),
    server("image", r"database disk image is malformed"),
    server(
        "unexpected went",
        r"unexpected (?:server |backend )error|unexpected error (?:\w+ ){0,2}(?:on"
        r"|in) (?:the )?server|something went wrong on our (?:side|end)",
    ),
    server("upstream backend", r"(?:upstream|backend) (?:\w+ ){0,2}(?:error|failure|failed)"),
)
