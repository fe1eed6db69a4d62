package vrrp

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMachineScripts runs testdata/*.txt. A script is a list of commands, one a line, # starts a comment:
//
//	node NAME [priority N] [interval D] [tiebreak D] [preemptdelay D] [startupdelay D] [startupinterval D]
//	          [adverts N] [nopreempt] [v2]     declare a node, or change how it starts next
//	delay D | late D | loss N                  longest packet delay and timer lateness; per cent of packets lost
//	start | stop | kill | thaw NAME...
//	freeze | pause NAME...                     the process stops; the whole machine stops and loses its packets
//	split NAME... / NAME...                    cut the link in two; heal joins it
//	priority NAME N | interval NAME D          change live
//	run D                                      let time pass
//	mark                                       start the counts below anew
//	expect active NAME... | none               who is Active and awake
//	expect outage D | overlap D                longest time without, with more than one, Active: at most D
//	expect takeovers N                         changes to Active
//	expect reason NAME TEXT                    why it is in its state
func TestMachineScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(filepath.Base(file), ".txt"), seed), func(t *testing.T) {
				runScript(t, file, seed)
			})
		}
	}
}

// script is a lan and the names on it.
type script struct {
	*lan
	t    *testing.T
	line string // file:number, for messages
}

func runScript(t *testing.T, file string, seed uint64) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	s := &script{lan: newLAN(t, seed), t: t}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if words := strings.Fields(text); len(words) > 0 {
			s.line = fmt.Sprintf("%s:%d", file, n)
			s.command(words[0], words[1:])
			s.watch.check(s.lan)
		}
	}
	require.NoError(t, lines.Err())
}

func (s *script) command(verb string, args []string) {
	each := map[string]func(*host){
		"start": s.start, "stop": s.stop, "kill": s.kill, "freeze": s.freeze, "pause": s.pause, "thaw": s.thaw,
	}
	if do, ok := each[verb]; ok {
		for _, name := range args {
			do(s.host(name))
		}
		return
	}
	switch verb {
	case "node":
		s.node(args[0], args[1:])
	case "delay":
		s.delay = s.duration(args[0])
	case "late":
		s.late = s.duration(args[0])
	case "loss":
		s.setLoss(float64(s.number(args[0])) / 100)
	case "split":
		s.splitNames(args)
	case "heal":
		s.split(nil)
	case "priority":
		s.setPriority(s.host(args[0]), uint8(s.number(args[1])))
	case "interval":
		s.setInterval(s.host(args[0]), s.duration(args[1]))
	case "run":
		s.run(s.duration(args[0]))
	case "mark":
		s.watch.mark(s.now)
	case "expect":
		s.expect(args[0], args[1:])
	default:
		s.t.Fatalf("%s: unknown command %q", s.line, verb)
	}
}

func (s *script) node(name string, args []string) {
	cfg, tieBreakDelay := base(), time.Duration(0)
	cfg.Interval = 100 * ms
	for len(args) > 0 {
		key := args[0]
		args = args[1:]
		switch key {
		case "nopreempt":
			cfg.Preempt = false
			continue
		case "v2":
			cfg.Version = 2
			continue
		}
		value := args[0]
		args = args[1:]
		switch key {
		case "priority":
			cfg.Priority = uint8(s.number(value))
		case "adverts":
			cfg.DownTimerAdverts = s.number(value)
		case "interval":
			cfg.Interval = s.duration(value)
		case "tiebreak":
			tieBreakDelay = s.duration(value)
		case "preemptdelay":
			cfg.PreemptDelay = s.duration(value)
		case "startupdelay":
			cfg.StartupDelay = s.duration(value)
		case "startupinterval":
			cfg.StartupInterval = s.duration(value)
		default:
			s.t.Fatalf("%s: unknown key %q", s.line, key)
		}
	}
	for _, h := range s.hosts {
		if h.name == name {
			cfg.Source = h.cfg.Source
			h.cfg, h.tieBreakDelay = cfg, tieBreakDelay
			return
		}
	}
	s.add(name, cfg, tieBreakDelay)
}

func (s *script) splitNames(args []string) {
	sides, side := map[*host]int{}, 0
	for _, name := range args {
		if name == "/" {
			side++
			continue
		}
		sides[s.host(name)] = side
	}
	s.split(sides)
}

func (s *script) expect(what string, args []string) {
	s.t.Helper()
	switch what {
	case "active":
		got, want := names(s.answering()), strings.Join(args, " ")
		if want == "none" {
			want = ""
		}
		s.want(got == want, "active: %q, want %q", got, want)
	case "outage":
		s.want(s.watch.outage <= s.duration(args[0]), "outage %v, want at most %s", s.watch.outage, args[0])
	case "overlap":
		s.want(s.watch.overlap <= s.duration(args[0]), "overlap %v, want at most %s", s.watch.overlap, args[0])
	case "takeovers":
		s.want(s.watch.takeovers == s.number(args[0]), "%d takeovers, want %s", s.watch.takeovers, args[0])
	case "reason":
		got, want := string(s.host(args[0]).m.reason), strings.Join(args[1:], " ")
		s.want(got == want, "%s: reason %q, want %q", args[0], got, want)
	default:
		s.t.Fatalf("%s: cannot expect %q", s.line, what)
	}
}

func (s *script) want(ok bool, format string, args ...any) {
	s.t.Helper()
	if !ok {
		s.fail(s.line+": "+format, args...)
	}
}

func (s *script) host(name string) *host {
	for _, h := range s.hosts {
		if h.name == name {
			return h
		}
	}
	s.t.Fatalf("%s: no node %q", s.line, name)
	return nil
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(s.t, err, s.line)
	return d
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(s.t, err, s.line)
	return n
}
