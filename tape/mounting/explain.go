package mounting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Reason is one rule that keeps something waiting.
type Reason struct {
	Rule   Rule
	Text   string // in words
	Remedy string // what an admin can type or do, "" if it is enough to wait
}

// Explanation says why a queue waits, or what it does, and when.
type Explanation struct {
	// Reasons has the one that is nearest to a start first. Each rule is there once, with one drive as its example.
	Reasons []Reason
	// Begins estimates when the next mount for the queue transfers its first file, Ends when all that waits is done. Zero: nobody can know, because
	// somebody has to do something first, or space has to become free.
	Begins, Ends time.Time
}

// Explain says of a queue of a picture which rules keep it waiting, and estimates when it begins.
func Explain(p Picture, queue Key) Explanation { return New(p).Explain(queue) }

// obstacles returns the rules that keep a queue from a drive, from the farthest from a start to the nearest.
func obstacles() []Rule {
	return []Rule{
		NoWork, TapeUnknown, TapeState, KeyMissing, LibraryDisabled, OtherLibrary, Media, NoTape, DriveDown,
		PartialTapes, TapeInUse, DriveLimit, BufferFull, TooLittle, DriveBusy, Queued, Working,
	}
}

// Explain says which rules keep a queue waiting, and estimates when it begins.
func (b *Board) Explain(queue Key) Explanation {
	e := b.queues[queue]
	if e == nil || e.Files <= 0 {
		return Explanation{Reasons: []Reason{{Rule: NoWork, Text: "no job waits: " + queue.String()}}}
	}
	if len(b.names) == 0 {
		return Explanation{Reasons: []Reason{{DriveDown, "there is no drive", "start a tape server: hemera tape serve --help"}}}
	}
	// Drives that a rule keeps alike are one reason.
	found := map[Rule]*Reason{}
	drives := map[Rule]int{}
	for _, name := range b.names {
		d := b.drives[name]
		rule := b.between(e, d)
		if drives[rule]++; found[rule] == nil {
			found[rule] = &Reason{rule, b.obstacle(e, d, rule), b.remedy(e, d, rule)}
		}
	}
	var x Explanation
	for _, rule := range slices.Backward(obstacles()) {
		if r := found[rule]; r != nil {
			if n := drives[rule] - 1; n > 0 && aboutDrive(rule) {
				r.Text += fmt.Sprintf(", and so for %d other %s", n, plural(int64(n), "drive"))
			}
			x.Reasons = append(x.Reasons, *r)
		}
	}
	x.Begins, x.Ends = b.forecast(e, x.Reasons[0].Rule)
	return x
}

// between returns the rule that stands between a queue and a drive now.
func (b *Board) between(e *entry, d *Drive) Rule {
	switch {
	case d.Work != nil && d.Work.Queue == e.Key:
		return Working
	case !d.Up:
		return DriveDown
	}
	// A busy drive is looked at as if it were free, so that harder rules show.
	_, kept := b.try(e, d)
	switch {
	case kept != NoRule:
		return kept
	case d.Work != nil:
		return DriveBusy
	}
	return Queued
}

// aboutDrive reports whether a rule is about a drive, so that others may differ.
func aboutDrive(r Rule) bool {
	switch r {
	case LibraryDisabled, OtherLibrary, Media, NoTape, DriveDown, DriveBusy, Queued:
		return true
	}
	return false
}

// ExplainTape says what a tape does or waits for: its state, its drive, and each queue that reads it.
func (b *Board) ExplainTape(vid hemera.VID) (list []Reason) {
	t := b.stock.tapes[vid]
	if t == nil {
		return []Reason{{TapeUnknown, "no queue, drive or pool needs tape " + string(vid) + " now", ""}}
	}
	if (!t.Read || !t.Write) && t.State != tapeapi.Active { // else it has a reason of its own, which is no matter of states
		may := "it may be read, and not written"
		if !t.Read {
			may = "it is not mounted"
		}
		list = append(list, Reason{TapeState, withReason(fmt.Sprintf("tape %s is %s, so %s", vid, t.State, may), t.Reason), remedyOfTape(t)})
	}
	if b.isDisabled(t.Library) {
		list = append(list, Reason{LibraryDisabled, b.library(t.Library), remedyOfLibrary(t.Library)})
	}
	if d := t.drive; d != nil {
		list = append(list, Reason{TapeInUse, "it is in drive " + d.Name + ": " + b.doing(d), ""})
	}
	// Its own queues, the first in order first.
	for _, e := range b.order {
		if e.VID == vid && e.Files > 0 {
			list = append(list, within(e, b.Explain(e.Key).Reasons[0]))
		}
	}
	if len(list) == 0 {
		text := fmt.Sprintf("no job reads tape %s; pool %s writes to it when its turn comes", vid, t.Pool)
		if t.Full {
			text = "no job reads tape " + string(vid) + ", and it is full"
		}
		list = append(list, Reason{NoWork, text, ""})
	}
	return list
}

// ExplainDrive says what a drive does and why, and how many queues each rule keeps from it.
func (b *Board) ExplainDrive(name string) (list []Reason) {
	d := b.drives[name]
	if d == nil {
		return []Reason{{DriveDown, "there is no drive " + name, "list them: hemera tape drive ls"}}
	}
	if d.Work != nil {
		list = append(list, Reason{DriveBusy, b.doing(d), ""})
	} else {
		next := b.Decide(name)
		// Others need no person, or are told by the queues.
		remedy := ""
		if next.Rule == DriveDown || next.Rule == LibraryDisabled {
			remedy = b.remedy(nil, d, next.Rule)
		}
		list = append(list, Reason{next.Rule, next.Reason, remedy})
	}
	kept := map[Rule][]string{}
	for _, e := range b.order {
		if e.Files > 0 && (d.Work == nil || d.Work.Queue != e.Key) {
			rule := b.between(e, d)
			kept[rule] = append(kept[rule], e.String())
		}
	}
	// Thousands may wait: numbers tell more than names.
	const namesMax = 3
	for _, rule := range slices.Backward(obstacles()) {
		names := kept[rule]
		if len(names) == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s (%s): %s", len(names), plural(int64(len(names)), "queue"), rule, strings.Join(names[:min(len(names), namesMax)], ", "))
		if len(names) > namesMax {
			text += ", ..."
		}
		list = append(list, Reason{rule, text, ""})
	}
	return list
}

// within returns a reason with its queue.
func within(e *entry, r Reason) Reason {
	r.Text = e.String() + ": " + r.Text
	return r
}
