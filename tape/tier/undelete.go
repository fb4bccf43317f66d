package tier

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"

	"hemera/rules/policy"
	"hemera/tape/catalogue"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Files come back from tape in two ways: a scan finds them, and an admin has
// one brought back that was removed. Both are on tape only then, and get
// the form that their directory asks for when they are recalled.

// form returns the form in which a new file in a directory would be stored now.
func (t *scanner) form(ctx context.Context, dir string) (l hemera.Layout, space hemera.SpaceName, err error) {
	if t.env.View == nil {
		return hemera.Replica(1), "default", nil
	}
	who := hemera.SystemIdentity()
	prep, err := t.env.Tree.PrepareBelow(ctx, who, dir)
	switch errs.KindOf(err) {
	// A path that cannot be: the file gets a place that asks for nothing.
	case errs.Invalid, errs.TooLarge, errs.NotDirectory:
		prep, err = t.env.Tree.PrepareBelow(ctx, who, "/")
	}
	if err != nil {
		return l, "", err
	}
	// As an open by the system decides: no client says what it wishes.
	if space, err = policy.Space(prep.Attrs, hemera.Wish{}, who); err != nil {
		return l, "", err
	}
	of, ok := t.env.View().Space(space)
	if !ok {
		return l, "", errs.New(errs.NotFound, "tier.Form", "space "+string(space), "there is no such space").WithRemedy("see `hemera space ls`, or change " + policy.AttrSpace + " of " + dir)
	}
	p, err := policy.Decide(prep.Attrs, of, hemera.Wish{}, who)
	return p.Layout, p.Space, err
}

// undeleteTape makes files of all contents of a tape whose removal is not known. Where a path is taken or not known, the file is made below
// catalogue.LostDir.
func (t *scanner) undeleteTape(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	if _, err := t.env.tape(ctx, hemera.VID(o.Subject)); err != nil {
		return "", err
	}
	var came, elsewhere, not int
	var first error // of those that did not come back
	for after := uint64(0); ; {
		contents, next, err := t.env.catalogue.Inferred(ctx, hemera.VID(o.Subject), after)
		if err != nil {
			return "", err
		}
		for _, rows := range contents {
			if o.DryRun {
				came++
				continue
			}
			lost, err := t.bringBack(ctx, who, hemera.VID(o.Subject), rows)
			switch {
			case ctx.Err() != nil:
				return "", err
			case err != nil:
				not, first = not+1, cmp.Or(first, err)
			case lost:
				elsewhere++
			default:
				came++
			}
		}
		if after = next; next == 0 {
			break
		}
	}
	t.env.wake.ring() // copies may be queued
	switch {
	case o.DryRun:
		return count(int64(came), "file", "files") + " would come back", nil
	case came+elsewhere+not == 0:
		return "", errs.New(errs.NotFound, "tier.Undelete", o.Subject, "the tape has no file whose removal is not known").
			WithRemedy("`hemera tape tape files " + o.Subject + " --removed` lists what was removed; each comes back by its path or archive id")
	}
	text := count(int64(came+elsewhere), "file", "files") + " came back, on tape only"
	if elsewhere > 0 {
		text += fmt.Sprintf(", %d of them in %s/%s because their path is taken or not known", elsewhere, catalogue.LostDir, o.Subject)
	}
	if not > 0 {
		text += fmt.Sprintf("; %d did not: %v", not, first)
	}
	return text, nil
}

// bringBack makes a file of a content of a tape. lost: below catalogue.LostDir.
func (t *scanner) bringBack(ctx context.Context, who string, vid hemera.VID, rows []tapeapi.File) (lost bool, err error) {
	u := catalogue.Undeletion{Rows: rows, Path: rows[0].Dead.Path, Who: who}
	for {
		if u.Layout, u.Space, err = t.form(ctx, path.Dir(u.Path)); err != nil {
			return lost, err
		}
		_, err = t.env.catalogue.Undelete(ctx, u)
		switch errs.KindOf(err) {
		case errs.Exists, errs.Invalid, errs.NotDirectory:
		default:
			return lost, err
		}
		if lost {
			return lost, err
		}
		// By the place on tape, which no other file has.
		lost, u.Path = true, fmt.Sprintf("%s/%s/%d", catalogue.LostDir, vid, rows[0].FSeq)
		if rows[0].Member > 0 {
			u.Path += "." + strconv.FormatUint(uint64(rows[0].Member), 10)
		}
	}
}

// Undelete makes a removed file again that is still on tape.
func (t *scanner) Undelete(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	if o.Tape {
		return t.undeleteTape(ctx, who, o)
	}
	// A path begins with a slash, so nothing is both.
	id, numberErr := strconv.ParseUint(o.Subject, 10, 64)
	was := ""
	if numberErr != nil {
		if was = o.Subject; !path.IsAbs(was) {
			return "", errs.New(errs.Invalid, "tier.Undelete", o.Subject, "it is neither an archive id nor a path").
				WithRemedy("`hemera tape tape files VID --removed` lists both")
		}
	}
	// All tapes are looked through: nothing says where a content of the past is.
	rows, err := t.env.catalogue.Removed(ctx, id, was)
	if err != nil {
		return "", err
	}
	// Said before and after in the same words, so that people compare them.
	of := catalogue.Latest(rows)
	to := cmp.Or(o.To, of.Dead.Path)
	text := fmt.Sprintf("%s: archive id %d, %d bytes", to, of.ArchiveID, of.Size)
	if o.DryRun {
		return "would come back: " + text, nil
	}
	u := catalogue.Undeletion{Rows: rows, Path: to, Who: who}
	if u.Layout, u.Space, err = t.form(ctx, path.Dir(to)); err != nil {
		return "", err
	}
	e, err := t.env.catalogue.Undelete(ctx, u)
	if err != nil {
		return "", err
	}
	t.env.wake.ring() // copies may be queued
	return fmt.Sprintf("came back, on tape only, with %d copies: %s", len(e.Tape), text), nil
}
