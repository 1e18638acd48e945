"""Error phrases in German, French, Spanish (as phrases) and in Chinese and Japanese (as pieces of text).

Chinese and Japanese are not written in words, so that their pieces are looked for as they stand; the order
matters as it does among the phrases.
"""

from __future__ import annotations

import re

from btm.classify.finding import WORDS, Finding
from btm.classify.phrases import (
    Phrase, _auth, _bad, _broken, _down, _drift, _empty, _missing, _quota, _rate, _server, _state, _timeout, _tool,
)  # fmt: skip
from btm.model import ErrorKind as K

EUROPEAN: tuple[Phrase, ...] = (
    _tool("werkzeug herramienta outil outils", r"(?:unbekanntes|kein) werkzeug|werkzeug .{0,40}(?:nicht gefunden|unbekannt)|herramienta (?:desconocida|.{0,40}no (?:existe|encontrada|se encontr))|outil (?:inconnu|.{0,40}(?:introuvable|n'existe pas))"),
    _quota("guthaben kontingent kontingents crédit crédits credits solde saldo cuota quota créditos crédito", r"guthaben .{0,30}(?:aufgebraucht|erschöpft|reicht nicht)|(?:kontingent|tageslimit).{0,30}(?:erschöpft|überschritten|aufgebraucht|erreicht)|crédits? (?:épuisés?|insuffisants?)|quota .{0,30}(?:dépassé|épuisé|atteint)|(?:cuota|quota).{0,30}(?:agotada|superada|excedida|alcanzada)|créditos? (?:agotados?|insuficientes?)|se ha(?:n)? agotado .{0,30}(?:saldo|crédito|cuota)"),
    _rate("anfragen anfragelimit ratenbegrenzung requêtes solicitudes peticiones demandes límite limite aufrufe", r"zu viele (?:\w+ )?(?:anfragen|aufrufe|versuche)|anfragelimit|ratenbegrenzung|trop de (?:requêtes|demandes|tentatives)|demasiadas (?:solicitudes|peticiones|consultas|llamadas)|limite de (?:requêtes|débit|taux)|límite de (?:solicitudes|peticiones|velocidad|frecuencia|tasa)"),
    _timeout("zeitüberschreitung zeitlimit zeitueberschreitung", r"zeit(?:ü|ue)berschreitung|zeitlimit .{0,30}(?:überschritten|erreicht)|hat zu lange gedauert"),
    _timeout("délai delai", r"d[ée]lai .{0,60}(?:d[ée]pass[ée]|expir[ée]|[ée]coul[ée])|d[ée]passement d[ue] d[ée]lai|d[ée]passement du temps"),
    _timeout("espera agotado tiempo expiró", r"tiempo (?:de espera|l[íi]mite)|agot[óo] el tiempo|tiempo .{0,30}(?:agotado|excedido|superado)"),
    _auth("berechtigung berechtigungen zugriff zugang anmeldung autorisiert authentifizierung angemeldet berechtigt zugangsdaten schlüssel passwort token", r"(?:keine|fehlende|unzureichende|nicht genügend) (?:\w+ )?berechtigung|zugriff .{0,30}(?:verweigert|nicht erlaubt)|zugang verweigert|nicht (?:autorisiert|berechtigt|angemeldet)|authentifizierung .{0,30}(?:fehlgeschlagen|erforderlich)|anmeldung (?:fehlgeschlagen|erforderlich)|(?:ungültig\w*|falsch\w*|abgelaufen\w*) (?:\w+[- ])?(?:api-schlüssel|schlüssel|zugangsdaten|token|passwort|anmeldedaten)|token .{0,20}abgelaufen"),
    _auth("accès acces autorisation autorisé permission authentification droits jeton identifiants clé refusé refusée", r"acc[èe]s (?:refus[ée]|interdit|non autoris[ée])|permission refus[ée]e|non autoris[ée]|autorisation (?:refus[ée]e|insuffisante|requise)|authentification (?:[ée]chou|requise)|[ée]chec de l.authentification|droits insuffisants|pas (?:les |l.)(?:droits|autorisation)|(?:jeton|cl[ée]|identifiants?|mot de passe) .{0,30}(?:invalide|expir|incorrect)|pas autoris[ée]"),
    _auth("acceso permiso permisos autorizado autorizada autenticación autenticacion credenciales token clave", r"acceso (?:denegado|no autorizado|prohibido|restringido)|permisos? (?:denegados?|insuficientes?)|no (?:est[áa] )?autorizad[oa]|(?:no tiene|sin|falta de) (?:\w+ )?permisos?|autenticaci[óo]n (?:fall|requerida|inv)|(?:error|fallo) de autenticaci[óo]n|credenciales (?:inv[áa]lidas|incorrectas)|(?:token|clave) .{0,30}(?:inv[áa]lid|caducad|expirad|ha expirado)"),
    _down("nicht verfügbar erreichbar wartung wartungsarbeiten überlastet verbindung", r"nicht (?:verfügbar|erreichbar)|wartung(?:sarbeiten)?\b|überlastet|verbindung .{0,60}(?:abgelehnt|fehlgeschlagen|verweigert|unterbrochen|verloren|abgebrochen|nicht hergestellt)|keine verbindung"),
    _down("indisponible maintenance connexion joignable surchargé", r"indisponible|en maintenance|surcharg[ée]|connexion .{0,60}(?:refus[ée]e|impossible|[ée]chou[ée]|perdue|interrompue)|[ée]chec de (?:la )?connexion|injoignable|impossible de (?:se connecter|joindre|contacter)"),
    _down("disponible mantenimiento conexión conexion saturado sobrecargado conectar", r"(?:servicio|servidor|sistema|temporalmente) .{0,30}no disponible|no (?:est[áa] )?disponible|en mantenimiento|conexi[óo]n .{0,60}(?:rechazada|fall[óoi]|perdida|interrumpida|denegada)|(?:error|fallo) de conexi[óo]n|sobrecargado|no se pudo conectar"),
    _server("serverfehler interner", r"interner (?:server-?)?fehler|serverfehler"),
    _server("interne serveur", r"erreur interne|erreur (?:du )?serveur"),
    _server("interno servidor", r"error interno|error (?:del|en el) servidor|fallo interno"),
    _broken("antwort réponse respuesta json", r"antwort .{0,40}(?:ungültig|unvollständig|beschädigt|nicht (?:gelesen|verarbeitet|lesbar))|ungültige antwort|réponse (?:invalide|incompl[èe]te|illisible)|respuesta (?:inv[áa]lida|incompleta|mal formada)|json (?:ungültig|invalide|inv[áa]lido)"),
    _drift("unterstützt version versión", r"(?:api|version|schnittstelle)\b.{0,60}nicht mehr (?:unterstützt|verfügbar)|version .{0,60}n.est plus (?:prise en charge|support)|versi[óo]n .{0,60}(?:ya no es compatible|ya no se admite|obsoleta)"),
    _empty("ergebnisse treffer einträge résultat résultats resultados coincidencias", r"keine (?:\w+ )?(?:ergebnisse|treffer|einträge|datensätze)|aucun (?:r[ée]sultat|enregistrement)|(?:no se encontraron|sin|ning[úu]n) (?:\w+ )?(?:resultados?|coincidencias|registros)"),
    _missing("gefunden existiert vorhanden unbekannter unbekannte", r"nicht (?:\w+ )?(?:gefunden|vorhanden)|existiert nicht|kein\w* .{0,60}gefunden|unbekannte\w? (?:benutzer|kunde|bestellung|artikel|konto)|gibt es nicht"),
    _missing("introuvable trouvé trouvée existe inexistant inexistante trouver aucun", r"introuvable|(?:pas|non|n'a pas|n.a pas|n'ont pas|pas pu) [ée]t[ée] trouv|pas [ée]t[ée] trouv|non trouv[ée]|n.existe pas|inexistant|aucune? .{0,60}trouv[ée]|impossible de trouver|pas trouv[ée]"),
    _missing("encontrado encontrada encontró encontro existe encontrados inexistente encontrar encuentra", r"no (?:\w+ ){0,3}(?:encontrad[oa]s?|encontr[óo]|encuentra|existe)\b|inexistente|no se pudo encontrar|no hay ning"),
    _state("bereits storniert", r"\bbereits\b|kann nicht (?:\w+ )?(?:storniert|geändert|gelöscht|geschlossen|bearbeitet|umgetauscht|zurückgegeben) werden"),
    _state("déjà deja", r"\bd[ée]j[àa]\b|ne peut (?:pas|plus) [êe]tre (?:annul|modifi|supprim|rembours|[ée]chang)"),
    _state("ya", r"\bya (?:ha|est[áa]|fue|existe|se|han)\b|no (?:se puede|puede ser) (?:cancel|modific|elimin|anul|reembols|devuelt)"),
    _state("stornieren storniert saldo deckung guthaben fonds solde saldo", r"kann nicht .{0,40}werden|(?:nicht genügend|unzureichend\w*) (?:guthaben|saldo|deckung|bestand)|(?:solde|fonds) insuffisants?|saldo insuficiente|fondos insuficientes|stock insuffisant|existencias insuficientes", 0.8),
    _bad("ungültig ungültige ungültiger ungültiges ungueltig erwartet erforderlich fehlt fehlende pflichtfeld muss", r"\bung(?:ü|ue)ltig\w*|erwartet (?:wird|wurde)|(?:feld|parameter|angabe|argument)\b.{0,40}(?:erforderlich|fehlt)|fehlende\w? (?:parameter|angabe|argument|pflichtfeld)|pflichtfeld|\bmuss (?:ein|eine|größer|kleiner|zwischen|angegeben|positiv)"),
    _bad("invalide invalides paramètre paramètres obligatoire requis requise valide format doit", r"\binvalides?\b|(?:champ|param[èe]tre|argument)\b.{0,40}(?:obligatoire|requis|manquant|incorrect)|(?:param[èe]tre|argument) manquant|n.est pas valide|non valide|format .{0,30}incorrect|\bdoit [êe]tre\b"),
    _bad("inválido inválida invalido invalida parámetro parametro obligatorio requerido falta válido válida debe", r"\binv[áa]lid[oa]s?\b|(?:campo|par[áa]metro|argumento)\b.{0,40}(?:obligatorio|requerido|incorrecto|falta)|falta (?:el|la) (?:campo|par[áa]metro)|no (?:es )?v[áa]lid[oa]|\bdebe (?:ser|tener|estar)\b"),
)  # fmt: skip

_ASIAN: tuple[tuple[K, str], ...] = (
    (K.UNKNOWN_TOOL, "未知工具 工具不存在 未找到工具 没有该工具 不明なツール ツールが見つかりません ツールが存在しません"),
    (K.QUOTA_EXHAUSTED, "额度不足 余额不足，请充值 请充值 账户余额不足 额度已用完 额度已用尽 配额 超出每日 今日调用次数 次数已用完 欠费 流量包 套餐已 利用枠 クォータ 上限に達しました 残高が不足 クレジットが不足 無料枠"),
    (K.RATE_LIMIT, "过于频繁 太频繁 频率超限 频率限制 频率过高 请求过多 请求次数过多 限流 流控 访问过快 操作频繁 触发限 并发超 リクエストが多すぎ レート制限 アクセスが集中 リクエスト数が 頻度が高"),
    (K.TIMEOUT, "超时 逾时 逾時 超時 タイムアウト 時間切れ 时间过长"),
    (K.SCHEMA_DRIFT, "接口已下线 接口已废弃 版本不支持 不再支持 已弃用 接口不存在 接口已停用 廃止 サポートされなくなりました サポートされていないバージョン 提供を終了"),
    (K.AUTH_ERROR, "权限 無權限 无权 未授权 未登录 请登录 请先登录 登录已过期 登录失效 鉴权失败 认证失败 身份验证失败 验证失败，请检查密钥 令牌 密钥无效 密钥错误 签名错误 拒绝访问 禁止访问 没有访问 token无效 token已过期 認証 権限がありません 権限が アクセス拒否 アクセスが拒否 アクセス権 許可されていません 拒否されました ログインしてください ログインが必要 トークンが無効 トークンの有効期限 APIキー"),
    (K.UNAVAILABLE, "维护 服务不可用 暂不可用 无法连接 连接失败 连接被拒绝 连接断开 连接重置 网络错误 网络异常 系统繁忙 服务繁忙 服务器繁忙 稍后再试 稍后重试 メンテナンス 利用できません 接続できません 接続に失敗 接続が拒否 接続が切断 混雑 ただいま ネットワークエラー 停止中"),
    (K.SERVER_ERROR, "服务器内部错误 内部错误 服务器错误 服务异常 系统错误 系统异常 服务器异常 内部エラー サーバーエラー サーバエラー サーバー内部 システムエラー"),
    (K.MALFORMED, "解析失败 返回格式错误 返回数据异常 响应格式 无法解析 解析に失敗 解析できません 不正なレスポンス 応答が不正"),
    (K.EMPTY_RESULT, "没有找到相关 未找到相关 无结果 没有结果 查询结果为空 暂无数据 没有匹配 无匹配 該当する結果 結果がありません 検索結果は0 該当なし 該当するデータ 0件 見つかりませんでした。0"),
    (K.NOT_FOUND, "不存在 未找到 找不到 没有找到 查无 无此 查询不到 見つかりません 見つかりませんでした 存在しません 存在しない 见当たりません 該当する"),
    (K.PRECONDITION_FAILED, "已取消 已存在 已关闭 已完成 已发货 已支付 已退款 无法取消 不能取消 不可取消 无法修改 不能修改 库存不足 余额不足 状态不允许 重复 已被 已经 已锁定 请先 尚未 すでに 既に 在庫 残高不足 キャンセルできません 変更できません できる状態 重複 満席 満室"),
    (K.INVALID_ARGUMENTS, "参数 格式不正确 格式错误 不能为空 必填 必须 无效的 无效 非法 不合法 缺少 语法错误 语法 类型错误 不支持的 超出范围 パラメータ パラメーター 引数 必須 無効な 無効です 不正な 形式が 形式は 入力してください 指定してください 範囲外 構文エラー でなければなりません 正しくありません"),
)  # fmt: skip
_PIECES = tuple((kind, tuple(pieces.split())) for kind, pieces in _ASIAN)
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


def has_ideographs(text: str) -> bool:
    """Whether any of ``text`` is Chinese or Japanese."""
    return not text.isascii() and _IDEOGRAPHS.search(text) is not None


def in_asian_text(text: str) -> Finding | None:
    """Return what a Chinese or Japanese error text says, or None."""
    for kind, pieces in _PIECES:
        for piece in pieces:
            if piece in text:
                reached = kind in (K.TIMEOUT, K.SERVER_ERROR, K.MALFORMED)
                return Finding(kind, f"text:{kind}:{piece}", f"the text says {piece}", WORDS, reached=reached)
    return None
