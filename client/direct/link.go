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

// link is the speed of this machine's link in bits per second, 0 if it is not known. It is looked up once.
func (c *Client) link() int64 {
	c.own.Do(func() {
		network := node.NewNetwork(c.xrd.Options().Log)
		defer network.Close()
		sample := network.Sample()
		c.speed = sample.Link().Speed
	})
	return c.speed
}

// headLink asks a node for its link; zero if it does not say, or is on this machine, where no link is between.
func (c *Client) headLink(ctx context.Context, head xrootd.Endpoint) (l hemera.NetworkLink) {
	if ip, err := netip.ParseAddr(head.Host); err == nil && ip.IsLoopback() || head.Host == "localhost" {
		return l
	}
	values, err := c.xrd.Config(ctx, head, wire.ConfigLink)
	if err != nil || len(values) != 1 {
		return l
	}
	// An older node gives the key back.
	if _, err := fmt.Sscanf(values[0], "%d %d", &l.Speed, &l.Out); err != nil {
		return hemera.NetworkLink{}
	}
	return l
}
