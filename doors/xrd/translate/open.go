package translate

import (
	"strconv"
	"strings"
	"time"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

// OpenOptions returns the options of an open. It refuses options that are not known: they may change what the client
// gets.
// Unsupported with a text that says which option it was.
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

// RequestedMode returns the mode that a client asks for, with the bits that its owner needs. Many clients give none.
func RequestedMode(mode, least uint32) uint32 {
	if mode &= 0o777; mode != 0 {
		return mode | least
	}
	return hemera.ModeUnset
}

// OpenRequest reads a client's open (§1.2). Reading wins over updating; creating implies both.
// Stock clients always set the async option, and create missing parents with it.
func OpenRequest(path string, opaque wire.Opaque, o wire.Open) hemera.OpenRequest {
	r := hemera.OpenRequest{
		Path: path, Access: hemera.AccessRead, Mode: RequestedMode(uint32(o.Mode), 0o600),
		Force: o.Options&wire.OpenForce != 0, Wish: requestedPolicy(opaque), Size: ExpectedSize(opaque),
	}
	const changes = wire.OpenUpdate | wire.OpenWriteTo | wire.OpenAppend // any of them writes an existing file
	switch {
	case o.Options&(wire.OpenNew|wire.OpenDelete) != 0:
		r.Access = hemera.AccessCreate
		r.Exclusive = o.Options&wire.OpenNew != 0 // else an existing file gets new content
		r.Parents = o.Options&(wire.OpenMkpath|wire.OpenAsync) != 0
	case o.Options&wire.OpenRead != 0:
		r.NoPiece = noPiece(opaque)
	case o.Options&changes != 0:
		r.Access = hemera.AccessUpdate
	}
	return r
}

// noPiece is when a node found no good piece of the file, as a reader says that comes back; zero: none did.
func noPiece(opaque wire.Opaque) (at time.Time) {
	if text := opaque.Value(wire.OpaqueNoPiece); text != "" {
		if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
			at = time.Unix(seconds, 0)
		}
	}
	return at
}

// requestedPolicy reads what a client asks of the policy, in Hemera's words or EOS's.
func requestedPolicy(opaque wire.Opaque) hemera.Wish {
	if opaque == "" {
		return hemera.Wish{} // as most opens are
	}
	first := func(keys ...string) string { // Hemera's key is before EOS's
		for _, k := range keys {
			if v := opaque.Value(k); v != "" {
				return v
			}
		}
		return ""
	}
	w := hemera.Wish{
		Space:     first("hem.space", "eos.space"),
		Layout:    first("hem.layout", "eos.layout.type"),
		BlockSize: first("hem.blocksize", "eos.layout.blocksize"),
		Checksum:  first("hem.checksum", "eos.layout.checksum"),
	}
	if text := first("hem.replicas", "eos.layout.nstripes"); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			w.Pieces = n
		} else {
			w.Pieces = -1 // refused where the policy would allow it, so that no file has fewer copies than were asked for
		}
	}
	// Replicas are copies: where files are coded, the number would otherwise be one of pieces.
	if w.Layout == "" && opaque.Value("hem.replicas") != "" {
		w.Layout = hemera.LayoutReplica.String()
	}
	w.Unknown = unknownKey(opaque)
	return w
}

// unknownKey returns the first key with Hemera's prefix that does not exist, "" if there is none. Keys of a client that
// comes back from a node are not checked: the node may be of a newer version.
func unknownKey(opaque wire.Opaque) string {
	if !strings.Contains(string(opaque), "hem.") {
		return ""
	}
	// An unknown key is an error of the client: a misspelt wish must not be ignored in silence.
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
	// RestartKey names, in an opaque part, the write that a copy is to be restarted for.
	RestartKey = "hem.lost"
	// TriedKey names, in the opaque part of an open, the hosts at which a client failed.
	TriedKey = "tried"
)

// CreatesFile reports whether an open makes or empties the file.
func CreatesFile(o wire.Open) bool { return o.Options&(wire.OpenNew|wire.OpenDelete) != 0 }

// ReopensWrite reports whether an open continues a write. Stock clients set the async option only the first time.
func ReopensWrite(o wire.Open) bool {
	return !CreatesFile(o) && o.Options&(wire.OpenUpdate|wire.OpenWriteTo) != 0 && o.Options&wire.OpenAsync == 0
}

// ExpectedSize returns the size that the client expects the file to have, in bytes; 0 if it did not say.
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

// Publication reads what the content of a file must be for a client to move it; false if the client does not say.
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

// Stock clients take from a server's URL how often they try to connect to it (XrdCl::Stream), so a redirect can say it.
// By default they try a server that refuses connections once in 120 s, which is as long as they wait for one that is
// silent, and then do not use it for half an hour. That is far longer than a node takes to start again, and the manager
// knows the state of its nodes better. With these hints they open a connection every ConnectionWindow seconds,
// ConnectionRetry times, before they return to the manager or fail.
const (
	retryEvery5s   = "XrdCl.ConnectionWindow=5&XrdCl.StreamErrorWindow=5&XrdCl.ConnectionRetry="
	RetryElsewhere = retryEvery5s + "2"  // there is another node to read from: 5 s if the port is closed, 10 s if the host is silent
	RetryWrite     = retryEvery5s + "6"  // a node starts again in that time
	RetryLast      = retryEvery5s + "24" // nothing else can be read: two minutes
)

// RetryHint says for how long the client is to try to reach the head of its grant.
func RetryHint(g *hemera.Grant, access hemera.Access) wire.Opaque {
	if access != hemera.AccessRead { // a write has one head, and nowhere else to go
		return RetryWrite
	}
	for _, t := range g.Permit.Targets {
		if t.Addr != g.Addr {
			return RetryElsewhere
		}
	}
	return RetryLast
}
