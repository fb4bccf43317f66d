package link

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// socketPathMax is the longest path of a unix socket: the kernel has 108 bytes for it, including the zero at its end.
const socketPathMax = 107

// probeTime is the time that a process with a socket has to accept a connection. The kernel answers for it while its
// queue has room.
const probeTime = time.Second

// Process is the address of a client of a unix socket: the process that connected, as the kernel reported it then
// (SO_PEERCRED). A user of another user namespace has the number in this one; a user without a number here is nobody,
// 65534.
type Process struct {
	PID int32  // by now perhaps of another process; for messages only
	UID uint32 // effective user when it connected
}

// Network implements net.Addr.
func (Process) Network() string { return "unix" }

// String implements net.Addr.
func (p Process) String() string { return fmt.Sprintf("uid %d, process %d", p.UID, p.PID) }

// CheckSocketPath fails with Invalid for a path that is too long for a unix socket. It does not look at the filesystem.
func CheckSocketPath(path string) error {
	if len(path) <= socketPathMax {
		return nil
	}
	return errs.New(errs.Invalid, "link.CheckSocketPath", path, fmt.Sprintf("the path has %d bytes, and the system allows %d", len(path), socketPathMax)).
		WithRemedy("name a shorter path, for example below /run")
}

// ListenUnix makes a unix socket to which every user of the machine may connect, if the directories above allow it. It
// replaces a socket that an earlier process left at the path. The addresses of clients are [Process]. Closing the
// listener removes the file. It fails with Exists if another process answers there, or if the path is not a socket, and
// with Invalid if the path is too long.
func ListenUnix(path string) (net.Listener, error) {
	fail := func(err error, remedy string) error {
		kind := errs.KindOf(err)
		if errors.Is(err, unix.EADDRINUSE) {
			kind = errs.Exists
		}
		return &errs.Error{Kind: kind, Op: "link.ListenUnix", Subject: path, Cause: err, Remedy: remedy}
	}
	if err := CheckSocketPath(path); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fail(err, "name a path in a directory that this process may write; it is not made")
	}
	l.SetUnlinkOnClose(false) // the file may belong to another process by then; unixListener.Close compares
	made, err := os.Lstat(path)
	if err == nil {
		err = letAllConnect(path)
	}
	if err != nil {
		_ = l.Close()
		return nil, fail(err, "name a path that only this process changes")
	}
	return &unixListener{UnixListener: l, path: path, made: made}, nil
}

// removeStale removes a socket on which no process listens. Connecting is the only sure test: the file does not show its
// process. Any result but ECONNREFUSED counts as a living process, also EAGAIN of a full queue. Two processes that start
// at the same moment can both pass; then one of them fails, or loses the path to the other.
func removeStale(path string) error {
	taken := func(text, remedy string) error {
		return errs.New(errs.Exists, "link.ListenUnix", path, text).WithRemedy(remedy)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return errs.Wrap(err, "link.ListenUnix", path)
	case info.Mode().Type() != fs.ModeSocket:
		return taken("there is something else than a socket", "name another path, or remove it")
	}
	conn, err := net.DialTimeout("unix", path, probeTime)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return taken("another process has the socket", "stop that process, or name another path")
	}
	return errs.Wrap(os.Remove(path), "link.ListenUnix", path)
}

// letAllConnect sets the mode of the socket, from which the process's umask removed bits: connecting needs write
// permission (unix(7)). It does not change the umask, which belongs to the whole process. os.Root does not follow a link
// that replaced the file to a file outside of the directory.
func letAllConnect(path string) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Chmod(filepath.Base(path), 0o666)
}

// unixListener is a listener whose connections have a [Process] for their remote address.
type unixListener struct {
	*net.UnixListener
	path string
	made os.FileInfo // of the socket file, to recognize it in Close
	once sync.Once   // the file is removed once
}

// Accept implements net.Listener. It skips clients for which the kernel reports no process.
func (l *unixListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		who, err := processAt(conn)
		if err == nil {
			return &unixConn{conn, who}, nil
		}
		_ = conn.Close() // without credentials, no request could be authorized
	}
}

// Close implements net.Listener. It removes the file only if it is still the one that ListenUnix made: another process may
// have replaced it.
func (l *unixListener) Close() error {
	l.once.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.made) {
			_ = os.Remove(l.path)
		}
	})
	return l.UnixListener.Close()
}

// unixConn is a connection with the process at its other end.
type unixConn struct {
	*net.UnixConn
	who Process
}

// RemoteAddr implements net.Conn.
func (c *unixConn) RemoteAddr() net.Addr { return c.who }

// processAt asks the kernel for the process that connected. The answer dates from its connect(2), so a process that gets
// the descriptor later cannot change it.
func processAt(conn *net.UnixConn) (who Process, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return who, err
	}
	failed := raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			who = Process{PID: cred.Pid, UID: cred.Uid}
		}
	})
	return who, errors.Join(failed, err)
}
