package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hemera/measure/doctor"
	"hemera/measure/host"
	"hemera/words/errs"
)

// Change is one setting, before and after.
type Change struct {
	ID      string    `json:"id"`      // of the finding
	Subject string    `json:"subject"` // of the finding
	File    string    `json:"file"`    // below the root
	Before  string    `json:"before"`  // what Undo writes
	After   string    `json:"after"`   // as the kernel shows it once it is written
	At      time.Time `json:"at"`      // when it was to change
}

// Plan returns what the fixes of the findings change. A pattern of files, such as one for each core, is one change for each file. A file that has the
// value already is left out. NotFound if a setting is not there.
func Plan(root string, findings []doctor.Finding) (list []Change, err error) {
	for _, f := range findings {
		// Most remedies are no setting: a cable, a disk, a mount.
		if f.Fix == nil {
			continue
		}
		files, err := expand(root, f.Fix.File)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			// Read now and not from the snapshot, which may be of some time ago.
			before, err := current(root, file)
			if err != nil {
				return nil, err
			}
			if before != f.Fix.Value {
				list = append(list, Change{ID: f.ID, Subject: f.Subject, File: file, Before: before, After: f.Fix.Value})
			}
		}
	}
	return list, nil
}

// expand returns the files of a pattern, below the root. Denied for files that are no settings of the kernel: a list of changes may come from a file.
func expand(root, pattern string) ([]string, error) {
	clean := filepath.IsLocal(pattern) && filepath.Clean(pattern) == pattern
	if !clean || !strings.HasPrefix(pattern, "sys/") && !strings.HasPrefix(pattern, "proc/sys/") {
		return nil, errs.New(errs.Denied, "settings.Plan", pattern, "it is no setting of the kernel")
	}
	// Without a wildcard the file itself, so that its absence is an error.
	if !strings.Contains(pattern, "*") {
		return []string{pattern}, nil
	}
	found, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(found) == 0 {
		return nil, errs.New(errs.NotFound, "settings.Plan", pattern, "this kernel has no such setting")
	}
	// Relative again: an undo file must not depend on the root.
	for i := range found {
		found[i], err = filepath.Rel(root, found[i])
		if err != nil {
			return nil, errs.Wrap(err, "settings.Plan", pattern)
		}
	}
	return found, nil
}

// current is the value of a setting: the word in brackets where the file lists choices, and one space between words.
func current(root, file string) (string, error) {
	text, err := host.Text(root, file)
	if err != nil {
		return "", err
	}
	// "none [mq-deadline] bfq", or "4096\t131072\t6291456".
	_, after, ok := strings.Cut(text, "[")
	if word, _, closed := strings.Cut(after, "]"); ok && closed {
		return word, nil
	}
	return strings.Join(strings.Fields(text), " "), nil
}

// set writes a setting and returns the value that the kernel made of it. Denied without root's rights.
func set(root, file, value string) (string, error) {
	f, err := os.OpenFile(filepath.Join(root, file), os.O_WRONLY|os.O_TRUNC, 0) // #nosec G304 -- expand has checked it
	if err != nil {
		return "", errs.Wrap(err, "settings.Set", file)
	}
	// The kernel takes one write as one value, and may refuse it at the write or at the close.
	_, err = f.WriteString(value)
	if cause := f.Close(); err == nil {
		err = cause
	}
	if err != nil {
		return "", errs.Wrap(err, "settings.Set", file)
	}
	return current(root, file)
}

// Apply makes the changes, and returns those that were made, with the values that the kernel took. It stops at the first failure. What was there
// before is in the undo file then, together with changes of earlier calls.
func Apply(root, undo string, list []Change) (made []Change, err error) {
	kept, err := load(undo)
	if err != nil {
		return nil, err
	}
	// The file comes first: a process that is killed in between has changed nothing that is not in it.
	for _, c := range list {
		c.At = time.Now().UTC().Truncate(time.Second)
		// Of a setting that was changed twice, the value before the first change counts.
		if i := slices.IndexFunc(kept, func(k Change) bool { return k.File == c.File }); i >= 0 {
			c.Before = kept[i].Before
			kept = slices.Delete(kept, i, i+1)
		}
		kept = append(kept, c)
	}
	if err := save(undo, kept); err != nil {
		return nil, err
	}
	// The first failure ends it: what was made is reported, and can be put back.
	for _, c := range list {
		_, err = expand(root, c.File)
		if err == nil {
			c.After, err = set(root, c.File, c.After)
		}
		if err != nil {
			break
		}
		made = append(made, c)
		// What the kernel made of the value is what Undo has to find.
		for i := range kept {
			if kept[i].File == c.File {
				kept[i].After = c.After
			}
		}
	}
	return made, errors.Join(err, save(undo, kept))
}

// Undo puts settings back, the last change first. It returns those that it put back, and those that have neither the value before nor after: they
// are left alone, and stay in the file. NotFound if there is no undo file. It stops at the first failure.
func Undo(root, undo string) (back, left []Change, err error) {
	kept, err := load(undo)
	if err == nil && len(kept) == 0 {
		err = errs.New(errs.NotFound, "settings.Undo", undo, "nothing was changed").WithRemedy("name the file of --fix with --undo-file")
	}
	if err != nil {
		return nil, nil, err
	}
	for _, c := range slices.Backward(slices.Clone(kept)) {
		if _, err := expand(root, c.File); err != nil {
			return back, left, err
		}
		// Three cases: nothing to do, ours, or somebody else's.
		now, err := current(root, c.File)
		switch {
		case err == nil && now == c.Before: // as after a restart
		case err == nil && now == c.After:
			if _, err = set(root, c.File, c.Before); err == nil {
				back = append(back, c)
			}
		case err == nil:
			left = append(left, c)
			continue
		}
		if err != nil {
			return back, left, errs.Wrap(err, "settings.Undo", c.File)
		}
		// Written after each, so that an interruption repeats nothing.
		kept = slices.DeleteFunc(kept, func(k Change) bool { return k.File == c.File })
		if err := save(undo, kept); err != nil {
			return back, left, err
		}
	}
	return back, left, nil
}

// String is a change for people.
func (c Change) String() string { return fmt.Sprintf("/%s: %s -> %s", c.File, c.Before, c.After) }
