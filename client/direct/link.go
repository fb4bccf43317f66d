package direct

import (
	"context"
	"fmt"
	"net/netip"

	"hemera/client/xrootd"
	"hemera/node"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// link returns the speed of this machine's link in bits per second, 0 if it is not known. It looks it up once.
func (c *Client) link() int64 {
	c.own.Do(func() {
		network := node.NewNetwork(c.xrd.Options().Log)
		defer network.Close()
		sample := network.Sample()
		c.speed = sample.Link().Speed
	})
	return c.speed
}

// headLink asks a node for its link. The result is zero if the node does not report it, or is on this machine, with no
// link in between.
func (c *Client) headLink(ctx context.Context, head xrootd.Endpoint) (l hemera.NetworkLink) {
	if ip, err := netip.ParseAddr(head.Host); err == nil && ip.IsLoopback() || head.Host == "localhost" {
		return l
	}
	values, err := c.xrd.Config(ctx, head, wire.ConfigLink)
	if err != nil || len(values) != 1 {
		return l
	}
	// An older node returns the key.
	if _, err := fmt.Sscanf(values[0], "%d %d", &l.Speed, &l.Out); err != nil {
		return hemera.NetworkLink{}
	}
	return l
}
