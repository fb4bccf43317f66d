package client

import (
	"context"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// Where asks a manager where an open leads, and does not go there: the answer is the URL to open, with
// the permission in it. A write so begun holds its lock until it is opened there and closed, or its
// permission ends. Unsupported when the server opens the file itself, as one without a manager does.
func (c *Client) Where(ctx context.Context, u URL, o OpenOptions) (URL, error) {
	const op = "ask where to open"
	u.Opaque = u.Opaque.With(hemera.OpaqueWhere, "1")
	r := newRoute(u)
	a, err := c.do(ctx, r, request{
		op: op, build: onPath(wire.Open{Mode: uint16(o.Mode), Options: o.flags(false)}), again: !o.Exclusive, stays: true,
	})
	if err != nil {
		return URL{}, err
	}
	if !a.redirected {
		if reply, err := wire.ParseOpenReply(a.body); err == nil {
			a.conn.users.Add(1)
			(&handle{conn: a.conn, fh: reply.Handle}).leave()
		}
		return URL{}, errs.New(errs.Unsupported, op, u.Redacted(), "the server is no manager: it opened the file itself")
	}
	to, err := parseRedirect(a.body)
	if err == nil {
		r, err = a.route.redirected(to)
	}
	r.url.Opaque = r.url.Opaque.Without(hemera.OpaqueWhere)
	return r.url, errs.Wrap(err, op, u.Redacted())
}
