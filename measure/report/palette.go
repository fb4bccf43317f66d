package report

import (
	"fmt"
	"strings"
)

// paint is a colour by its use: 0 and up are series, which repeat after the last colour; the others are below 0.
type paint int

// The paints of a plot's frame.
const (
	ink     paint = -1 - iota // words
	soft                      // ticks, captions, whiskers
	grid                      // lines of the grid
	surface                   // behind everything
)

// shade is a colour in both themes, as RRGGBB. Dark themes need lighter colours for the same contrast.
type shade struct{ light, dark string }

// shades returns the colours of series. They differ in lightness as well as in hue, after the set of M. Okabe and K. Ito,
// for readers who do not see all colours.
func shades() []shade {
	return []shade{
		{"0069b4", "56b0f0"}, {"d55e00", "ff9248"}, {"008f68", "34cfa0"}, {"b8488f", "f09bcb"},
		{"8a6d00", "e6c84f"}, {"5a3fa8", "b59cf2"}, {"3f9fd8", "9bdcff"}, {"5c5c5c", "c4c4c4"},
	}
}

// frame returns the colours of paints below 0, with their names in style sheets. Soft words have a contrast of at least
// 4.5 to the surface in both themes.
func frame() map[paint]struct {
	name string
	shade
} {
	type named = struct {
		name string
		shade
	}
	return map[paint]named{
		ink: {"ink", shade{"1b1f24", "e8eaed"}}, soft: {"soft", shade{"59636e", "a3acb8"}},
		grid: {"grid", shade{"dfe3e8", "363c45"}}, surface: {"surface", shade{"ffffff", "15181d"}},
	}
}

// name returns the paint's name in style sheets.
func (p paint) name() string {
	if p >= 0 {
		return fmt.Sprintf("s%d", int(p)%len(shades()))
	}
	return frame()[p].name
}

// light returns the colour in the light theme, which images use, because paper is light.
func (p paint) light() string {
	if p >= 0 {
		all := shades()
		return all[int(p)%len(all)].light
	}
	return frame()[p].light
}

// paints returns all paints, in a fixed order. The order of a map would change the page each time.
func paints() (all []paint) {
	for p := range shades() {
		all = append(all, paint(p))
	}
	return append(all, ink, soft, grid, surface)
}

// themeCSS returns a rule for a selector, such as :root, that sets the variables of all paints in a theme.
func themeCSS(selector string, dark bool) string {
	var b strings.Builder
	b.WriteString(selector + "{")
	for _, p := range paints() {
		colour := p.light()
		if dark {
			colour = p.dark()
		}
		fmt.Fprintf(&b, "--%s:#%s;", p.name(), colour)
	}
	b.WriteString("}\n")
	return b.String()
}

// dark returns the colour in the dark theme.
func (p paint) dark() string {
	if p >= 0 {
		all := shades()
		return all[int(p)%len(all)].dark
	}
	return frame()[p].dark
}

// plotCSS returns the classes of plots: f-NAME fills, l-NAME draws a line.
func plotCSS() string {
	var b strings.Builder
	for _, p := range paints() {
		fmt.Fprintf(&b, ".f-%s{fill:var(--%[1]s)}.l-%[1]s{stroke:var(--%[1]s);fill:none}.dot.%[1]s,.fill.%[1]s{background:var(--%[1]s)}\n", p.name())
	}
	// The class of a plot keeps its words in the measured fonts, or in similar ones.
	b.WriteString(".plot{font-family:Go,Helvetica,Arial,\"Liberation Sans\",sans-serif}\n")
	return b.String()
}
