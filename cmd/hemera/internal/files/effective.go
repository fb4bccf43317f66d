package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/lifecycle"
	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// effectivePolicy prints the policy of new files in a directory, and the later changes of files there, by the rules of
// the manager (packages policy, recycle and lifecycle). It makes one request for each directory above, and one for the
// spaces. Another admin may change a directory meanwhile. It fails with NotDirectory for a file.
func effectivePolicy(ctx context.Context, e *cli.Env, m *admin.Client, arg string) error {
	path, err := e.OnManager(arg)
	if err != nil {
		return err
	}
	in, err := attributesInForce(ctx, m, path)
	if err != nil {
		return err
	}
	spaces, err := m.Cluster.Spaces(ctx)
	if err != nil {
		return err
	}
	t := effective{inForce: in}
	if err := t.policy(&hemera.View{Spaces: spaces}); err != nil {
		return err
	}
	t.kept()
	t.rules()
	return e.List(policyColumns, t.records, "")
}

// effective makes the records of a directory: each a value with its source.
type effective struct {
	inForce
	space   hemera.Space // space of new files
	records []output.Record
}

// add adds a value.
func (t *effective) add(key string, value any, source string) {
	t.records = append(t.records, output.Record{{Key: "key", Value: key}, {Key: "value", Value: value}, {Key: "source", Value: source}})
}

// ofSpace returns the source of values that come from the space.
func (t *effective) ofSpace() string { return "policy of space " + string(t.space.Name) }

// policy adds the policy of new files for a client without wishes.
func (t *effective) policy(v *hemera.View) error {
	name, err := policy.Space(t.attrs, hemera.Wish{}, hemera.Identity{})
	if err != nil {
		return err
	}
	space, ok := v.Space(name)
	if !ok {
		return errs.New(errs.NotFound, "hemera.AttrLsEffective", t.path, "its space "+string(name)+" does not exist: no file can be written there").
			WithRemedy("make it: hemera space set " + string(name) + " define=on, or change " + policy.AttrSpace)
	}
	t.space = space
	// The function that the manager calls for a new file, so the answer cannot differ.
	p, err := policy.Decide(t.attrs, space, hemera.Wish{}, hemera.Identity{})
	if err != nil {
		return err
	}
	t.add("space", string(name), t.source("default", policy.AttrSpace))                                     // where new files go
	t.add("layout", cli.LayoutName(p.Layout), t.source(t.ofSpace(), policy.AttrLayout, policy.AttrStripes)) // replica, rs:4+2
	t.add("nstripes", int(p.Layout.Pieces), t.source(t.ofSpace(), policy.AttrStripes, policy.AttrLayout))   // pieces of a file
	if p.Layout.Coded() {
		t.add("blocksize", hemera.FormatBlockSize(p.Layout.BlockSize), t.source(t.ofSpace(), policy.AttrBlockSize))
	}
	t.add("checksum", p.Checksum.String(), t.source(t.ofSpace(), policy.AttrChecksum)) // of the whole file
	t.add("minpieces", output.Auto(output.Digits(0))(int(p.PiecesMin)), t.ofSpace())   // attributes cannot change it
	t.add("sync", cli.OnOff(p.Sync, "on", "off"), t.ofSpace())                         // whether a close waits for the disks
	t.add("nouserlayout", cli.OnOff(string(t.attrs.Sys[policy.AttrNoUserLayout]) == "1", "on", "off"), t.source("default", policy.AttrNoUserLayout))
	file, err1 := policy.Mode(t.attrs.Sys, 0, false, t.dir.Mode, false) // bits of new files
	dir, err2 := policy.Mode(t.attrs.Sys, 0, false, t.dir.Mode, true)   // bits of new directories
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	usual := "mode of " + t.path + ", for clients that give none"
	t.add("filemode", fmt.Sprintf("%04o", file), t.source(usual, policy.AttrMode))
	t.add("dirmode", fmt.Sprintf("%04o", dir), t.source(usual, policy.AttrMode))
	return nil
}

// kept adds what is kept of removed and replaced files.
func (t *effective) kept() {
	otherwise := "default" // nothing is kept
	// The bin of a space applies where no directory sets one.
	if t.space.Recycle != "" {
		otherwise = t.ofSpace()
	}
	bin := cmp.Or(string(t.attrs.Sys[recycle.Attr]), t.space.Recycle, recycle.Off)
	t.add("recycle", bin, t.source(otherwise, recycle.Attr))
	// The user's own number counts only where no directory has one.
	versions := cmp.Or(string(t.attrs.Sys[recycle.AttrVersions]), string(t.attrs.User[recycle.UserVersions]), "0")
	t.add("versions", versions, t.source("default", recycle.AttrVersions))
}

// rules adds the lifecycle rules, a record for each.
func (t *effective) rules() {
	expire, convert := lifecycle.Of(t.attrs.Sys).Statements()
	for _, kind := range []struct {
		key string
		lifecycle.Statement
	}{{"expire", expire}, {"convert", convert}} {
		if kind.Attr == "" { // no directory says anything
			continue
		}
		source := t.source("", kind.Attr)
		for _, rule := range kind.Rules {
			t.add(kind.key, rule, source)
		}
		// Attributes that look like a rule but are none would otherwise not be noticed.
		for _, part := range kind.Ignored {
			t.add(kind.key, "not followed: "+part, source)
		}
		if len(kind.Rules)+len(kind.Ignored) == 0 {
			t.add(kind.key, lifecycle.Off, source)
		}
	}
}

// policyColumns has the columns of attr ls --effective.
var policyColumns = []output.Column{
	{Title: "key", Key: "key"},
	{Title: "value", Key: "value"},
	{Title: "source", Key: "source"},
}
