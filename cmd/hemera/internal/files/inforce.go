package files

import (
	"context"
	gopath "path"
	"strings"

	"hemera"
	"hemera/doors/admin"
	"hemera/errs"
	"hemera/rules/policy"
)

// inForce are the attributes that hold in a directory, with the directories that they come from.
type inForce struct {
	path  string
	dir   hemera.Entry
	attrs policy.Attributes
	from  map[string]string // name of a sys. attribute to the directory that has it
}

// attributesInForce asks for the attributes of a directory and of all above it: the nearest value of a name counts. It fails
// with NotDirectory for a file.
func attributesInForce(ctx context.Context, m *admin.Client, path string) (inForce, error) {
	en, err := m.Stat(ctx, hemera.Identity{}, path)
	if err != nil {
		return inForce{}, err
	}
	if !en.IsDir() {
		return inForce{}, errs.New(errs.NotDirectory, "hemera.AttributesInForce", path, "a policy is in force for new files in a directory").
			WithRemedy("name the directory; hemera file info " + path + " shows how the file is stored")
	}
	in := inForce{path: path, dir: en, attrs: policy.Attributes{Sys: map[string][]byte{}, User: en.Xattrs}, from: map[string]string{}}
	// One request a directory: attributes come with each.
	for at := path; ; at = gopath.Dir(at) {
		if at != path {
			if en, err = m.Stat(ctx, hemera.Identity{}, at); err != nil {
				return inForce{}, err
			}
		}
		for name, value := range en.Xattrs {
			// user.* counts in this directory only, so only sys.* is inherited.
			if _, nearer := in.attrs.Sys[name]; !nearer && strings.HasPrefix(name, "sys.") {
				in.attrs.Sys[name], in.from[name] = value, at
			}
		}
		if at == "/" {
			return in, nil
		}
	}
}

// source says which of the attributes decides, with its directory: the first that is set, as sys. or as user.; otherwise if
// none is.
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
