package netjudge

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hemera/words/hemera"
)

// namesMax is the largest number of nodes that a sentence names.
const namesMax = 12

// Explain explains a verdict to a person in a few plain sentences: the standing and the numbers. [Remedy] says where to
// look. name returns the name of a node and of [Clients]; nil means their ids.
func Explain(v Verdict, name func(hemera.NodeID) string) []string {
	name = named(name)
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
	list := []string{"The node is suspected since " + v.Since.UTC().Format("2006-01-02 15:04:05 MST") + ": " + Where(v, name) + "."}
	if v.Cause == Port || v.Cause == Shared || e.Losing > 0 && v.Cause != OnePath {
		list = append(list, fmt.Sprintf("%d of %d paths lose more than %s. The other nodes lose %s.", e.Losing, e.Paths, percent(e.Limit), percent(e.Usual)))
	}
	if v.Cause == OnePath {
		list = append(list, fmt.Sprintf("Between the two: %s. The limit is %s.", both(e), percent(e.Limit)))
	} else {
		list = append(list, "In the last minutes: "+both(e)+".")
	}
	if e.OutOfOrder > 0 && v.Direction&Out != 0 {
		list = append(list, fmt.Sprintf("The receivers confirm it: they saw %s of the node's segments out of order.", percent(e.OutOfOrder)))
	}
	if e.RTT > 0 && e.UsualRTT > 0 {
		list = append(list, fmt.Sprintf("A round trip takes %s, the usual one is %s.", round(e.RTT), round(e.UsualRTT)))
	}
	if v.Weight < 1 {
		list = append(list, fmt.Sprintf("Its weight for new pieces and for readers is %.2f until it is well again.", v.Weight))
	}
	return list
}

// named returns the function that names nodes; the default one for nil.
func named(name func(hemera.NodeID) string) func(hemera.NodeID) string {
	if name != nil {
		return name
	}
	return func(id hemera.NodeID) string {
		if id == Clients {
			return "its clients"
		}
		return "node " + id.String()
	}
}

// Where says what is wrong with a suspected node, as the end of a sentence. For others it returns "". name is as in
// [Explain].
func Where(v Verdict, name func(hemera.NodeID) string) string {
	if v.Standing != Suspected {
		return ""
	}
	name = named(name)
	e := v.Evidence
	switch v.Cause {
	case LinkDown:
		if e.CarrierChanges >= flaps {
			return fmt.Sprintf("the signal of %s comes and goes, %.0f changes in the last minutes", e.Link, e.CarrierChanges)
		}
		return e.Link + " has no signal"
	case LinkSlow:
		if e.HalfDuplex {
			return e.Link + " is half duplex"
		}
		return fmt.Sprintf("%s has %s, and should have %s", e.Link, bits(e.Speed), bits(e.UsualSpeed))
	case BadPackets:
		return fmt.Sprintf("%s counts %s bad or dropped packets of %s", e.Link, whole(e.Bad), whole(e.Packets))
	case Shared:
		return fmt.Sprintf("it loses packets that it %s, and so do %s, which it reaches well", verb(v.Direction), names(v.With, name))
	case OnePath:
		return fmt.Sprintf("packets between it and %s are lost, and not on most of its other paths", name(v.Peer))
	}
	return fmt.Sprintf("packets that it %s are lost, whatever the other node is", verb(v.Direction))
}

// Remedy says what a person should check first, like the remedies of errors; "" if the node is not suspected.
func Remedy(v Verdict) string {
	if v.Standing != Suspected {
		return ""
	}
	switch v.Cause {
	case LinkDown, LinkSlow:
		return "look at the cable, the optics and the port of the switch, and at what both ends have agreed on (ethtool)"
	case BadPackets:
		return "look at the cable and the optics, and for missed packets at the rings and the interrupts of the interface (ethtool -S)"
	case Shared:
		return "look at what these nodes share: the uplink of their switch, or the switch"
	case OnePath:
		if v.Peer == Clients {
			return "look at how clients reach this node and not the others: its route to them, a second interface, a firewall"
		}
		return "look at what lies between the two only: routes, links of a bundle between switches"
	}
	if v.Direction == Out {
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

// names lists nodes. It cuts a long list.
func names(ids []hemera.NodeID, name func(hemera.NodeID) string) string {
	var b strings.Builder
	for i, id := range ids[:min(len(ids), namesMax)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(id))
	}
	if more := len(ids) - namesMax; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// percent formats a share with two significant digits.
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

// bits formats a speed.
func bits(perSecond int64) string {
	if perSecond >= 1e9 {
		return strconv.FormatFloat(float64(perSecond)/1e9, 'f', -1, 64) + " Gbit/s"
	}
	return strconv.FormatFloat(float64(perSecond)/1e6, 'f', -1, 64) + " Mbit/s"
}
