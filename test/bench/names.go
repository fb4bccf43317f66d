package bench

import (
	"fmt"

	"hemera/rules/wire"
)

const (
	treeDir   = "/bench/tree" // entries of it are looked up and listed
	treeFiles = 1000          // few enough for every cache
	bigFiles  = 2             // more would not fit into memory twice
	smallFile = 4096          // bytes: one page
)

// bigFile returns the name of the large file of a thread.
// Clients share them, since reading does not change them.
func bigFile(i int) string { return fmt.Sprintf("/bench/big/%d", i%bigFiles) }

// treeFile returns the name of a file in the directory that is listed.
func treeFile(n int) string { return fmt.Sprintf("%s/file-%04d", treeDir, n%treeFiles) }

// ownDir returns the directory of one thread.
// Each thread works in its own: servers that lock directories would otherwise be measured for that.
func ownDir(i int) string { return fmt.Sprintf("/bench/own/%d", i) }

// ownName returns a name in the directory of a thread.
func ownName(i, n int) string {
	return fmt.Sprintf("/bench/own/%d/name-%06d", i, n)
}

// prepareTree makes what rows about names look at: a directory of small files.
// The content is not read by any row.
func prepareTree(s *session) error {
	if err := s.do(wire.Mkdir{Options: wire.MkdirPath, Mode: 0o755}, treeDir); err != nil {
		return err
	}
	for n := range treeFiles {
		if err := put(s, treeFile(n), wire.OpenDelete|wire.OpenUpdate, []byte("some content")); err != nil {
			return err
		}
	}
	return nil
}

// ownDirs makes a directory for every client.
// It exists already after the first round.
func (r *run) ownDirs() error {
	return r.each(func(i int, s *session) error {
		return s.do(wire.Mkdir{Options: wire.MkdirPath, Mode: 0o755}, ownDir(i))
	})
}

// perClient returns the number of names that each client works on in rows that use names up.
func (r *run) perClient() int { return max(r.o.Names/len(r.clients), 1) }

// all does op for each of the names once and returns how many there were.
// Every name is used once, so the number of names bounds the time of the row.
func (r *run) all(op func(s *session, name string) error) (float64, error) {
	err := r.each(func(i int, s *session) error {
		for n := range r.perClient() {
			if err := op(s, ownName(i, n)); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(r.perClient() * len(r.clients)), err
}

// prepared makes a step of preparation or of cleaning out of what all does.
func prepared(op func(s *session, name string) error) func(*run) error {
	return func(r *run) error { _, err := r.all(op); return err }
}

// timed makes a step of an operation on many names, and returns its rate.
// The server's deadline does not apply: the row ends with its names.
func timed(op func(s *session, name string) error) func(*run) (float64, error) {
	return func(r *run) (float64, error) { return r.all(op) }
}

// create makes an empty file: open, close.
// Two requests at the manager and at the node.
func create(s *session, name string) error {
	return put(s, name, wire.OpenNew|wire.OpenUpdate, nil)
}

// createFilled makes a file of one page.
// One write of one page between open and close.
func createFilled(s *session, name string) error {
	return put(s, name, wire.OpenNew|wire.OpenUpdate, make([]byte, smallFile))
}

// put makes a file with the content, if there is any.
// Options say whether the file may exist.
func put(s *session, name string, options uint16, content []byte) error {
	f, err := s.open(name, options)
	if err != nil {
		return err
	}
	if len(content) > 0 {
		f.queue(wire.Write{Handle: f.handle}, content)
		if _, err := f.call(); err != nil {
			return err
		}
	}
	return f.close()
}

// openClose opens a file for reading and closes it.
func openClose(s *session, name string) error {
	f, err := s.open(name, wire.OpenRead)
	if err != nil {
		return err
	}
	return f.close()
}

// readFilled opens a file of one page, reads it with one request and closes it.
// A file that has less is an error.
func readFilled(s *session, name string) error {
	f, err := s.open(name, wire.OpenRead)
	if err != nil {
		return err
	}
	f.queue(wire.Read{Handle: f.handle, Length: smallFile}, nil)
	if err := f.flush(); err != nil {
		return err
	}
	got, err := f.data()
	if err != nil {
		return err
	}
	if got != smallFile {
		return fmt.Errorf("read %s: %d bytes of %d", name, got, smallFile)
	}
	return f.close()
}

// mkdir makes a directory.
func mkdir(s *session, name string) error { return s.do(wire.Mkdir{Mode: 0o755}, name) }

// remove removes a file.
func remove(s *session, name string) error { return s.do(wire.Rm{}, name) }

// rmdir removes a directory.
func rmdir(s *session, name string) error { return s.do(wire.Rmdir{}, name) }
