package cluster

import (
	"cmp"
	"fmt"

	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// set changes one property of the record. Invalid for keys and values that are not in [Settings].
func (s *spaceRecord) set(key, value string) (err error) {
	switch key {
	case "policy.layout":
		l, err := policy.Named(value, 0, s.Layout)
		if err != nil {
			return (&errs.Error{Kind: errs.Invalid, Op: "cluster.Set", Subject: key + "=" + value, Cause: err}).
				WithRemedy("set one such as policy.layout=rs:4+2, policy.layout=replica:2 or policy.layout=plain")
		}
		s.setLayout(l.WithBlockSize(s.BlockSize))
	case "policy.nstripes":
		n, err := number("space", key, value, hemera.CodedPiecesMax)
		if err != nil {
			return err
		}
		l, err := policy.Resized(s.Layout, n)
		if err != nil {
			return errs.New(errs.Invalid, "cluster.Set", key+"="+value, err.Error()).WithRemedy("set the whole layout: policy.layout=rs:4+2 or policy.layout=replica:2")
		}
		s.setLayout(l)
	case "policy.blocksize":
		s.BlockSize = 0
		if value != "auto" {
			if s.BlockSize, err = hemera.ParseBlockSize(value); err != nil {
				return errs.New(errs.Invalid, "cluster.Set", key+"="+value, err.Error())
			}
		}
		s.Layout = s.Layout.WithBlockSize(cmp.Or(s.BlockSize, hemera.BlockSizeDefault))
	case "policy.checksum":
		kind, err := hemera.ParseChecksumKind(value)
		if err != nil {
			return errs.As(err, errs.Invalid, "cluster.Set", key)
		}
		s.Checksum = kind.String()
	case "policy.minpieces":
		s.PiecesMin = 0
		if value != "auto" {
			n, err := number("space", key, value, hemera.CodedPiecesMax)
			if err != nil {
				return err
			}
			if least := s.Layout.Enough(); n < least {
				return errs.New(errs.Invalid, "cluster.Set", key+"="+value, fmt.Sprintf("a file of layout %s cannot be read from each choice of fewer than %d pieces", s.Layout, least)).
					WithRemedy(fmt.Sprintf("set auto, or at least %d: then one piece may be lost right after the close", least+1))
			}
			s.PiecesMin = uint8(n)
		}
	case "policy.sync":
		on, err := onOff("space", key, value)
		// The record has the opposite, so that a record without the field means on.
		s.NoSync = !on && err == nil
		return err
	case "policy.recycle":
		rule, err := recycle.Parse(value)
		if err != nil {
			return errs.As(err, errs.Invalid, "cluster.Set", key)
		}
		if s.Recycle = ""; rule.On() {
			s.Recycle = value // as it was written
		}
	case "headroom":
		s.Headroom, err = size(key, value)
		return err
	case "balancer", "balancer.threshold", "balancer.rate":
		return s.setBalancer(key, value)
	default:
		return unknownKey("space", key)
	}
	return nil
}

// setLayout changes the layout. The least number of pieces follows it: as many as before may be lost right after a close,
// and the number is the old one again when the layout is.
func (s *spaceRecord) setLayout(l hemera.Layout) {
	if s.PiecesMin != 0 {
		// A record of an earlier version may have fewer than its layout takes.
		spare := max(0, int(s.PiecesMin)-s.Layout.Enough())
		s.PiecesMin = uint8(l.Enough() + spare)
	}
	s.Layout = l
}
