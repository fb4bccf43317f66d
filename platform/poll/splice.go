package poll

import "golang.org/x/sys/unix"

// Pages are bytes that wait in the kernel, as in a pipe of package zerocopy. One goroutine uses them.
type Pages interface {
	// Len returns how many bytes are left.
	Len() int
	// Send moves some bytes to a socket, at least one, or fails: with EAGAIN if the socket takes none now.
	Send(socket int) error
}

// SendPages writes head and then all of the pages, in one packet if they fit: MSG_MORE. It may block. After an error an
// unknown part was sent, and pages still has the rest.
func (s *Socket) SendPages(head []byte, pages Pages) error {
	done := func() bool { return len(head) == 0 && pages.Len() == 0 }
	return s.write("splice", int64(pages.Len()), done, func() error {
		sent(s.fd)
		if len(head) > 0 {
			k, err := unix.SendmsgN(s.fd, head, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			if head = head[max(k, 0):]; err != nil || len(head) > 0 || pages.Len() == 0 {
				return err
			}
		}
		return pages.Send(s.fd)
	})
}
