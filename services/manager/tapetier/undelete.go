package tapetier

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"

	"hemera"
	"hemera/core/namespace/tapes"
	"hemera/errs"
	"hemera/rules/policy"
)

// Files come back from tape in two ways: a scan finds them, and an admin has
// one brought back that was removed. Both are on tape only then, and get
// the form that their directory asks for when they are recalled.

// scanner has tapes scanned, takes what is found, and brings files back.
type scanner struct{ *parts }

// returns is the part of the catalogue that makes files.
func (t scanner) returns() tapes.Returns { return tapes.Returns{Catalogue: t.catalogue} }

// form is how a new file in a directory would be stored now.
func (t scanner) form(ctx context.Context, dir string) (l hemera.Layout, space string, err error) {
	if t.View == nil {
		return hemera.Replica(1), "default", nil
	}
	who := hemera.SystemIdentity()
	prep, err := t.Tree.PrepareBelow(ctx, who, dir)
	switch errs.KindOf(err) {
	// A path that cannot be: the file gets a place that asks for nothing.
	case errs.Invalid, errs.TooLarge, errs.NotDirectory:
		prep, err = t.Tree.PrepareBelow(ctx, who, "/")
	}
	if err != nil {
		return l, "", err
	}
	// As an open by the system decides: no client says what it wishes.
	if space, err = policy.Space(prep.Attrs, hemera.Wish{}, who); err != nil {
		return l, "", err
	}
	of, ok := t.View().Space(space)
	if !ok {
		return l, "", errs.New(errs.NotFound, "tapetier.Form", "space "+space, "there is no such space").WithRemedy("see `hemera space ls`, or change " + policy.AttrSpace + " of " + dir)
	}
	p, err := policy.Decide(prep.Attrs, of, hemera.Wish{}, who)
	return p.Layout, p.Space, err
}

// Undelete makes a removed file again that is still on tape.
func (t scanner) Undelete(ctx context.Context, who string, o hemera.TapeOrder) (string, error) {
	// A path begins with a slash, so nothing is both.
	id, numberErr := strconv.ParseUint(o.Subject, 10, 64)
	was := ""
	if numberErr != nil {
		if was = o.Subject; !path.IsAbs(was) {
			return "", errs.New(errs.Invalid, "tapetier.Undelete", o.Subject, "it is neither an archive id nor a path").
				WithRemedy("`hemera tape tape files VID --removed` lists both")
		}
	}
	// All tapes are looked through: nothing says where a content of the past is.
	rows, err := t.returns().Removed(ctx, id, was)
	if err != nil {
		return "", err
	}
	// Said before and after in the same words, so that people compare them.
	of := tapes.Latest(rows)
	to := cmp.Or(o.To, of.Dead.Path)
	text := fmt.Sprintf("%s: archive id %d, %d bytes", to, of.ArchiveID, of.Size)
	if o.DryRun {
		return "would come back: " + text, nil
	}
	u := tapes.Undeletion{Rows: rows, Path: to, Who: who}
	if u.Layout, u.Space, err = t.form(ctx, path.Dir(to)); err != nil {
		return "", err
	}
	e, err := t.returns().Undelete(ctx, u)
	if err != nil {
		return "", err
	}
	t.Awake() // copies may be queued
	return fmt.Sprintf("came back, on tape only, with %d copies: %s", len(e.Tape), text), nil
}
