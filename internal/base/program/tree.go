package program

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// mostLooks bounds how often a tree is looked at that is still growing.
const mostLooks = 5

// killTree kills a program, its process group, and whatever descends from the program beyond that, whichever sessions it has begun. Who has lost its
// parent descends from nobody: a daemon wants that, and is on its own.
//
// All of it is stopped first, because children are known by a parent that lives. This takes no privilege but that of a signal to each of them, and one look
// at all processes of the host, or two where something is outside of the group.
func killTree(pid int) {
	_ = unix.Kill(-pid, unix.SIGSTOP) // it has one member at least
	told := map[int]bool{}
	var tree []process
	for range mostLooks {
		tree = below(pid)
		grows := false
		for _, p := range tree {
			switch {
			case p.still():
			case !told[p.pid]:
				told[p.pid] = true
				grows = unix.Kill(p.pid, unix.SIGSTOP) == nil || grows
			default:
				grows = grows || p.busy()
			}
		}
		if !grows {
			break
		}
	}
	for _, p := range tree {
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
}

// process is one of a tree.
type process struct {
	pid, parent int
	state       byte // as in proc_pid_stat(5)
}

// still tells whether it begins no other process, because it is stopped or has ended.
func (p process) still() bool { return bytes.IndexByte([]byte("TtZX"), p.state) >= 0 }

// busy tells whether it may be in the middle of beginning one, although it was told to stop.
func (p process) busy() bool { return p.state == 'R' || p.state == 'D' }

// below are a process and all that descend from it, as far as this process sees them.
func below(pid int) (out []process) {
	children := map[int][]process{}
	for _, p := range processes() {
		if p.pid == pid {
			out = append(out, p)
		}
		children[p.parent] = append(children[p.parent], p)
	}
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i].pid]...)
	}
	return out
}

// processes are all that this process sees.
func processes() (out []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has gone
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // its name before that may be anything
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			out = append(out, process{pid: pid, parent: parent, state: fields[0][0]})
		}
	}
	return out
}
