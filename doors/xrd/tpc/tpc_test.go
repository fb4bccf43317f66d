package tpc

import (
	"fmt"
	"testing"
	"time"

	"hemera/words/errs"
)

func TestRendezvous(t *testing.T) {
	var v Rendezvous[string]
	m := Arrangement[string]{Path: "/f", Client: "u.1", Token: "t"}
	const key = "0123456789"
	_, ok, added := v.Redeem(key, "/f", "u.1")
	if ok {
		t.Fatal("an unknown key opened a file")
	}
	if err := v.Register(key, m, time.Minute); err != nil {
		t.Fatal(err)
	}
	<-added
	if v.Register(key, m, time.Minute) == nil {
		t.Error("a key was used twice")
	}
	if v.Register("short", m, time.Minute) == nil {
		t.Error("a short key was accepted")
	}
	for _, wrong := range [][2]string{{"/g", "u.1"}, {"/f", "u.2"}} {
		if _, ok, _ := v.Redeem(key, wrong[0], wrong[1]); ok {
			t.Errorf("%v opened another's file", wrong)
		}
	}
	if got, ok, _ := v.Redeem(key, "/f", "u.1"); !ok || got.Token != "t" {
		t.Errorf("take: %+v %t", got, ok)
	}
	if _, ok, _ := v.Redeem(key, "/f", "u.1"); ok {
		t.Error("a key worked twice")
	}
	if err := v.Register("expired-key", m, -time.Second); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := v.Redeem("expired-key", "/f", "u.1"); ok {
		t.Error("an expired key worked")
	}
}

// One client cannot take all arrangements of third-party copies.
func TestRendezvousIsSharedByClients(t *testing.T) {
	var v Rendezvous[string]
	for i := range arrangedPerClient {
		if err := v.Register(fmt.Sprintf("key-%08d", i), Arrangement[string]{Path: "/f", Owner: "man"}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Register("one more of them", Arrangement[string]{Path: "/f", Owner: "man"}, time.Minute); errs.KindOf(err) != errs.Overloaded {
		t.Error(err)
	}
	if err := v.Register("somebody else's", Arrangement[string]{Path: "/f", Owner: "games"}, time.Minute); err != nil {
		t.Error(err)
	}
}
