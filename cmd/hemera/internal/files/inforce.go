package files

import (
	"context"
	gopath "path"
	"slices"
	"strings"

	"hemera/client/admin"
	"hemera/rules/policy"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// inForce has the attributes in force in a directory for files of its owner, with the directories that have them.
type inForce struct {
	path  string
	dir   hemera.Entry
	attrs policy.Attributes
	from  map[string]string // name of a sys. attribute to the directory that has it
}

// attributesInForce gets the attributes of a directory and of all above it: the nearest value that applies counts. It
// fails with NotDirectory for a file.
func attributesInForce(ctx context.Context, m *admin.Client, path string) (inForce, error) {
	en, err := m.Names.Stat(ctx, hemera.Identity{}, path)
	if err != nil {
		return inForce{}, err
	}
	if !en.IsDir() {
		return inForce{}, errs.New(errs.NotDirectory, "hemera.AttributesInForce", path, "a policy is in force for new files in a directory").
			WithRemedy("name the directory; hemera file info " + path + " shows how the file is stored")
	}
	path = hemera.PlainPath(path)
	// One request for each directory, whose answer has its attributes.
	dirs, paths := []*hemera.Entry{&en}, []string{path}
	for at := path; at != "/"; {
		at = gopath.Dir(at)
		up, err := m.Names.Stat(ctx, hemera.Identity{}, at)
		if err != nil {
			return inForce{}, err
		}
		dirs, paths = append(dirs, &up), append(paths, at)
	}
	slices.Reverse(dirs)
	slices.Reverse(paths)
	in := inForce{path: path, dir: en, attrs: policy.InForce(dirs, en.UID), from: map[string]string{}}
	for name := range in.attrs.Sys {
		for s := range policy.Holding(dirs, en.UID, name) {
			in.from[name] = paths[s.Dir]
			break
		}
	}
	return in, nil
}

// source returns the attribute that decides, with its directory: the first of names that is set, as sys. or as user.;
// otherwise if none is.
func (in inForce) source(otherwise string, names ...string) string {
	for _, attr := range names {
		if _, ok := in.attrs.Sys[attr]; ok {
			return attr + " of " + in.from[attr]
		}
		user := "user" + strings.TrimPrefix(attr, "sys") // which users may set
		if len(in.attrs.User[user]) > 0 {
			return user + " of " + in.path
		}
	}
	return otherwise
}
