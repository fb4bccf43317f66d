package hemera

// Identity is the user that asks, as a door established it. It is plain data: an Identity says nothing about how sure the
// door is; doors make one only after authentication succeeded.
type Identity struct {
	Name     string // login name, "nobody" if unknown
	UID, GID uint32
	Groups   []uint32
	Protocol string // unix, host, ...: how it was established
	Host     string // where the client is, for placement and logs
	App      string // what the client calls itself
	// Claimed is the name that the client gave, where it gave one. It proves nothing: it explains why Name is another one. It is
	// not in capabilities.
	Claimed string `json:",omitempty"`
	// Admin may do anything, EOS's sudo role.
	Admin bool
}

// Mapped says in words why a client that gave a name is served under another one, "" if it is not.
func (who Identity) Mapped() string {
	if who.Claimed == "" || who.Claimed == who.Name {
		return ""
	}
	at := who.Claimed
	if who.Host != "" {
		at += " of " + who.Host
	}
	return at + " is " + who.Name + " here"
}

// NobodyID is the uid and gid of clients without a name.
const NobodyID = 65534

// SystemIdentity returns the identity of Hemera acting for itself: repair, drain, commits.
func SystemIdentity() Identity { return Identity{Name: "hemera", Protocol: "internal", Admin: true} }

// Account is by whom bounds count: users without a name are told apart by their hosts. It is comparable.
type Account struct {
	UID  uint32
	Host string // of a user without a name only
}

// Account returns the account that the use of bounded things is charged to.
func (who Identity) Account() Account {
	if who.UID == NobodyID {
		return Account{who.UID, who.Host}
	}
	return Account{UID: who.UID}
}
