package link

import (
	"errors"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/spare"
)

// answers reads what the kernel says on a socket, into memory that is used again: end gives it back. The library takes 64 KiB anew for each message: the
// garbage of thousands of answers costs many times what the kernel takes for them.
type answers struct {
	socket *nl.NetlinkSocket
	buf    []byte
}

// longestAnswer is that of one to a request of a few attributes, which it repeats.
const longestAnswer = 8 << 10

var answerBuffers spare.Slices[byte]

func answersOn(s *nl.NetlinkSocket) *answers {
	buf := answerBuffers.Lend()
	if buf == nil {
		buf = make([]byte, longestAnswer)
	}
	return &answers{s, buf[:longestAnswer]}
}

func (a *answers) end() { answerBuffers.Back(a.buf) }

// next is the next datagram. What it returns is valid until it is called again.
func (a *answers) next() ([]syscall.NetlinkMessage, error) {
	n, _, err := unix.Recvfrom(a.socket.GetFd(), a.buf, unix.MSG_DONTWAIT)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) { // the kernel is still at work
		msgs, _, err := a.socket.Receive()
		return msgs, err
	}
	if err != nil {
		return nil, err
	}
	return syscall.ParseNetlinkMessage(a.buf[:n])
}
