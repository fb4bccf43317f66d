package tier

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/tape/catalogue"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// The configuration is one value, which tape/tapeconfig checks as a
// whole with each change. It is stored as one record of JSON: there are
// tens of objects, changed by people. Tapes are not a part of it. There
// are thousands, they change with every session, and each is a record of
// its own.
//
// A change is durable before it holds. What was queued before a change
// keeps the pool that it was queued for.

// configurer changes the configuration and tapes.
type configurer struct {
	env       *env
	settings  *settings
	libraries *libraries
	disks     *diskCopies
	recalls   *recalls
	jobs      *jobList
}

// TapeConfig implements adminapi.TapeAdmin.
func (t *configurer) TapeConfig(context.Context) ([]byte, error) {
	return json.Marshal(t.settings.now().Config)
}

// ChangeTape implements adminapi.TapeAdmin.
func (t *configurer) ChangeTape(ctx context.Context, who string, c adminapi.TapeChange) error {
	switch c.Object {
	case "key":
		return t.changeKey(ctx, who, c)
	case "tape":
		return t.changeTape(ctx, who, c)
	case "drive":
		return t.changeDrive(ctx, who, c)
	}
	return t.changeConfig(ctx, who, c)
}

// changeConfig changes one object of the configuration.
func (t *configurer) changeConfig(ctx context.Context, who string, c adminapi.TapeChange) error {
	if c.Object == string(tapeconfig.KindLibrary) && c.Verb == "set" && t.onlyReported(c.Name) {
		c.Verb = "add" // people see it in the list, and set it
	}
	if c.Object == string(tapeconfig.KindLibrary) && c.Verb == "remove" && t.onlyReported(c.Name) {
		return errs.New(errs.NotEmpty, "tier.Remove", c.Name, "a tape server reports this library: it is in the list as long as its node is in the cluster").
			WithRemedy("see its node: hemera tape library ls; end its server, then: hemera node rm NODE")
	}
	return t.change(ctx, c.Object+" "+c.Name, func(now tapeconfig.Config, used tapeconfig.Usage) (tapeconfig.Config, error) {
		return now.Apply(c, tapeconfig.Author{Name: who, Time: t.env.now()}, used)
	})
}

// change stores what a change makes of the configuration. One change is
// made after the other.
func (t *configurer) change(ctx context.Context, subject string, change func(tapeconfig.Config, tapeconfig.Usage) (tapeconfig.Config, error)) error {
	release, err := t.settings.take(ctx, subject)
	if err != nil {
		return err
	}
	defer release()
	all, err := t.env.catalogue.Tapes(ctx)
	if err != nil {
		return err
	}
	if err := t.settings.change(ctx, all, change); err != nil {
		return err
	}
	t.env.wake.ring()
	if t.settings.now().Config.MountCriteria().ReadsBack() > 0 {
		return nil
	}
	// Nothing is read back any more, so nothing waits for it.
	for i := range all {
		if all[i].UnreadFSeq > 0 {
			if err := t.disks.countAsRead(ctx, all[i].VID, math.MaxUint64); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckClass returns an error for a storage class that does not exist,
// with the names of those that do. Its routes may come later.
func (t *configurer) CheckClass(class string) error {
	known := t.settings.now().Config.Classes
	if _, ok := known[class]; ok || class == "" || class == catalogue.NoClass {
		return nil
	}
	names := slices.Sorted(maps.Keys(known))
	return errs.New(errs.NotFound, "tier.CheckClass", class, "there is no such storage class").
		WithRemedy("take one of " + strings.Join(names, ", ") + ", or add it first: hemera tape class add NAME nbCopies=1")
}

// onlyReported reports whether a library is there that nobody said
// anything about.
func (t *configurer) onlyReported(name string) bool {
	if _, said := t.settings.now().Config.Libraries[name]; said {
		return false
	}
	for _, l := range t.libraries.now().all {
		if l.state.Name == name {
			return true
		}
	}
	return false
}

// changeTape adds, changes or removes a tape.
func (t *configurer) changeTape(ctx context.Context, who string, c adminapi.TapeChange) error {
	vid, config := hemera.VID(c.Name), t.settings.now().Config
	back := false // it can be read again
	err := t.env.catalogue.ChangeTape(ctx, vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		tape := tapeapi.Tape{VID: vid, State: tapeapi.Active, Pool: tapeconfig.DefaultName, Made: t.env.now(), MadeBy: who}
		// What a person gets wrong first: a name that is there, or is not.
		switch {
		case c.Verb == "add" && old != nil:
			return nil, errs.New(errs.Exists, "tier.Add", string(vid), "the tape is in the catalogue already")
		case c.Verb != "add" && old == nil:
			return nil, errs.New(errs.NotFound, "tier.Change", string(vid), "the tape is not in the catalogue").WithRemedy("see `hemera tape tape ls`")
		case c.Verb == "remove":
			return nil, nil
		case old != nil:
			tape = *old
		default:
			t.libraries.now().describe(&tape)
		}
		if err := setTape(&tape, c.Values); err != nil {
			return nil, err
		}
		back = old != nil && !tapeconfig.Permits(old.State).Recall && tapeconfig.Permits(tape.State).Recall
		if back {
			catalogue.Return(&tape, 1)
		}
		// A repack looks at all files again, also at those that it left.
		if back && tape.Repack != nil {
			again := *tape.Repack
			again.Begun, again.Queued, again.Filled, again.Left = t.env.now(), 0, false, nil
			tape.Repack = &again
		}
		tape.Changed, tape.ChangedBy = t.env.now(), who
		if tape.Capacity == 0 {
			tape.Capacity = int64(config.Media[tape.MediaType].Capacity)
		}
		return &tape, config.CheckTape(tape)
	})
	if err != nil {
		return err
	}
	if state := tapeapi.State(strings.ToUpper(c.Values["state"])); state == tapeapi.Broken || state == tapeapi.Exported {
		err = t.leaveTape(ctx, vid, state)
	}
	if err == nil && back {
		err = t.disks.noteReturned(ctx)
	}
	t.env.wake.ring()
	return err
}

// leaveTape moves the recalls that wait for a tape which is not read any
// more to other copies. Those without one have failed: somebody waits for
// them, and is told so.
func (t *configurer) leaveTape(ctx context.Context, vid hemera.VID, state tapeapi.State) error {
	// A page at a time: each job that is looked at leaves the queue of the
	// tape, to another one or to those that failed.
	for {
		jobs, err := t.jobs.TapeJobList(ctx, adminapi.TapeJobQuery{Kind: tapeapi.Recall, Queue: string(vid)})
		if err != nil || len(jobs) == 0 {
			return err
		}
		for _, j := range jobs {
			other := t.recalls.otherCopy(ctx, j.JobKey)
			// No attempt is counted for a move: nothing was tried.
			if err := t.env.catalogue.ChangeJob(ctx, j.JobKey, func(j tapeapi.Job, _ time.Time) *tapeapi.Job {
				if other != nil {
					j.From, j.Copy, j.Queue = other, other.Number, string(other.VID)
					return &j
				}
				j.Failed, j.Error = true, "tape "+string(vid)+" is "+string(state)+", and no other copy can be read"
				return &j
			}); err != nil {
				return err
			}
		}
	}
}

// setTape changes fields of a tape by the names of its JSON.
func setTape(tape *tapeapi.Tape, values map[string]string) error {
	// In the order of names, so that the same request gives the same error.
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, bad := values[name], error(nil)
		switch name {
		case "mediaType":
			tape.MediaType = value
		case "vendor":
			tape.Vendor = value
		case "logicalLibrary":
			tape.Library = value
		case "tapepool":
			tape.Pool = tapeapi.PoolName(value)
		case "capacity":
			tape.Capacity, bad = strconv.ParseInt(value, 10, 64)
		case "full":
			tape.Full, bad = strconv.ParseBool(value)
		case "comment":
			tape.Comment = value
		case "encryptionKeyName":
			// What is on the tape stays as it is.
			if tape.LastFSeq > 0 && value != tape.Key {
				bad = errors.New("the files on the tape are encrypted with key " + strconv.Quote(tape.Key))
			}
			tape.Key = value
		case "state":
			reason := values["stateReason"]
			state := tapeapi.State(strings.ToUpper(value))
			if err := tapeconfig.CheckTransition(*tape, state, reason); err != nil {
				return err
			}
			tape.State, tape.Reason, tape.Cause = state, reason, ""
		case "stateReason":
		default:
			bad = errors.New("a tape has no such value")
		}
		if bad != nil {
			return errs.As(bad, errs.Invalid, "tier.Set", string(tape.VID)+" "+name+"="+value)
		}
	}
	return nil
}
