package translate

import (
	"strconv"
	"strings"
	"time"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

// OpenOptions decodes the options of an open. It fails with Unsupported for unknown options, because they may change the
// meaning of the open; the text names the option.
func OpenOptions(body [16]byte) (wire.Open, error) {
	o := wire.DecodeOpen(body)
	switch unknown := o.Options2 &^ (wire.OpenRetStatX | wire.OpenDirectIO); { // options of protocol versions after 5.1
	case unknown&wire.OpenDup != 0:
		return o, Refuse(wire.Unsupported, "file cloning is not supported")
	case unknown&wire.OpenSameFS != 0:
		return o, Refuse(wire.Unsupported, "colocating with a specified file is not supported")
	case unknown != 0:
		return o, Refuse(wire.Unsupported, "the open asks for options that are not known")
	}
	if o.Options2&wire.OpenRetStatX != 0 { // the longer stat line is the same here
		o.Options |= wire.OpenRetStat
	}
	return o, nil
}

// RequestedMode returns the mode that a client requests, with the bits of least. Many clients request none; then it
// returns ModeUnset.
func RequestedMode(mode, least uint32) uint32 {
	if mode &= 0o777; mode != 0 {
		return mode | least
	}
	return hemera.ModeUnset
}

// OpenRequest converts a client's open (§1.2). Reading precedes updating; creating implies both. Stock clients always set
// the async option, and create missing parents with it.
func OpenRequest(path string, opaque wire.Opaque, o wire.Open) hemera.OpenRequest {
	r := hemera.OpenRequest{
		Path: path, Access: hemera.AccessRead, Mode: RequestedMode(uint32(o.Mode), 0o600),
		Force: o.Options&wire.OpenForce != 0, Wish: requestedPolicy(opaque), Size: ExpectedSize(opaque),
	}
	const changes = wire.OpenUpdate | wire.OpenWriteTo | wire.OpenAppend // each of them writes an existing file
	switch {
	case o.Options&(wire.OpenNew|wire.OpenDelete) != 0:
		r.Access = hemera.AccessCreate
		r.Exclusive = o.Options&wire.OpenNew != 0 // otherwise an existing file gets new content
		r.Parents = o.Options&(wire.OpenMkpath|wire.OpenAsync) != 0
	case o.Options&wire.OpenRead != 0:
		r.NoPiece = noPiece(opaque)
	case o.Options&changes != 0:
		r.Access = hemera.AccessUpdate
	}
	return r
}

// noPiece returns the time at which a node found no good piece of the file, as a reader that returns from there states;
// zero for none.
func noPiece(opaque wire.Opaque) (at time.Time) {
	if text := opaque.Value(wire.OpaqueNoPiece); text != "" {
		if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
			at = time.Unix(seconds, 0)
		}
	}
	return at
}

// requestedPolicy returns the client's wishes about the policy, with Hemera's keys or EOS's.
func requestedPolicy(opaque wire.Opaque) hemera.Wish {
	if opaque == "" {
		return hemera.Wish{} // most opens have none
	}
	first := func(keys ...string) string { // Hemera's key precedes EOS's
		for _, k := range keys {
			if v := opaque.Value(k); v != "" {
				return v
			}
		}
		return ""
	}
	w := hemera.Wish{
		Space:     hemera.SpaceName(first("hem.space", "eos.space")),
		Layout:    first("hem.layout", "eos.layout.type"),
		BlockSize: first("hem.blocksize", "eos.layout.blocksize"),
		Checksum:  first("hem.checksum", "eos.layout.checksum"),
	}
	if text := first("hem.replicas", "eos.layout.nstripes"); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			w.Pieces = n
		} else {
			w.Pieces = -1 // refused where the policy would allow a wish, so that no file has fewer copies than requested
		}
	}
	// Replicas are copies. Without this, the number would be one of pieces where files are coded.
	if w.Layout == "" && opaque.Value("hem.replicas") != "" {
		w.Layout = hemera.LayoutReplica.String()
	}
	w.Unknown = unknownKey(opaque)
	return w
}

// unknownKey returns the first key with Hemera's prefix that does not exist, or "". Keys of a client that returns from a
// node are not checked, because the node may be of a newer version.
func unknownKey(opaque wire.Opaque) string {
	if !strings.Contains(string(opaque), "hem.") {
		return ""
	}
	// An unknown key is an error of the client: a misspelt wish must not be ignored silently.
	unknown := ""
	for key := range opaque.All() {
		switch key {
		case wire.OpaqueCapability, wire.OpaqueNode, RestartKey, TriedKey:
			return ""
		case "hem.space", "hem.layout", "hem.blocksize", "hem.checksum", "hem.replicas", wire.OpaquePiece, wire.OpaqueTrace, wire.OpaqueWhere,
			wire.OpaqueAgain, wire.OpaqueNoPiece, wire.OpaqueSize, wire.OpaqueSum, wire.OpaqueNew, wire.OpaqueMtime, wire.OpaqueOwner:
			continue
		}
		if unknown == "" && strings.HasPrefix(key, "hem.") {
			unknown = key
		}
	}
	return unknown
}

const (
	// RestartKey is the opaque key of the write for which a copy is restarted.
	RestartKey = "hem.lost"
	// TriedKey is the opaque key of the hosts at which a client failed.
	TriedKey = "tried"
)

// CreatesFile reports whether an open creates or truncates the file.
func CreatesFile(o wire.Open) bool { return o.Options&(wire.OpenNew|wire.OpenDelete) != 0 }

// ReopensWrite reports whether an open continues a write. Stock clients set the async option only the first time.
func ReopensWrite(o wire.Open) bool {
	return !CreatesFile(o) && o.Options&(wire.OpenUpdate|wire.OpenWriteTo) != 0 && o.Options&wire.OpenAsync == 0
}

// ExpectedSize returns the size of the file that the client announces, in bytes; 0 if it announces none.
func ExpectedSize(opaque wire.Opaque) int64 {
	text := opaque.Value(wireSize)
	if text == "" {
		text = opaque.Value(targetSize)
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 {
		return 0
	}
	return size
}

// Publication returns the conditions of a client for a move. ok is false if the client states none.
func Publication(from, to string, opaque wire.Opaque) (p hemera.Publication, ok bool, err error) {
	size := opaque.Value(wire.OpaqueSize)
	if size == "" {
		return p, false, nil
	}
	p = hemera.Publication{From: from, To: to, Replace: opaque.Value(wire.OpaqueNew) == ""}
	if p.Size, err = strconv.ParseInt(size, 10, 64); err != nil || p.Size < 0 {
		return p, false, Refuse(wire.ArgInvalid, wire.OpaqueSize+" is not a size")
	}
	if sum := opaque.Value(wire.OpaqueSum); sum != "" {
		if p.Sum, err = hemera.ParseChecksum(sum); err != nil {
			return p, false, Refuse(wire.ArgInvalid, wire.OpaqueSum+" is not a checksum")
		}
	}
	return p, true, nil
}

// CheckSize fails if no file can have the size.
func CheckSize(size int64) error {
	if size < 0 || size > hemera.FileSizeMax {
		return Refuse(wire.ArgInvalid, "no file can have this size")
	}
	return nil
}

// Stock clients take the number of their connection attempts from a server's URL (XrdCl::Stream), so a redirect can set
// it. By default they try a server that refuses connections once in 120 s, which is also their timeout for a silent
// server, and then do not use it for half an hour. That is far longer than the restart of a node, and the manager knows
// the state of its nodes better. With these hints they open a connection every ConnectionWindow seconds, ConnectionRetry
// times, before they return to the manager or fail.
const (
	retryEvery5s   = "XrdCl.ConnectionWindow=5&XrdCl.StreamErrorWindow=5&XrdCl.ConnectionRetry="
	RetryElsewhere = retryEvery5s + "2"  // another node has the data: 5 s if the port is closed, 10 s if the host is silent
	RetryWrite     = retryEvery5s + "6"  // a node restarts in that time
	RetryLast      = retryEvery5s + "24" // no other source: two minutes
)

// RetryHint returns the hint for how long the client tries to reach the head of its grant.
func RetryHint(g *hemera.Grant, access hemera.Access) wire.Opaque {
	if access != hemera.AccessRead { // a write has only its head
		return RetryWrite
	}
	for _, t := range g.Permit.Targets {
		if t.Addr != g.Addr {
			return RetryElsewhere
		}
	}
	return RetryLast
}
