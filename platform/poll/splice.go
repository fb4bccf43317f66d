package poll

import "golang.org/x/sys/unix"

// Pages has bytes that wait in the kernel, as in a pipe of package zerocopy. It is not safe for concurrent use.
type Pages interface {
	// Len returns the number of bytes left.
	Len() int
	// Send moves at least one byte to a socket, or fails: with EAGAIN if the socket accepts none now.
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
