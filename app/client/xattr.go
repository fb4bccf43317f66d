package client

import (
	"context"

	"hemera/errs"
	"hemera/rules/wire"
)

// fattr does one attribute request on a path.
func (c *Client) fattr(ctx context.Context, u URL, w wire.Fattr, args wire.FattrArgs, again bool) ([]byte, error) {
	w.Count = uint8(len(args.Names))
	q := request{op: "use attributes of", again: again, build: func(u URL) (wire.Request, []byte) {
		args.Path = u.Opaque.Join(u.Path)
		return w, args.Append(nil)
	}}
	a, err := c.do(ctx, newRoute(u), q)
	return a.body, err
}

// outcome reads the answer for the one name that was asked about.
func outcome(u URL, name string, body []byte, values bool) ([]byte, error) {
	results, err := wire.ParseFattrResults(body, values)
	if err != nil {
		return nil, errs.As(err, errs.Corrupt, "use attributes of", u.Redacted())
	}
	if len(results) != 1 {
		return nil, errs.New(errs.Corrupt, "use attributes of", u.Redacted(), "the answer is not about one attribute")
	}
	if code := results[0].Code; code != 0 {
		e := &wire.Error{Code: code, Text: "attribute " + name}
		return nil, errs.As(e, kindOf(e), "use attributes of", u.Redacted())
	}
	return results[0].Value, nil
}

// SetXattr sets one attribute; createOnly fails with Exists when it is there.
func (c *Client) SetXattr(ctx context.Context, u URL, name string, value []byte, createOnly bool) error {
	w := wire.Fattr{Subcode: wire.FattrSet}
	if createOnly {
		w.Options = wire.FattrIsNew
	}
	body, err := c.fattr(ctx, u, w, wire.FattrArgs{Names: []string{name}, Values: [][]byte{value}}, !createOnly)
	if err == nil {
		_, err = outcome(u, name, body, false)
	}
	return err
}

// Xattr returns one attribute. NoAttribute.
func (c *Client) Xattr(ctx context.Context, u URL, name string) ([]byte, error) {
	body, err := c.fattr(ctx, u, wire.Fattr{Subcode: wire.FattrGet}, wire.FattrArgs{Names: []string{name}}, true)
	if err != nil {
		return nil, err
	}
	return outcome(u, name, body, true)
}

// RemoveXattr removes one attribute. NoAttribute.
func (c *Client) RemoveXattr(ctx context.Context, u URL, name string) error {
	body, err := c.fattr(ctx, u, wire.Fattr{Subcode: wire.FattrDel}, wire.FattrArgs{Names: []string{name}}, false)
	if err == nil {
		_, err = outcome(u, name, body, false)
	}
	return err
}

// Xattrs returns all attributes.
func (c *Client) Xattrs(ctx context.Context, u URL) (map[string][]byte, error) {
	body, err := c.fattr(ctx, u, wire.Fattr{Subcode: wire.FattrList, Options: wire.FattrData}, wire.FattrArgs{}, true)
	if err != nil {
		return nil, err
	}
	list, err := wire.ParseFattrList(body, true)
	if err != nil {
		return nil, errs.As(err, errs.Corrupt, "list attributes of", u.Redacted())
	}
	out := make(map[string][]byte, len(list))
	for _, a := range list {
		out[a.Name] = a.Value
	}
	return out, nil
}
