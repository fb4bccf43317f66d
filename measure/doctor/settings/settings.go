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

// Change is the change of one setting.
type Change struct {
	ID      string    `json:"id"`      // of the finding
	Subject string    `json:"subject"` // of the finding
	File    string    `json:"file"`    // below the root
	Before  string    `json:"before"`  // value that Undo writes
	After   string    `json:"after"`   // as the kernel shows it after the change
	At      time.Time `json:"at"`      // time of the change
}

// Plan returns the changes for the fixes of the findings. A pattern of files, such as one for each core, gives one change
// for each file. Files that have the value already are left out. It fails with NotFound if a setting does not exist.
func Plan(root string, findings []doctor.Finding) (list []Change, err error) {
	for _, f := range findings {
		// Most remedies are not settings: a cable, a disk, a mount.
		if f.Fix == nil {
			continue
		}
		files, err := expand(root, f.Fix.File)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			// Read now and not from the snapshot, which may be old.
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

// expand returns the files of a pattern, below the root. It fails with Denied for files that are not settings of the
// kernel, because a list of changes may come from a file.
func expand(root, pattern string) ([]string, error) {
	clean := filepath.IsLocal(pattern) && filepath.Clean(pattern) == pattern
	if !clean || !strings.HasPrefix(pattern, "sys/") && !strings.HasPrefix(pattern, "proc/sys/") {
		return nil, errs.New(errs.Denied, "settings.Plan", pattern, "it is no setting of the kernel")
	}
	// Without a wildcard it is the file itself, so that its absence is an error.
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

// current returns the value of a setting: the word in brackets if the file lists choices, and one space between words.
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

// set writes a setting and returns the resulting value of the kernel. It fails with Denied without root's rights.
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

// Apply makes the changes, and returns those that were made, with the resulting values. It stops at the first failure.
// The undo file has the values before, together with those of earlier calls.
func Apply(root, undo string, list []Change) (made []Change, err error) {
	kept, err := load(undo)
	if err != nil {
		return nil, err
	}
	// The file comes first, so that a killed process has changed only settings in the file.
	for _, c := range list {
		c.At = time.Now().UTC().Truncate(time.Second)
		// For a setting that was changed twice, the value before the first change counts.
		if i := slices.IndexFunc(kept, func(k Change) bool { return k.File == c.File }); i >= 0 {
			c.Before = kept[i].Before
			kept = slices.Delete(kept, i, i+1)
		}
		kept = append(kept, c)
	}
	if err := save(undo, kept); err != nil {
		return nil, err
	}
	// Stop at the first failure: the changes so far are reported and can be undone.
	for _, c := range list {
		_, err = expand(root, c.File)
		if err == nil {
			c.After, err = set(root, c.File, c.After)
		}
		if err != nil {
			break
		}
		made = append(made, c)
		// Undo compares with the resulting value of the kernel.
		for i := range kept {
			if kept[i].File == c.File {
				kept[i].After = c.After
			}
		}
	}
	return made, errors.Join(err, save(undo, kept))
}

// Undo restores settings, the last change first. It returns those that it restored, and those that have neither the value
// before nor after: they are left unchanged, and stay in the file. It fails with NotFound if there is no undo file. It
// stops at the first failure.
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
		// Three cases: nothing to do, changed by Apply, or changed by others.
		now, err := current(root, c.File)
		switch {
		case err == nil && now == c.Before: // such as after a restart
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

// String returns the change for people.
func (c Change) String() string { return fmt.Sprintf("/%s: %s -> %s", c.File, c.Before, c.After) }
