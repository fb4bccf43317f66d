package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"hemera/platform/turn"
	"hemera/words/errs"
)

// KeptFile is the file with the settings of `hemera config set`, below the data directory of a manager or of hemera up.
// The server writes it, because often only root may write the settings file.
const KeptFile = "settings.toml"

// Running has the settings of a running server. Its methods are safe for concurrent use.
//
// A change reads all sources again. Settings with the tag live are put into force; others are reported, and none of them
// is applied in part. If anything is wrong, nothing changes.
type Running struct {
	from Sources
	turn turn.Turn // of one change at a time, over its reads and writes of files

	mu     sync.Mutex
	loaded *Loaded // in force
	start  []Value // as read at the start; to find what a restart would change
	last   []Value // as read last
}

// NewRunning returns the settings in force: loaded, which was loaded from these sources. The caller must not use loaded
// any more once the server serves.
func NewRunning(from Sources, loaded *Loaded) *Running {
	return &Running{from: from, turn: turn.New(), loaded: loaded, start: loaded.Values(), last: loaded.Values()}
}

// Changed is a setting whose value has changed, or will change after a restart.
type Changed struct {
	Key    string
	Was    string // in force before; with Restart also now
	Value  string
	Source string // of Value
	// Restart reports that the new value is in force after a restart only.
	Restart bool
}

// Values lists the settings in force, like [Loaded.Values].
func (r *Running) Values() []Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded.Values()
}

// Config returns the settings in force.
func (r *Running) Config() Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded.Config
}

// Change sets and unsets keys for `hemera config set`, durably, reads all sources again, and calls apply to put the
// settings into force. Without keys it only reads again. It returns the differences, in the order of [Config]. It blocks
// on files and on other changes, and calls apply only if a live setting changed.
//
// It fails with Invalid, with everything that is wrong and its place, for a wrong value, a key that is not a live setting
// of this server, and one that a flag or a variable sets. Then nothing has changed. apply must not fail and must not
// block for long.
func (r *Running) Change(ctx context.Context, set map[string]string, unset []string, apply func(Config, []Changed)) ([]Changed, error) {
	if err := r.turn.Acquire(ctx); err != nil {
		return nil, err
	}
	defer r.turn.Release()
	var kept *layer
	if len(set)+len(unset) > 0 {
		if err := r.from.settable(slices.Concat(slices.Collect(maps.Keys(set)), unset)); err != nil {
			return nil, err
		}
		k, err := r.from.keptWith(set, unset)
		if err != nil {
			return nil, err
		}
		kept = &k
	}
	next, err := r.from.load(kept)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		if err := kept.write(); err != nil {
			return nil, errs.Wrap(err, "config.Change", kept.path)
		}
		// Read again for the lines in the written file.
		if next, err = r.from.load(nil); err != nil {
			return nil, err
		}
	}
	changes, config := r.adopt(next)
	if slices.ContainsFunc(changes, func(c Changed) bool { return !c.Restart }) {
		apply(config, changes)
	}
	return changes, nil
}

// adopt adopts the live settings that changed since the read before. Others stay.
func (r *Running) adopt(next *Loaded) (changes []Changed, now Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	after := *r.loaded
	after.values = slices.Clone(r.loaded.values)
	for i, v := range next.values {
		s := v.setting
		before := r.last[i]
		if !s.live {
			before = r.start[i]
		}
		if v.Value == before.Value || !r.from.uses(s) {
			// The same value may have another source now.
			if s.live && v.Source != r.last[i].Source {
				after.values[i].Source = v.Source
			}
			continue
		}
		changes = append(changes, Changed{Key: v.Key, Was: after.values[i].Value, Value: v.Value, Source: v.Source, Restart: !s.live})
		if s.live {
			field := reflect.ValueOf(&after.Config).Elem().FieldByIndex(s.index)
			field.Set(reflect.ValueOf(&next.Config).Elem().FieldByIndex(s.index))
			after.values[i] = v
		}
	}
	r.loaded, r.last = &after, next.Values()
	return changes, after.Config
}

// uses reports whether the server has the setting: it has a flag for it.
func (from Sources) uses(s setting) bool {
	return from.Flags == nil || from.Flags.Lookup(s.flag()) != nil
}

// settable checks that `hemera config set` may set keys. It reports all errors at once.
func (from Sources) settable(keys []string) error {
	all := settings()
	var live []string
	for _, s := range all {
		if s.live && from.uses(s) {
			live = append(live, s.key)
		}
	}
	var wrong []error
	for _, key := range keys {
		refuse := func(text, remedy string) {
			wrong = append(wrong, errs.New(errs.Invalid, "config.Change", key, text).WithRemedy(remedy))
		}
		i := slices.IndexFunc(all, func(s setting) bool { return s.key == key })
		if i < 0 {
			refuse("is not a setting", suggest(key, all))
			continue
		}
		switch s := all[i]; {
		case !from.uses(s):
			refuse("this server does not have the setting", "set it in the settings file of the servers that have it, and send them SIGHUP if it is live")
		case !s.live:
			refuse("it changes with a restart only", "write it into the settings file, and restart; these can change: "+strings.Join(live, ", "))
		default:
			if _, source := from.find(s, nil); source != "default" {
				refuse("it is set by "+source+", which is stronger", "take "+source+" away, and restart; or change the value there")
			}
		}
	}
	return errors.Join(sorted(wrong)...)
}

// readKept reads the file of `hemera config set`, which may be missing. files are those that may name the data directory.
func (from Sources) readKept(files []layer) (layer, error) {
	var live []setting
	data := ""
	for _, s := range settings() {
		if s.key == "data" {
			texts, _ := from.find(s, files)
			data = strings.Join(texts, "")
		}
		if s.live {
			live = append(live, s)
		}
	}
	if data == "" { // an error later
		return layer{}, nil
	}
	return readLayer(filepath.Join(data, KeptFile), live, false)
}

// keptWith returns the new content of the file of `hemera config set`. Unsetting a key that was not set is not an error.
func (from Sources) keptWith(set map[string]string, unset []string) (layer, error) {
	path, required := from.path()
	file, err := readLayer(path, settings(), required)
	if err != nil {
		return layer{}, err
	}
	kept, err := from.readKept([]layer{file})
	if err != nil {
		return layer{}, err
	}
	for _, key := range unset {
		delete(kept.entries, key)
	}
	for _, s := range settings() {
		if text, ok := set[s.key]; ok {
			kept.entries[s.key] = entry{texts: s.split(text)}
		}
	}
	return kept, nil
}

// write writes the file durably and atomically.
func (l layer) write() error {
	tree := map[string]map[string]any{}
	for key, e := range l.entries {
		table, name, _ := strings.Cut(key, ".") // live settings are in tables
		if tree[table] == nil {
			tree[table] = map[string]any{}
		}
		tree[table][name] = e.texts
		if i := slices.IndexFunc(settings(), func(s setting) bool { return s.key == key }); i >= 0 && !settings()[i].list() {
			tree[table][name] = strings.Join(e.texts, "")
		}
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, "# Written by hemera config set. The server that runs here has it until hemera config unset.")
	if err := toml.NewEncoder(&b).Encode(tree); err != nil {
		return err
	}
	half := l.path + ".new"
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(half, l.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(half))
	}
	dir, err := os.Open(filepath.Dir(l.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
