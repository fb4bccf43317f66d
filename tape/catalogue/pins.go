package catalogue

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A pin is a request that wants a file on disk. The file has them in one attribute, oldest first: those that
// wait for it (which sys.retrieve.req_id names, too), and those that have it and did not release it. The
// latter are what sys.retrieve.evict_counter counts. A request pins a file once, however often it is sent,
// and only the user that made it, or an admin, takes its pin away.

// Pin is a request that wants a file on disk, and who made it.
type Pin struct {
	Request string
	UID     uint32
}

// pinsMax bounds the requests that may want one file: each is in its attribute. pinsOfUser bounds those of one user, so that others can ask.
const pinsMax, pinsOfUser = 256, 32

// PinsOf lists the requests that want a file on disk.
func PinsOf(e *hemera.Entry) (pins []Pin) {
	for one := range strings.SplitSeq(string(e.Xattrs[hemera.AttrRecallPins]), ",") {
		if uid, id, ok := strings.Cut(one, ":"); ok {
			n, _ := strconv.ParseUint(uid, 10, 32)
			pins = append(pins, Pin{id, uint32(n)})
		}
	}
	return pins
}

// pinned returns the pins of a file, as its attributes say. Requests in waiting do not have it yet.
func pinned(pins []Pin, waiting []string) map[string]string {
	texts, counter := make([]string, len(pins)), ""
	for i, p := range pins {
		texts[i] = strconv.FormatUint(uint64(p.UID), 10) + ":" + p.Request
	}
	if n := len(pins) - len(waiting); n > 0 {
		counter = strconv.Itoa(n)
	}
	return map[string]string{hemera.AttrRecallPins: strings.Join(texts, ","), hemera.AttrRecallIDs: strings.Join(waiting, ","), hemera.AttrEvictCounter: counter}
}

// withPin adds the pin of a request, unless it is there: a client may send the same request twice.
func withPin(e *hemera.Entry, r RecallRequest) ([]Pin, error) {
	pins := PinsOf(e)
	if r.Request == "" || slices.ContainsFunc(pins, func(p Pin) bool { return p.Request == r.Request }) {
		return pins, nil
	}
	own := 0
	for _, p := range pins {
		if p.UID == r.UID {
			own++
		}
	}
	switch {
	case len(pins) >= pinsMax:
		return nil, refuse(errs.Overloaded, "Recall", "fid:"+e.ID.String(), "too many requests want the file on disk").
			WithRemedy("its users release it: `xrdfs HOST prepare -e PATH`; an admin takes the requests of others: `hemera tape release PATH`")
	case own >= pinsOfUser:
		return nil, refuse(errs.Overloaded, "Recall", "fid:"+e.ID.String(), strconv.Itoa(own)+" requests of this user want the file on disk, which is the limit").
			WithRemedy("release those that are done with it: `xrdfs HOST prepare -e PATH`")
	}
	return append(pins, Pin{r.Request, r.UID}), nil
}

// Releaser says whose pin a release takes.
type Releaser struct {
	UID     uint32
	Admin   bool   // takes the oldest pin of others, if none is theirs
	Request string // "": any
}

// takes returns the pin that a release takes of those that are on disk, -1 for none.
func (r Releaser) takes(pins []Pin) int {
	ours := func(p Pin) bool { return p.UID == r.UID && (r.Request == "" || p.Request == r.Request) }
	if at := slices.IndexFunc(pins, ours); at >= 0 || !r.Admin {
		return at
	}
	return slices.IndexFunc(pins, func(p Pin) bool { return r.Request == "" || p.Request == r.Request })
}

// Release takes a pin from a file that is on disk, and returns the entry with what is left. released is
// false if the caller has none there: nothing changes then. NotFound.
func (c *Catalogue) Release(ctx context.Context, file hemera.FileID, by Releaser) (out hemera.Entry, released bool, err error) {
	err = c.update(ctx, func(t Txn) error {
		e, err := t.ByID(file)
		if err != nil {
			return err
		}
		if e == nil {
			return refuse(errs.NotFound, "Release", "fid:"+file.String(), "no such file")
		}
		out, released = *e, false // a change may run several times
		// Requests that still wait for it are withdrawn, not released.
		pins := PinsOf(e)
		at := -1
		if !e.Evicted() {
			at = by.takes(pins)
		}
		if at < 0 {
			return nil
		}
		e = attributed(e, pinned(slices.Delete(pins, at, at+1), RequestsOf(e)))
		t.PutEntry(e)
		out, released = *e, true
		return nil
	})
	return out, released, err
}

// LetGo notes that nobody needs the disk copies of a file any more, which tape cannot replace yet: they go once it can. It does nothing for a
// file that requests use, and for one that is not to be on tape.
func (c *Catalogue) LetGo(ctx context.Context, file hemera.FileID) error {
	return c.update(ctx, func(t Txn) error {
		e, err := t.ByID(file)
		if err != nil || e == nil || e.ArchiveID() == 0 || len(e.Pieces) == 0 || len(PinsOf(e)) > 0 || e.Xattrs[hemera.AttrReleased] != nil {
			return err
		}
		t.PutEntry(attributed(e, map[string]string{hemera.AttrReleased: "1"}))
		return nil
	})
}

// Withdraw takes a request back, whether it waits for the file or has it. When it was the last one that
// waits, what is not being read yet is not recalled. What is on disk stays until room is needed.
func (c *Catalogue) Withdraw(ctx context.Context, file hemera.FileID, request string) error {
	return c.update(ctx, func(t Txn) error {
		e, err := t.ByID(file)
		if err != nil || e == nil {
			return err
		}
		pins, waiting := PinsOf(e), RequestsOf(e)
		at := slices.IndexFunc(pins, func(p Pin) bool { return p.Request == request })
		if at < 0 || request == "" {
			return nil // it was released, or withdrawn before
		}
		waits := slices.Index(waiting, request)
		if waits >= 0 {
			waiting = slices.Delete(waiting, waits, waits+1)
		}
		set := pinned(slices.Delete(pins, at, at+1), waiting)
		// A session that is reading the file already goes on, and finds its job gone when it asks to commit.
		if waits >= 0 && len(waiting) == 0 {
			set[hemera.AttrRecallTime], set[hemera.AttrRecallError] = "", ""
			if err := t.dequeueAll(file, tapeapi.Recall); err != nil {
				return err
			}
		}
		t.PutEntry(attributed(e, set))
		return nil
	})
}

// RequestsOf lists the requests that wait for a file.
func RequestsOf(e *hemera.Entry) []string {
	text := string(e.Xattrs[hemera.AttrRecallIDs])
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// EvictCounter returns the number of requests that still use the disk copies of a file.
func EvictCounter(e *hemera.Entry) int {
	n, _ := strconv.Atoi(string(e.Xattrs[hemera.AttrEvictCounter]))
	return max(0, n)
}
