package node

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A machine gets another address while its node runs: the lease ends with the connection, and the next registration has
// the new address.
func TestTheAddressIsFoundOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		var now atomic.Pointer[string]
		is := func(addr string) { now.Store(&addr) }
		is("n:1095")
		o := options(t, c, t.TempDir())
		o.Address = func() string { return *now.Load() }
		n, stop := running(t, o)
		defer stop()
		<-n.Joined()
		told := func() string {
			c.set(func() { c.epoch += 10 }) // fenced
			time.Sleep(5 * time.Second)
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.hellos[len(c.hellos)-1].Addr
		}
		for _, step := range []struct{ is, want string }{{"n:1095", "n:1095"}, {"other:1095", "other:1095"}, {"", "other:1095"}} {
			is(step.is)
			if got := told(); got != step.want || n.Status().Addr != step.want {
				t.Errorf("at %q: told %q, status %q", step.is, got, n.Status().Addr)
			}
		}
	})
}
