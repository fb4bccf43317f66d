package tier

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hemera/rules/limits"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Requests to stage that are remembered are bounded, by user and in all: by
// number, and by what they take in the store. What is known of each without
// its files is in memory, so that neither a new one nor a list reads the others.

const (
	stagesMax, stagesOfUser         = 1 << 18, 1 << 15
	stageBytesMax, stageBytesOfUser = 1 << 30, 128 << 20
	// stagedBytes is the number of bytes that a file takes in the record of its request, besides its texts.
	stagedBytes = 80
	// stagesKept is the time for which a request to stage is remembered, and keeps files on disk that are not released;
	// idleKept is the same if none of its files could be staged.
	stagesKept = 14 * 24 * time.Hour
	idleKept   = time.Hour
)

// stages are the requests that are remembered.
type stages struct {
	number, bytes *limits.Budget[uint32] // by user

	mu    sync.Mutex // guards known
	known map[string]*storedStage
}

// storedStage is a request, and what it is counted as; nil accounts: as nothing.
type storedStage struct {
	catalogue.StoredStage
	number, size *limits.Account[uint32]
}

// newStages makes the list of requests that are stored. What is there already is counted, however much it is.
func newStages(stored []catalogue.StoredStage) *stages {
	s := &stages{known: map[string]*storedStage{},
		number: limits.NewBudget[uint32]("stage requests", limits.Bounds{Total: stagesMax, Share: stagesOfUser}),
		bytes:  limits.NewBudget[uint32]("stage requests bytes", limits.Bounds{Total: stageBytesMax, Share: stageBytesOfUser})}
	for _, one := range stored {
		entry := &storedStage{one, s.number.Open(one.UID), s.bytes.Open(one.UID)}
		_, _ = entry.number.TakeReserved(1), entry.size.TakeReserved(one.Bytes)
		s.known[one.ID] = entry
	}
	return s
}

// add counts a request before it is stored: Overloaded if its user has its share, or all is in use. One that is known
// already is not counted again. Admins are bounded by the total alone.
func (s *stages) add(who hemera.Identity, r *catalogue.Stage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[r.ID] != nil {
		return nil
	}
	one := &storedStage{catalogue.StoredStage{Stage: *r, Bytes: bytesOf(r)}, s.number.Open(r.UID), s.bytes.Open(r.UID)}
	one.Files, one.Count = nil, len(r.Files)
	number, size := one.number.Take, one.size.Take
	if who.Admin {
		number, size = one.number.TakeReserved, one.size.TakeReserved
	}
	verdict := number(1)
	if verdict == limits.Fits {
		if verdict = size(one.Bytes); verdict != limits.Fits {
			one.number.Give(1)
		}
	}
	if verdict != limits.Fits {
		one.number.Close()
		one.size.Close()
		return tooManyStages(who, verdict)
	}
	s.known[r.ID] = one
	return nil
}

// tooManyStages says whose bound refuses a request to stage.
func tooManyStages(who hemera.Identity, v limits.Verdict) error {
	if v == limits.TotalFull {
		return errs.New(errs.Overloaded, "manager.Stage", "", "too many requests to stage are remembered").
			WithRemedy("an admin lists and drops them: `hemera tape stage ls --all`")
	}
	return errs.New(errs.Overloaded, "manager.Stage", "", fmt.Sprintf("user %s has %d requests to stage or %d MiB of them, which is the limit", who.Name, stagesOfUser, stageBytesOfUser>>20)).
		WithRemedy("drop those that are done: `hemera tape stage ls`, `hemera tape stage drop ID`")
}

// bytesOf returns about the number of bytes that a request takes in the store.
func bytesOf(r *catalogue.Stage) int64 {
	n := int64(len(r.ID)) + stagedBytes
	for i := range r.Files {
		n += int64(len(r.Files[i].Path)+len(r.Files[i].Activity)+len(r.Files[i].Error)) + stagedBytes
	}
	return n
}

// note keeps what became of a request.
func (s *stages) note(r *catalogue.Stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.known[r.ID]; one != nil {
		one.Cancelled, one.Idle = r.Cancelled, r.Idle
	}
}

// remove counts a request out.
func (s *stages) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.known[id]
	if one == nil {
		return
	}
	delete(s.known, id)
	one.number.Give(1)
	one.size.Give(one.Bytes)
	one.number.Close()
	one.size.Close()
}

// files returns the number of files of a request, 0 of one that is not known.
func (s *stages) files(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.known[id]; one != nil {
		return one.Count
	}
	return 0
}

// due lists requests whose time is over, the oldest first, at most limit.
func (s *stages) due(now time.Time, limit int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var over []*storedStage
	for _, one := range s.known {
		kept := stagesKept
		if one.Idle {
			kept = idleKept
		}
		if now.Sub(one.Made) > kept {
			over = append(over, one)
		}
	}
	slices.SortFunc(over, func(a, b *storedStage) int { return a.Made.Compare(b.Made) })
	var ids []string
	for _, one := range over[:min(limit, len(over))] {
		ids = append(ids, one.ID)
	}
	return ids
}

// list lists requests of a user, or of all, the newest first, at most limit.
func (s *stages) list(uid uint32, all bool, limit int) (out []tapeapi.StageSummary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.known {
		if all || one.UID == uid {
			out = append(out, tapeapi.StageSummary{ID: one.ID, UID: one.UID, Made: one.Made, Files: one.Count, Bytes: one.Bytes, Cancelled: one.Cancelled, Failed: one.Idle})
		}
	}
	slices.SortFunc(out, func(a, b tapeapi.StageSummary) int {
		if c := b.Made.Compare(a.Made); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out[:min(limit, len(out))]
}

// Stages implements hemera.StageList.
func (t *stager) Stages(ctx context.Context, who hemera.Identity, all bool) ([]tapeapi.StageSummary, error) {
	if all && !who.Admin {
		return nil, errs.New(errs.Denied, "manager.Stages", "", "only admins see the requests of others").WithRemedy("leave out --all")
	}
	// It looks at the requests of all users.
	call, err := t.env.Turns.Begin(ctx, who)
	if err != nil {
		return nil, err
	}
	defer call.End()
	const most = 10_000
	return t.stages.list(who.UID, all, most), nil
}

// LimitUsages returns the bounds of requests to stage, and the use of each.
func (t *stager) LimitUsages() []limits.Usage {
	return []limits.Usage{t.stages.number.Usage(), t.stages.bytes.Usage()}
}
