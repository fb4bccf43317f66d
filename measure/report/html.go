package report

import (
	"fmt"
	"io"
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hemera/measure/result"
	"hemera/measure/stats"
	"hemera/words/errs"
)

// render writes the page. gomponents escapes every text and every value of an attribute. Only policy, styles, script and
// plots are written raw: they are our own, and the plots have their texts escaped.
func (p *page) render(w io.Writer) error {
	document := g.Group{
		g.Raw("<!DOCTYPE html>\n"),
		h.HTML(h.Lang("en"), onLines(p.head(), p.body())),
		g.Raw("\n"),
	}
	return errs.Wrap(document.Render(w), "report.Page", p.Title)
}

// policy forbids browsers to fetch anything. It is HTML here so that its quotes are not escaped, because people look for
// it in a page.
const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">`

// head returns the head element.
func (p *page) head() g.Node {
	return h.Head(onLines(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		g.Raw(policy),
		h.TitleEl(g.Text(p.Title)),
		h.StyleEl(g.Raw(styles())),
	))
}

// styles returns the style sheet: both themes from the palette, the plots, the page.
func styles() string {
	return themeCSS(":root", false) + "@media screen and (prefers-color-scheme:dark){" + themeCSS(":root:not([data-theme=light])", true) + "}\n" +
		"@media screen{" + themeCSS(":root[data-theme=dark]", true) + "}\n" + plotCSS() + pageCSS
}

// body returns the body element.
func (p *page) body() g.Node {
	sections := g.Group{p.limitsSection()}
	for _, l := range p.Levels {
		sections = append(sections, p.levelSection(l))
	}
	sections = append(sections, p.machinesSection())
	return h.Body(onLines(
		p.header(),
		h.Main(onLines(sections...)),
		h.Footer(g.Text("Whiskers and ± are one standard deviation. Verdicts rest on bootstrap intervals of the ratio of medians, with "+
			p.Confidence+" confidence where there are enough samples.")),
		h.Div(h.ID("tip"), h.Role("status"), g.Attr("hidden")), // page.js fills it
		h.Script(g.Raw(pageJS)),
	))
}

// header returns the title, the runs, and links to the sections.
func (p *page) header() g.Node {
	parts := g.Group{h.Div(h.Class("bar"), h.H1(g.Text(p.Title)), h.Button(h.Type("button"), h.ID("theme"), g.Attr("hidden"), g.Text("theme")))}
	for _, r := range p.Runs {
		parts = append(parts, p.runSection(r))
	}
	links := g.Map(p.Levels, func(l levelPart) g.Node { return h.A(h.Href("#level-"+url.PathEscape(l.Name)), g.Text(l.Name)) })
	return h.Header(onLines(append(parts, h.Nav(links, h.A(h.Href("#machines"), g.Text("machines"))))...))
}

// runSection returns the head of a run. Published results have one line.
func (p *page) runSection(r runPart) g.Node {
	if r.Source != "" {
		return h.P(h.Class("published"), dot(r.Colour), bold(r.Title), g.Text(", published: "+r.Source))
	}
	fact := func(before, text string) g.Node { return g.If(text != "", h.Span(g.Text(before+text))) }
	return h.Section(h.Class("run"), onLines(
		g.If(p.Several, h.H2(dot(r.Colour), g.Text(r.Title))),
		h.P(h.Class("facts"), fact("", r.Began), fact("took ", r.Lasted), fact("Hemera ", r.Version), fact("", r.ID)),
		g.If(r.Stopped != "", h.P(h.Class("warn"), g.Text("The run was stopped early: "+r.Stopped+"."))),
		g.If(r.Command != "", h.Pre(g.Text(r.Command))),
		g.If(len(r.Summary) > 0, h.Dl(h.Class("summary"), g.Map(r.Summary, func(l summaryLine) g.Node { return term(l.Word, l.Text) }))),
		g.If(r.With.Overall != "", h.P(h.Class("verdict"), bold("Compared with "+p.Base+":"), g.Text(" "+r.With.Overall+"."))),
		g.If(len(r.With.Differ) > 0, h.Ul(h.Class("verdict"), g.Map(r.With.Differ, differenceItem))),
		g.If(r.With.More > 0, h.P(g.Textf("and %d more, in the tables below", r.With.More))),
	))
}

// differenceItem returns the item of one measure that differs from the base.
func differenceItem(d difference) g.Node {
	return h.Li(g.Text(d.What+": "), h.Span(judged(d.Worse, d.Better), g.Text(d.Ratio+" "+d.Verdict)))
}

// limitsSection returns the section with the fractions of the theoretical peaks.
func (p *page) limitsSection() g.Node {
	parts := g.Group{h.H2(g.Text("What limits"))}
	if p.Unknown {
		parts = append(parts, h.P(
			g.Text("No measure of these runs has a theoretical peak. With the rates of disks and network, "), code("hemera bench io --peak-from RUN"),
			g.Text(" or "), code("--peak-net"), g.Text(" and "), code("--peak-disk"), g.Text(" show the share of it that is reached.")))
	} else {
		parts = append(parts,
			h.P(g.Text("The highest share of the theoretical peak, by load. The load that has most of its hardware left comes first.")),
			h.Div(h.Class("limits"), onLines(g.Map(p.Limits, p.limitBar)...)))
	}
	if p.Above {
		parts = append(parts, h.P(h.Class("warn"),
			g.Text("More than the theoretical peak is not possible: a cache answered, or the rates of disks and network are higher than was said.")))
	}
	return h.Section(onLines(parts...))
}

// limitBar returns the bar of one fraction of a peak.
func (p *page) limitBar(l limit) g.Node {
	return h.Div(h.Class("limit"), h.Title(l.From),
		h.Div(h.Class("what"), g.If(p.Several, g.Group{bold(l.Run), g.Text(" ")}), g.Text(l.Level+" "+l.What)),
		// The style takes a number only: gomponents escapes it as an attribute, not as a style.
		h.Div(h.Class("meter"), h.Div(h.Class("fill "+l.Colour), h.Style(fmt.Sprintf("width:%.1f%%", l.Width)))),
		h.Div(h.Class("share"), bold(l.Percent), g.Text(" "+l.Value+" of "+l.Peak+joined(" at ", l.At))))
}

// levelSection returns the notes, plots, measures and conditions of a level.
func (p *page) levelSection(l levelPart) g.Node {
	parts := g.Group{h.H2(g.Text(l.Name))}
	for _, r := range l.Runs {
		for _, note := range r.Notes {
			parts = append(parts, h.P(h.Class("note"), g.If(r.Run != "", g.Group{bold(r.Run + ":"), g.Text(" ")}), g.Text(note)))
		}
	}
	parts = append(parts, h.Div(h.Class("figures"), onLines(g.Map(l.Figures, figure)...)))
	if len(l.Rows) > 0 {
		parts = append(parts, p.measures(l))
	}
	for _, r := range l.Runs {
		parts = append(parts, skippedList(r), settingsList(r))
	}
	return h.Section(h.ID("level-"+l.Name), onLines(parts...))
}

// figure returns a plot in both widths, with links to its files.
func figure(f figurePart) g.Node {
	file := func(name, ending string) g.Node { return h.A(h.Href("plots/"+f.File+ending), g.Text(name)) }
	return h.Figure(onLines(
		g.Group{h.H3(g.Text(f.Title)), h.Div(h.Class("wide"), g.Raw(f.Wide)), h.Div(h.Class("narrow"), g.Raw(f.Narrow))},
		h.FigCaption(g.Text(f.Caption), g.If(f.File != "", g.Group{g.Text(" "), h.Span(h.Class("files"),
			file("SVG", endingSVG), g.Text(" "), file("PNG", endingPNG), g.Text(" "), file("CSV", endingCSV), g.Text(" "), file("JSON", endingJSON))}))))
}

// measures returns the table of a level.
func (p *page) measures(l levelPart) g.Node {
	columns := g.Group{numberCell(h.Th, g.Text("mean ± sd")), numberCell(h.Th, g.Text("median")), numberCell(h.Th, g.Text("samples")), numberCell(h.Th, g.Text("of peak"))}
	cells := ownCells
	if p.Several {
		columns = g.Map(p.Runs, func(r runPart) g.Node { return numberCell(h.Th, dot(r.Colour), g.Text(r.Title)) })
		cells = comparedCell
	}
	line := func(r row) g.Node { return h.Tr(h.Td(g.Text(r.Name)), h.Td(g.Text(r.Labels)), g.Map(r.Cells, cells)) }
	return h.Details(g.If(!l.Long, h.Open()), h.Summary(g.Textf("%d measures", len(l.Rows))), h.Div(h.Class("scroll"), h.Table(onLines(
		h.THead(h.Tr(h.Th(g.Text("measure")), h.Th(g.Text("conditions")), columns)),
		h.TBody(onLines(g.Map(l.Rows, line)...))))))
}

// ownCells returns the four columns of a measure on a page of one run.
func ownCells(c cell) g.Node {
	return g.Group{numberCell(h.Td, g.Text(c.Value)), numberCell(h.Td, g.Text(c.Median)), numberCell(h.Td, g.Text(strconv.Itoa(c.Samples))), numberCell(h.Td, g.Text(orDash(c.OfPeak)))}
}

// comparedCell returns the column of a run on a page of several.
func comparedCell(c cell) g.Node {
	return numberCell(h.Td, g.Text(orDash(c.Value)),
		g.If(c.OfPeak != "", g.Group{h.Br(), h.Small(g.Text(c.OfPeak + " of peak"))}),
		g.If(c.Ratio != "", g.Group{h.Br(), h.Small(h.Title(c.Why), judged(c.Worse, c.Better), g.Text(c.Ratio+" "+c.Verdict))}))
}

// skippedList returns the skipped measures of a run and their remedies; nil if there are none.
func skippedList(r levelRun) g.Node {
	if len(r.Skipped) == 0 {
		return nil
	}
	return g.Group{h.H3(g.Text("Not measured" + joined(" in ", r.Run))), h.Ul(g.Map(r.Skipped, func(s result.Skipped) g.Node {
		return h.Li(bold(s.What), g.Text(": "+s.Why), g.If(s.Remedy != "", g.Group{g.Text(". "), h.Em(g.Text(s.Remedy))}))
	}))}
}

// settingsList returns the settings and tools of a run; nil if there are none.
func settingsList(r levelRun) g.Node {
	if len(r.Keys) == 0 && len(r.Tools) == 0 {
		return nil
	}
	return h.Details(h.Summary(g.Text("Settings"+joined(" of ", r.Run))), h.Dl(
		g.Map(r.Keys, func(key string) g.Node { return term(key, r.Settings[key]) }),
		g.Map(r.Tools, func(t result.Tool) g.Node { return term(t.Name, t.Version) })))
}

// machinesSection returns the table of the machines of all runs.
func (p *page) machinesSection() g.Node {
	var lines g.Group
	for _, r := range p.Runs {
		for _, m := range r.Machines {
			lines = append(lines, h.Tr(g.If(p.Several, h.Td(g.Text(r.Title))), machineCells(m)))
		}
	}
	titles := g.Group{h.Th(g.Text("machine")), h.Th(g.Text("role")), h.Th(g.Text("processor")), numberCell(h.Th, g.Text("memory")),
		h.Th(g.Text("system")), h.Th(g.Text("disks")), h.Th(g.Text("links"))}
	return h.Section(h.ID("machines"), onLines(
		h.H2(g.Text("Machines")),
		h.Div(h.Class("scroll"), h.Table(
			h.THead(h.Tr(g.If(p.Several, h.Th(g.Text("run"))), titles)),
			h.TBody(onLines(lines...))))))
}

// machineCells returns the columns of a machine. Missing information is left out.
func machineCells(m result.Machine) g.Node {
	processor := m.CPU
	if m.Cores != 0 {
		processor += fmt.Sprintf(", %d cores", m.Cores)
	}
	processor += joined(", ", m.Arch)
	if m.Virtual != "" {
		processor += ", virtual (" + m.Virtual + ")"
	}
	return g.Group{
		h.Td(g.Text(m.Name)), h.Td(g.Text(m.Role)), h.Td(g.Text(processor)), numberCell(h.Td, g.Text(orDash(size(m.Memory)))), h.Td(g.Text(m.System + joined(", ", m.Kernel))), g.Raw("\n"),
		h.Td(g.Map(m.Disks, func(d result.Device) g.Node { return h.Div(g.Text(diskText(d))) })), g.Raw("\n"),
		h.Td(g.Map(m.Links, func(l result.Link) g.Node { return h.Div(g.Text(linkText(l))) })),
	}
}

// diskText returns a description of a disk.
func diskText(d result.Device) string {
	text := d.Name + " " + d.Model + joined(" ", size(d.Size))
	if d.Rotating {
		text += ", rotating"
	}
	text += joined(", ", d.Scheduler)
	if d.ReadAhead != 0 {
		text += ", reads " + size(d.ReadAhead) + " ahead"
	}
	return text
}

// linkText returns a description of a network interface.
func linkText(l result.Link) string {
	text := l.Name
	if l.Speed != 0 {
		text += " " + size(l.Speed) + "/s"
	}
	if l.MTU != 0 {
		text += fmt.Sprintf(", MTU %d", l.MTU)
	}
	return text
}

// size returns a number of bytes for people; "" for 0, which means unknown.
func size(n int64) string {
	if n == 0 {
		return ""
	}
	return stats.Quantity(float64(n), 0, "B")
}

// joined returns a text with words before it; "" if the text is empty.
func joined(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// orDash returns a text, or a dash for an empty one.
func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// onLines returns the nodes that are not nil, each on a new line, and a line end after the last, so that two pages can be
// compared line by line. It is for block elements only, because spaces between words are visible.
func onLines(nodes ...g.Node) g.Group {
	var lines g.Group
	for _, n := range nodes {
		if n != nil {
			lines = append(lines, g.Raw("\n"), n)
		}
	}
	return append(lines, g.Raw("\n"))
}

// dot returns the mark in the colour of a run.
func dot(colour string) g.Node { return h.Span(h.Class("dot " + colour)) }

// bold returns a text in bold type.
func bold(text string) g.Node { return h.B(g.Text(text)) }

// code returns a command or an option.
func code(text string) g.Node { return h.Code(g.Text(text)) }

// term returns a word and its description, for a list of them.
func term(word, text string) g.Node { return g.Group{h.Dt(g.Text(word)), h.Dd(g.Text(text))} }

// numberCell returns a cell of a table, h.Th or h.Td, with right-aligned text.
func numberCell(cell func(...g.Node) g.Node, children ...g.Node) g.Node {
	return cell(append(children, h.Class("n"))...)
}

// judged returns the class of a difference; nil if it is neither worse nor better.
func judged(worse, better bool) g.Node {
	switch {
	case worse:
		return h.Class("worse")
	case better:
		return h.Class("better")
	}
	return nil
}
