package xrootd

import (
	"context"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// Xattrs gives access to the extended attributes of one entry at a server. Each method sends one request.
type Xattrs struct {
	client *Client
	url    URL
}

// request sends one attribute request.
func (x Xattrs) request(ctx context.Context, w wire.Fattr, args wire.FattrArgs, repeatable bool) ([]byte, error) {
	w.Count = uint8(len(args.Names)) // one, or none to list
	q := request{op: "xrootd.UseAttributesOf", repeatable: repeatable, build: func(u URL) (wire.Request, []byte) {
		args.Path = u.Opaque.Join(u.Path)
		return w, args.Append(nil)
	}}
	a, err := x.client.do(ctx, newRoute(x.url), q)
	return a.body, err
}

// result returns the value in an answer about one name, or the error that the answer has for it.
func (x Xattrs) result(name string, body []byte, values bool) ([]byte, error) {
	results, err := wire.ParseFattrResults(body, values)
	if err != nil {
		return nil, errs.As(err, errs.Corrupt, "xrootd.UseAttributesOf", x.url.Redacted())
	}
	if len(results) != 1 {
		return nil, errs.New(errs.Corrupt, "xrootd.UseAttributesOf", x.url.Redacted(), "the answer is not about one attribute")
	}
	// The request as a whole succeeds; each attribute has its own code.
	if code := results[0].Code; code != 0 {
		e := &wire.Error{Code: code, Text: "attribute " + name}
		return nil, errs.As(e, kindOf(e), "xrootd.UseAttributesOf", x.url.Redacted())
	}
	return results[0].Value, nil
}

// Set sets one attribute; with createOnly it fails with Exists if the attribute is set. After Unavailable of a createOnly
// call it is unknown whether the attribute was set.
func (x Xattrs) Set(ctx context.Context, name string, value []byte, createOnly bool) error {
	w := wire.Fattr{Subcode: wire.FattrSet}
	if createOnly {
		w.Options = wire.FattrIsNew // a repetition would find its own attribute, so it is not repeated
	}
	body, err := x.request(ctx, w, wire.FattrArgs{Names: []string{name}, Values: [][]byte{value}}, !createOnly)
	if err == nil {
		_, err = x.result(name, body, false)
	}
	return err
}

// Get returns one attribute. It fails with NoAttribute if it is not set.
func (x Xattrs) Get(ctx context.Context, name string) ([]byte, error) {
	body, err := x.request(ctx, wire.Fattr{Subcode: wire.FattrGet}, wire.FattrArgs{Names: []string{name}}, true)
	if err != nil {
		return nil, err
	}
	return x.result(name, body, true)
}

// Remove removes one attribute. It fails with NoAttribute if it is not set.
func (x Xattrs) Remove(ctx context.Context, name string) error {
	body, err := x.request(ctx, wire.Fattr{Subcode: wire.FattrDel}, wire.FattrArgs{Names: []string{name}}, false)
	if err == nil {
		_, err = x.result(name, body, false)
	}
	return err
}

// All returns all attributes that the user may see, by name.
func (x Xattrs) All(ctx context.Context) (map[string][]byte, error) {
	body, err := x.request(ctx, wire.Fattr{Subcode: wire.FattrList, Options: wire.FattrData}, wire.FattrArgs{}, true)
	if err != nil {
		return nil, err
	}
	list, err := wire.ParseFattrList(body, true)
	if err != nil {
		return nil, errs.As(err, errs.Corrupt, "xrootd.ListAttributesOf", x.url.Redacted())
	}
	out := make(map[string][]byte, len(list))
	for _, a := range list {
		out[a.Name] = a.Value
	}
	return out, nil
}
