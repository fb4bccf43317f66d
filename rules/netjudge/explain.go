package netjudge

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Explain says in a few plain sentences what a verdict rests on, for a person: the standing and the numbers. [Remedy] says
// where to look.
func Explain(v Verdict) []string {
	e := v.Evidence
	switch v.Standing {
	case Well:
		if max(e.Out.Share(), e.In.Share()) > e.Limit {
			return []string{fmt.Sprintf("The node loses packets now, and is suspected if that lasts for %d samples: %s.", suspectAfter, both(e))}
		}
		return []string{"The network of the node is well: " + both(e) + "."}
	case Suspected:
	default:
		return []string{
			"Nothing can be said about the network of the node: " + both(e) + ".",
			fmt.Sprintf("It takes %s segments without a loss to say that it is well, within a minute or two.", whole(float64(SegmentsToClear()))),
		}
	}
	list := []string{"The node is suspected since " + v.Since.UTC().Format("2006-01-02 15:04:05 MST") + ": " + Where(v) + "."}
	list = append(list, fmt.Sprintf("%d of %d paths lose more than %s. The other nodes lose %s.", e.Losing, e.Paths, percent(e.Limit), percent(e.Usual)),
		"In the last minutes: "+both(e)+".")
	if e.RTT > 0 && e.UsualRTT > 0 {
		list = append(list, fmt.Sprintf("A round trip takes %s, the usual one is %s.", round(e.RTT), round(e.UsualRTT)))
	}
	if v.Weight < 1 {
		list = append(list, fmt.Sprintf("Its weight for new pieces and for readers is %.2f until it is well again.", v.Weight))
	}
	return list
}

// Where says what is wrong with a suspected node, as the end of a sentence, and of others "".
func Where(v Verdict) string {
	if v.Standing != Suspected {
		return ""
	}
	return fmt.Sprintf("packets that it %s are lost, whatever the other node is", verb(v.Direction))
}

// Remedy says what a person should check first, like the remedies of errors; "" if the node is not suspected.
func Remedy(v Verdict) string {
	switch {
	case v.Standing != Suspected:
		return ""
	case v.Direction == Out:
		return "look at the counters of the switch's port for packets that arrive damaged there, then at the cable"
	}
	return "look at the counters of the switch's port for packets that it drops or cannot send, then at the cable and the interface"
}

// verb returns a direction as a verb with the node as its subject.
func verb(d Direction) string {
	return [...]string{"exchanges", "sends", "receives", "sends and receives"}[d&(Out|In)]
}

// both describes the losses of both directions.
func both(e Evidence) string {
	return fmt.Sprintf("%s of %s segments sent were lost (%s), and %s of %s segments received (%s)",
		whole(e.Out.Lost), whole(e.Out.Sent), percent(e.Out.Share()), whole(e.In.Lost), whole(e.In.Sent), percent(e.In.Share()))
}

// percent shows a share with two digits that count.
func percent(share float64) string {
	p := 100 * share
	if p > 0 && p < 0.001 {
		return "less than 0.001 %"
	}
	if !(p > 0) {
		return "0 %"
	}
	digits := max(0, 1-int(math.Floor(math.Log10(p))))
	text := strconv.FormatFloat(p, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}

// whole formats a faded count as a whole number.
func whole(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', 0, 64) }

// round formats a round trip without insignificant digits.
func round(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
