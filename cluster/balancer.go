package cluster

import (
	"strings"

	"hemera/words/hemera"
)

// balancerSettings are the keys of [Settings] about the balancing of a space. EOS has the first two, with the prefix "space.",
// which all keys of spaces may have.
var balancerSettings = []Setting{
	{"space", "balancer", "on|off", "move pieces from disks that are too full to others, and pieces of a file apart that share a node or a zone"},
	{"space", "balancer.threshold", "auto|1..50", "percent by which a disk's filling may differ from the space's mean; auto: 5"},
	{"space", "balancer.rate", "auto|<bytes>[K|M|G|T]", "bytes per second that balancing moves from a disk, and to one; auto: 50M"},
}

// setBalancer changes one property of the space's balancing. Invalid for keys and values that are not in [Settings]. What is
// being moved already ends; the rest follows the new property within seconds.
func (s *spaceRecord) setBalancer(key, value string) error {
	// A copy, so that a value that is refused changes nothing.
	b := s.Balancer
	var err error
	switch strings.TrimPrefix(key, "balancer") {
	case "":
		// EOS's switch. Its other values, such as drain, are properties of other things here.
		var on bool
		on, err = onOff("space", key, value)
		// The record has the opposite, so that a record without the field means on.
		b.Off = !on
	case ".threshold":
		// In whole percent: a disk's filling changes by more than a part of one while it is looked at.
		b.Threshold = 0
		if value != "auto" {
			b.Threshold, err = number("space", key, value, hemera.BalancerThresholdMax)
		}
	// 0 is the default in both, also if the default changes one day.
	case ".rate":
		b.Rate, err = size(key, value)
	default:
		err = unknownKey("space", key)
	}
	if err == nil {
		s.Balancer = b
	}
	return err
}
