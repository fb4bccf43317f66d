package tapeconfig

// Settings are a configuration as it holds, with what belongs to it. They are not changed once made, so any goroutine may read
// them: a change makes others.
type Settings struct {
	Config Config
	Names  RuleNames // those in Config.Rules
	Change uint64    // the number of the change that made them, since the start
}

// RuleNames are the users and groups of mount rules by number: rules have names, requests have numbers.
type RuleNames struct{ Users, Groups map[uint32]string }

// Requester has the fields that decide which mount policy a request gets.
type Requester struct {
	Recall   bool
	UID      uint32 // who asks; of archives the owner of the file
	Groups   []uint32
	Activity string
}

// PoolsOf returns the pools that a content of a class and size goes to, one for each copy. An error says why the class cannot be
// used, TooLarge why the size is not taken. A size of 0 is that of a content which was taken already.
func (s *Settings) PoolsOf(class string, size int64) ([]string, error) {
	if err := s.Config.Admit(class, size); err != nil {
		return nil, err
	}
	to, err := s.Config.Resolve(class, false)
	if err != nil {
		return nil, err
	}
	pools := make([]string, len(to))
	for i, d := range to {
		pools[i] = string(d.Pool)
	}
	return pools, nil
}

// PolicyOf names the mount policy of a request; "" without settings.
func (s *Settings) PolicyOf(r Requester) string {
	if s == nil {
		return ""
	}
	asked := Request{User: s.Names.Users[r.UID], Activity: r.Activity, Recall: r.Recall}
	for _, g := range r.Groups {
		// Groups that no rule names decide nothing.
		if name, there := s.Names.Groups[g]; there {
			asked.Groups = append(asked.Groups, name)
		}
	}
	policy, _ := s.Config.PolicyOf(asked)
	return policy
}
