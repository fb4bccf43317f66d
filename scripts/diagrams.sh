#!/usr/bin/env bash
# Draws docs/img/NAME.svg from each docs/diagrams/NAME.dot (graphviz) and NAME.puml (PlantUML).
# The last line of a picture names the checksum of its text: test/lint finds a picture that is out of date.
set -euo pipefail
cd "$(dirname "$0")/.."
for text in docs/diagrams/*; do
	picture=docs/img/$(basename "${text%.*}").svg
	case $text in
	*.dot) dot -Tsvg "$text" ;;
	*.puml) plantuml -tsvg -nometadata -charset UTF-8 -pipe <"$text" ;;
	esac >"$picture.new"
	printf '\n<!-- text: sha256 %s -->\n' "$(sha256sum <"$text" | cut -d' ' -f1)" >>"$picture.new"
	mv "$picture.new" "$picture"
done
