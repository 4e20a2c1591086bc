# SPDX-License-Identifier: Apache-2.0
"""The report of otx-recover, as lines of words and as what JSON has."""

from opentxssd.facts import LogKind
from opentxssd.recover.log import text_of


def many(n, one, more=None):
    return f"{n} {one if n == 1 else more or one + 's'}"


def span(first, last):
    return f"page {first}" if first == last else f"pages {first} to {last}"


def head(drive):
    image, root = drive.image, drive.root.fields
    yield (
        f"drive {root['drive_id']:08x}: {many(image.channels, 'channel')} x {many(image.ways, 'way')} x {image.blocks} "
        f"blocks x {image.pages} pages, capacity {root['lbas']} blocks, {many(root['lanes'], 'lane')} of the log"
    )
    kind = "scrambled, " if image.scrambled else ""
    yield f"pages: {kind}{image.code.t} wrong bits in {image.code.chunk} bytes are corrected"
    for r in drive.roots:
        where = ", ".join(map(text_of, r.places))
        yield (
            f"root {'that counts' if r.counts else 'that does not count'}: generation {r.fields['generation']}, "
            f"sequence {r.sequence}, format {r.fields['version_word']}, {'sealed' if r.sealed else 'no seal'}; "
            f"{len(r.places)} of {many(copies(r), 'copy', 'copies')} whole: {where}"
        )


def copies(root):
    return max(len(root.places), root.named.bit_count())


def log(drive):
    log = drive.log
    last = max([p.number for p in log.before + log.behind], default=log.begin - 1)
    if last < log.begin:
        yield f"log of generation {log.generation}: no page"
    else:
        yield f"log of generation {log.generation}: pages {log.begin} to {last}"
    if log.before:
        yield f"  {span(log.begin, log.stops - 1)}: the drive has what they say"
    for first, last, entries in log.gaps:
        known = "" if entries is None else f", {many(entries, 'entry', 'entries')} in it"
        yield f"  {span(first, last)}: a gap{known}"
    if not all(page.promised for page in log.behind):
        yield f"  page {log.end}: missing, where the log ends; what was begun beside it was not promised"
    for page in log.behind:
        promised = "" if page.promised else ", not promised"
        yield f"  page {page.number}: {where_of(page)}: {many(page.header['count'], 'entry', 'entries')}{promised}"
    if log.strange:
        yield "begun in blocks of the log, and no page of this log:"
    for place, words in log.strange:
        yield f"  {text_of(place)}: {words}"


def where_of(page):
    return text_of(page.places[0])


def tx(entry):
    return "" if entry.txid is None else f" of txid {entry.txid}"


def line(drive, entry):
    fields, at = entry.fields, f"  {entry.index}: {entry.name}"
    if entry.ppn is not None:
        place = text_of(drive.image.place(entry.ppn))
        says = "which says so" if entry.good else f"which does not: {entry.says}"
        return (
            f"{at} LPN {fields['lpn']}{tx(entry)} -> PPN {entry.ppn} ({place}), sequence {fields['sequence']}, {says}"
        )
    if entry.kind == LogKind.TRIM:
        return f"{at} of {many(fields['arg'], 'block')} from LPN {fields['lpn']} on{tx(entry)}"
    if entry.kind in (LogKind.COMMIT, LogKind.PREPARE):
        lost = drive.missing_of(entry)
        return f"{at}{tx(entry)}, {many(fields['arg'], 'entry', 'entries')}" + (
            f", {lost} of them cannot be read" if lost else ""
        )
    return f"{at}{tx(entry)}"


def blocks(drive):
    """What --extract has for each LPN."""
    for lpn in sorted(drive.versions):
        version, newer = drive.newest(lpn)
        if version is None:
            yield f"  LPN {lpn}: {many(newer, 'version')}, no page can be read"
            continue
        what = "trimmed" if version.trimmed else f"sequence {version.sequence}"
        yield f"  LPN {lpn}: {what}" + (f"; {many(newer, 'newer version')} cannot be read" if newer else "")


def lines(drive):
    yield from head(drive)
    yield from log(drive)
    if not drive.log.behind:
        yield "nothing of this log stands behind the place where it stops for the drive"
        return
    yield "entries behind it:"
    for entries in drive.entries.values():
        yield from (line(drive, entry) for entry in entries)
    yield "blocks behind it, newest version that counts:" if drive.versions else "no block changes behind it"
    yield from blocks(drive)
    if drive.open:
        yield f"{many(len(drive.open), 'entry', 'entries')} of transactions without a COMMIT there: not in this list"


# JSON


def place_of(place):
    return None if place is None else place._asdict()


def entry_of(drive, entry):
    found = {"index": entry.index, "kind": entry.name, "txid": entry.txid}
    found |= {n: entry.fields[n] for n in ("flags", "n", "i", "lpn", "serial", "sequence", "epoch", "arg")}
    if entry.ppn is not None:
        found |= {"ppn": entry.ppn, "place": place_of(drive.image.place(entry.ppn))}
        found |= {"good": entry.good, "says": entry.says}
    if entry.kind in (LogKind.COMMIT, LogKind.PREPARE):
        found["entries_missing"] = drive.missing_of(entry)
    return found


def version_of(drive, lpn):
    version, newer = drive.newest(lpn)
    if version is None:
        return {"lpn": lpn, "readable": False, "newer": newer}
    return {
        "lpn": lpn,
        "readable": True,
        "trimmed": version.trimmed,
        "sequence": version.sequence,
        "index": version.order,
        "ppn": None if version.trimmed else version.good.ppn,
        "newer": newer,
    }


def as_json(drive):
    image, root, log = drive.image, drive.root.fields, drive.log
    geometry = {n: getattr(image, n) for n in ("channels", "ways", "blocks", "pages")}
    geometry |= {"spare_bytes": image.spare, "lbas": root["lbas"], "lanes": root["lanes"]}
    geometry |= {"ecc_t": image.code.t, "scramble": int(image.scrambled)}
    return {
        "image": str(image.path),
        "drive_id": root["drive_id"],
        "geometry": geometry,
        "roots": [
            {
                "counts": r.counts,
                "generation": r.fields["generation"],
                "sequence": r.sequence,
                "format": r.fields["version_word"],
                "sealed": r.sealed,
                "copies": copies(r),
                "whole": list(map(place_of, r.places)),
            }
            for r in drive.roots
        ],
        "log": {
            "generation": log.generation,
            "begin": log.begin,
            "stops": log.stops,
            "end": log.end,
            "gaps": [{"first": a, "last": b, "entries": n} for a, b, n in log.gaps],
            "strange": [{"place": place_of(place), "words": words} for place, words in log.strange],
        },
        "behind": [
            {
                "page": page.number,
                "place": place_of(page.places[0]),
                "promised": page.promised,
                "watermark": page.header["watermark"],
                "entries": [entry_of(drive, e) for e in drive.entries[page.number]],
            }
            for page in log.behind
        ],
        "blocks": [version_of(drive, lpn) for lpn in sorted(drive.versions)],
    }
