package gather

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// sysctls reads the ones that are judged, and tells whether the kernel has no IPv6 at all.
func sysctls(root string, links []link.Link) (values map[string]int, noIPv6 bool) {
	values = map[string]int{}
	read := func(path string) {
		text, err := os.ReadFile(filepath.Join(root, "/proc/sys", path))
		if n, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil {
			values[path] = n
		}
	}
	for _, path := range []string{"net/ipv4/ip_nonlocal_bind", doctor.TCPLoose, doctor.ConntrackCount, doctor.ConntrackMax} {
		read(path)
	}
	for _, of := range append([]string{"all"}, names(links)...) {
		for _, name := range []string{"arp_ignore", "arp_announce", "arp_filter", "proxy_arp", "rp_filter", "forwarding"} {
			read("net/ipv4/conf/" + of + "/" + name)
		}
		for _, name := range []string{"disable_ipv6", "accept_dad", "accept_ra", "forwarding"} {
			read("net/ipv6/conf/" + of + "/" + name)
		}
	}
	_, err := os.Stat(filepath.Join(root, "/proc/sys/net/ipv6"))
	return values, os.IsNotExist(err)
}

func names(links []link.Link) (out []string) {
	for _, l := range links {
		out = append(out, l.Name)
	}
	return out
}

// machine reads what the firmware says. Containers and other architectures have none.
func machine(root string) doctor.Machine {
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(root, "/sys/class/dmi/id", name))
		return strings.TrimSpace(string(text))
	}
	return doctor.Machine{Vendor: read("sys_vendor"), Product: read("product_name"), Asset: read("chassis_asset_tag")}
}

// missingCapabilities are those of this process, without which keepvip would not run as its user.
func missingCapabilities() (missing []string) {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return nil
	}
	for _, c := range []struct {
		bit  int
		name string
	}{{unix.CAP_NET_ADMIN, "NET_ADMIN"}, {unix.CAP_NET_RAW, "NET_RAW"}} {
		if data[c.bit/32].Effective&(1<<(c.bit%32)) == 0 {
			missing = append(missing, c.name)
		}
	}
	return missing
}

const (
	// napTime is about as often as a daemon with many addresses wakes.
	napTime = 5 * time.Millisecond
	// realtimePriority is the one that the daemon has with the option realtime.
	realtimePriority = 10
)

// lateness wakes a thread again and again, and returns by how much that was late at worst. With realtime it goes before whatever is not
// real-time, as the daemon would, where this process may do that.
func lateness(ctx context.Context, over time.Duration, realtime bool) *doctor.Lateness {
	runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine, and so does its priority
	out := &doctor.Lateness{Over: over}
	// Raw system calls, of which the runtime does not know: a thread that returns from another one may have to wait for an ordinary thread
	// of this process, spins meanwhile, and would keep its processor from everything that is not real-time, that thread too.
	if realtime {
		attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: realtimePriority}
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETATTR, 0, uintptr(unsafe.Pointer(attr)), 0)
	}
	for end := time.Now().Add(over); time.Now().Before(end) && ctx.Err() == nil; {
		began := time.Now()
		nap := unix.NsecToTimespec(napTime.Nanoseconds())
		if _, _, errno := unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&nap)), 0, 0); errno != 0 {
			continue // a signal woke it
		}
		out.Worst = max(out.Worst, time.Since(began)-napTime)
	}
	return out
}
