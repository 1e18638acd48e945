"""Error phrases in German, French and Spanish."""

from __future__ import annotations

from btm.classify.wording.phrase import (
    Phrase,
    auth,
    bad,
    broken,
    down,
    drift,
    empty,
    missing,
    quota,
    rate,
    server,
    state,
    timeout,
    tool,
)

EUROPEAN: tuple[Phrase, ...] = (
    tool(
        "werkzeug herramienta outil outils",
        r"(?:unbekanntes|kein) werkzeug|werkzeug .{0,40}(?:nicht gefunden|unbekannt)"
        r"|herramienta (?:desconocida|.{0,40}no (?:existe|encontrada|se encontr))|outil (?:inconnu"
        r"|.{0,40}(?:introuvable|n'existe pas))",
    ),
    quota(
        "guthaben kontingent kontingents crédit crédits credits solde saldo cuota quota créditos crédito",
        r"guthaben .{0,30}(?:aufgebraucht|erschöpft|reicht nicht)|(?:kontingent"
        r"|tageslimit).{0,30}(?:erschöpft|überschritten|aufgebraucht|erreicht)|crédits? (?:épuisés?"
        r"|insuffisants?)|quota .{0,30}(?:dépassé|épuisé|atteint)|(?:cuota|quota).{0,30}(?:agotada"
        r"|superada|excedida|alcanzada)|créditos? (?:agotados?|insuficientes?)"
        r"|se ha(?:n)? agotado .{0,30}(?:saldo|crédito|cuota)",
    ),
    rate(
        "anfragen anfragelimit ratenbegrenzung requêtes solicitudes peticiones demandes límite "
        "limite aufrufe",
        r"zu viele (?:\w+ )?(?:anfragen|aufrufe|versuche)|anfragelimit|ratenbegrenzung"
        r"|trop de (?:requêtes|demandes|tentatives)|demasiadas (?:solicitudes|peticiones|consultas"
        r"|llamadas)|limite de (?:requêtes|débit|taux)|límite de (?:solicitudes|peticiones"
        r"|velocidad|frecuencia|tasa)",
    ),
    timeout(
        "zeitüberschreitung zeitlimit zeitueberschreitung",
        r"zeit(?:ü|ue)berschreitung|zeitlimit .{0,30}(?:überschritten|erreicht)"
        r"|hat zu lange gedauert",
    ),
    timeout(
        "délai delai",
        r"d[ée]lai .{0,60}(?:d[ée]pass[ée]|expir[ée]|[ée]coul[ée])|d[ée]passement d[ue] d[ée]lai"
        r"|d[ée]passement du temps",
    ),
    timeout(
        "espera agotado tiempo expiró",
        r"tiempo (?:de espera|l[íi]mite)|agot[óo] el tiempo|tiempo .{0,30}(?:agotado|excedido"
        r"|superado)",
    ),
    auth(
        "berechtigung berechtigungen zugriff zugang anmeldung autorisiert authentifizierung "
        "angemeldet berechtigt zugangsdaten schlüssel passwort token",
        r"(?:keine|fehlende|unzureichende|nicht genügend) (?:\w+ )?berechtigung"
        r"|zugriff .{0,30}(?:verweigert|nicht erlaubt)|zugang verweigert|nicht (?:autorisiert"
        r"|berechtigt|angemeldet)|authentifizierung .{0,30}(?:fehlgeschlagen|erforderlich)"
        r"|anmeldung (?:fehlgeschlagen|erforderlich)|(?:ungültig\w*|falsch\w*"
        r"|abgelaufen\w*) (?:\w+[- ])?(?:api-schlüssel|schlüssel|zugangsdaten|token|passwort"
        r"|anmeldedaten)|token .{0,20}abgelaufen",
    ),
    auth(
        "accès acces autorisation autorisé permission authentification droits jeton identifiants "
        "clé refusé refusée",
        r"acc[èe]s (?:refus[ée]|interdit|non autoris[ée])|permission refus[ée]e|non autoris[ée]"
        r"|autorisation (?:refus[ée]e|insuffisante|requise)|authentification (?:[ée]chou|requise)"
        r"|[ée]chec de l.authentification|droits insuffisants|pas (?:les |l.)(?:droits"
        r"|autorisation)|(?:jeton|cl[ée]|identifiants?|mot de passe) .{0,30}(?:invalide|expir"
        r"|incorrect)|pas autoris[ée]",
    ),
    auth(
        "acceso permiso permisos autorizado autorizada autenticación autenticacion credenciales token clave",
        r"acceso (?:denegado|no autorizado|prohibido|restringido)|permisos? (?:denegados?"
        r"|insuficientes?)|no (?:est[áa] )?autorizad[oa]|(?:no tiene|sin"
        r"|falta de) (?:\w+ )?permisos?|autenticaci[óo]n (?:fall|requerida|inv)|(?:error"
        r"|fallo) de autenticaci[óo]n|credenciales (?:inv[áa]lidas|incorrectas)|(?:token"
        r"|clave) .{0,30}(?:inv[áa]lid|caducad|expirad|ha expirado)",
    ),
    down(
        "nicht verfügbar erreichbar wartung wartungsarbeiten überlastet verbindung",
        r"nicht (?:verfügbar|erreichbar)|wartung(?:sarbeiten)?\b|überlastet"
        r"|verbindung .{0,60}(?:abgelehnt|fehlgeschlagen|verweigert|unterbrochen|verloren"
        r"|abgebrochen|nicht hergestellt)|keine verbindung",
    ),
    down(
        "indisponible maintenance connexion joignable surchargé",
        r"indisponible|en maintenance|surcharg[ée]|connexion .{0,60}(?:refus[ée]e|impossible"
        r"|[ée]chou[ée]|perdue|interrompue)|[ée]chec de (?:la )?connexion|injoignable"
        r"|impossible de (?:se connecter|joindre|contacter)",
    ),
    down(
        "disponible mantenimiento conexión conexion saturado sobrecargado conectar",
        r"(?:servicio|servidor|sistema|temporalmente) .{0,30}no disponible"
        r"|no (?:est[áa] )?disponible|en mantenimiento|conexi[óo]n .{0,60}(?:rechazada|fall[óoi]"
        r"|perdida|interrumpida|denegada)|(?:error|fallo) de conexi[óo]n|sobrecargado"
        r"|no se pudo conectar",
    ),
    server("serverfehler interner", r"interner (?:server-?)?fehler|serverfehler"),
    server("interne serveur", r"erreur interne|erreur (?:du )?serveur"),
    server("interno servidor", r"error interno|error (?:del|en el) servidor|fallo interno"),
    broken(
        "antwort réponse respuesta json",
        r"antwort .{0,40}(?:ungültig|unvollständig|beschädigt|nicht (?:gelesen|verarbeitet|lesbar))"
        r"|ungültige antwort|réponse (?:invalide|incompl[èe]te|illisible)|respuesta (?:inv[áa]lida"
        r"|incompleta|mal formada)|json (?:ungültig|invalide|inv[áa]lido)",
    ),
    drift(
        "unterstützt version versión",
        r"(?:api|version|schnittstelle)\b.{0,60}nicht mehr (?:unterstützt|verfügbar)"
        r"|version .{0,60}n.est plus (?:prise en charge|support)"
        r"|versi[óo]n .{0,60}(?:ya no es compatible|ya no se admite|obsoleta)",
    ),
    empty(
        "ergebnisse treffer einträge résultat résultats resultados coincidencias",
        r"keine (?:\w+ )?(?:ergebnisse|treffer|einträge|datensätze)|aucun (?:r[ée]sultat"
        r"|enregistrement)|(?:no se encontraron|sin|ning[úu]n) (?:\w+ )?(?:resultados?"
        r"|coincidencias|registros)",
    ),
    missing(
        "gefunden existiert vorhanden unbekannter unbekannte",
        r"nicht (?:\w+ )?(?:gefunden|vorhanden)|existiert nicht|kein\w* .{0,60}gefunden"
        r"|unbekannte\w? (?:benutzer|kunde|bestellung|artikel|konto)|gibt es nicht",
    ),
    missing(
        "introuvable trouvé trouvée existe inexistant inexistante trouver aucun",
        r"introuvable|(?:pas|non|n'a pas|n.a pas|n'ont pas|pas pu) [ée]t[ée] trouv"
        r"|pas [ée]t[ée] trouv|non trouv[ée]|n.existe pas|inexistant|aucune? .{0,60}(?:trouv[ée]|ne correspond)"
        r"|impossible de trouver|pas trouv[ée]",
    ),
    missing(
        "encontrado encontrada encontró encontro existe encontrados inexistente encontrar encuentra",
        r"no (?:\w+ ){0,3}(?:encontrad[oa]s?|encontr[óo]|encuentra|existe)\b|inexistente"
        r"|no se pudo encontrar|no hay ning",
    ),
    state(
        "bereits storniert",
        r"\bbereits\b|kann nicht (?:\w+ )?(?:storniert|geändert|gelöscht|geschlossen|bearbeitet"
        r"|umgetauscht|zurückgegeben) werden",
    ),
    state(
        "déjà deja",
        r"\bd[ée]j[àa]\b|ne peut (?:pas|plus) [êe]tre (?:annul|modifi|supprim|rembours|[ée]chang)",
    ),
    state(
        "ya",
        r"\bya (?:ha|est[áa]|fue|existe|se|han)\b|no (?:se puede|puede ser) (?:cancel|modific"
        r"|elimin|anul|reembols|devuelt)",
    ),
    state(
        "stornieren storniert saldo deckung guthaben fonds solde saldo",
        r"kann nicht .{0,40}werden|(?:nicht genügend|unzureichend\w*) (?:guthaben|saldo|deckung"
        r"|bestand)|(?:solde|fonds) insuffisants?|saldo insuficiente|fondos insuficientes"
        r"|stock insuffisant|existencias insuficientes",
        0.8,
    ),
    bad(
        "ungültig ungültige ungültiger ungültiges ungueltig erwartet erforderlich fehlt fehlende "
        "pflichtfeld muss",
        r"\bung(?:ü|ue)ltig\w*|erwartet (?:wird|wurde)|(?:feld|parameter|angabe"
        r"|argument)\b.{0,40}(?:erforderlich|fehlt)|fehlende\w? (?:parameter|angabe|argument"
        r"|pflichtfeld)|pflichtfeld|\bmuss (?:ein|eine|größer|kleiner|zwischen|angegeben|positiv)",
    ),
    bad(
        "invalide invalides paramètre paramètres obligatoire requis requise valide format doit",
        r"\binvalides?\b|(?:champ|param[èe]tre|argument)\b.{0,40}(?:obligatoire|requis|manquant"
        r"|incorrect)|(?:param[èe]tre|argument) manquant|n.est pas valide|non valide"
        r"|format .{0,30}incorrect|\bdoit [êe]tre\b",
    ),
    bad(
        "inválido inválida invalido invalida parámetro parametro obligatorio requerido falta "
        "válido válida debe",
        r"\binv[áa]lid[oa]s?\b|(?:campo|par[áa]metro|argumento)\b.{0,40}(?:obligatorio|requerido"
        r"|incorrecto|falta)|falta (?:el|la) (?:campo|par[áa]metro)|no (?:es )?v[áa]lid[oa]"
        r"|\bdebe (?:ser|tener|estar)\b",
    ),
)
