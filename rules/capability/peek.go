package capability

import (
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Peek returns what a token says, without any key and whether it has expired or not. Invalid for text that is no token.
//
// Nothing is proved by it: anybody can write such a token. It is for the client that was given the token, which learns from it
// where the pieces of its file are. A server must call Verify. What the capability says of layout, sizes and places is the
// caller's to check.
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
