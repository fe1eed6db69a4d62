//go:build linux

package subscription

import "syscall"

// memoryOfEach is what a subscriber takes at most, with its places in the maps of its group, and share of the memory of this host is for all of a group.
const memoryOfEach, shareOfMemory = 1 << 10, 512

// room is how many subscribers a group may have on this host.
func room() int {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return leastSubscribers
	}
	return roomIn(uint64(info.Totalram) * uint64(info.Unit))
}

func roomIn(memory uint64) int {
	return int(min(max(memory/shareOfMemory/memoryOfEach, leastSubscribers), mostSubscribers))
}
