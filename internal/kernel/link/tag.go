package link

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// ifaProto is IFA_PROTO of linux/if_addr.h, which says who put an address there (Linux 5.18).
	ifaProto = 11
	// protocol is the value under which our addresses are listed: `ip address show proto 118`. The kernel uses 1 to 3, and keepalived 18.
	protocol = 118
	// metric is the tag on kernels without IFA_PROTO. The metric of an address is that of its prefix route, of which ours have none, so it
	// is free to carry one; the value is the word "kvip", which nobody sets by chance.
	metric = 0x6b766970
)

// tag is how Add marks an address as ours.
type tag struct{ protocol, metric bool }

// tagFor picks the tags for a kernel. A vendor's kernel may know IFA_PROTO before its number says so: it then gets both.
func tagFor(major, minor int) tag {
	return tag{protocol: true, metric: major < 5 || major == 5 && minor < 18}
}

func (t tag) append(msg message) message {
	if t.protocol {
		msg = attribute(msg, ifaProto, []byte{protocol})
	}
	if t.metric {
		msg = attribute(msg, unix.IFA_RT_PRIORITY, binary.NativeEndian.AppendUint32(nil, metric))
	}
	return msg
}

// tagged recognises either tag, because the kernel may have been replaced under a running set of addresses only by a reboot, but a binary
// of ours by any other.
func tagged(attrs map[uint16][]byte) bool {
	if v := attrs[ifaProto]; len(v) == 1 && v[0] == protocol {
		return true
	}
	v := attrs[unix.IFA_RT_PRIORITY]
	return len(v) == 4 && binary.NativeEndian.Uint32(v) == metric
}

// kernelRelease is the running kernel's major and minor version, or 0, 0 if it will not say.
func kernelRelease() (major, minor int) {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return 0, 0
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		return 0, 0
	}
	return major, minor
}
