package replkv

// Repeated returns the number of appends that the journal refused because the entry before was not there.
func Repeated(s *Store) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return 0
	}
	return s.session.flow.repeated
}
