"""Chinese and Japanese error texts, by pieces of text: these languages are not written in words.

The kinds are tried in the order of the table, as the phrases are.
"""

from __future__ import annotations

import re

from btm.classify.finding import WORDS, Finding
from btm.model import ErrorKind as K

_CHINESE: dict[K, str] = {
    K.UNKNOWN_TOOL: "未知工具 工具不存在 未找到工具 没有该工具 未知函数 未注册的工具",
    K.QUOTA_EXHAUSTED: """额度不足 额度已 请充值 充值后 账户余额不足 账号余额不足 配额 超出每日 每日上限
        调用次数已 次数已用完 欠费 流量包 套餐已 免费额度 已达上限""",
    K.RATE_LIMIT: """过于频繁 太频繁 频率超限 频率限制 频率过高 请求频率 请求过多 请求次数过多 限流 流控
        访问过快 请求过快 操作频繁 触发限 并发超 並發 過於頻繁""",
    K.TIMEOUT: "超时 逾时 逾時 超時 时间过长 未在规定时间",
    K.SCHEMA_DRIFT: """接口已下线 接口已废弃 接口已停用 接口不存在 版本不支持 版本过低 不再支持 已弃用
        已下线 返回缺少 缺少返回字段""",
    K.AUTH_ERROR: """权限 無權限 无权 未授权 未登录 请登录 请先登录 重新登录 登录已过期 登录失效 登录超时
        鉴权失败 认证失败 认证错误 身份验证 令牌 密钥无效 密钥错误 密钥不 密码错误 签名错误 签名无效
        签名验证 拒绝访问 禁止访问 访问被拒绝 没有访问 token无效 token已 凭证""",
    K.UNAVAILABLE: """维护 服务不可用 暂不可用 暂时不可用 无法连接 连接失败 连接被拒绝 连接断开 连接重置
        连接中断 网络错误 网络异常 网络不可 系统繁忙 服务繁忙 服务器繁忙 系统升级 停机 稍后再试 稍后重试
        无法访问服务 维護""",
    K.SERVER_ERROR: """服务器内部错误 内部错误 服务器错误 服务异常 系统错误 系统异常 服务器异常 网关错误
        伺服器錯誤""",
    K.MALFORMED: "解析失败 返回格式错误 返回数据异常 响应格式 返回内容异常 无法解析 数据不完整",
    K.EMPTY_RESULT: """没有找到相关 未找到相关 无结果 没有结果 查询结果为空 结果为空 暂无 没有匹配 无匹配
        没有符合条件 未查询到相关 无相关""",
    K.NOT_FOUND: """不存在 未找到 找不到 没有找到 查无 无此 查询不到 未查到 未查询到 没有该 没有此 無此
        找不到該""",
    K.PRECONDITION_FAILED: """已取消 已存在 已关闭 已完成 已发货 已支付 已退款 已锁定 已售罄 已预订 已满
        已过期 已被 已经 无法取消 不能取消 不可取消 不支持取消 无法修改 不能修改 无法退款 不能退款
        库存不足 余额不足 座位不足 状态不允许 状态异常 不可重复 重复 请先 尚未 未支付""",
    K.INVALID_ARGUMENTS: """参数 格式不正确 格式错误 格式有误 不能为空 不可为空 必填 必须 应为 无效的
        无效 非法 不合法 缺少 语法错误 语法 类型错误 不支持的 超出范围 不能大于 不能小于 过长 參數""",
}
_JAPANESE: dict[K, str] = {
    K.UNKNOWN_TOOL: "不明なツール ツールが見つかりません ツールが存在しません 未登録のツール",
    K.QUOTA_EXHAUSTED: "利用枠 クォータ 上限に達し 残高が不足 クレジットが不足 無料枠 割り当て",
    K.RATE_LIMIT: """リクエストが多すぎ レート制限 回数の制限 制限を超え アクセスが集中 リクエスト数が 頻度が高 回数制限
        呼び出し回数""",
    K.TIMEOUT: "タイムアウト 時間切れ 応答がありません 制限時間",
    K.SCHEMA_DRIFT: "廃止 サポートされなくなりました サポートされていないバージョン 提供を終了",
    K.AUTH_ERROR: """認証 権限がありません 権限が 権限を アクセス拒否 アクセスが拒否 アクセス権
        許可されていません 拒否されました ログインしてください ログインが必要 トークンが無効
        トークンの有効期限 APIキー パスワードが""",
    K.UNAVAILABLE: """メンテナンス 利用できません 利用いただけません 接続できません 接続に失敗 接続が拒否
        接続が切断 通信エラー 混雑 ただいま ネットワークエラー 停止中 時間をおいて しばらくして
        しばらく経って""",
    K.SERVER_ERROR: "内部エラー サーバーエラー サーバエラー サーバー内部 サーバーで システムエラー",
    K.MALFORMED: "解析に失敗 解析できません 不正なレスポンス 応答が不正 不正な応答",
    K.EMPTY_RESULT: """該当する結果 結果がありません 検索結果は0 該当なし 該当するデータ 0件
        データがありません""",
    K.NOT_FOUND: "見つかりません 存在しません 存在しない 見当たりません 該当する",
    K.PRECONDITION_FAILED: """すでに 既に 在庫 残高不足 キャンセルできません 変更できません
        返品できません できる状態 重複 満席 満室 予約済み 期限が切れ""",
    K.INVALID_ARGUMENTS: """パラメータ パラメーター 引数 必須 無効な 無効です 不正な 不正です 形式が
        形式は 入力してください 指定してください 未入力 範囲外 構文エラー でなければなりません
        正しくありません""",
}
_PIECES = tuple((kind, tuple(f"{_CHINESE[kind]} {_JAPANESE[kind]}".split())) for kind in _CHINESE)
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_REACHED = frozenset({K.TIMEOUT, K.SERVER_ERROR, K.MALFORMED})


def has_ideographs(text: str) -> bool:
    """Whether any of ``text`` is Chinese or Japanese."""
    return not text.isascii() and _IDEOGRAPHS.search(text) is not None


def in_asian_text(text: str) -> Finding | None:
    """Return what a Chinese or Japanese error text says, or None."""
    for kind, pieces in _PIECES:
        for piece in pieces:
            if piece in text:
                reached = kind in _REACHED
                return Finding(kind, f"text:{kind}:{piece}", f"the text says {piece}", WORDS, reached=reached)
    return None
