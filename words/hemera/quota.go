package hemera

// QuotaKind says whose usage a limit bounds. The numbers are stored.
type QuotaKind uint8

// The kinds of limits. A project is everything below a directory, of all owners.
const (
	QuotaUser    QuotaKind = 1
	QuotaGroup   QuotaKind = 2
	QuotaProject QuotaKind = 3
)

// String returns the kind in words.
func (k QuotaKind) String() string {
	switch k {
	case QuotaUser:
		return "user"
	case QuotaGroup:
		return "group"
	case QuotaProject:
		return "project"
	}
	return "quota"
}

// QuotaDefault in place of a uid or gid means every user or group without a limit of its own.
const QuotaDefault = ^uint32(0)

// QuotaAmount is a limit (where zero is none) or what is used: files (directories are not counted),
// logical bytes, and bytes with every piece counted.
type QuotaAmount struct {
	Files, Bytes, Physical int64
}

// Add returns the sum of both.
func (a QuotaAmount) Add(b QuotaAmount) QuotaAmount {
	return QuotaAmount{a.Files + b.Files, a.Bytes + b.Bytes, a.Physical + b.Physical}
}

// Negate returns the amount with every sign turned.
func (a QuotaAmount) Negate() QuotaAmount { return QuotaAmount{-a.Files, -a.Bytes, -a.Physical} }

// QuotaKey names one limit: its user, group or project, and its directory. ID is 0 for projects.
type QuotaKey struct {
	Path string
	Kind QuotaKind
	ID   uint32
}

// QuotaRow is one user, group or project of a quota node.
type QuotaRow struct {
	QuotaKey
	Limits QuotaAmount
	Used   QuotaAmount
	// Default: the limits are those of QuotaDefault.
	Default bool
	// Counting: what was there when the node was made is still being counted, so Used is not exact
	// and the limits do not hold yet. Never so for projects.
	Counting bool
}
