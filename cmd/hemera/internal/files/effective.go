package files

import (
	"context"
	"errors"
	"fmt"
	gopath "path"
	"strings"

	"hemera"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
	"hemera/rules/policy"
)

// effectivePolicy prints the policy of new files in a directory, by the rules that the manager uses (package policy).
// It makes one request for each directory above, and one for the spaces. The answer is as of these moments: another
// admin may change a directory meanwhile. It fails with NotDirectory for a file.
func effectivePolicy(ctx context.Context, e *cli.Env, m *admin.Client, arg string) error {
	path, err := e.OnManager(arg)
	if err != nil {
		return err
	}
	en, err := m.Stat(ctx, hemera.Identity{}, path)
	if err != nil {
		return err
	}
	if !en.IsDir() {
		return errs.New(errs.NotDirectory, "hemera.AttrLsEffective", path, "a policy is in force for new files in a directory").
			WithRemedy("name the directory; hemera file info " + path + " shows how the file is stored")
	}
	dirMode := en.Mode // the bits that new entries take over
	attrs := policy.Attributes{Sys: map[string][]byte{}, User: en.Xattrs}
	from := map[string]string{} // name of an attribute to the directory that has it
	// From the directory up to the root: the nearest value of a name counts.
	for at := path; ; at = gopath.Dir(at) {
		if at != path {
			if en, err = m.Stat(ctx, hemera.Identity{}, at); err != nil {
				return err
			}
		}
		for name, value := range en.Xattrs {
			// user.forced.* counts in this directory only, so only sys.* is inherited.
			if _, nearer := attrs.Sys[name]; !nearer && strings.HasPrefix(name, "sys.") {
				attrs.Sys[name], from[name] = value, at
			}
		}
		if at == "/" {
			break
		}
	}
	spaces, err := m.Spaces(ctx)
	if err != nil {
		return err
	}
	records, err := policyRecords(&hemera.View{Spaces: spaces}, path, attrs, from, dirMode)
	if err != nil {
		return err
	}
	return e.List(policyColumns, records, "")
}

// policyRecords makes a record of each value of a policy, with its source. from names the directory of each sys.
// attribute.
// No client's wish is considered: it is the policy for a client that asks for nothing.
func policyRecords(v *hemera.View, path string, attrs policy.Attributes, from map[string]string, mode uint32) (records []output.Record, err error) {
	name, err := policy.Space(attrs, hemera.Wish{}, hemera.Identity{})
	if err != nil {
		return nil, err
	}
	space, ok := v.Space(name)
	if !ok {
		return nil, errs.New(errs.NotFound, "hemera.AttrLsEffective", path, "its space "+name+" does not exist: no file can be written there").
			WithRemedy("make it: hemera space set " + name + " define=24, or change " + policy.AttrSpace)
	}
	// The same function that the manager calls for a new file, so the answer cannot differ from what happens.
	p, err := policy.Decide(attrs, space, hemera.Wish{}, hemera.Identity{})
	if err != nil {
		return nil, err
	}
	source := func(otherwise string, names ...string) string { // otherwise: if no attribute decides
		for _, attr := range names {
			if _, ok := attrs.Sys[attr]; ok {
				return attr + " of " + from[attr]
			}
			user := "user" + strings.TrimPrefix(attr, "sys") // user.forced.*, which users may set
			if len(attrs.User[user]) > 0 {
				return user + " of " + path
			}
		}
		return otherwise
	}
	ofSpace := "policy of space " + name
	add := func(key string, value any, source string) {
		records = append(records, output.Record{{Key: "key", Value: key}, {Key: "value", Value: value}, {Key: "source", Value: source}})
	}
	add("space", name, source("default", policy.AttrSpace))                                         // where new files go
	add("layout", cli.LayoutName(p.Layout), source(ofSpace, policy.AttrLayout, policy.AttrStripes)) // replica, rs:4+2
	add("nstripes", int(p.Layout.Pieces), source(ofSpace, policy.AttrStripes, policy.AttrLayout))   // pieces of a file
	if p.Layout.Coded() {
		add("blocksize", hemera.FormatBlockSize(p.Layout.BlockSize), source(ofSpace, policy.AttrBlockSize))
	}
	add("checksum", p.Checksum.String(), source(ofSpace, policy.AttrChecksum)) // of the whole file
	add("minpieces", output.Auto(output.Digits(0))(int(p.PiecesMin)), ofSpace) // attributes cannot change it
	add("sync", cli.OnOff(p.Sync, "on", "off"), ofSpace)                       // whether a close waits for the disks
	add("nouserlayout", cli.OnOff(string(attrs.Sys[policy.AttrNoUserLayout]) == "1", "on", "off"), source("default", policy.AttrNoUserLayout))
	file, err1 := policy.Mode(attrs.Sys, 0, false, mode, false) // bits of new files
	dir, err2 := policy.Mode(attrs.Sys, 0, false, mode, true)   // bits of new directories
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	from["mode"] = "mode of " + path + ", for clients that give none"
	add("filemode", fmt.Sprintf("%04o", file), source(from["mode"], policy.AttrMode))
	add("dirmode", fmt.Sprintf("%04o", dir), source(from["mode"], policy.AttrMode))
	return records, nil
}

// policyColumns are the table of attr ls --effective.
var policyColumns = []output.Column{
	{Title: "key", Key: "key"},
	{Title: "value", Key: "value"},
	{Title: "source", Key: "source"},
}
