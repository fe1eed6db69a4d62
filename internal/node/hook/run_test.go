package hook

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// bench is Hooks with one entry, "a", and a directory that its programs may write.
type bench struct {
	*Hooks
	t   *testing.T
	dir string
	log *text

	mu     sync.Mutex // guards timers
	timers []timer
}

// timer is one that was set and is still to come. It comes when the test says so.
type timer struct {
	after time.Duration
	do    func()
}

// after is the time of these Hooks, which stands still.
func (b *bench) after(d time.Duration, do func()) (stop func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timers = append(b.timers, timer{d, do})
	return func() bool { return true }
}

// comes waits until a timer is set for so long, and lets it come.
func (b *bench) comes(d time.Duration) {
	b.t.Helper()
	due := func() (found bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for i, t := range b.timers {
			if t.after == d {
				b.timers = slices.Delete(b.timers, i, i+1)
				go t.do()
				return true
			}
		}
		return false
	}
	require.Eventually(b.t, due, patience, time.Millisecond, "a timer of %v", d)
}

const patience = 20 * time.Second

// text is a log that several goroutines may write.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "keepvip-hook-") // t.TempDir is its owner's alone
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777))
	b := &bench{t: t, dir: dir, log: &text{}}
	b.Hooks = New(slog.New(slog.NewTextHandler(b.log, nil)))
	b.Hooks.after = b.after
	return b
}

// program is a hook of a shell script, whose first argument is the directory.
func (b *bench) program(script string, states ...config.HookState) Program {
	b.t.Helper()
	syscall.ForkLock.RLock() // a child of another test would have the file open, too, and nobody runs one that somebody may write
	defer syscall.ForkLock.RUnlock()
	file, err := os.CreateTemp(b.dir, "hook-")
	require.NoError(b.t, err)
	_, err = file.WriteString("#!/bin/sh\ncd " + b.dir + "\n" + script + "\n")
	require.NoError(b.t, err)
	require.NoError(b.t, file.Chmod(0o755))
	require.NoError(b.t, file.Close())
	p := Program{Hook: config.Hook{Command: []string{file.Name()}, Type: config.HookInstance, States: states, Arguments: true, Timeout: 20 * time.Second}}
	p.UID, p.GID = uint32(os.Getuid()), uint32(os.Getgid())
	if p.UID == 0 {
		p.UID, p.GID = 65534, 65534
	}
	return p
}

func (b *bench) use(programs ...Program) { b.Use([]Entry{{Name: "a", Programs: programs}}, nil) }

func (b *bench) report(states ...config.HookState) {
	for _, s := range states {
		b.Report("a", Change{State: s, Priority: 100, Reason: "because", Since: time.Now()})
	}
}

// newest waits for so many runs of the only program, and returns the newest.
func (b *bench) newest(runs uint64) ProgramStatus {
	b.t.Helper()
	require.Eventually(b.t, func() bool { s := b.Status(); return s != nil && len(s.Programs) == 1 && s.Programs[0].Runs == runs }, patience, time.Millisecond)
	return b.Status().Programs[0]
}

func (b *bench) file(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// gone tells whether the processes whose numbers a file has run no more.
func (b *bench) gone(name string) bool {
	for _, pid := range strings.Fields(b.file(name)) {
		if cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && len(cmdline) > 0 {
			return false
		}
	}
	return b.file(name) != ""
}

func TestHookIsToldLikeByKeepalived(t *testing.T) {
	b := newBench(t)
	p := b.program(`echo "$# $*" >> args; cat >> input; test -z "$KEEPVIP_SECRET"`)
	p.Command = append(p.Command, "own argument; $HOME")
	t.Setenv("KEEPVIP_SECRET", "x")
	b.use(p)
	b.report(config.HookBackup)
	s := b.newest(1)
	b.Close()
	assert.Equal(t, "5 own argument; $HOME INSTANCE a BACKUP 100\n", b.file("args"))
	assert.Contains(t, b.file("input"), `"type":"INSTANCE","name":"a","vip":"a","state":"BACKUP","priority":100,"reason":"because","since":"2`)
	assert.Equal(t, []any{OK, config.HookBackup, "exit status 0", uint64(0)}, []any{s.Result, s.State, s.Reason, s.Failed})
	assert.Equal(t, map[string]map[Result]uint64{"a": {OK: 1}}, b.Counts())
	assert.Empty(t, b.log.String())
}

func TestHookOfOneStateHasOnlyItsOwnArguments(t *testing.T) {
	b := newBench(t)
	p := b.program(`echo "$# $*" >> args`, config.HookMaster)
	p.Arguments, p.Command = false, append(p.Command, "start")
	b.use(p)
	b.report(config.HookBackup, config.HookMaster)
	b.newest(1)
	b.Close()
	assert.Equal(t, "1 start\n", b.file("args"))
}

func TestHookThatMisbehaves(t *testing.T) {
	tests := []struct {
		name, script string
		want         Result
		reason       string
		output       string
	}{
		{"hangs", "echo started; echo $$ > pids; sleep 3600", TimedOut, "killed after 1s", "started"},
		{"hangs in what it has started", "sh -c 'sleep 3600 & echo $! $$ > pids; sleep 3600'", TimedOut, "killed after 1s", ""},
		{"hangs in another session", `setsid sh -c 'echo $$ > pids; sleep 3600'; exit 1`, TimedOut, "killed after 1s", ""},
		{"hangs in a session of a session", `setsid sh -c 'setsid sh -c "echo \$PPID \$\$ > pids; sleep 3600"; exit 1'; exit 1`, TimedOut, "killed after 1s", ""},
		{"hangs beside another session", `setsid sh -c 'echo $$ > pids; sleep 3600' & sleep 3600; exit 1`, TimedOut, "killed after 1s", ""},
		{"leaves something behind", "sleep 3600 & echo $! > pids; exit 0", OK, "exit status 0", ""},
		{"ignores signals", "trap '' TERM INT HUP; echo $$ > pids; while :; do sleep 3600; done", TimedOut, "killed after 1s", ""},
		{"prints a gigabyte", "echo $$ > pids; exec head -c 1073741824 /dev/zero", Talked, "printed more than 65536 bytes", ""},
		{"fails", `echo $$ > pids; echo; printf 'no \033[31mroute\n' >&2; echo more; exit 1`, Failed, "exit status 1", "no [31mroute"},
		{"is killed", "echo $$ > pids; kill -9 $$", Failed, "killed by SIGKILL", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.program(tt.script)
			p.Timeout = time.Second
			b.use(p)
			b.report(config.HookMaster)
			if tt.want == TimedOut {
				require.Eventually(t, func() bool { return b.file("pids") != "" }, patience, time.Millisecond)
				assert.Nil(t, b.Status(), "nobody has waited for it")
				b.comes(p.Timeout)
			}
			s := b.newest(1)
			assert.Equal(t, []any{tt.want, tt.reason, tt.output}, []any{s.Result, s.Reason, s.Output})
			assert.Eventually(t, func() bool { return b.gone("pids") }, patience, time.Millisecond, "nothing of it runs on")
			assert.Equal(t, map[string]map[Result]uint64{"a": {tt.want: 1}}, b.Counts())
			b.Close()
			if tt.want == OK {
				assert.Empty(t, b.log.String())
				return
			}
			assert.Contains(t, b.log.String(), `msg="a hook failed" vip=a type=INSTANCE state=MASTER command=`+p.Command[0]+" reason="+strconv.Quote(tt.reason))
			assert.Equal(t, 1, strings.Count(b.log.String(), "\n"), "one line")
		})
	}
}

func TestHookThatCannotRun(t *testing.T) {
	b := newBench(t)
	p := b.program("")
	require.NoError(t, os.Remove(p.Command[0]))
	b.use(p)
	b.report(config.HookMaster)
	s := b.newest(1)
	b.Close()
	assert.Equal(t, []any{NotStarted, "not started: " + p.Command[0] + ": no such file or directory"}, []any{s.Result, s.Reason})
}

// A program runs once at a time. What comes meanwhile is one state, the newest, and it is told in the end whatever the others do.
func TestHookTheNewestStateWins(t *testing.T) {
	b := newBench(t)
	b.use(b.program(`echo "begin $3" >> log; while [ ! -e go ]; do sleep 0.01; done; echo "end $3" >> log`))
	b.report(config.HookBackup)
	require.Eventually(t, func() bool { return b.file("log") != "" }, patience, time.Millisecond)
	for range 10_000 {
		b.report(config.HookMaster, config.HookBackup)
	}
	b.report(config.HookMaster) // the program waits for what comes only now: none of these changes has waited for it
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o644))
	b.newest(2)
	b.Close()
	assert.Equal(t, "begin BACKUP\nend BACKUP\nbegin MASTER\nend MASTER\n", b.file("log"))
	assert.Equal(t, map[Result]uint64{OK: 2, Skipped: 20_000}, b.Counts()["a"])
}

// The programs of the next state wait for those of the one before: a start must not overtake a stop.
func TestHookStatesDoNotOvertakeEachOther(t *testing.T) {
	b := newBench(t)
	b.use(b.program("sleep 0.3; echo started >> log", config.HookMaster), b.program("echo stopped >> log", config.HookBackup))
	b.report(config.HookMaster, config.HookBackup)
	require.Eventually(t, func() bool { return strings.Count(b.file("log"), "\n") == 2 }, patience, time.Millisecond)
	b.Close()
	assert.Equal(t, "started\nstopped\n", b.file("log"))
}

func TestHookAtTheEnd(t *testing.T) {
	tests := []struct {
		name, master, stop string
		want               string
		comes              []time.Duration // what it waits for
	}{
		{"a quick one", "exit 0", "echo stopped >> log", "stopped\n", nil},
		{"behind one that hangs", "sleep 3600", "echo stopped >> log", "stopped\n", []time.Duration{yieldTime}},
		{"it hangs itself", "exit 0", "echo stopping >> log; sleep 3600", "stopping\n", []time.Duration{lastTime}},
		{"both hang", "sleep 3600", "echo stopping >> log; sleep 3600", "stopping\n", []time.Duration{yieldTime, lastTime}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.use(b.program("echo >> master; "+tt.master, config.HookMaster), b.program(tt.stop, config.HookStop))
			b.report(config.HookMaster)
			require.Eventually(t, func() bool { return b.file("master") != "" }, patience, time.Millisecond)
			b.report(config.HookStop)
			closed := b.closes()
			for _, d := range tt.comes {
				if d == lastTime {
					require.Eventually(t, func() bool { return b.file("log") != "" }, patience, time.Millisecond)
				}
				b.comes(d)
			}
			closed()
			assert.Equal(t, tt.want, b.file("log"))
			b.report(config.HookMaster)
			assert.Empty(t, b.lanes["INSTANCEa"].next, "nobody is told anything any more")
		})
	}
}

// closes begins to close, and returns what waits for the end.
func (b *bench) closes() (closed func()) {
	done := make(chan struct{})
	go func() { defer close(done); b.Close() }()
	return func() {
		b.t.Helper()
		select {
		case <-done:
		case <-time.After(patience):
			require.Fail(b.t, "Close waits for more")
		}
	}
}

// Other entries' programs hang in every slot: what is to be run at the end comes to run nevertheless.
func TestHookAtTheEndBehindThoseOfOthers(t *testing.T) {
	b := newBench(t)
	hangs, stop := b.program("sleep 3600", config.HookMaster), b.program("echo stopped >> log", config.HookStop)
	all := []Entry{{Name: "z", Programs: []Program{stop}}}
	for i := range mostRuns {
		all = append(all, Entry{Name: "e" + strconv.Itoa(i), Programs: []Program{hangs}})
	}
	b.Use(all, nil)
	for _, e := range all[1:] {
		b.Report(e.Name, Change{State: config.HookMaster})
	}
	require.Eventually(t, func() bool { return len(b.slots) == mostRuns }, patience, time.Millisecond)
	b.Report("z", Change{State: config.HookStop})
	closed := b.closes()
	b.comes(yieldTime)
	closed()
	assert.Equal(t, "stopped\n", b.file("log"))
}

// 255 entries that come at once are no storm of processes.
func TestHooksOfManyEntries(t *testing.T) {
	b := newBench(t)
	p := b.program(`mkdir "run-$2" && ls | grep -c '^run-' >> count; sleep 0.05; rmdir "run-$2"`)
	var entries []Entry
	for i := range 60 {
		entries = append(entries, Entry{Name: "v" + strconv.Itoa(i), Programs: []Program{p}})
	}
	b.Use(entries, nil)
	for _, e := range entries {
		b.Report(e.Name, Change{State: config.HookMaster})
	}
	require.Eventually(t, func() bool { return strings.Count(b.file("count"), "\n") == 60 }, 20*time.Second, 10*time.Millisecond)
	b.Close()
	for _, line := range strings.Fields(b.file("count")) {
		n, err := strconv.Atoi(line)
		require.NoError(t, err)
		assert.LessOrEqual(t, n, mostRuns)
	}
}

func TestHookThatAReloadAdds(t *testing.T) {
	b := newBench(t)
	b.use()
	b.report(config.HookMaster)
	p := b.program(`echo "$3" >> log`)
	b.use(p)
	b.newest(1)
	b.use(p)
	b.report(config.HookBackup)
	b.newest(2)
	b.use()
	assert.Nil(t, b.Status(), "what is configured no more is shown no more")
	b.Close()
	assert.Equal(t, "MASTER\nBACKUP\n", b.file("log"))
}

// A hook of a group is that of the entry that has it, whichever entry of the group changes last.
func TestHookOfAGroup(t *testing.T) {
	b := newBench(t)
	p := b.program(`echo "$*" >> log`)
	p.Type = config.HookGroup
	b.Use([]Entry{{Name: "a", Group: "g", GroupTold: "VG_1", Programs: []Program{p}}, {Name: "b", Group: "g"}}, nil)
	for _, name := range []string{"a", "b"} {
		b.Report(name, Change{State: config.HookMaster, Priority: 100})
	}
	s := b.newest(1)
	assert.Equal(t, []any{"a", OK}, []any{s.VIP, s.Result})
	b.Report("b", Change{State: config.HookFault})
	b.newest(2)
	b.Close()
	assert.Equal(t, "GROUP VG_1 MASTER 0\nGROUP VG_1 FAULT 0\n", b.file("log"))
	assert.Equal(t, map[string]map[Result]uint64{"a": {OK: 2}}, b.Counts())
}
