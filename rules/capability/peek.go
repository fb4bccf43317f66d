package capability

import (
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Peek decodes a token without a key, whether it has expired or not. It fails with Invalid if the text is not a token.
//
// Peek verifies nothing: any program can write such a token. A client uses it to learn where the pieces of its file are.
// A server must call Verify. The caller checks layout, sizes and places.
func Peek(token string) (hemera.Capability, error) {
	e, err := open(token)
	if err != nil {
		return hemera.Capability{}, err
	}
	c, ok := e.decode()
	if !ok {
		return hemera.Capability{}, errs.New(errs.Invalid, "capability.Peek", "", "the capability is malformed")
	}
	return c, nil
}
