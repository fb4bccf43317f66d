package wire

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"hemera/words/hemera"
)

// Hemera's own keys in the opaque part of a URL (path?key=value&…). Other servers ignore them. They are a wire format
// between versions: a key never changes its meaning, and readers skip unknown keys.
const (
	OpaqueCapability = "hem.cap"   // the token of a hemera.Permit
	OpaquePiece      = "hem.piece" // result of EncodePieceOpen: the handle is this piece, not the file
	OpaqueNode       = "hem.node"  // the node of the redirect; comes back when a client retries
	OpaqueTrace      = "hem.trace"
	// OpaqueWhere asks for the redirect of an open that the manager would serve itself.
	OpaqueWhere = "hem.where"
	// OpaqueAgain says that an open continues a read whose connection was lost.
	OpaqueAgain = "hem.again"
	// OpaqueNoPiece in the redirect of a read has the time at which its node found no good piece, in seconds since 1970.
	// It comes back with the open ([hemera.OpenRequest.NoPiece]).
	OpaqueNoPiece = "hem.nopiece"
	// OpaqueSize in the target of a kXR_mv makes it a publication ([hemera.Names]) of a file of that size, with the
	// checksum OpaqueSum (kind:hex). With OpaqueNew the target name must be free.
	OpaqueSize = "hem.size"
	OpaqueSum  = "hem.sum"
	OpaqueNew  = "hem.new"
	// ConfigPublish is the key with which clients ask (kXR_query, config) whether a server publishes, and shows no file
	// before its close. It answers "1"; other servers return the key.
	ConfigPublish = "hem.publish"
	// ConfigLink is the key with which clients ask a node for the speed of its network link and its current sending rate,
	// in bits per second: "10000000000 250000000". Zero means unknown.
	ConfigLink = "hem.link"
	// OpaqueMtime (nanoseconds since 1970) and OpaqueOwner (uid:gid, -1 leaves one as it is) in a kXR_chmod are set with
	// the mode: for copies that keep the attributes of their source.
	OpaqueMtime = "hem.mtime"
	OpaqueOwner = "hem.owner"
	// OpaqueHead has the proof that the head of a write shows to a node ([hemera.PieceOpen]). OpaqueTake says that the
	// head takes a client's offer.
	OpaqueHead = "hem.head"
	OpaqueTake = "hem.take"
	// OpaqueSeal, OpaqueOffer and OpaqueAbort begin the argument of a kXR_query of type kXR_Qopaquf on a piece handle.
	// The query seals the piece with the values that follow, offers it with them to the head of the write, or aborts it.
	OpaqueSeal  = "hem.seal"
	OpaqueOffer = "hem.offer"
	OpaqueAbort = "hem.abort"
	// OpaqueClone begins the argument of such a query on the handle of a pending piece of an update, which then begins as
	// a copy ([hemera.Cloner]): "hem.clone&size=N".
	OpaqueClone = "hem.clone"
	// OpaqueProve begins the argument of such a query on a piece handle, from the head of a direct write: see
	// EncodeProve. OpaqueAdopt and OpaqueReplace begin those of its client on the handle of the file: see EncodeAdopt and
	// EncodeReplace.
	OpaqueProve   = "hem.prove"
	OpaqueAdopt   = "hem.adopt"
	OpaqueReplace = "hem.replace"
	// OpaqueData begins the argument of such a query on a handle. It asks where data may begin ([hemera.Sparse]):
	// "hem.data&off=N"; the answer is a number.
	OpaqueData = "hem.data"
	// OpaqueAllocated is the argument of such a query on a handle. It asks for the bytes that the file uses on its disk
	// ([hemera.Sparse]); the answer is a number.
	OpaqueAllocated = "hem.allocated"
	// OpaqueCall begins the argument of a kXR_query of type kXR_Qopaque that carries a call of the admin API: an HTTP
	// request follows, and the answer is the HTTP response; see [adminapi.Calls].
	OpaqueCall = "hem.call\n"
)

// basePiece is added to the index of a piece of an update's base in text forms.
const basePiece = 0x80

// EncodePieceOpen returns the piece's name as the value of [OpaquePiece]: its index, plus 128 for one of the base. It
// leaves out Truncate, which is a flag of the open request.
func EncodePieceOpen(o hemera.PieceOpen) string {
	n := int(o.Index)
	if o.Base {
		n += basePiece
	}
	return strconv.Itoa(n)
}

// ParsePieceOpen decodes the result of [EncodePieceOpen].
func ParsePieceOpen(text string) (hemera.PieceOpen, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return hemera.PieceOpen{}, fmt.Errorf("%s %q is not a piece number", OpaquePiece, text)
	}
	return hemera.PieceOpen{Index: uint8(n % basePiece), Base: n >= basePiece}, nil
}

// AskData returns the argument of a query for the data at or after an offset.
func AskData(off int64) string { return OpaqueData + "&off=" + strconv.FormatInt(off, 10) }

// ParseAskData decodes the result of [AskData].
func ParseAskData(arg string) (int64, error) {
	text, _ := strings.CutPrefix(arg, OpaqueData+"&off=")
	off, err := strconv.ParseInt(text, 10, 64)
	if err != nil || off < 0 || off > hemera.FileSizeMax {
		return 0, fmt.Errorf("question for data %q: no offset", arg)
	}
	return off, nil
}

// EncodeClone returns the argument of the request that a piece begin as the first size bytes of the base's.
func EncodeClone(size int64) string { return OpaqueClone + "&size=" + strconv.FormatInt(size, 10) }

// ParseClone decodes the result of [EncodeClone].
func ParseClone(arg string) (size int64, err error) {
	text, _ := strings.CutPrefix(arg, OpaqueClone+"&size=")
	size, err = strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 || size > hemera.FileSizeMax {
		return 0, fmt.Errorf("request for a copy %q: no size", arg)
	}
	return size, nil
}

// EncodeSealInfo returns the argument of a seal request:
// "hem.seal&size=…&sync=…&sums=kind:hex,…&piece=kind:hex&kept=true". The piece's checksum is present only if it is known,
// kept only if it is true.
func EncodeSealInfo(s hemera.SealInfo) string { return OpaqueSeal + sealValues(s) }

// EncodeOffer returns the argument of an offer to the head of a write, with the values of a seal request.
func EncodeOffer(s hemera.SealInfo) string { return OpaqueOffer + sealValues(s) }

// sealValues returns the part of a request with the values of a footer: "&size=…&sync=…&sums=kind:hex,…".
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

// ParseSealInfo decodes the result of [EncodeSealInfo].
func ParseSealInfo(arg string) (hemera.SealInfo, error) {
	values, err := valuesOf(arg, OpaqueSeal)
	if err != nil {
		return hemera.SealInfo{}, err
	}
	return parseSeal(values)
}

// ParseOffer decodes the result of [EncodeOffer].
func ParseOffer(arg string) (hemera.SealInfo, error) {
	values, err := valuesOf(arg, OpaqueOffer)
	if err != nil {
		return hemera.SealInfo{}, err
	}
	return parseSeal(values)
}

// valuesOf decodes the values of a request that begins with name.
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

// parseSeal decodes the result of sealValues.
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
