#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make docs`: README, docs/ and the pages of Python package and example SoC as a site below build/docs/site
# (mkdocs.yml). A link that leads nowhere, or a page without a place in the navigation, fails. Expects tools/env.sh.
#
# mkdocs takes pages of one folder only, so they are put together in build/docs/pages, and links between what lies apart
# in the repository are changed on the way.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ $# == 0 ]] || { echo "docs: takes no arguments, not $1" >&2; exit 2; }
pages=build/docs/pages
rm -rf "$pages"
mkdir -p build/docs
cp -r docs "$pages"
sed -E 's#\]\(docs/#](#g' README.md >"$pages/index.md"
for page in CONTRIBUTING CHANGELOG; do sed -E 's#\]\(docs/#](#g' "$page.md" >"$pages/$page.md"; done
sed -E 's#\]\((\.\./)+docs/#](#g' sw/host/python/README.md >"$pages/python.md"
sed -E 's#\]\((\.\./)+docs/#](#g' examples/remap_engine_soc/README.md >"$pages/remap-engine-soc.md"
sed -i -E 's#\]\((\.\./)?examples/remap_engine_soc/README\.md#](remap-engine-soc.md#g' "$pages"/*.md
sed -i -E 's#\]\(\.\./\.\./examples/remap_engine_soc/README\.md#](../remap-engine-soc.md#g' "$pages"/*/*.md
sed -i -E 's#\]\(\.\./sw/host/python/README\.md#](python.md#g' "$pages"/*.md
sed -i -E 's#\]\(\.\./\.\./sw/host/python/README\.md#](../python.md#g' "$pages"/*/*.md
log=build/docs/mkdocs.log # not with --quiet: what it does not say, --strict does not count
mkdocs build --strict --config-file mkdocs.yml >"$log" 2>&1 || { grep -vE "^INFO" "$log" >&2; exit 1; }
echo "docs: build/docs/site/index.html"
