package report

import (
	"bytes"

	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"

	"hemera/words/errs"
)

// density is the number of pixels for a unit of the layout, enough for fine screens and for paper.
const density = 2

// picture is a canvas of pixels, in the light theme.
type picture struct {
	dc    *gg.Context
	faces map[words]font.Face // by size and strength alone
	err   error               // of a font
}

// png draws a plot as a picture. The same layout gives the same bytes.
func png(l layout) ([]byte, error) {
	p := &picture{faces: map[words]font.Face{}, dc: gg.NewContext(int(l.width*density), int(l.height*density))}
	p.rect(xy{}, l.width, l.height, surface, 1)
	l.draw(p)
	if p.err != nil {
		return nil, p.err
	}
	var b bytes.Buffer
	err := p.dc.EncodePNG(&b)
	return b.Bytes(), errs.Wrap(err, "report.PNG", l.c.ID)
}

// line implements canvas. Paths and dashes are in pixels, because gg does not scale the width of lines.
func (p *picture) line(points []xy, pen pen) {
	p.dc.SetHexColor(pen.paint.light())
	p.dc.SetLineWidth(pen.width * density)
	var dash []float64
	for _, d := range pen.dash {
		dash = append(dash, d*density)
	}
	p.dc.SetDash(dash...)
	p.dc.SetLineJoinRound()
	p.dc.SetLineCapButt()
	p.dc.NewSubPath()
	for _, q := range points {
		p.dc.LineTo(q.x*density, q.y*density)
	}
	p.dc.Stroke()
}

// rect implements canvas. Edges between pixels are smoothed.
func (p *picture) rect(at xy, width, height float64, c paint, opacity float64) {
	p.dc.SetHexColor(c.light() + alpha(opacity))
	p.dc.DrawRectangle(at.x*density, at.y*density, width*density, height*density)
	p.dc.Fill()
}

// alpha returns an opacity as two digits after a colour.
func alpha(opacity float64) string {
	const digits = "0123456789abcdef"
	n := int(opacity*255 + 0.5)
	return string([]byte{digits[n>>4&15], digits[n&15]})
}

// mark implements canvas. Marks have the shapes of the SVG.
func (p *picture) mark(at xy, style int, c paint) {
	p.dc.SetHexColor(c.light())
	corners := markShape(at, style)
	if corners == nil {
		p.dc.DrawCircle(at.x*density, at.y*density, markSize*density)
	}
	for _, q := range corners {
		p.dc.LineTo(q.x*density, q.y*density)
	}
	p.dc.ClosePath()
	p.dc.Fill()
}

// text implements canvas. Letters that the font lacks become boxes; in the SVG the reader's fonts have them.
func (p *picture) text(at xy, text string, w words) {
	if !p.setFont(w) {
		return
	}
	p.dc.SetHexColor(w.paint.light())
	p.dc.Push()
	defer p.dc.Pop()
	x, y := at.x*density, at.y*density
	// Around the end of the text, as in the SVG.
	if w.turned {
		p.dc.RotateAbout(gg.Radians(-turn), x, y)
	}
	p.dc.DrawStringAnchored(text, x, y, w.align, 0)
}

// setFont sets the font for words, and makes it once for each size. On failure it returns false and sets err.
func (p *picture) setFont(w words) bool {
	key := words{size: w.size, strong: w.strong}
	if _, have := p.faces[key]; !have {
		ttf := goregular.TTF
		if w.strong {
			ttf = gobold.TTF
		}
		face, err := newFace(ttf, w.size*density)
		if err != nil {
			p.err = err
			return false
		}
		p.faces[key] = face
	}
	p.dc.SetFontFace(p.faces[key])
	return true
}

// begin implements canvas. A picture has no tips.
func (p *picture) begin(string, box) {}

// end implements canvas.
func (p *picture) end() {}
