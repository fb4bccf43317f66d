package wire

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"hemera/words/hemera"
)

// Keys of Hemera's own in the opaque part of a URL (path?key=value&…). Other servers ignore them. They are a wire format
// between versions: a key keeps its meaning, and a reader skips those that it does not know.
const (
	OpaqueCapability = "hem.cap"   // the token of a hemera.Permit
	OpaquePiece      = "hem.piece" // what EncodePieceOpen returns: the handle is this piece, not the file
	OpaqueNode       = "hem.node"  // the node the redirect went to; comes back when a client retries
	OpaqueTrace      = "hem.trace"
	// OpaqueWhere asks for the redirect of an open that the manager would serve itself.
	OpaqueWhere = "hem.where"
	// OpaqueAgain says that an open goes on with a read whose connection was lost.
	OpaqueAgain = "hem.again"
	// OpaqueNoPiece in the redirect of a read says when its node found no good piece, in seconds since 1970; it comes back with the open
	// ([hemera.OpenRequest.NoPiece]).
	OpaqueNoPiece = "hem.nopiece"
	// OpaqueSize in the target of a kXR_mv makes it a publication ([hemera.Names]) of a file of that
	// size, with the checksum OpaqueSum (kind:hex), onto a name that is free if OpaqueNew is there.
	OpaqueSize = "hem.size"
	OpaqueSum  = "hem.sum"
	OpaqueNew  = "hem.new"
	// ConfigPublish is the key by which clients ask (kXR_query, config) whether a server publishes, and
	// shows no file before its close: it answers "1", and others give the key back.
	ConfigPublish = "hem.publish"
	// ConfigLink is the key by which clients ask a node for the speed of its network link and what it sends now, in bits
	// per second: "10000000000 250000000". Zero is not known.
	ConfigLink = "hem.link"
	// OpaqueMtime (nanoseconds since 1970) and OpaqueOwner (uid:gid, -1 leaves) in a kXR_chmod are set with
	// the mode: for copies that keep what their source had.
	OpaqueMtime = "hem.mtime"
	OpaqueOwner = "hem.owner"
	// OpaqueHead is what the head of a write shows a node ([hemera.PieceOpen]). OpaqueTake says that it takes what a client offers.
	OpaqueHead = "hem.head"
	OpaqueTake = "hem.take"
	// OpaqueSeal, OpaqueOffer and OpaqueAbort begin the argument of a kXR_query of type kXR_Qopaquf on a piece
	// handle: seal it with the values that follow, offer it with them to the head of the write, or abort it.
	OpaqueSeal  = "hem.seal"
	OpaqueOffer = "hem.offer"
	OpaqueAbort = "hem.abort"
	// OpaqueClone begins one on the handle of a pending piece of an update, which begins as a copy then ([hemera.Cloner]):
	// "hem.clone&size=N".
	OpaqueClone = "hem.clone"
	// OpaqueProve begins one on a piece handle, from the head of a direct write: see EncodeProve. OpaqueAdopt and
	// OpaqueReplace begin those of its client on the handle of the file: see EncodeAdopt and EncodeReplace.
	OpaqueProve   = "hem.prove"
	OpaqueAdopt   = "hem.adopt"
	OpaqueReplace = "hem.replace"
	// OpaqueData begins one on a handle that asks where data may begin ([hemera.Sparse]): "hem.data&off=N", answered
	// by a number.
	OpaqueData = "hem.data"
	// OpaqueAllocated is one on a handle that asks how many bytes the file takes on its disk ([hemera.Sparse]),
	// answered by a number.
	OpaqueAllocated = "hem.allocated"
	// OpaqueCall begins the argument of a kXR_query of type kXR_Qopaque that carries a call of the admin API:
	// an HTTP request follows, and the answer is the HTTP response; see [hemera.Calls].
	OpaqueCall = "hem.call\n"
)

// basePiece is added to the index of a piece of an update's base, where a piece is named in text.
const basePiece = 0x80

// EncodePieceOpen returns the piece's name as the value of [OpaquePiece]: its index, plus 128 for one of the base. Truncate
// does not travel here: it is a flag of the open request.
func EncodePieceOpen(o hemera.PieceOpen) string {
	n := int(o.Index)
	if o.Base {
		n += basePiece
	}
	return strconv.Itoa(n)
}

// ParsePieceOpen reads what [EncodePieceOpen] wrote.
func ParsePieceOpen(text string) (hemera.PieceOpen, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return hemera.PieceOpen{}, fmt.Errorf("%s %q is not a piece number", OpaquePiece, text)
	}
	return hemera.PieceOpen{Index: uint8(n % basePiece), Base: n >= basePiece}, nil
}

// AskData is the argument of a question for the data at or after an offset.
func AskData(off int64) string { return OpaqueData + "&off=" + strconv.FormatInt(off, 10) }

// ParseAskData reads what [AskData] wrote.
func ParseAskData(arg string) (int64, error) {
	text, _ := strings.CutPrefix(arg, OpaqueData+"&off=")
	off, err := strconv.ParseInt(text, 10, 64)
	if err != nil || off < 0 || off > hemera.FileSizeMax {
		return 0, fmt.Errorf("question for data %q: no offset", arg)
	}
	return off, nil
}

// EncodeClone is the argument of a request that a piece begin as the first size bytes of the base's.
func EncodeClone(size int64) string { return OpaqueClone + "&size=" + strconv.FormatInt(size, 10) }

// ParseClone reads what [EncodeClone] wrote.
func ParseClone(arg string) (size int64, err error) {
	text, _ := strings.CutPrefix(arg, OpaqueClone+"&size=")
	size, err = strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 || size > hemera.FileSizeMax {
		return 0, fmt.Errorf("request for a copy %q: no size", arg)
	}
	return size, nil
}

// EncodeSealInfo is the argument of a seal request: "hem.seal&size=…&sync=…&sums=kind:hex,…&piece=kind:hex&kept=true". The piece's
// checksum is there only if it is known, the last one only if it is true.
func EncodeSealInfo(s hemera.SealInfo) string { return OpaqueSeal + sealValues(s) }

// EncodeOffer is the argument of an offer to the head of a write, with the values of a seal request.
func EncodeOffer(s hemera.SealInfo) string { return OpaqueOffer + sealValues(s) }

// sealValues is the part of a request that says what a footer has: "&size=…&sync=…&sums=kind:hex,…".
func sealValues(s hemera.SealInfo) string {
	sums := make([]string, len(s.Checksums))
	for i, c := range s.Checksums {
		sums[i] = c.String()
	}
	text := fmt.Sprintf("&size=%d&sync=%t&sums=%s", s.FileSize, s.Sync, strings.Join(sums, ","))
	if s.Piece.Kind != hemera.ChecksumNone {
		text += "&piece=" + s.Piece.String()
	}
	if s.Kept {
		text += "&kept=true"
	}
	return text
}

// ParseSealInfo reads what [EncodeSealInfo] wrote.
func ParseSealInfo(arg string) (hemera.SealInfo, error) {
	values, err := valuesOf(arg, OpaqueSeal)
	if err != nil {
		return hemera.SealInfo{}, err
	}
	return parseSeal(values)
}

// ParseOffer reads what [EncodeOffer] wrote.
func ParseOffer(arg string) (hemera.SealInfo, error) {
	values, err := valuesOf(arg, OpaqueOffer)
	if err != nil {
		return hemera.SealInfo{}, err
	}
	return parseSeal(values)
}

// valuesOf reads the values of a request that begins with name.
func valuesOf(arg, name string) (url.Values, error) {
	rest, ok := strings.CutPrefix(arg, name+"&")
	if !ok {
		return nil, fmt.Errorf("request %q: must begin with %s", arg, name)
	}
	values, err := url.ParseQuery(rest)
	if err != nil {
		return nil, fmt.Errorf("request %q: %w", arg, err)
	}
	return values, nil
}

// parseSeal reads what sealValues wrote.
func parseSeal(values url.Values) (s hemera.SealInfo, err error) {
	if s.FileSize, err = strconv.ParseInt(values.Get("size"), 10, 64); err != nil || s.FileSize < 0 {
		return hemera.SealInfo{}, fmt.Errorf("seal request: size %q is no size", values.Get("size"))
	}
	if s.Sync, err = strconv.ParseBool(values.Get("sync")); err != nil {
		return hemera.SealInfo{}, fmt.Errorf("seal request: sync %q is not true or false", values.Get("sync"))
	}
	for _, text := range strings.Split(values.Get("sums"), ",") {
		if text == "" {
			continue
		}
		c, err := hemera.ParseChecksum(text)
		if err != nil {
			return hemera.SealInfo{}, fmt.Errorf("seal request: %w", err)
		}
		s.Checksums = append(s.Checksums, c)
	}
	if values.Has("piece") {
		if s.Piece, err = hemera.ParseChecksum(values.Get("piece")); err != nil {
			return hemera.SealInfo{}, fmt.Errorf("seal request: %w", err)
		}
	}
	if values.Has("kept") {
		if s.Kept, err = strconv.ParseBool(values.Get("kept")); err != nil {
			return hemera.SealInfo{}, fmt.Errorf("seal request: kept %q is not true or false", values.Get("kept"))
		}
	}
	return s, nil
}
