package auth

import (
	"fmt"
	"net/netip"
	"strings"
)

// Mapping says as which users the users of a trusted network are served.
type Mapping string

// The mappings.
const (
	// MapSquash serves users as the ones that they claim to be, except uid 0 and the server's own user, which become
	// nobody.
	MapSquash Mapping = "squash"
	// MapOwn serves all users as the ones that they claim to be, including root, who owns root's files.
	MapOwn Mapping = "own"
	// MapNobody serves all users as the user nobody.
	MapNobody Mapping = "nobody"
)

// Network is a network whose hosts may connect, and the mapping of their users. Its text form is 10.1.0.0/16, which means
// squash, or 10.1.0.0/16=own.
type Network struct {
	netip.Prefix
	Map Mapping
}

// ParseNetwork reads the text form.
func ParseNetwork(text string) (n Network, err error) {
	prefix, mapping, given := strings.Cut(text, "=")
	if n.Map = Mapping(mapping); !given {
		n.Map = MapSquash
	}
	switch n.Map {
	case MapSquash, MapOwn, MapNobody:
	default:
		return Network{}, fmt.Errorf("%q is none of %s, %s and %s", mapping, MapSquash, MapOwn, MapNobody)
	}
	n.Prefix, err = netip.ParsePrefix(prefix)
	return n, err
}

// String returns the text form; the default mapping is left out.
func (n Network) String() string {
	if n.Map == MapSquash || n.Map == "" {
		return n.Prefix.String()
	}
	return n.Prefix.String() + "=" + string(n.Map)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Network) UnmarshalText(text []byte) (err error) {
	*n, err = ParseNetwork(string(text))
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (n Network) MarshalText() ([]byte, error) { return []byte(n.String()), nil }
