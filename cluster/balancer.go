package cluster

import (
	"strings"

	"hemera/words/hemera"
)

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
