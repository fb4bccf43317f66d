package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// svg is a canvas that writes SVG. Colours are variables of the style sheet around it, so that a plot follows the theme.
type svg struct {
	b      strings.Builder
	titles bool // tips become titles; a page shows them otherwise
}

// inline returns a plot for a page that has plotCSS. It has no width, which the page sets.
func inline(l layout) string {
	s := &svg{}
	fmt.Fprintf(&s.b, `<svg class="plot" viewBox="0 0 %s %s" role="group" aria-label="%s">`, num(l.width), num(l.height), escape(l.c.Title))
	l.draw(s)
	s.b.WriteString("</svg>")
	return s.b.String()
}

// standalone returns a plot as a separate file. It also follows the reader's theme.
func standalone(l layout) string {
	s := &svg{titles: true}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="%s" height="%s" viewBox="0 0 %[1]s %s">`, num(l.width), num(l.height), num(l.height))
	s.b.WriteString("\n<title>" + escape(l.c.Title) + "</title>\n<style>\n" + themeCSS(":root", false))
	s.b.WriteString("@media(prefers-color-scheme:dark){" + themeCSS(":root", true) + "}\n" + plotCSS() + "</style>\n")
	s.rect(xy{}, l.width, l.height, surface, 1)
	l.draw(s)
	s.b.WriteString("</svg>\n")
	return s.b.String()
}

// num returns a length with a tenth, which is exact enough.
func num(v float64) string {
	return strconv.FormatFloat(float64(int64(v*10+copysign(0.5, v)))/10, 'f', -1, 64)
}

// copysign returns a with the sign of v; 0 counts as positive.
func copysign(a, v float64) float64 {
	if v < 0 {
		return -a
	}
	return a
}

// escape makes a text safe in elements and attributes. Characters that XML does not allow are left out.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError {
			return -1
		}
		return r
	}, text))
}

// line implements canvas. It uses polylines and not paths, because they are shorter, and curves would invent values.
func (s *svg) line(points []xy, p pen) {
	s.b.WriteString(`<polyline class="l-` + p.paint.name() + `" points="`)
	for i, q := range points {
		if i > 0 {
			s.b.WriteByte(' ')
		}
		s.b.WriteString(num(q.x) + "," + num(q.y))
	}
	fmt.Fprintf(&s.b, `" stroke-width="%s" stroke-linejoin="round"`, num(p.width))
	if p.dash != nil {
		var lengths []string
		for _, d := range p.dash {
			lengths = append(lengths, num(d))
		}
		s.b.WriteString(` stroke-dasharray="` + strings.Join(lengths, " ") + `"`)
	}
	s.b.WriteString("/>")
}

// rect implements canvas.
func (s *svg) rect(at xy, width, height float64, p paint, opacity float64) {
	fmt.Fprintf(&s.b, `<rect class="f-%s" x="%s" y="%s" width="%s" height="%s"`, p.name(), num(at.x), num(at.y), num(width), num(height))
	if opacity < 1 {
		s.b.WriteString(` fill-opacity="` + strconv.FormatFloat(opacity, 'f', 2, 64) + `"`)
	}
	s.b.WriteString("/>")
}

// mark implements canvas.
func (s *svg) mark(at xy, style int, p paint) {
	corners := markShape(at, style)
	if corners == nil {
		fmt.Fprintf(&s.b, `<circle class="f-%s" cx="%s" cy="%s" r="%s"/>`, p.name(), num(at.x), num(at.y), num(markSize))
		return
	}
	s.b.WriteString(`<polygon class="f-` + p.name() + `" points="`)
	for i, q := range corners {
		if i > 0 {
			s.b.WriteByte(' ')
		}
		s.b.WriteString(num(q.x) + "," + num(q.y))
	}
	s.b.WriteString(`"/>`)
}

// markSize is the radius of a mark, in units of the canvas.
const markSize = 3.8

// markShape returns the corners of a mark, or nil for a disc. All have about the same area, so that none looks more
// important.
func markShape(at xy, style int) []xy {
	r := markSize
	switch style % 4 {
	case 1: // square
		return []xy{{at.x - r, at.y - r}, {at.x + r, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}}
	case 2: // triangle
		return []xy{{at.x, at.y - 1.3*r}, {at.x + 1.2*r, at.y + r}, {at.x - 1.2*r, at.y + r}}
	case 3: // diamond
		return []xy{{at.x, at.y - 1.4*r}, {at.x + 1.4*r, at.y}, {at.x, at.y + 1.4*r}, {at.x - 1.4*r, at.y}}
	}
	return nil
}

// text implements canvas. Sizes are in units of the picture, and scale with it.
func (s *svg) text(at xy, text string, w words) {
	// The format has three anchors; the layout uses only these.
	anchor := "start"
	switch {
	case w.align > 0.75:
		anchor = "end"
	case w.align > 0.25:
		anchor = "middle"
	}
	fmt.Fprintf(&s.b, `<text class="f-%s" x="%s" y="%s" font-size="%s" text-anchor="%s"`, w.paint.name(), num(at.x), num(at.y), num(w.size), anchor)
	if w.turned {
		fmt.Fprintf(&s.b, ` transform="rotate(-%d %s %s)"`, turn, num(at.x), num(at.y))
	}
	if w.strong {
		s.b.WriteString(` font-weight="bold"`)
	}
	s.b.WriteString(">" + escape(text) + "</text>")
}

// begin implements canvas. The transparent rectangle is easier to point at than a mark.
func (s *svg) begin(tip string, reach box) {
	area := fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="%s" fill-opacity="0"/>`, num(reach.left), num(reach.top), num(reach.right-reach.left), num(reach.bottom-reach.top))
	if s.titles {
		s.b.WriteString("<g><title>" + escape(tip) + "</title>" + area)
		return
	}
	fmt.Fprintf(&s.b, `<g class="v" tabindex="0" role="img" aria-label="%s">%s`, escape(tip), area)
}

// end implements canvas. The line break keeps the page readable in an editor.
func (s *svg) end() { s.b.WriteString("</g>\n") }
