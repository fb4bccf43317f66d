package tier

import (
	"strconv"
	"strings"
	"testing"

	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// One user's requests are bounded by their bytes and by their number, also those of before a restart. Others have room meanwhile, admins too, and
// what is removed makes room.
func TestRequestsToStageAreBounded(t *testing.T) {
	bob, alice, ada := hemera.Identity{Name: "bob", UID: 1}, hemera.Identity{Name: "alice", UID: 2}, hemera.Identity{Name: "ada", UID: 1, Admin: true}
	long := strings.Repeat("a", 1<<20)
	for name, files := range map[string][]catalogue.StagedFile{"bytes": {{Path: long}, {Path: "/b", Error: long}}, "number": {{Path: "/a"}}} {
		s := newStages(nil)
		add := func(who hemera.Identity, id string) error {
			return s.add(who, &catalogue.Stage{ID: id, UID: who.UID, Files: files})
		}
		n := 0
		var err error
		for ; err == nil && n <= stagesOfUser; n++ {
			err = add(bob, strconv.Itoa(n))
		}
		if errs.KindOf(err) != errs.Overloaded || errs.RemedyOf(err) == "" || n < 60 {
			t.Fatalf("%s: %v after %d", name, err, n)
		}
		if err := add(bob, "0"); err != nil {
			t.Errorf("%s: the same request again: %v", name, err)
		}
		for _, who := range []hemera.Identity{alice, ada} {
			if err := add(who, who.Name); err != nil {
				t.Errorf("%s: %s: %v", name, who.Name, err)
			}
		}
		// As they are read at the next start.
		var stored []catalogue.StoredStage
		for _, one := range s.known {
			stored = append(stored, one.StoredStage)
		}
		s = newStages(stored)
		if err := add(bob, "new"); errs.KindOf(err) != errs.Overloaded {
			t.Errorf("%s: after a start: %v", name, err)
		}
		s.remove("1")
		s.remove("1")
		s.remove("ada")
		if err := add(bob, "new"); err != nil {
			t.Errorf("%s: after a removal: %v", name, err)
		}
		for id := range s.known {
			s.remove(id)
		}
		if s.number.Usage().Used != 0 || s.bytes.Usage().Used != 0 || s.number.Usage().Clients != 0 {
			t.Errorf("%s: %+v %+v", name, s.number.Usage(), s.bytes.Usage())
		}
	}
}
