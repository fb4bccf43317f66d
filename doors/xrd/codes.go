package xrd

import (
	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
)

// These are failures of the protocol itself, which no service returns.
var (
	errBadHandle = translate.Refuse(wire.FileNotOpen, "the file handle is not open")
	errNoPath    = translate.Refuse(wire.ArgMissing, "the request lacks a path")
	errNoSession = translate.Refuse(wire.NotFound, "no such session")
)

// closeAfter is an error after whose answer the connection is closed.
type closeAfter struct{ error }

func (c closeAfter) Unwrap() error { return c.error }
