package conntrack

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Room is how many connections the kernel tracks in this network namespace, and how many at most: it drops the first packet of another one then.
// Both are 0 where it tracks none.
func Room() (tracked, most int) { return roomIn("/proc/sys/net/netfilter") }

func roomIn(dir string) (tracked, most int) {
	tracked, err := number(filepath.Join(dir, "nf_conntrack_count"))
	if err != nil {
		return 0, 0
	}
	if most, err = number(filepath.Join(dir, "nf_conntrack_max")); err != nil {
		return 0, 0
	}
	return tracked, most
}

func number(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// AlmostFull tells whether less than a tenth of the room is left; false where nothing is known of it.
func AlmostFull(tracked, most int) bool { return most > 0 && tracked >= most/10*9 }

// MoreRoom says how the kernel gets room for twice as many connections, in the words of a remedy.
func MoreRoom(most int) string {
	return fmt.Sprintf("Run `sysctl -w net.netfilter.nf_conntrack_max=%d`, and have a file in /etc/sysctl.d set it at each boot; an entry takes about 300 bytes.", 2*most)
}
