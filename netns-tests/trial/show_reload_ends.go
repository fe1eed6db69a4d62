package trial

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	// endLimit is for how long SIGTERM may be on its way to the end of the process, whatever a reload is doing.
	endLimit = 3 * time.Second
	// hangLimit is for how long a test waits for that: without end is longer.
	hangLimit = 20 * time.Second
)

// reloadState is something that a reload may be in the middle of when the process is told to end.
type reloadState struct {
	name   string
	brief  bool
	follow bool                     // of `keepvip follow`
	conf   bool                     // of a keepalived.conf
	begin  func(r *reloading) error // brings it about
}

// reloading is a node whose keepvip is being reloaded.
type reloading struct {
	*lab.Node
	process *lab.Process
	path    string // of the configuration
	hang    *lab.Hang
	locked  *os.File // nil: none is
}

// reloadEnds are all states of a reload, each with SIGTERM in the middle of it.
func reloadEnds() []Case {
	var list []Case
	for _, s := range reloadStates() {
		list = append(list, Case{Name: s.name, Brief: s.brief, Run: ended(s.once)})
	}
	return append(list, Case{Name: "it takes an entry away that is drained", Brief: true, Run: ended(drainedAway)})
}

func reloadStates() []reloadState {
	return []reloadState{
		{name: "the file system of the file is gone", brief: true, begin: (*reloading).hangs},
		{name: "that of a key is gone", brief: true, begin: func(r *reloading) error { return r.hangsAt(r.Path("key")) }},
		{name: "others wait for it", brief: true, begin: func(r *reloading) error {
			return sequence(r.hangs, r.asks("reload"), r.asks("reload"), r.asks("config", "show", "--running"))
		}},
		{name: "it was left alone, and the next one waits for its end", begin: func(r *reloading) error {
			return sequence(r.hangs, r.says("cannot be read within"), r.hangup)
		}},
		{name: "the file is a pipe", brief: true, begin: func(r *reloading) error {
			return sequence(func() error { return r.replace(r.path) }, r.hangup, r.says("configuration not reloaded"))
		}},
		{name: "it computes", brief: true, begin: func(r *reloading) error {
			long := r.configured() + "hooks: [" + strings.Repeat("{}, ", 200_000) + "]\n"
			return sequence(func() error { return r.write(long) }, r.computes)
		}},
		{name: "members of Raft come without a majority", brief: true, begin: func(r *reloading) error {
			return sequence(func() error { return r.write(r.byRaft(2)) }, r.reloaded, func() error { return r.write(r.byRaft(4)) }, r.asks("reload"))
		}},
		{name: "a follower, the file system of the file is gone", brief: true, follow: true, begin: (*reloading).hangs},
		{name: "that of a file that a keepalived.conf includes is gone", brief: true, conf: true, begin: func(r *reloading) error { return r.hangsAt(r.included()) }},
		{name: "a file that a keepalived.conf includes is a pipe", brief: true, conf: true, begin: func(r *reloading) error {
			return sequence(func() error { return r.replace(r.included()) }, r.asks("reload"))
		}},
		{name: "a definition of a keepalived.conf names itself", brief: true, conf: true, begin: func(r *reloading) error {
			_, err := r.WriteFile("more.conf", "$X=\\\n foo \\\n $X\n$X\n", 0o600)
			return sequence(func() error { return err }, r.asks("reload"))
		}},
		{name: "a keepalived.conf has 150,000 lines", brief: true, conf: true, begin: func(r *reloading) error {
			_, err := r.WriteFile("more.conf", strings.Repeat("# a line\nvrrp_strict_no\n", 75_000), 0o600)
			return sequence(func() error { return err }, r.computes)
		}},
		{name: "a hook of an entry that it has taken away hangs", brief: true, begin: func(r *reloading) error {
			return sequence(func() error { return r.write(r.hooked()) }, r.reloaded, func() error { return r.write(r.configured()) }, r.reloaded, r.hooking)
		}},
		{name: "another program has locked the store of Raft", brief: true, begin: func(r *reloading) error {
			return sequence(r.lockStore, func() error { return r.write(r.byRaft(1)) }, r.hangup, r.says("configuration reloaded", "configuration not reloaded"))
		}},
	}
}

// ended is one state with SIGTERM in the middle of it, so many times.
func ended(once func(*lab.Host) (time.Duration, error)) func(*lab.Host, int) (Findings, error) {
	return func(host *lab.Host, times int) (Findings, error) {
		var longest time.Duration
		endless := 0
		for range times {
			took, err := once(host)
			if errors.Is(err, errEndless) {
				endless++
			} else if err != nil {
				return nil, err
			}
			longest = max(longest, took)
		}
		return Findings{none("no end", endless), took("SIGTERM to the end", longest, endLimit)}, nil
	}
}

// errEndless is about a process that SIGTERM does not end.
var errEndless = errors.New("it does not end")

func (s reloadState) once(host *lab.Host) (_ time.Duration, err error) {
	defer try.Catch(&err)
	l := try.Get(host.Open(lab.Config{Nodes: 1}))
	defer l.Close()
	r := &reloading{Node: l.Nodes[0]}
	defer r.letGo()
	if err := sequence(func() error { return r.start(s) }, func() error { return s.begin(r) }); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, r.process.Log())
	}
	return ends(r.process)
}

// ends sends SIGTERM, and says how long the end took.
func ends(p *lab.Process) (time.Duration, error) {
	began := time.Now()
	code, err := p.Terminate(hangLimit)
	took := time.Since(began)
	switch {
	case err != nil:
		return took, errors.Join(errEndless, err)
	case code != 0:
		return took, fmt.Errorf("trial: exit status %d after SIGTERM\n%s", code, p.Log())
	}
	return took, nil
}

// configured is the text of a configuration.
func (r *reloading) configured() string {
	return fmt.Sprintf("apiVersion: keepvip/v1\nkind: Config\nkey: {file: %s}\nvips:\n- {name: a, addresses: [%s], interface: eth0, check: none, spread: {via: direct, ports: [{port: 6443}]}}\n", r.Path("key"), lab.VIP4)
}

// byRaft is another one, with an election by Raft among so many, of which this node is alone.
func (r *reloading) byRaft(members int) string {
	return strings.Replace(r.configured(), "check: none", "check: none, election: raft", 1) + fmt.Sprintf("raft: {peers: [%s]}\n", addressesOf(members))
}

func (r *reloading) write(text string) error {
	path, err := r.WriteFile("keepvip.yaml", text, 0o600)
	r.path = path
	return err
}

// hooked is another one, with an entry more whose hook hangs when the entry is deleted.
func (r *reloading) hooked() string {
	return r.configured() + fmt.Sprintf("- {name: b, addresses: [%s], interface: eth0, check: none, vrrp: {id: 9}, hooks: [{command: [%s], user: root, states: [DELETED]}]}\n",
		another, r.Path("hook"))
}

// hooking waits until the hook hangs.
func (r *reloading) hooking() error {
	return within(SettleLimit, "the hook runs", func() bool { _, err := os.Stat(r.Path("hooked")); return err == nil })
}

// included is the file that the keepalived.conf includes.
func (r *reloading) included() string { return r.Path("more.conf") }

// confOf is the text of a keepalived.conf.
func (r *reloading) confOf() string {
	return fmt.Sprintf("vrrp_instance a {\n interface eth0\n virtual_router_id 51\n virtual_ipaddress {\n %s\n }\n}\ninclude %s\n", lab.VIP4, r.included())
}

// lockStore has the store of Raft locked as another keepvip would.
func (r *reloading) lockStore() (err error) {
	defer try.Catch(&err)
	dir := r.Path("state/raft")
	try.Do(os.MkdirAll(dir, 0o700))
	r.locked = try.Get(os.OpenFile(filepath.Join(dir, "store.db"), os.O_CREATE|os.O_RDWR, 0o600))
	return unix.Flock(int(r.locked.Fd()), unix.LOCK_EX)
}

// replace puts a pipe where a file was.
func (r *reloading) replace(path string) error {
	return errors.Join(unix.Unlink(path), unix.Mkfifo(path, 0o600))
}

func (r *reloading) start(s reloadState) (err error) {
	defer try.Catch(&err)
	files := map[string]string{"key": strings.Repeat("0123456789abcdef", 4) + "\n", "more.conf": "# nothing\n", "hook": "#!/bin/sh\necho > " + r.Path("hooked") + "\nexec sleep 3600\n"}
	for name, text := range files {
		try.Get(r.WriteFile(name, text, 0o700))
	}
	try.Do(unix.Chmod(r.Path("key"), 0o600))
	try.Do(r.write(r.configured()))
	k, begun := Keepvip{}, `msg=started`
	if s.conf {
		r.process = try.Get(k.Run(r.Node, "--keepalived-conf", try.Get(r.WriteFile("keepalived.conf", r.confOf(), 0o600))))
	} else if s.follow {
		argv := append([]string{try.Get(k.binary()), "follow", "--config", r.path}, k.Paths(r.Node)...)
		r.process = try.Get(r.StartCommand(lab.Command{Name: "keepvip", Args: argv}))
		begun = `msg=following`
	} else {
		r.process = try.Get(k.Run(r.Node, "--config", r.path))
	}
	return r.says(begun)()
}

func (r *reloading) hangup() error { return r.process.Signal(unix.SIGHUP) }

// hangs begins a reload that waits for the configuration.
func (r *reloading) hangs() error { return r.hangsAt(r.path) }

func (r *reloading) hangsAt(path string) (err error) {
	defer try.Catch(&err)
	r.hang = try.Get(lab.HangOpens(path))
	try.Do(r.hangup())
	return within(SettleLimit, "the reload waits for "+path, r.hang.Waits)
}

func (r *reloading) letGo() {
	if r.hang != nil {
		_ = r.hang.End()
	}
	_ = r.locked.Close() // an error where none is
}

// asks begins a command, and gives it time to begin to wait.
func (r *reloading) asks(args ...string) func() error {
	return func() error {
		_, err := Keepvip{}.BeginCommand(r.Node, append(args, "--socket", Socket(r.Node))...)
		time.Sleep(300 * time.Millisecond)
		return err
	}
}

func (r *reloading) reloaded() error { return Keepvip{}.reload(r.Node) }

// says waits until the log has one of these.
func (r *reloading) says(any ...string) func() error {
	return func() error {
		return within(SettleLimit, "the log says "+strings.Join(any, " or "), func() bool {
			return slices.ContainsFunc(any, func(text string) bool { return strings.Contains(r.process.Log(), text) })
		})
	}
}

// computes begins a reload, and waits until it has cost a tenth of a second of a processor.
func (r *reloading) computes() (err error) {
	defer try.Catch(&err)
	before := try.Get(r.process.CPU())
	try.Do(r.hangup())
	return within(SettleLimit, "it computes", func() bool {
		now, err := r.process.CPU()
		return err == nil && now-before > 100*time.Millisecond || strings.Contains(r.process.Log(), "configuration not reloaded")
	})
}

// drainedAway has a reload wait for the end of a drain, which waits for a client, when the process is told to end.
func drainedAway(host *lab.Host) (_ time.Duration, err error) {
	defer try.Catch(&err)
	g := try.Get(Open(host, Config{Product: Filed{}, Lab: lab.Config{Nodes: 2}, Interval: time.Second})) // a client that is served by another node ends nothing
	defer g.Close()
	holder := try.Get(g.Settle())
	end := try.Get(silentClient(g, holder, 7))
	defer end()
	r := &reloading{Node: holder, process: g.Daemon(holder)}
	other := Settings{Addresses: []netip.Addr{another}, Priority: 100, Interval: g.Settings[0].Interval}
	try.Do(sequence(r.asks("drain", "--wait", "--timeout", "60s"), func() error { _, err := Filed{}.write(holder, other); return err }, r.asks("reload")))
	return ends(r.process)
}

// silentClient has the client connect to the node at the address; both say nothing until the end.
func silentClient(g *Group, n *lab.Node, port int) (end func(), err error) {
	defer try.Say(&err, "trial: a client at port %d", port)
	l := try.Get(n.Listen(fmt.Sprintf(":%d", port)))
	client := try.Get(g.Lab.Client.Dial(netip.AddrPortFrom(g.Addresses[0], uint16(port)), 5*time.Second))
	server := try.Get(l.Accept())
	return func() { _ = errors.Join(client.Close(), server.Close(), l.Close()) }, nil
}
