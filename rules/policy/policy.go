// Package policy decides how a new file is stored: which space, which layout, which checksum. It is
// pure. From strong to weak: the directory's sys.forced.* attributes, what the client wishes (unless
// sys.forced.nouserlayout forbids it), the directory's defaults (user.forced.*), the space's policy.
// The attribute names and values are EOS's.
//
// The manager asks twice for each new file: [Space] says where it goes, and with that space's own policy [Decide] says
// how it is stored. [Mode] gives its permission bits. [CheckAttribute] refuses values when they are set, so that a directory's
// attributes make sense later; Decide checks them again.
package policy

import (
	"fmt"
	"strconv"
	"strings"

	"hemera"
	"hemera/errs"
)

// The attributes of a directory that this package reads; the same names with "user." are defaults.
const (
	AttrSpace        = "sys.forced.space"
	AttrLayout       = "sys.forced.layout"   // plain or replica
	AttrStripes      = "sys.forced.nstripes" // number of replicas
	AttrChecksum     = "sys.forced.checksum"
	AttrNoUserLayout = "sys.forced.nouserlayout" // 1: clients may not choose
)

// Attributes are those that speak for a directory's new files. Neither map is changed.
type Attributes struct {
	Sys  map[string][]byte // the sys.* ones in force, inherited ones as well
	User map[string][]byte // the directory's own; what else is in it does not count
}

// Space names the space a new file goes to. The name is not checked against the cluster.
// It fails with Invalid if nouserlayout has a value that makes no sense.
func Space(attrs Attributes, wish hemera.Wish, who hemera.Identity) (string, error) {
	wished, err := allowed(attrs, who)
	if err != nil {
		return "", err
	}
	s := sources{attrs: attrs, wished: wished}
	if v := s.first(AttrSpace, wish.Space); v.text != "" {
		return v.text, nil
	}
	return hemera.DefaultSpace, nil
}

// Decide returns the policy for a new file in a space. A value that makes no sense is Invalid and
// the error names the attribute or wish it came from.
func Decide(attrs Attributes, space hemera.Space, wish hemera.Wish, who hemera.Identity) (hemera.Policy, error) {
	p := space.Policy
	p.Space = space.Name
	wished, err := allowed(attrs, who)
	if err != nil {
		return p, err
	}
	s := sources{attrs: attrs, wished: wished}
	if p.Layout, err = s.layout(p.Layout, wish); err != nil {
		return p, err
	}
	if v := s.first(AttrChecksum, wish.Checksum); v.text != "" {
		if p.Checksum, err = hemera.ParseChecksumKind(v.text); err != nil {
			return p, v.invalid(err)
		}
	}
	// The space's minimum is for its own layout. A file that asks for fewer pieces could never be closed with it.
	if p.PiecesMin > p.Layout.Pieces {
		p.PiecesMin = p.Layout.Pieces
	}
	return p, nil
}

// allowed reports whether the client's wishes count. Admins are not bound by nouserlayout.
func allowed(attrs Attributes, who hemera.Identity) (bool, error) {
	switch v := string(attrs.Sys[AttrNoUserLayout]); v {
	case "", "0":
		return true, nil
	case "1":
		return who.Admin, nil
	default: // a misspelt restriction must not pass for none
		return false, value{v, AttrNoUserLayout}.invalid(fmt.Errorf("it takes 0 or 1"))
	}
}

// value is a setting's text and where it came from.
type value struct{ text, from string }

// invalid is the error of a value, which names where it came from: the user or the admin has to change it there.
func (v value) invalid(err error) error {
	return errs.As(err, errs.Invalid, "policy.Decide", v.from+"="+v.text)
}

// sources are the places that a setting may come from: the directory's forced attributes, the client's wish, the directory's
// defaults. The space's policy is what remains if none of them says anything.
type sources struct {
	attrs  Attributes
	wished bool // the client's wishes count
}

// first returns the strongest of the forced attribute, the wish and the directory's default.
// An empty value counts as none: an attribute that is set to nothing leaves the decision to the weaker sources.
func (s sources) first(attr, wish string) value {
	if v := string(s.attrs.Sys[attr]); v != "" {
		return value{v, attr}
	}
	if wish != "" && s.wished {
		return value{wish, "wish for " + strings.TrimPrefix(attr, "sys.forced.")}
	}
	if len(s.attrs.User) == 0 { // of most directories
		return value{}
	}
	attr = "user" + strings.TrimPrefix(attr, "sys")
	return value{string(s.attrs.User[attr]), attr}
}

// copies is how many replicas there are when replicas are asked for, and nobody says how many: one, as a
// plain layout has, would be none.
const copies = 2

// layout combines kind and count. A count alone keeps the weaker source's kind, a kind alone its
// count, or [copies] if that is a plain layout's; a count above one makes replicas of a plain layout unless
// plain was asked for by name.
func (s sources) layout(policy hemera.Layout, wish hemera.Wish) (hemera.Layout, error) {
	kind := s.first(AttrLayout, wish.Layout)
	var wished string
	if wish.Replicas != 0 {
		wished = strconv.Itoa(wish.Replicas)
	}
	count := s.first(AttrStripes, wished)
	n := int(policy.Pieces)
	if policy.Kind == hemera.LayoutPlain && kind.text == hemera.LayoutReplica.String() {
		n = copies
	}
	if count.text != "" {
		var err error
		if n, err = strconv.Atoi(count.text); err != nil || n < 1 || n > hemera.ReplicasMax {
			return policy, count.invalid(fmt.Errorf("it takes a number from 1 to %d", hemera.ReplicasMax))
		}
	}
	switch kind.text {
	case "":
		if policy.Kind == hemera.LayoutPlain && n == 1 {
			return hemera.Plain(), nil
		}
		return hemera.Replica(n), nil
	case hemera.LayoutPlain.String():
		return hemera.Plain(), nil
	case hemera.LayoutReplica.String():
		return hemera.Replica(n), nil
	}
	return policy, kind.invalid(fmt.Errorf("it takes plain or replica"))
}
