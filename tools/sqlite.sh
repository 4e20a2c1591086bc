#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SQLite for sw/host/sqlite, its benchmark and tests: that of a distribution is built without
# SQLITE_ENABLE_BATCH_ATOMIC_WRITE.
#
#   tools/sqlite.sh --fetch    gets the amalgamation into build/sqlite: sqlite3.c, sqlite3.h, sqlite3ext.h
#   tools/sqlite.sh            compiles it there: sqlite3.o (half a minute; again when this file changed)
#
# It comes out of an npm package that has it among its sources; nothing of the package is run. Runs wait for each other.
set -euo pipefail
cd "$(dirname "$0")/.."
package=better-sqlite3@12.11.1 # SQLite 3.53.2
sums="60d2f39a3726cd6b9021da6f4e868608d66fbb6528a9f513dc8ffcc640493422  sqlite3.c
9e69a1353a4288450b0d5239ede11fc7f1f4c8e5eb07491fc8317eacb5b7de7e  sqlite3.h
ac9645e5c9ff0cf176efdd6e75cb5e98f46295d38e02db5c4d208826a39ab4be  sqlite3ext.h"
flags="-O1 -g0 -fPIC -DSQLITE_ENABLE_BATCH_ATOMIC_WRITE -DSQLITE_USE_URI=1 -DSQLITE_THREADSAFE=1"

fail() { echo "sqlite.sh: $*" >&2; exit 1; }
[[ $# == 0 || ($# == 1 && $1 == --fetch) ]] || fail "usage: sqlite.sh [--fetch]"

dir=build/sqlite
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9

here() { (cd "$dir" && sha256sum --quiet --check <<<"$sums") >/dev/null 2>&1; }
if ! here; then
  new=$(mktemp -d "$dir/new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  (cd "$new" && npm pack --silent --ignore-scripts "$package") >"$dir/npm.log" 2>&1 ||
    { tail -5 "$dir/npm.log" >&2; fail "npm could not get $package"; }
  tar -xzf "$new"/*.tgz -C "$new" --strip-components=3 package/deps/sqlite3
  mv "$new"/sqlite3*.[ch] "$dir"
  here || fail "the SQLite in $package is not the one that was expected"
fi
[[ ${1:-} != --fetch ]] || exit 0

if [[ ! -e $dir/sqlite3.o || tools/sqlite.sh -nt $dir/sqlite3.o ]]; then
  # shellcheck disable=SC2086
  gcc $flags -c "$dir/sqlite3.c" -o "$dir/sqlite3.o.new"
  mv "$dir/sqlite3.o.new" "$dir/sqlite3.o"
fi
