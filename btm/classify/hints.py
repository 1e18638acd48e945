"""The cheap test that most texts fail: does one hold any word that a failing, cut or empty-handed answer would hold?"""

from __future__ import annotations

import string

from btm.classify.finding import names

HEAD, TAIL = 400, 400
"""Characters at each end of a text that are read."""

_WORDS = names("""error errors err fail fails failed failing failure failures not t cannot denied timed
    timeout unauthorized unauthorised unauthenticated forbidden invalid incorrect unknown exceeded exceeds
    exceed many limit limits limited unavailable unable no wrong oops exit exited expired exception
    exceptions refused maintenance down missing already busy valid usage traceback returned status require
    requires required insufficient terminated killed gateway reset closed must zero 0 nothing empty again
    credits credit quota fatal conflict rejected malformed unsupported unrecognized overloaded unreachable
    offline aborted lost broken throttled throttling ratelimit rate bad payment crashed panic segmentation
    fault core dumped deadline sold out without declined duplicate locked disabled blocked restricted
    permission permissions access login credentials truncated omitted skipped clipped incomplete partial
    showing displaying displayed listing shown retrieved first more cut decoded output none null npm curl
    e resolve could expected unexpected unhandled undefined deprecated removed retired gone such operand
    option directory precede iserror http upgrade used unsuccessful undeliverable unprocessable bounced
    violation violates constraint deadlock shutdown disconnected interrupted fehler verweigert nicht keine
    kein ungueltig abgelaufen existiert bereits serverfehler erreur introuvable refuse acces trop
    impossible demasiadas acceso denegado agotado agoto tiempo existe encontrado encontrada ya permiso
    permisos invalido servidor interno indisponible disponible zu viele zugriff abgelehnt fehlgeschlagen
    echec delai inexistant sin ningun aucun aucune found abgelehnt solicitud berechtigung anfragen
    anfragelimit aufgebraucht erreichbar wartung antwort gefunden vorhanden storniert erforderlich fehlt
    muss permission autorisation authentification refusee obligatoire requis doit manquant limite requetes
    demandes solicitudes espera obligatorio requerido falta debe mantenimiento conexion respuesta
    inexistente peticiones credenciales""")
_PIECES = ("rror", "xception", "imeout", "ECONN", "ENOT")
"""Ends of class names and codes, in which the words are not apart."""

_SPACES = {ord(c): " " for c in string.punctuation + "\n\t\r"}


def any_in(text: str) -> bool:
    """Whether the ends of a text hold a word of failure; any text beyond ASCII is taken to."""
    head = text if len(text) <= HEAD + TAIL else text[:HEAD] + " " + text[-TAIL:]
    if not head.isascii() or any(piece in head for piece in _PIECES):
        return True
    return not _WORDS.isdisjoint(head.lower().translate(_SPACES).split())
