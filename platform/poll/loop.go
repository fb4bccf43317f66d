package poll

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// Loop waits for the input of many connections with about as many threads as there are processors. The handler of a
// connection runs on the thread that received the event. The package doc has the rules of pollers.
//
// A Loop is safe for concurrent use. It has no limit of its own: a connection takes its file descriptor and some hundred
// bytes. There is a poller for each connection that is being served slowly, and those on duty.
type Loop struct {
	epoll, stop int   // descriptors; stop is an eventfd that is never read, so once written it wakes all pollers
	want        int32 // number of pollers that should be on duty; fixed

	waiting atomic.Int32 // pollers in epoll_wait
	onDuty  atomic.Int32 // pollers that wait, or are expected back soon
	watched atomic.Bool  // the watchdog's timer is set
	watch   *time.Timer  // runs checkPollers

	lingering atomic.Int32 // calls that wait in the kernel for one client, on a thread each
	lingerers int32        // bound of lingering: 16 for each wanted poller; fixed

	running sync.WaitGroup // the pollers, idle ones too
	sockets table          // of all descriptors in epoll

	mu      sync.Mutex           // guards pollers, idle and closed
	pollers map[*poller]struct{} // those on duty or away
	idle    []*poller            // unneeded ones, the last to become idle last; not in pollers
	idleMax int                  // the constant, or a test's
	closed  bool
}

// idleMax is the largest number of idle pollers. A new goroutine grows its stack while it serves its first request, which
// costs a quarter of that request. Hundreds of pollers that waited for the same commit come back together. An idle one
// takes 2 to 16 KiB of stack; the garbage collector shrinks unused stacks.
const idleMax = 1024

// poller is one goroutine that waits for events.
type poller struct {
	again   chan struct{} // has one slot; receives when the poller is wanted again, closed with the loop
	turns   atomic.Uint64 // grows by one at the beginning and at the end of each event: odd while it serves a connection
	away    atomic.Bool   // not on duty: the poller was released, or the watchdog replaced it
	watched uint64        // turns when the watchdog last looked; guarded by Loop.mu
}

// watchEvery is the time between two looks of the watchdog at the pollers while none of them waits. It replaces a poller
// at its second look at the same event, so a slow request without ReleasePoller delays others by 1 to 2 ms.
const watchEvery = time.Millisecond

// NewLoop starts a loop with a poller for every second one of Go's processors (GOMAXPROCS), and at least one. A poller in
// epoll_wait keeps its processor until the scheduler notices, 20 us or more. The other half runs everything else.
func NewLoop() (*Loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, errs.Wrap(err, "poll.NewLoop", "epoll")
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, stop, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(stop)})
	}
	if err != nil {
		_ = unix.Close(epoll)
		return nil, errs.Wrap(err, "poll.NewLoop", "eventfd")
	}
	n := max(1, int32(runtime.GOMAXPROCS(0)/2))
	l := &Loop{epoll: epoll, stop: stop, want: n, lingerers: 16 * n, pollers: map[*poller]struct{}{}, idleMax: idleMax}
	l.watch = time.AfterFunc(time.Hour, l.checkPollers) // made here, set by ensureWaiter
	l.watch.Stop()
	l.fillUp()
	return l, nil
}

// Close ends the pollers. It blocks, without a bound, until they have finished what they are serving. A caller that must
// end in time calls it on another goroutine. Adopted connections must have been closed before. A second call returns at
// once.
func (l *Loop) Close() {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	for _, p := range l.idle {
		close(p.again)
	}
	l.idle = nil
	l.mu.Unlock()
	if !first {
		return
	}
	l.watch.Stop()
	_, _ = unix.Write(l.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	l.running.Wait()
	_ = unix.Close(l.epoll)
	_ = unix.Close(l.stop)
}

// Wrapped is a connection around another one, for example one that counts in the limits of package link until it is
// closed.
type Wrapped interface {
	net.Conn
	// Unwrap returns the inner connection. The caller calls release once, when that one is closed.
	Unwrap() (within net.Conn, release func())
}

// Adopt moves a TCP connection from Go's poller into this loop, and returns the [Socket] that replaces it. The caller
// must not use the given connection any more. A [Wrapped] TCP connection is unwrapped. Adopt returns any other connection
// as it is. If Adopt fails, the connection is closed.
func (l *Loop) Adopt(conn net.Conn) (net.Conn, error) {
	raw, closed := conn, func() {}
	if c, ok := conn.(Wrapped); ok {
		raw, closed = c.Unwrap()
	}
	tcp, ok := raw.(*net.TCPConn)
	if !ok {
		return conn, nil
	}
	s, err := newSocket(l, tcp, closed)
	_ = tcp.Close() // the socket has its own descriptor; this one leaves Go's poller
	if err != nil {
		closed()
		return nil, errs.Wrap(err, "poll.Adopt", tcp.RemoteAddr().String())
	}
	return s, nil
}

// watchFor registers a socket. It adds it to the table first, because the first event may arrive before EpollCtl returns.
func (l *Loop) watchFor(s *Socket) error {
	l.sockets.set(s.fd, s)
	err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, s.fd, interest(s.fd, s.interest))
	if err != nil {
		l.sockets.set(s.fd, nil)
	}
	return err
}

// change replaces the set of events that the loop gets for a descriptor. If one of the new set has happened already, the
// kernel reports it at once, so no edge is lost between a failed try and this call.
func (l *Loop) change(fd int, events uint32) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, fd, interest(fd, events))
}

// interest returns a set of events in the kernel's form. It selects edges (EPOLLET), so an event wakes one poller, once.
// EPOLLRDHUP, the end of the stream, is included only with reading, because only a reader can act on it.
func interest(fd int, events uint32) *unix.EpollEvent {
	if events&unix.EPOLLIN != 0 {
		events |= unix.EPOLLRDHUP
	}
	return &unix.EpollEvent{Events: events | 1<<31, Fd: int32(fd)} // EPOLLET
}

// fillUp starts pollers until enough are on duty. It counts before it starts, so concurrent callers do not start too
// many.
func (l *Loop) fillUp() {
	for n := l.onDuty.Load(); n < l.want; n = l.onDuty.Load() {
		if l.onDuty.CompareAndSwap(n, n+1) {
			l.start()
		}
	}
}

// start puts a poller on duty: the one that became idle last, whose stack is most likely still large, or a new one. It
// does nothing if the loop is closed.
func (l *Loop) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if last := len(l.idle) - 1; last >= 0 {
		p := l.idle[last]
		l.idle = l.idle[:last]
		l.pollers[p] = struct{}{}
		p.again <- struct{}{} // its slot is free: the poller was removed from the list once
		return
	}
	p := &poller{again: make(chan struct{}, 1)}
	l.pollers[p] = struct{}{}
	l.running.Go(func() { l.run(p) })
}

// run waits for events and serves them, until the loop is closed or has enough idle pollers.
func (l *Loop) run(p *poller) {
	defer l.retire(p)
	var events [1]unix.EpollEvent // only one: a second event would wait behind the first, while another poller may be free
	for {
		l.waiting.Add(1)
		n, err := unix.EpollWait(l.epoll, events[:], -1)
		if l.waiting.Add(-1) == 0 {
			l.ensureWaiter()
		}
		if err != nil || n == 0 {
			continue // interrupted
		}
		if int(events[0].Fd) == l.stop {
			return
		}
		s := l.sockets.get(int(events[0].Fd))
		if s == nil {
			continue // closed meanwhile; a new socket under the same descriptor finds nothing to do
		}
		p.turns.Add(1)
		woke := s.event(events[0].Events, p)
		p.turns.Add(1)
		if !l.keep(p) && !l.park(p) {
			return
		}
		if woke {
			// The goroutine that was woken is next on this processor: let it run.
			runtime.Gosched()
		}
	}
}

// keep reports whether a poller that has served its event waits again: if it is still on duty, or a place is free. In the
// second case it is on duty again.
func (l *Loop) keep(p *poller) bool {
	if !p.away.Load() {
		return true
	}
	for n := l.onDuty.Load(); n < l.want; n = l.onDuty.Load() {
		if l.onDuty.CompareAndSwap(n, n+1) {
			p.away.Store(false)
			return true
		}
	}
	return false
}

// park blocks until the poller is wanted again, and returns true: then it is on duty, as start counted it. It returns
// false if the goroutine has to end, because enough others are idle or the loop is closed.
func (l *Loop) park(p *poller) bool {
	l.mu.Lock()
	room := len(l.idle) < l.idleMax && !l.closed
	if room {
		p.away.Store(false)
		delete(l.pollers, p)
		l.idle = append(l.idle, p)
	}
	l.mu.Unlock()
	if !room {
		return false
	}
	_, wanted := <-p.again
	return wanted
}

// retire removes a poller whose goroutine ends.
func (l *Loop) retire(p *poller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pollers, p)
}

// release takes a poller off duty that is about to do something slow. Only the first call during an event has an effect.
// If another poller waits, nothing more is needed: the last one that waits starts replacements when an event arrives for
// it.
func (l *Loop) release(p *poller) {
	if p.away.CompareAndSwap(false, true) {
		l.onDuty.Add(-1)
		if l.waiting.Load() == 0 {
			l.fillUp()
		}
	}
}

// ensureWaiter replaces pollers that are off duty, and starts the watchdog for the others. The poller that was the last
// one in epoll_wait calls it before it serves its event.
func (l *Loop) ensureWaiter() {
	if l.onDuty.Load() < l.want {
		l.fillUp()
	}
	if !l.watched.Load() && l.watched.CompareAndSwap(false, true) {
		l.watch.Reset(watchEvery)
	}
}

// checkPollers takes pollers off duty that have been serving the same event since its last look, and replaces them. It is
// the function of the watchdog, runs on the timer's goroutine, and stops once a poller waits: an idle server has no
// timer.
func (l *Loop) checkPollers() {
	if l.waiting.Load() > 0 {
		l.watched.Store(false)
		// The last waiting poller may have left between the two, relying on this watch.
		if l.waiting.Load() > 0 || !l.watched.CompareAndSwap(false, true) {
			return
		}
	}
	l.mu.Lock()
	for p := range l.pollers {
		turns := p.turns.Load()
		if turns%2 == 1 && turns == p.watched && p.away.CompareAndSwap(false, true) {
			l.onDuty.Add(-1)
		}
		p.watched = turns
	}
	closed := l.closed
	l.mu.Unlock()
	l.fillUp()
	if !closed {
		l.watch.Reset(watchEvery)
	}
}

// table maps file descriptors to sockets. Descriptors are small and dense (POSIX: the lowest free number), so it is a
// list and not a map.
type table struct {
	mu   sync.Mutex                               // held while it changes
	list atomic.Pointer[[]atomic.Pointer[Socket]] // by descriptor; nil before the first socket
}

// get returns the socket of a descriptor, or nil. It takes no lock, because each event calls it.
func (t *table) get(fd int) *Socket {
	if list := t.list.Load(); list != nil && fd < len(*list) {
		return (*list)[fd].Load()
	}
	return nil
}

// set stores the socket of a descriptor; nil removes it. The list only grows, to twice the needed length.
func (t *table) set(fd int, s *Socket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.list.Load()
	if list == nil || fd >= len(*list) {
		longer := make([]atomic.Pointer[Socket], 2*fd+64)
		if list != nil {
			for i := range *list {
				longer[i].Store((*list)[i].Load())
			}
		}
		list = &longer
		t.list.Store(list)
	}
	(*list)[fd].Store(s)
}
