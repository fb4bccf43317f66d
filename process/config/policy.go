package config

import (
	"cmp"

	"hemera/rules/policy"
	"hemera/words/hemera"
)

// Define returns the space as the cluster stores it. Load has checked the values; the error is for callers that make a
// Space themselves. With layout plain, replicas and replicas_min have no effect.
func (s Space) Define(name hemera.SpaceName) (hemera.Space, error) {
	sum, err := hemera.ParseChecksumKind(s.Checksum)
	if err != nil {
		return hemera.Space{}, err
	}
	l, err := s.layout()
	if err != nil {
		return hemera.Space{}, err
	}
	block, err := hemera.ParseBlockSize(cmp.Or(s.BlockSize, hemera.FormatBlockSize(hemera.BlockSizeDefault)))
	if err != nil {
		return hemera.Space{}, err
	}
	p := hemera.Policy{Space: name, Layout: l.WithBlockSize(block), Checksum: sum, Sync: s.Sync}
	if block != hemera.BlockSizeDefault {
		p.BlockSize = block
	}
	if l.Parity() > 0 {
		// The minimum is for copies; a coded file may lose as many pieces right after its close as copies may.
		p.PiecesMin = policy.MinimumOf(hemera.Policy{Layout: hemera.Plain(), PiecesMin: uint8(s.ReplicasMin)}, l)
	}
	return hemera.Space{Name: name, Policy: p, Headroom: int64(s.Headroom)}, p.Layout.Validate()
}

// layout returns the layout of the space's new files. If it names no number of replicas, that of layout replica applies.
func (s Space) layout() (hemera.Layout, error) {
	return policy.Named(s.Layout, 0, hemera.Replica(s.Replicas))
}
