package localproxy

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	// roomEach is what one connection takes at most while nothing waits to be read: two sockets and two goroutines. share is the part of this host's
	// memory that all of them may take.
	roomEach, share = 64 << 10, 16
	// leastRoom and mostRoom bound what follows from the memory. A client's connections to one server have 28,232 ports by default.
	leastRoom, mostRoom = 1000, 16384
	// each has two descriptors. Half of all, or so many where that is less, are for whatever else keepvip does.
	descriptorsEach, reserved = 2, 4096
)

// roomHere is how many connections there may be on this host, by its memory and the descriptors of this process.
func roomHere() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		limit.Cur = leastRoom
	}
	return room(memory(), limit.Cur)
}

func room(memory, descriptors uint64) int {
	byMemory := min(max(memory/share/roomEach, leastRoom), mostRoom)
	byDescriptors := max(descriptors-min(descriptors/2, reserved), descriptorsEach) / descriptorsEach
	return int(min(byMemory, byDescriptors))
}

// memory is what this process may have: that of the host, or of its control group where that has less.
func memory() uint64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	all := uint64(info.Totalram) * uint64(info.Unit)
	// That of the own group, as a container sees it.
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if most, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil {
			return min(all, most)
		}
	}
	return all
}
