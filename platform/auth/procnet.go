package auth

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hemera/words/errs"
)

// procNet reads the tables tcp and tcp6 below a directory (proc(5)). It takes time proportional to the number of
// connections of the machine, so it is the second choice.
type procNet struct{ dir string }

// Owner implements [Owners].
func (p procNet) Owner(client, server netip.AddrPort) (uint32, error) {
	opened := 0
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(p.dir, table))
		if err != nil {
			continue // a kernel without IPv6 has one table only
		}
		opened++
		uid, err := ownerInTable(f, client, server)
		f.Close()
		if !errors.Is(err, errNotListed) {
			return uid, err
		}
	}
	if opened == 0 {
		return 0, errs.New(errs.Unsupported, "auth.FindOwner", p.dir, "neither netlink nor /proc tells who owns the client's connection").
			WithRemedy("let the server use NETLINK_SOCK_DIAG, or mount /proc")
	}
	return 0, unowned("auth.FindOwner")
}

var errNotListed = errors.New("not in this table")

func unowned(op string) error {
	return errs.New(errs.NotFound, op, "", "no process of this machine owns the client's connection")
}

// ownerInTable looks for the line
// "sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode …".
func ownerInTable(r io.Reader, client, server netip.AddrPort) (uint32, error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 {
			continue
		}
		local, err1 := parseProcAddr(f[1])
		remote, err2 := parseProcAddr(f[2])
		if err1 != nil || err2 != nil || local != client || remote != server {
			continue
		}
		uid, err := strconv.ParseUint(f[7], 10, 32)
		if err != nil || f[3] != "01" || f[9] == "0" {
			return 0, closing("auth.FindOwner")
		}
		return uint32(uid), nil
	}
	return 0, errNotListed
}

// parseProcAddr reads "0100007F:1F90": each 32-bit word of the address as an integer of the machine, and the port. IPv4
// addresses mapped into IPv6 are returned as IPv4.
func parseProcAddr(s string) (netip.AddrPort, error) {
	digits, portDigits, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, fmt.Errorf("address %q", s)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	port, err := strconv.ParseUint(portDigits, 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), nil
}
