package hemera

// MarshalText makes JSON show a checksum as "kind:hex" instead of its 32 bytes.
func (c Checksum) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what [Checksum.MarshalText] wrote.
func (c *Checksum) UnmarshalText(text []byte) (err error) {
	*c, err = ParseChecksum(string(text))
	return err
}

// MarshalText makes JSON show a kind by its name.
func (k ChecksumKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what [ChecksumKind.MarshalText] wrote.
func (k *ChecksumKind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseChecksumKind(string(text))
	return err
}
