"""The result packs in bench/results: an index by machine, and the README's headline tables.

    python bench/packs.py [--write | --check]
    python bench/packs.py --add FILE WHAT [--force]

Reads every file of bench/results and prints what follows from them; --write puts it between the
markers in bench/results/README.md and README.md, --check exits with 1 where these say anything
else. --add copies a result into bench/results under the name of its machine, <machine>-WHAT.json,
without host name and without folders in its command line, then does as --write. Nothing else of
a file is changed, and a file that was put there by hand and has either is refused.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from common import RESULTS, ROOT, message
from pack_files import Pack, PackFile, published, read_file, read_packs
from pack_headline import headline
from pack_index import index

from ftax_micro.errors import FtaxError, OutputError
from ftax_micro.results import save_result

INDEX, README = RESULTS / "README.md", ROOT / "README.md"


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    try:
        if args.add is not None:
            add(Path(args.add[0]), args.add[1], force=args.force)
        packs = read_packs(RESULTS)
        texts = generated(packs)
        wrong = [*unfit(packs), *(stale(texts) if args.check else ())]
        if not wrong and (args.write or args.add is not None):
            write(texts)
    except FtaxError as error:
        wrong = [str(error)]
    for line in wrong:
        message(f"packs: {line}")
    if not wrong and not (args.write or args.check or args.add):
        print("\n\n".join(texts.values()))
    return int(bool(wrong))


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help="put both into their files")
    what.add_argument("--check", action="store_true", help="exit with 1 where they are stale")
    what.add_argument("--add", nargs=2, metavar=("FILE", "WHAT"), help="publish a result")
    parser.add_argument("--force", action="store_true", help="with --add: replace what is there")
    return parser.parse_args(argv)


def generated(packs: Sequence[Pack]) -> dict[tuple[Path, str], str]:
    """The text between the markers of a file, by file and marker."""
    return {(INDEX, "packs"): index(packs), (README, "headline"): headline(packs)}


def add(source: Path, what: str, *, force: bool) -> None:
    """Publish the file `source`. Errors: `FtaxError` for one that cannot be read or written."""
    file = read_file(source)
    target = RESULTS / f"{file.slug}-{what}.json"
    if file.result is not None:
        save_result(published(file.result), target, force=force)
    elif target.exists() and not force:
        raise OutputError(f"{target} exists already; --force replaces it")
    else:
        shutil.copyfile(source, target)
    message(f"wrote {target}")


def unfit(packs: Sequence[Pack]) -> list[str]:
    """What is wrong with files as they are, in sentences."""
    return [line for pack in packs for file in pack.files for line in _unfit(file)]


def _unfit(file: PackFile) -> list[str]:
    lines = []
    if not file.path.name.startswith(f"{file.slug}-"):
        lines.append(f"{file.path.name} is of a machine whose files begin with {file.slug}-")
    if file.result is not None and file.result != published(file.result):
        how = f"python bench/packs.py --add {file.path.name} {file.what} --force"
        lines.append(f"{file.path.name} tells host name or folders: {how}")
    return lines


def stale(texts: Mapping[tuple[Path, str], str]) -> list[str]:
    """The files that say something else than follows from the results."""
    return [
        f"{path.relative_to(ROOT)} is not what the files give: python bench/packs.py --write"
        for (path, marker), text in texts.items()
        if path.read_text() != replaced(path, marker, text)
    ]


def write(texts: Mapping[tuple[Path, str], str]) -> None:
    """Put every text between its markers, or none where one has no place."""
    new = {path: replaced(path, marker, text) for (path, marker), text in texts.items()}
    for path, text in new.items():
        path.write_text(text)


def replaced(path: Path, marker: str, text: str) -> str:
    """The file at `path` with `text` between the markers. Errors: `OutputError` without these."""
    pattern = re.compile(f"(<!-- {marker}: begin -->\n).*(<!-- {marker}: end -->)", re.DOTALL)
    found, count = pattern.subn(lambda m: f"{m[1]}\n{text}\n\n{m[2]}", path.read_text())
    if count != 1:
        raise OutputError(f"{path} has no markers of {marker!r}")
    return found


if __name__ == "__main__":
    sys.exit(main())
