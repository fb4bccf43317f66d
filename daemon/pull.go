package daemon

import (
	"context"

	"hemera"
	"hemera/client"
	"hemera/errs"
	"hemera/xrd"
)

// puller lets the door of a node fetch the source of a third-party copy.
type puller struct{ client *client.Client }

// Pull implements xrd.Puller.
func (p puller) Pull(ctx context.Context, source xrd.PullSource, dst hemera.File, progress func(int64)) error {
	endpoint, err := client.ParseEndpoint(source.Addr)
	if err != nil {
		return errs.As(err, errs.Invalid, "daemon.Pull", source.Addr)
	}
	_, err = p.client.Pull(ctx, client.PullRequest{
		Source: endpoint, Path: source.Path, Key: source.Key, Origins: source.Origins, Opaque: source.Opaque,
	}, dst, progress)
	return err
}
