# SPDX-License-Identifier: Apache-2.0
"""`judge.py HISTORY [...]`: judges recorded histories of the drive against contract.md (docs/reference/history.md). `-`
is standard input.

One line per file: `HISTORY: good (N events, M reads, K cuts)`, or the violation with its guarantee, commands and lines.
Exit code 0 if all are good, 1 if one is not, 2 for wrong arguments or a file that is no history. `--bench` prints how
many events per second it judges here.
"""

import sys

try:
    from judge import Malformed, judge_lines
    from judge.format import events
except ImportError as e:
    sys.exit(f"judge: {e}; source tools/env.sh first")


def main(arguments):
    if arguments == ["--bench"]:
        from judge.bench import main as bench

        return bench()
    if not arguments or any(a.startswith("-") and a != "-" for a in arguments):
        print("usage: judge.py HISTORY [...] | --bench", file=sys.stderr)
        return 2
    code = 0
    for name in arguments:
        try:
            if name == "-":
                verdict = judge_lines(events(sys.stdin))
            else:
                with open(name, encoding="utf-8") as lines:
                    verdict = judge_lines(events(lines))
        except (OSError, UnicodeDecodeError, Malformed) as wrong:
            print(f"{name}: {'no history: ' if isinstance(wrong, Malformed) else ''}{wrong}", file=sys.stderr)
            code = 2
            continue
        count = verdict.counts
        if verdict.good:
            print(
                f"{name}: good ({count.get('events', 0)} events, {count.get('reads', 0)} reads, "
                f"{count.get('cuts', 0)} cuts)"
            )
        else:
            code = code or 1
            for violation in verdict.violations:
                print(f"{name}: {violation}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
