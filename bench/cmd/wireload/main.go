package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hemera/wire"
)

type conn struct {
	fd  int
	out []byte
	in  []byte
	r   []byte
}

func (c *conn) queue(r wire.Request, payload []byte) {
	c.out = append(wire.AppendRequest(c.out, wire.StreamID{0, 1}, r, len(payload)), payload...)
}
func (c *conn) flush() {
	b := c.out
	for len(b) > 0 {
		n, err := unix.Write(c.fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			panic(err)
		}
		b = b[n:]
	}
	c.out = c.out[:0]
}
func (c *conn) answer() (wire.Status, []byte) {
	for {
		if len(c.r) >= 8 {
			n := int(binary.BigEndian.Uint32(c.r[4:]))
			if len(c.r) >= 8+n {
				st := wire.Status(binary.BigEndian.Uint16(c.r[2:]))
				body := c.r[8 : 8+n]
				c.r = c.r[8+n:]
				return st, body
			}
		}
		k := copy(c.in, c.r)
		n, err := unix.Read(c.fd, c.in[k:])
		if err == unix.EINTR {
			c.r = c.in[:k]
			continue
		}
		if err != nil || n == 0 {
			panic(fmt.Sprint(n, err))
		}
		c.r = c.in[:k+n]
	}
}

func dial(addr string) *conn {
	_, port, _ := net.SplitHostPort(addr)
	p, _ := strconv.Atoi(port)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		panic(err)
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: p, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		panic(err)
	}
	c := &conn{fd: fd, in: make([]byte, 64<<10)}
	c.out = wire.AppendHandshake(c.out)
	c.queue(wire.Protocol{Version: wire.ProtocolVersion, Expect: wire.ExpectLogin}, nil)
	c.queue(wire.Login{PID: uint32(os.Getpid()), User: "root", Ability: wire.LoginAbilities &^ wire.AbilityRedirFlags, Capabilities: wire.LoginCapVer}, nil)
	c.flush()
	c.answer()
	c.answer()
	c.answer()
	c.queue(wire.Auth{Type: "unix"}, []byte("unix\x00root\x00"))
	c.flush()
	if st, b := c.answer(); st != 0 {
		panic(string(b))
	}
	return c
}

func cpu(pid int) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(int32(^pid<<3|2), &t)
	return time.Duration(t.Nano())
}

var (
	addr  = flag.String("addr", "127.0.0.1:1094", "")
	node  = flag.String("node", "", "address of the node")
	pid   = flag.Int("pid", 0, "")
	n     = flag.Int("n", 1000, "")
	depth = flag.Int("d", 4, "")
	dur   = flag.Duration("t", 2*time.Second, "")
	ops   = flag.String("op", "stat", "")
	cores = flag.String("cores", "", "")
	root  = flag.String("root", "/bench/w", "")
	thr   = flag.Int("threads", 4, "")
	files = 20
)

func dir(i int) string     { return fmt.Sprintf("%s/t%04d", *root, i) }
func file(i, k int) string { return fmt.Sprintf("%s/f%03d", dir(i), k) }

func main() {
	flag.Parse()
	conns := make([]*conn, *n)
	nodes := make([]*conn, *n)
	var wg sync.WaitGroup
	each := func(f func(i int)) {
		for t := range *thr {
			wg.Go(func() {
				for i := t; i < *n; i += *thr {
					f(i)
				}
			})
		}
		wg.Wait()
	}
	each(func(i int) { conns[i] = dial(*addr) })
	if *ops == "create" || *ops == "prepare" {
		each(func(i int) { nodes[i] = dial(*node) })
	}
	if *ops == "prepare" {
		each(func(i int) {
			conns[i].queue(wire.Mkdir{Options: wire.MkdirPath, Mode: 0o755}, []byte(dir(i)))
			conns[i].flush()
			conns[i].answer()
			for k := range files {
				create(conns[i], nodes[i], file(i, k))
			}
		})
		return
	}
	var total atomic.Int64
	c0 := cpu(*pid)
	began := time.Now()
	end := began.Add(*dur)
	seed := began.UnixNano() / 1e6
	for t := range *thr {
		wg.Go(func() {
			runtime.LockOSThread()
			done := 0
			var mine []int
			for i := t; i < *n; i += *thr {
				mine = append(mine, i)
			}
			k := make([]int, *n)
			for time.Now().Before(end) {
				if *ops == "create" {
					createAll(conns, nodes, mine, k, seed)
					done += len(mine) * *depth
					continue
				}
				for _, i := range mine {
					for range *depth {
						request(conns[i], i, k[i], seed)
						k[i]++
					}
					conns[i].flush()
				}
				for _, i := range mine {
					for range *depth {
						st, b := conns[i].answer()
						check(st, b)
						done++
					}
				}
			}
			total.Add(int64(done))
		})
	}
	wg.Wait()
	took := time.Since(began)
	fmt.Printf("%-8s n=%d d=%d  %8.0f /s  server %5.1f us/op\n", *ops, *n, *depth, float64(total.Load())/took.Seconds(), float64(cpu(*pid)-c0)/1e3/float64(total.Load()))
}

func request(c *conn, i, k int, seed int64) {
	switch *ops {
	case "stat":
		c.queue(wire.Stat{}, []byte(file(i, k%files)))
	case "exists":
		c.queue(wire.Mkdir{Mode: 0o755}, []byte(dir(i)))
	case "open":
		c.queue(wire.Open{Options: wire.OpenRead}, []byte(file(i, k%files)))
	case "openx":
		c.queue(wire.Open{Options: wire.OpenNew | wire.OpenUpdate, Mode: 0o644}, []byte(file(i, k%files)))
	case "update":
		c.queue(wire.Open{Options: wire.OpenUpdate, Mode: 0o644}, []byte(file(i, k%files)))
	case "mkdir":
		c.queue(wire.Mkdir{Mode: 0o755}, []byte(fmt.Sprintf("%s/n%x-%d", dir(i), seed, k)))
	case "ping":
		c.queue(wire.Ping{}, nil)
	}
}

func check(st wire.Status, b []byte) {
	want := map[string]wire.Status{"stat": wire.StatusOK, "exists": wire.StatusError, "open": wire.StatusRedirect, "openx": wire.StatusError, "update": wire.StatusRedirect, "mkdir": wire.StatusOK, "ping": wire.StatusOK}[*ops]
	if st != want {
		panic(fmt.Sprint(st, string(b)))
	}
}

func payload(to []byte, path string) []byte {
	r, err := wire.ParseRedirect(to)
	if err != nil {
		panic(err)
	}
	return []byte(path + "?" + string(r.Opaque))
}

func create(c, nd *conn, path string) {
	c.queue(wire.Open{Options: wire.OpenDelete | wire.OpenUpdate, Mode: 0o644}, []byte(path))
	c.flush()
	st, b := c.answer()
	if st != wire.StatusRedirect {
		panic(fmt.Sprint(st, string(b)))
	}
	nd.queue(wire.Open{Options: wire.OpenDelete | wire.OpenUpdate, Mode: 0o644}, payload(b, path))
	nd.flush()
	st, b = nd.answer()
	if st != 0 {
		panic(fmt.Sprint(st, string(b)))
	}
	o, _ := wire.ParseOpenReply(b)
	nd.queue(wire.Close{Handle: o.Handle}, nil)
	nd.flush()
	if st, b = nd.answer(); st != 0 {
		panic(fmt.Sprint(st, string(b)))
	}
}

func createAll(conns, nodes []*conn, mine []int, k []int, seed int64) {
	for range *depth {
		for _, i := range mine {
			conns[i].queue(wire.Open{Options: wire.OpenNew | wire.OpenUpdate, Mode: 0o644}, []byte(fmt.Sprintf("%s/c%x-%d", dir(i), seed, k[i])))
			conns[i].flush()
		}
		for _, i := range mine {
			st, b := conns[i].answer()
			if st != wire.StatusRedirect {
				panic(fmt.Sprint(st, string(b)))
			}
			nodes[i].queue(wire.Open{Options: wire.OpenNew | wire.OpenUpdate, Mode: 0o644}, payload(b, fmt.Sprintf("%s/c%x-%d", dir(i), seed, k[i])))
			nodes[i].flush()
			k[i]++
		}
		for _, i := range mine {
			st, b := nodes[i].answer()
			if st != 0 {
				panic(fmt.Sprint(st, string(b)))
			}
			o, _ := wire.ParseOpenReply(b)
			nodes[i].queue(wire.Close{Handle: o.Handle}, nil)
			nodes[i].flush()
		}
		for _, i := range mine {
			if st, b := nodes[i].answer(); st != 0 {
				panic(fmt.Sprint(st, string(b)))
			}
		}
	}
}
