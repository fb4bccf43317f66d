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
	dirMode := en.Mode
	attrs := policy.Attributes{Sys: map[string][]byte{}, User: en.Xattrs}
	from := map[string]string{}
	// From the directory up to the root: the nearest value of a name counts.
	for at := path; ; at = gopath.Dir(at) {
		if at != path {
			if en, err = m.Stat(ctx, hemera.Identity{}, at); err != nil {
				return err
			}
		}
		for name, value := range en.Xattrs {
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
	p, err := policy.Decide(attrs, space, hemera.Wish{}, hemera.Identity{})
	if err != nil {
		return nil, err
	}
	source := func(otherwise string, names ...string) string {
		for _, attr := range names {
			if _, ok := attrs.Sys[attr]; ok {
				return attr + " of " + from[attr]
			}
			user := "user" + strings.TrimPrefix(attr, "sys")
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
	add("space", name, source("default", policy.AttrSpace))
	add("layout", p.Layout.Kind.String(), source(ofSpace, policy.AttrLayout, policy.AttrStripes))
	add("nstripes", int(p.Layout.Pieces), source(ofSpace, policy.AttrStripes, policy.AttrLayout))
	add("checksum", p.Checksum.String(), source(ofSpace, policy.AttrChecksum))
	add("minpieces", output.Auto(output.Digits(0))(int(p.PiecesMin)), ofSpace)
	add("sync", cli.OnOff(p.Sync, "on", "off"), ofSpace)
	add("nouserlayout", cli.OnOff(string(attrs.Sys[policy.AttrNoUserLayout]) == "1", "on", "off"), source("default", policy.AttrNoUserLayout))
	file, err1 := policy.Mode(attrs.Sys, 0, false, mode, false)
	dir, err2 := policy.Mode(attrs.Sys, 0, false, mode, true)
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
