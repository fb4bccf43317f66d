package config

import "hemera"

// Policy is the space's policy as the cluster keeps it. Load has checked the values; the error is
// for those who make a Space by hand.
func (s Space) Policy(name string) (hemera.Policy, error) {
	sum, err := hemera.ParseChecksumKind(s.Checksum)
	if err != nil {
		return hemera.Policy{}, err
	}
	p := hemera.Policy{Space: name, Layout: hemera.Plain(), Checksum: sum, PiecesMin: 1, Sync: s.Sync}
	if s.Layout == hemera.LayoutReplica.String() {
		p.Layout, p.PiecesMin = hemera.Replica(s.Replicas), uint8(s.ReplicasMin)
	}
	return p, p.Layout.Validate()
}
