package hemera

// Identity is who asks, as a door established it. It is plain data: an Identity says nothing
// about how sure the door is; doors make one only after authentication succeeded.
type Identity struct {
	Name     string // login name, "nobody" if unknown
	UID, GID uint32
	Groups   []uint32
	Protocol string // unix, host, ...: how it was established
	Host     string // where the client is, for placement and logs
	App      string // what the client calls itself
	// Admin may do anything, EOS's sudo role.
	Admin bool
}

// NobodyID is the uid and gid of clients without a name.
const NobodyID = 65534

// SystemIdentity is Hemera acting for itself: repair, drain, commits.
func SystemIdentity() Identity { return Identity{Name: "hemera", Protocol: "internal", Admin: true} }
