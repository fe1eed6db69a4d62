package gather

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// spreads tells whether anything is spread over the members: without it none of what follows is looked at.
func spreads(c *config.Config) bool {
	return slices.ContainsFunc(c.VIPs, func(v config.VIP) bool { return v.Spread.Via != config.ViaOff })
}

// forwardDrops are the chains that drop what they are not told to forward.
func forwardDrops() []string {
	chains, err := spreadtables.ForwardDrops()
	if err != nil {
		return nil // without the right to see them nothing is known
	}
	return chains
}

// missingModules are those of doctor.SpreadModules that the running kernel neither contains nor has a file of; none if that is not known, as
// in a container without the host's /lib/modules.
func missingModules(root string) []string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return nil
	}
	dir := filepath.Join(root, "/lib/modules", unix.ByteSliceToString(name.Release[:]))
	var all [][]byte
	for _, file := range []string{"modules.builtin", "modules.dep"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil
		}
		all = append(all, text)
	}
	return missingFrom(bytes.Join(all, []byte("\n")))
}

// missingFrom reads lists of modules, of which each line begins with a path such as kernel/net/netfilter/nft_ct.ko.zst.
func missingFrom(list []byte) []string {
	missing := doctor.SpreadModules()
	for line := range strings.Lines(string(list)) {
		file, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		module, _, _ := strings.Cut(path.Base(file), ".ko")
		module = strings.ReplaceAll(module, "-", "_")
		missing = slices.DeleteFunc(missing, func(m string) bool { return m == module })
	}
	return missing
}

// largeReceive tells which of the interfaces of places join packets as they come in (LRO).
func largeReceive(places []place) map[string]bool {
	out := map[string]bool{}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return out
	}
	defer func() { _ = unix.Close(fd) }()
	for _, p := range places {
		if flags, err := ethtoolFlags(fd, p.link.Name); err == nil && flags&ethtoolLRO != 0 {
			out[p.link.Name] = true
		}
	}
	return out
}

// ethtoolLRO is ETH_FLAG_LRO of linux/ethtool.h.
const ethtoolLRO = 1 << 15

// ethtoolFlags asks by ETHTOOL_GFLAGS.
func ethtoolFlags(fd int, name string) (uint32, error) {
	value := struct{ command, data uint32 }{command: unix.ETHTOOL_GFLAGS}
	request := struct { // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	if _, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); err != 0 {
		return 0, err
	}
	return value.data, nil
}
