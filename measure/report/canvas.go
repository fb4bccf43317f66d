package report

import (
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"

	"hemera/words/errs"
)

// canvas is what a plot is drawn on. Lengths are those of the layout: a unit is about a pixel of a page at its normal size.
type canvas interface {
	// line draws from point to point.
	line(points []xy, p pen)
	// rect fills a rectangle; opacity is from 0 to 1.
	rect(at xy, width, height float64, p paint, opacity float64)
	// mark draws one of the marks for points; styles count on without end.
	mark(at xy, style int, p paint)
	// text writes one line; at is the left, middle or right end of its base line.
	text(at xy, s string, w words)
	// begin begins what belongs to a value, which tip tells; end ends it. reach is where a pointer means it.
	begin(tip string, reach box)
	end()
}

// xy is a place: right and down.
type xy struct{ x, y float64 }

// box is a rectangle.
type box struct{ left, top, right, bottom float64 }

// pen is how a line is drawn.
type pen struct {
	paint paint
	width float64
	dash  []float64 // lengths of line and gap; nil is solid
}

// words is how a text is written.
type words struct {
	paint  paint
	size   float64
	align  float64 // 0 begins at the place, 0.5 has it in the middle, 1 ends there
	turned bool    // rising to the right, for labels that have no room
	strong bool
}

// turn is the angle in degrees by which turned words rise.
// Steeper words need less width and are harder to read.
const turn = 32

// dashes are the lines of styles.
func dashes(style int) []float64 {
	all := [][]float64{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}}
	return all[style%len(all)]
}

// ruler measures words. One ruler is for one goroutine.
type ruler struct{ face font.Face }

// rulerSize is the size at which words are measured; widths grow with the size.
const rulerSize = 100

// newRuler makes a ruler of the font that images are written in.
func newRuler() (*ruler, error) {
	face, err := newFace(goregular.TTF, rulerSize)
	if err != nil {
		return nil, err
	}
	return &ruler{face}, nil
}

// newFace is a font of a size in units of the canvas.
func newFace(ttf []byte, size float64) (font.Face, error) {
	f, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, errs.Wrap(err, "report.Font", "Go")
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72})
	return face, errs.Wrap(err, "report.Font", "Go")
}

// width is the room for a text in a size. SVG is shown in the fonts that the reader has; the widest of the usual ones need a sixth
// more than the measured one.
func (r *ruler) width(s string, size float64) float64 {
	const reserve = 1.17
	return float64(font.MeasureString(r.face, s)) / 64 * size / rulerSize * reserve
}

// fitEnds is the text, or its two ends around an ellipsis, that has at most a width. Names of one kind often begin alike, and
// differ at their end.
func (r *ruler) fitEnds(s string, size, width float64) string {
	if r.width(s, size) <= width {
		return s
	}
	letters := []rune(s)
	for keep := len(letters) - 1; keep > 1; keep-- {
		first := (keep + 1) / 2
		if short := string(letters[:first]) + "…" + string(letters[len(letters)-(keep-first):]); r.width(short, size) <= width {
			return short
		}
	}
	return "…"
}

// fit is the text, or its beginning with an ellipsis, that has at most a width.
// The ellipsis alone is the least.
func (r *ruler) fit(s string, size, width float64) string {
	if r.width(s, size) <= width {
		return s
	}
	letters := []rune(s)
	for len(letters) > 1 {
		letters = letters[:len(letters)-1]
		if short := string(letters) + "…"; r.width(short, size) <= width {
			return short
		}
	}
	return "…"
}
