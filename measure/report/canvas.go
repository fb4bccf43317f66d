package report

import (
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"

	"hemera/words/errs"
)

// canvas is the target of drawing. Lengths are those of the layout: a unit is about a pixel of a page at its normal size.
type canvas interface {
	// line draws from point to point.
	line(points []xy, p pen)
	// rect fills a rectangle; opacity is from 0 to 1.
	rect(at xy, width, height float64, p paint, opacity float64)
	// mark draws one of the marks for points; styles repeat.
	mark(at xy, style int, p paint)
	// text writes one line; at is the left, middle or right end of its base line.
	text(at xy, s string, w words)
	// begin begins the elements of a value with the text tip, and end ends them. A pointer within reach selects the
	// value.
	begin(tip string, reach box)
	end()
}

// xy is a place: right and down.
type xy struct{ x, y float64 }

// box is a rectangle.
type box struct{ left, top, right, bottom float64 }

// pen is the style of a line.
type pen struct {
	paint paint
	width float64
	dash  []float64 // lengths of line and gap; nil is solid
}

// words is the style of a text.
type words struct {
	paint  paint
	size   float64
	align  float64 // 0: the text begins at the place, 0.5: its middle is there, 1: it ends there
	turned bool    // rising to the right, for labels without enough room
	strong bool
}

// turn is the angle in degrees of turned words. Steeper words need less width and are harder to read.
const turn = 32

// dashes returns the dashes of a line style.
func dashes(style int) []float64 {
	all := [][]float64{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}}
	return all[style%len(all)]
}

// ruler measures words. It is not safe for concurrent use.
type ruler struct{ face font.Face }

// rulerSize is the size at which words are measured; widths are proportional to the size.
const rulerSize = 100

// newRuler makes a ruler for the font of images.
func newRuler() (*ruler, error) {
	face, err := newFace(goregular.TTF, rulerSize)
	if err != nil {
		return nil, err
	}
	return &ruler{face}, nil
}

// newFace makes a font of a size in units of the canvas.
func newFace(ttf []byte, size float64) (font.Face, error) {
	f, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, errs.Wrap(err, "report.Font", "Go")
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72})
	return face, errs.Wrap(err, "report.Font", "Go")
}

// width returns the width of a text in a size. A reader sees SVG in own fonts; the widest of the usual ones need a sixth
// more than the measured one.
func (r *ruler) width(s string, size float64) float64 {
	const reserve = 1.17
	return float64(font.MeasureString(r.face, s)) / 64 * size / rulerSize * reserve
}

// fitEnds returns the text, or its two ends around an ellipsis, with at most a width. Names of one kind often begin alike
// and differ at their end.
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

// fit returns the text, or its beginning with an ellipsis, with at most a width. The shortest result is the ellipsis
// alone.
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
