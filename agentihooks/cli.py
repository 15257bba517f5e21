"""
The command: arguments to a verb, a verb to an exit code. Each verb imports what it needs.

Exit codes: 0 done, 1 something needs a person, 2 bad input, 3 refused; the last two say why in one line.
"""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from agentihooks.install import Plan
    from agentihooks.plugins import Plugins

NEEDS_A_PERSON = 1
BAD_INPUT = 2
REFUSED = 3
INTERRUPTED = 130


def main(arguments: Sequence[str]) -> int:
    """Run the verb that *arguments* name; return its exit code."""
    options = _parser().parse_args(arguments)
    from agentihooks import settings
    from agentihooks.errors import AgentihooksError, ScopeRefused

    if isinstance(sys.stdout, io.TextIOWrapper):
        # A folder may have any name, a terminal may know few characters.
        sys.stdout.reconfigure(errors="replace")
    try:
        if options.verb is not _doctor:
            settings.load()
        code: int = options.verb(options)
        print(end="", flush=True)
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain about it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except ScopeRefused as refusal:
        _complain(f"{refusal.code}: {refusal}")
        return REFUSED
    except (AgentihooksError, ValueError, OSError) as error:
        return _complain(_reason(error))
    return code


def _parser() -> argparse.ArgumentParser:
    import argparse

    from agentihooks import __version__

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            self.exit(_complain(f"{message}; see {self.prog} --help"))

    parser = Parser(
        prog="agentihooks",
        description="Say what a coding agent's session worked on, and when.",
        epilog="Everything is kept under AGENTIHOOKS_HOME, by default ~/.agentihooks.",
    )
    parser.add_argument("--version", action="version", version=f"agentihooks {__version__}")
    verbs: argparse._SubParsersAction[argparse.ArgumentParser]
    verbs = parser.add_subparsers(required=True, metavar="VERB")  # type: ignore[assignment] # invariant

    attribute = verbs.add_parser(
        "attribute",
        help="what was done for which task, project, worktree and branch",
        description="Show each transcript's history, and what happened under each scope. Writes nothing.",
    )
    attribute.add_argument("paths", nargs="*", metavar="PATH", help="Claude Code or Codex transcripts (.jsonl, .zst)")
    attribute.add_argument(
        "--limit", type=_count, default=5, metavar="N", help="without PATH: the N newest sessions (5)"
    )
    attribute.add_argument("--json", action="store_true", help="print JSON for programs")
    attribute.set_defaults(verb=_attribute)

    scope = verbs.add_parser(
        "scope", help="a session's recorded history", description="Read a session's scope log, or change its task."
    ).add_subparsers(required=True, metavar="VERB")
    of_session = "a session's id; a subagent's is SESSION.agent-ID"
    show = scope.add_parser(
        "show", help="all transitions of a session", description="Show when a session was where, on which task."
    )
    show.add_argument("session", metavar="SESSION", help=of_session)
    show.add_argument("--json", action="store_true", help="print JSON for programs")
    show.set_defaults(verb=_scope_show)
    at = scope.add_parser(
        "at", help="the scope in force at a time", description="Show each field of the scope in force at a time."
    )
    at.add_argument("session", metavar="SESSION", help=of_session)
    at.add_argument("time", metavar="TIME", help="ISO 8601, such as 2026-10-08T10:00:00Z; naive is UTC")
    at.add_argument("--json", action="store_true", help="print JSON for programs")
    at.set_defaults(verb=_scope_at)
    change = scope.add_parser(
        "set",
        help="change a session's task from now on",
        description="Change what a session works on; where it works stays as it is. A refusal exits 3.",
    )
    change.add_argument("--task", required=True, help='the task\'s id; "" for none')
    change.add_argument("--revision", metavar="R", help="its revision; a lower number than before is refused")
    change.add_argument("--lane", help="by default as it is")
    change.add_argument("--swarm", help="by default as it is")
    change.add_argument("--session", metavar="ID", help="by default that of the agent in whose shell this runs")
    change.add_argument("--at", metavar="TIME", help="ISO 8601; by default now")
    change.set_defaults(verb=_scope_set)

    status = verbs.add_parser(
        "status",
        help="every session's scope now, and since when",
        description="Show where each session is and what it works on, and which are in each other's way.",
    )
    status.add_argument("--all", action="store_true", help="also those not heard of for a week")
    status.add_argument("--json", action="store_true", help="print JSON for programs")
    status.set_defaults(verb=_status)

    sweep = verbs.add_parser(
        "sweep",
        help="read what hooks have missed",
        description="Observe every transcript here, as the hooks would have: moves go into the logs, markers, old ones "
        "as well, into the outbox. Sweeping again records nothing.",
    )
    sweep.add_argument("--no-markers", action="store_true", help="leave the markers for a later sweep, or the hooks")
    sweep.add_argument("--json", action="store_true", help="print JSON for programs")
    sweep.set_defaults(verb=_sweep)

    _add_outbox(verbs)

    doctor = verbs.add_parser(
        "doctor",
        help="is everything wired, does it fire, what was skipped",
        description="Exits 1 if something needs a person.",
    )
    doctor.add_argument("--json", action="store_true", help="print JSON for programs")
    doctor.set_defaults(verb=_doctor)

    for name, act, text in (
        ("install", _install, "put the hooks into an agent's settings file, or bring them up to date"),
        ("uninstall", _uninstall, "take the hooks out of an agent's settings file"),
    ):
        edit = verbs.add_parser(name, help=text, description=f"{text.capitalize()}; the rest of it stays as it is.")
        edit.add_argument("agent", metavar="AGENT", help="claude, codex, or another plugin's name")
        edit.add_argument(
            "--scope", choices=("user", "project"), default="user", help="whose file: the user's, or this folder's"
        )
        edit.add_argument("--dry-run", action="store_true", help="print the change as a diff, and make none")
        edit.set_defaults(verb=act)

    # Run by `__main__`, before there is a parser; here for the help.
    hook = verbs.add_parser(
        "hook",
        help="what the agents call: reads a payload, prints nothing, exits 0",
        description="Read one event's payload from standard input. Prints nothing and exits 0, whatever happens.",
    )
    hook.add_argument("agent", metavar="AGENT", help="claude, codex, or another plugin's name")
    return parser


def _add_outbox(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    outbox = verbs.add_parser(
        "outbox",
        help="markers that wait, and those that were refused",
        description="Look after the markers that a brain, or another sink, does not have yet.",
    ).add_subparsers(required=True, metavar="VERB")
    listing = outbox.add_parser(
        "list", help="what waits or was set aside, since when, and why", description="Show each marker's file."
    )
    listing.add_argument("--json", action="store_true", help="print JSON for programs")
    listing.set_defaults(verb=_outbox_list)
    drain = outbox.add_parser(
        "drain", help="send what waits", description="Exits 1 if something still waits in the end, and says why."
    )
    drain.add_argument("--json", action="store_true", help="print JSON for programs")
    drain.set_defaults(verb=_outbox_drain)
    retry = outbox.add_parser(
        "retry", help="send again what was set aside", description="Like drain, after putting the files back."
    )
    retry.add_argument("names", nargs="*", metavar="FILE", help="names, as listed; by default all")
    retry.add_argument("--json", action="store_true", help="print JSON for programs")
    retry.set_defaults(verb=_outbox_retry)


def _count(text: str) -> int:
    import argparse

    if not text.isdecimal() or not text.strip("0"):
        raise argparse.ArgumentTypeError(f"not a number from 1 on: {text}")
    return int(text)


def _attribute(options: argparse.Namespace) -> int:
    from agentihooks.engine import engine_at
    from agentihooks.home import home_directory
    from agentihooks.observe import without_task
    from agentihooks.plugins import Plugins
    from agentihooks.report import report

    plugins = Plugins.installed()
    # Whoever looks at a session works on something else, as often as not.
    environ = without_task(os.environ)
    # The same file named twice has not happened twice.
    named = {os.path.realpath(path): path for path in reversed(options.paths)}
    paths = [*named.values()][::-1] or newest_transcripts(plugins, options.limit)
    reports, code = [], 0
    for path in paths:
        try:
            reports.append(report(path, engine_at(home_directory()), plugins, environ))
        except (ValueError, OSError) as error:
            code = _complain(_reason(error))
    if options.json:
        _print_json({"transcripts": reports})
    elif reports:
        from agentihooks.terminal import console, show_reports

        show_reports(console(), reports)
    elif not options.paths:
        print("no transcripts found; name one: agentihooks attribute PATH")
    for fault in plugins.faults:
        _complain(str(fault))
    return code


def newest_transcripts(plugins: Plugins, limit: int) -> list[str]:
    """Return the main transcripts of the *limit* sessions written to last, the newest last, where the eye ends up."""
    found = [
        file
        for files in plugins.each("agentihooks_find_transcripts", environ=os.environ, session_id="")
        for file in files
        if not file.agent_id
    ]
    found.sort(key=lambda file: (file.modified_at, file.path))
    return [file.path for file in found[-limit:]]


def _scope_show(options: argparse.Namespace) -> int:
    from agentihooks.engine import transitions

    history = transitions(options.session)
    if not history:
        return _complain(f"no scope log for session {options.session}")
    if options.json:
        _print_json([transition.as_dict() for transition in history])
    else:
        from agentihooks.terminal import console, show_transitions

        show_transitions(console(), history)
    return 0


def _scope_at(options: argparse.Namespace) -> int:
    from agentihooks.clock import instant
    from agentihooks.engine import scope_at, transitions

    try:
        instant(options.time)
    except ValueError as error:
        raise ValueError(f"{options.time!r} is {error}; give a time such as 2026-10-08T10:00:00Z") from None
    if not transitions(options.session):
        return _complain(f"no scope log for session {options.session}")
    scope = scope_at(options.session, options.time)
    fields = {} if scope is None else scope.nonempty()
    if options.json:
        _print_json(None if scope is None else scope.as_dict())
    else:
        from agentihooks.terminal import console, show_fields

        show_fields(console(), fields or {"unknown": "no scope was in force"})
    return 0


def _scope_set(options: argparse.Namespace) -> int:
    from agentihooks.change import change_task
    from agentihooks.engine import engine_at
    from agentihooks.home import home_directory, is_rolled_back
    from agentihooks.model import Scope

    if is_rolled_back():
        # Whoever calls this need not know of the rollback, nor fail for it.
        print("nothing recorded: AGENTIHOOKS_SESSION_SCOPE=0", file=sys.stderr)
        return 0
    task = {"task": options.task, "task_revision": options.revision, "lane": options.lane, "swarm": options.swarm}
    home = home_directory()
    transition = change_task(home, engine_at(home), task, os.environ, session_id=options.session, at=options.at)
    if transition is None:
        print("unchanged")
    else:
        named = {name: value for name, value in Scope.of(transition).as_dict().items() if name in task and value}
        said = ", ".join(f"{name} {value}" for name, value in named.items())
        print(f"{transition.session_id}: {_plain(said) or 'no task'}")
    return 0


def _status(options: argparse.Namespace) -> int:
    from agentihooks.clock import now
    from agentihooks.engine import engine_at
    from agentihooks.home import home_directory
    from agentihooks.status import RECENT, status

    home = home_directory()
    found = status(home, engine_at(home), now(), None if options.all else RECENT)
    if options.json:
        _print_json(found)
    else:
        from agentihooks.terminal import console, show_status

        show_status(console(), found, now())
    return 0


def _sweep(options: argparse.Namespace) -> int:
    from agentihooks.engine import engine_at
    from agentihooks.home import home_directory
    from agentihooks.sweep import known_transcripts, sweep
    from agentihooks.terminal import progress

    home = home_directory()
    engine = engine_at(home)
    files = known_transcripts(engine, os.environ)
    with progress("reading transcripts", len(files)) as advance:
        result = sweep(engine, home, os.environ, files, advance, takes_markers=not options.no_markers)
    if options.json:
        _print_json(result)
    else:
        counts = f"transitions added: {result.recorded}; markers put by: {result.markers}"
        print(f"transcripts read: {result.transcripts}; {counts}")
    for path, reason in result.failed.items():
        _complain(f"{path}: {reason}")
    return NEEDS_A_PERSON if result.failed else 0


def _outbox_list(options: argparse.Namespace) -> int:
    from agentihooks.clock import now
    from agentihooks.home import home_directory
    from agentihooks_outbox.listing import waiting_markers

    found = list(waiting_markers(home_directory(), os.environ, now()))
    if options.json:
        _print_json({"markers": found})
    else:
        from agentihooks.terminal import console, show_waiting

        show_waiting(console(), found, now())
    return 0


def _outbox_drain(options: argparse.Namespace) -> int:
    from agentihooks.clock import now
    from agentihooks.home import home_directory
    from agentihooks.plugins import Plugins
    from agentihooks.terminal import progress
    from agentihooks_outbox.listing import drain_all, waiting_markers

    home, plugins = home_directory(), Plugins.installed()
    waiting = sum(marker.state != "bad" for marker in waiting_markers(home, os.environ, now()))
    with progress("sending markers", waiting) as advance:
        deliveries = drain_all(home, os.environ, plugins, advance)
    if options.json:
        _print_json(deliveries)
    else:
        for receiver, delivery in deliveries.items():
            print(f"{receiver}: {len(delivery.sent)} sent, {delivery.bad} set aside, {delivery.kept} waiting")
    for receiver, delivery in deliveries.items():
        if delivery.reason:
            _complain(f"{receiver}: {delivery.reason}")
    return NEEDS_A_PERSON if any(delivery.reason for delivery in deliveries.values()) else 0


def _outbox_retry(options: argparse.Namespace) -> int:
    from agentihooks.home import home_directory
    from agentihooks_outbox.listing import take_up

    take_up(home_directory(), os.environ, options.names)
    return _outbox_drain(options)


def _doctor(options: argparse.Namespace) -> int:
    from agentihooks import settings
    from agentihooks.clock import now
    from agentihooks.doctor import Finding, examine
    from agentihooks.home import home_directory
    from agentihooks.plugins import Plugins

    findings = []
    try:
        settings.load()
    except (ValueError, OSError) as error:
        advice = "mend it: until then nothing in it counts"
        findings.append(Finding(level="problem", about="settings", text=_reason(error), advice=advice))
    findings += examine(home_directory(), Plugins.installed(), os.environ, now())
    if options.json:
        _print_json({"findings": findings})
    else:
        from agentihooks.terminal import console, show_findings

        show_findings(console(), findings)
    return NEEDS_A_PERSON if any(finding.level == "problem" for finding in findings) else 0


def _install(options: argparse.Namespace) -> int:
    from pathlib import Path

    from agentihooks.install import find_program, plan_install, settings_of

    settings = settings_of(options.agent, os.environ, options.scope, Path.cwd())
    return _carry_out(plan_install(settings, options.agent, find_program()), options.dry_run)


def _uninstall(options: argparse.Namespace) -> int:
    from pathlib import Path

    from agentihooks.install import plan_uninstall, settings_of

    settings = settings_of(options.agent, os.environ, options.scope, Path.cwd())
    return _carry_out(plan_uninstall(settings, options.agent), options.dry_run)


def _carry_out(plan: Plan, is_dry_run: bool) -> int:
    if is_dry_run:
        lines = plan.diff().splitlines() or ["nothing to change"]
    else:
        plan.apply()
        lines = [*plan.report()]
    # Tabs indent what is in many a file.
    print("\n".join("\t".join(map(_plain, line.split("\t"))) for line in lines))
    return 0


def _print_json(value: Any) -> None:
    import json

    import cattrs
    import msgspec

    print(json.dumps(cattrs.unstructure(value), indent=2, default=msgspec.to_builtins))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _complain(message: str) -> int:
    """Say in one line what is wrong; return the exit code for bad input."""
    # Where both go to one place, what is wrong comes after what was said before it.
    sys.stdout.flush()
    print(f"agentihooks: {_plain(message)}", file=sys.stderr)
    return BAD_INPUT


def _plain(text: str) -> str:
    """Return *text* in one line, without control characters; `terminal.printable` does more, and costs an import."""
    return "".join(char if char.isprintable() else "?" for char in text)
