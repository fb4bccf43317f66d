package config

import "hemera"

// Define is the space as the cluster keeps it. Load has checked the values; the error is for those
// who make a Space by hand.
// With layout plain, replicas and replicas_min mean nothing.
func (s Space) Define(name string) (hemera.Space, error) {
	sum, err := hemera.ParseChecksumKind(s.Checksum)
	if err != nil {
		return hemera.Space{}, err
	}
	p := hemera.Policy{Space: name, Layout: hemera.Plain(), Checksum: sum, Sync: s.Sync}
	if s.Layout == hemera.LayoutReplica.String() {
		p.Layout, p.PiecesMin = hemera.Replica(s.Replicas), uint8(s.ReplicasMin)
	}
	return hemera.Space{Name: name, Policy: p, Headroom: int64(s.Headroom), GroupSize: s.GroupSize}, p.Layout.Validate()
}
