package cluster

// authorityRecord is the SHA-256 of the authority's certificate.
type authorityRecord struct{ Fingerprint []byte }

func (authorityRecord) key() string { return "authority" }

// authorityTable owns the record of the certificate authority.
type authorityTable struct {
	fingerprint []byte // nil while none is known
}
