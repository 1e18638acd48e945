"""``btm skills``: cards from runs that recovered and runs that did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.markup import escape

from btm.cli.logs import heard_logs, print_skipped, skipped_rows
from btm.cli.options import FORMAT, JSON, STRICT, map_option
from btm.cli.output import console, counted, emit_json, fail, percent, progress, table
from btm.errors import EvaluationError, did_you_mean
from btm.logs.conversation import Skipped
from btm.model import EvidenceKey
from btm.skills.analyzer import asking, worded
from btm.skills.book import retired
from btm.skills.card import SkillCard, card_yaml, load_cards, write_cards
from btm.skills.export import export_skills
from btm.skills.held_out import foretold
from btm.skills.mining import Mined, mine
from btm.skills.tries import RunRecord, run_record

CARDS = "skills"
_cards = click.option("--cards", default=CARDS, metavar="FOLDER", help="The folder (or file) with the cards.")
_database = click.option(
    "--db", "database", metavar="FILE", help="A database: what its calls came to with the cards' steps."
)


@click.group("skills")
def skills_group() -> None:
    """Mine, look at, measure and export skill cards."""


@skills_group.command("mine", short_help="Write cards from logs with good and bad runs of the same tasks.")
@click.argument("logs", nargs=-1, required=True, metavar="LOGS...")
@click.option("-o", "--out", metavar="FOLDER", help="Write the cards there.  [default: show them only]")
@map_option("what is a switch, repair or verify")
@click.option("--verify", metavar="DOMAIN", help="Replay each card on other tasks of shop or tau2:retail.")
@click.option("--analyzer", metavar="MODEL", help="A model (such as openai:gpt-4o) words the cards.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server for it.")
@FORMAT
@STRICT
@JSON
def mine_command(
    logs: tuple[str, ...],
    out: str | None,
    map_name: str | None,
    verify: str | None,
    analyzer: str | None,
    base_url: str | None,
    form: str | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Write cards from LOGS that hold runs of the same task with and without success.

    A card is made of names and actions alone; nothing that a tool said gets on it. Mining the same logs again gives the
    same cards.
    """
    skipped: list[Skipped] = []
    runs, domain, latest = _runs(logs, map_name, skipped, form=form, strict=strict, quiet=as_json)
    mined = mine(runs, domain, created_at=latest)
    cards = mined.cards
    if verify is not None:
        cards = _verified(cards, verify)
    if analyzer is not None:
        cards = _worded(cards, analyzer, base_url)
    if out is not None:
        write_cards(cards, out)
    if as_json:
        emit_json(
            {
                **_counts(mined),
                "cards": [card.model_dump(mode="json") for card in cards],
                "skipped": skipped_rows(skipped),
            }
        )
        return
    said = console()
    said.print(
        f"{counted(mined.runs, 'run')} of {counted(mined.tasks, 'task')}: {counted(mined.pairs, 'pair')} of a good and a "
        f"bad run, {len(mined.used)} set side by side; {counted(len(cards), 'card')}",
        markup=False,
    )
    _show(cards)
    print_skipped(skipped, len(skipped), said)


@skills_group.command("list", short_help="List cards with what they rest on.")
@_cards
@_database
@JSON
def list_command(cards: str, database: str | None, as_json: bool) -> None:
    """List cards; with --db, what that database has seen of each card's step."""
    found = load_cards(cards)
    seen = _seen(found, database)
    if as_json:
        emit_json([{**card.model_dump(mode="json"), **(_lived(seen, card))} for card in found])
        return
    _show(found, seen)


@skills_group.command("show", short_help="Print one card.")
@click.argument("name", metavar="ID")
@_cards
@JSON
def show_command(name: str, cards: str, as_json: bool) -> None:
    """Print the card of an ID."""
    found = {card.id: card for card in load_cards(cards)}
    if name not in found:
        fail(f"there is no card {name!r} in {cards}{did_you_mean(name, found)}")
    if as_json:
        emit_json(found[name].model_dump(mode="json"))
    else:
        click.echo(card_yaml(found[name]), nl=False)


@skills_group.command("export", short_help="Write cards as Agent Skills folders.")
@click.argument("folder", metavar="FOLDER")
@_cards
@JSON
def export_command(folder: str, cards: str, as_json: bool) -> None:
    """Write each card into FOLDER as an Agent Skills folder with a SKILL.md."""
    made = export_skills(load_cards(cards), folder)
    if as_json:
        emit_json({"written": [str(path) for path in made]})
    else:
        console().print(f"{counted(len(made), 'skill')} in {folder}", markup=False)


@skills_group.command("eval", short_help="Measure cards on held-out logs, or in simulated worlds.")
@click.argument("logs", nargs=-1, metavar="[LOGS...]")
@_cards
@map_option("what is a switch, repair or verify")
@click.option("--domain", help="Instead of logs: mine and measure in simulated worlds of this domain.")
@click.option("--worlds", type=click.IntRange(1, 100), default=4)
@click.option("--seed", type=int, default=0)
@JSON
def eval_command(
    logs: tuple[str, ...],
    cards: str,
    map_name: str | None,
    domain: str | None,
    worlds: int,
    seed: int,
    as_json: bool,
) -> None:
    """Measure what cards foretell in LOGS they were not mined from, or what they are worth in simulation.

    With --domain, cards are mined on one half of the tasks of each world and used on the other, beside the same runs
    without cards and with the cards dealt out to other failures.
    """
    if bool(logs) == bool(domain):
        fail("name either LOGS or a --domain")
    if domain is not None:
        _simulated(domain, worlds, seed, as_json)
        return
    found = foretold(load_cards(cards), _runs(logs, map_name, [], quiet=as_json)[0])
    if as_json:
        emit_json([{**asdict(one), "card": one.card.id} for one in found])
        return
    rows = ((one.card.id, one.followed, one.worked, one.others, one.others_worked) for one in found)
    console().print(table("card", ">followed", ">worked", ">else", ">worked ", rows=rows))


def _simulated(domain: str, worlds: int, seed: int, as_json: bool) -> None:
    from btm.lab.faults.settings import FaultSettings  # noqa: PLC0415 - the simulation loads slowly
    from btm.lab.request import HETEROGENEOUS, Request  # noqa: PLC0415
    from btm.lab.scenarios import Scenario  # noqa: PLC0415
    from btm.lab.skill_runs import compared  # noqa: PLC0415

    request = Request(
        domain=domain,
        profile=HETEROGENEOUS,
        scenarios=(Scenario.MIXED,),
        faults=FaultSettings(seed=seed),
        worlds=worlds,
        passes=2,
    )
    with progress("cards", "worlds") as tell:
        settings, made = compared(request, tell)
    rows = [
        {
            "map": one.mapped,
            "learned": one.learned,
            "episodes": one.episodes,
            "without": one.without,
            "cards": one.with_cards,
            "dealt_out": one.dealt_out,
            "gain": [one.gain.value, *one.gain.interval],
            "over_dealt_out": [one.over_dealt_out.value, *one.over_dealt_out.interval],
        }
        for one in settings
    ]
    if as_json:
        emit_json({"domain": domain, "worlds": worlds, "seed": seed, "settings": rows})
        return
    said = console()
    said.print(f"simulated: {worlds} worlds, {len(made[0].mined.cards)} cards in the first", markup=False)
    gains = ("cards - without (95 %)", "cards - dealt out (95 %)")
    shown = table("memory starts with", "without", "cards", "dealt out", *gains)
    for one in settings:
        gained = (
            f"{m.value:+.2f} ({m.interval.low:+.2f} to {m.interval.high:+.2f})"
            for m in (one.gain, one.over_dealt_out)
        )
        name = f"{'the map' if one.mapped else 'no map'}, {'evidence' if one.learned else 'nothing learned'}"
        shown.add_row(name, *map(percent, (one.without, one.with_cards, one.dealt_out)), *gained)
    said.print(shown)


def _runs(
    logs: Sequence[str], map_name: str | None, skipped: list[Skipped], **reading: Any
) -> tuple[list[RunRecord], str, float]:
    """Return the runs in logs, the domain of their map, and when the latest began."""
    runs, latest = [], 0.0
    with heard_logs(logs, map_name, skipped, **reading) as (fallback_map, heard):
        for conversation, told in heard:
            runs.append(run_record(conversation, told))
            latest = max(latest, conversation.started_at or 0.0)
    return runs, fallback_map.domain if map_name else "", latest


def _verified(cards: Sequence[SkillCard], domain: str) -> tuple[SkillCard, ...]:
    from btm.lab.environment import load_environment  # noqa: PLC0415 - the simulation loads slowly
    from btm.lab.skill_runs import replayed  # noqa: PLC0415

    environment = load_environment(domain)
    if not any(card.trigger.tool in environment.tools for card in cards):
        raise EvaluationError(f"{domain} has none of these cards' tools: there is nothing to replay")
    trials = ((card, replayed(card, environment)) for card in cards)
    return tuple(
        card.model_copy(update={"verified": trial if trial.tried else None}) for card, trial in trials
    )


def _worded(cards: Sequence[SkillCard], model: str, base_url: str | None) -> tuple[SkillCard, ...]:
    from btm.judge.models import connected  # noqa: PLC0415 - loads LangChain

    ask = asking(connected(model, base_url))
    return tuple(worded(card, ask) for card in cards)


def _seen(cards: Sequence[SkillCard], database: str | None) -> dict[str, tuple[float, float]]:
    """Return for each card what a database has seen of its step: how often it worked, and how often it was tried."""
    if database is None:
        return {}
    from btm.cli.database import StoredEvidence  # noqa: PLC0415 - SQLAlchemy is only needed with --db

    stored = StoredEvidence.read(database)
    seen = {}
    for card in cards:
        keys = (
            EvidenceKey(card.trigger.tool, k, card.first.action, card.target, 1) for k in card.trigger.kinds
        )
        beliefs = [stored.belief(key) for key in keys]
        seen[card.id] = sum(b.worked for b in beliefs), sum(b.n for b in beliefs)
    return seen


def _lived(seen: dict[str, tuple[float, float]], card: SkillCard) -> dict[str, Any]:
    if card.id not in seen:
        return {}

    worked, tried = seen[card.id]
    return {"followed_here": tried, "worked_here": worked, "retired": retired(card, worked, tried)}


def _counts(mined: Mined) -> dict[str, Any]:
    return {
        "runs": mined.runs,
        "tasks": mined.tasks,
        "pairs": mined.pairs,
        "used": len(mined.used),
        "used_by": dict(Counter(pair.how for pair in mined.used)),
    }


def _show(cards: Sequence[SkillCard], seen: dict[str, tuple[float, float]] | None = None) -> None:
    shown = table("card", "worked", "pairs", "replayed", *(["here"] if seen else []))
    for card in cards:
        trial = f"{card.verified.worked} of {card.verified.tried}" if card.verified else "-"
        said = card.evidence
        row = [escape(card.text), f"{said.worked:.0f} of {said.tried:.0f}", str(len(said.pairs)), trial]
        if seen:
            worked, tried = seen.get(card.id, (0.0, 0.0))
            row.append(f"{worked:.0f} of {tried:.0f}")
        shown.add_row(*row)
    if cards:
        console().print(shown)
