package trial

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
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
	begin  func(r *reloading) error // brings it about
}

// reloading is a node whose keepvip is being reloaded.
type reloading struct {
	*lab.Node
	process *lab.Process
	path    string // of the configuration
	hang    *lab.Hang
}

// reloadEnds are all states of a reload, each with SIGTERM in the middle of it.
func reloadEnds() []Case {
	var list []Case
	for _, s := range reloadStates() {
		list = append(list, Case{Name: s.name, Brief: s.brief, Run: s.run})
	}
	return append(list, Case{Name: "it takes an entry away that is drained", Brief: true, Run: drainedAway})
}

func reloadStates() []reloadState {
	return []reloadState{
		{name: "the file system of the file is gone", brief: true, begin: (*reloading).hangs},
		{name: "that of a key is gone", brief: true, begin: func(r *reloading) error { return r.hangsAt(r.Path("key")) }},
		{name: "others wait for it", brief: true, begin: func(r *reloading) error {
			return sequence(r.hangs, r.asks("reload"), r.asks("reload"), r.asks("config", "show", "--running"))
		}},
		{name: "it was left alone, and the next one waits for its end", begin: func(r *reloading) error {
			return sequence(r.hangs, func() error {
				_, err := until(hangLimit, "the reload is left alone", func() bool { return strings.Contains(r.process.Log(), "cannot be read within") })
				return err
			}, r.hangup)
		}},
		{name: "the file is a pipe", brief: true, begin: func(r *reloading) error {
			return sequence(func() error { return r.replace(func() error { return unix.Mkfifo(r.path, 0o600) }) }, r.hangup, r.refused)
		}},
		{name: "it computes", brief: true, begin: func(r *reloading) error {
			long := r.configured() + "hooks: [" + strings.Repeat("{}, ", 200_000) + "]\n"
			return sequence(func() error { return r.write(long) }, r.computes)
		}},
		{name: "members of Raft come without a majority", brief: true, begin: func(r *reloading) error {
			return sequence(func() error { return r.write(r.byRaft(2)) }, r.reloaded, func() error { return r.write(r.byRaft(4)) }, r.asks("reload"))
		}},
		{name: "a follower, the file system of the file is gone", brief: true, follow: true, begin: (*reloading).hangs},
	}
}

// run is one state with SIGTERM in the middle of it, so many times.
func (s reloadState) run(host *lab.Host, times int) (Findings, error) {
	var longest time.Duration
	endless := 0
	for range times {
		took, err := s.once(host)
		if errors.Is(err, errEndless) {
			endless++
		} else if err != nil {
			return nil, err
		}
		longest = max(longest, took)
	}
	return Findings{none("no end", endless), took("SIGTERM to the end", longest, endLimit)}, nil
}

// errEndless is about a process that SIGTERM does not end.
var errEndless = errors.New("it does not end")

func (s reloadState) once(host *lab.Host) (time.Duration, error) {
	l, err := host.Open(lab.Config{Nodes: 1})
	if err != nil {
		return 0, err
	}
	defer l.Close()
	r := &reloading{Node: l.Nodes[0]}
	defer r.letGo()
	if err := sequence(func() error { return r.start(s.follow) }, func() error { return s.begin(r) }); err != nil {
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

// replace puts something else where the configuration was.
func (r *reloading) replace(by func() error) error { return errors.Join(unix.Unlink(r.path), by()) }

func (r *reloading) start(follow bool) error {
	if _, err := r.WriteFile("key", strings.Repeat("0123456789abcdef", 4)+"\n", 0o600); err != nil {
		return err
	}
	if err := r.write(r.configured()); err != nil {
		return err
	}
	k, begun := Keepvip{}, `msg=started`
	var err error
	if follow {
		var path string
		if path, err = k.binary(); err != nil {
			return err
		}
		argv := append([]string{path, "follow", "--config", r.path}, k.Paths(r.Node)...)
		r.process, err = r.StartCommand(lab.Command{Name: "keepvip", Args: argv})
		begun = `msg=following`
	} else {
		r.process, err = k.Run(r.Node, "--config", r.path)
	}
	if err != nil {
		return err
	}
	_, err = until(SettleLimit, "it runs", func() bool { return strings.Contains(r.process.Log(), begun) })
	return err
}

func (r *reloading) hangup() error { return r.process.Signal(unix.SIGHUP) }

// hangs begins a reload that waits for the configuration.
func (r *reloading) hangs() error { return r.hangsAt(r.path) }

func (r *reloading) hangsAt(path string) (err error) {
	if r.hang, err = lab.HangOpens(path); err != nil {
		return err
	}
	if err := r.hangup(); err != nil {
		return err
	}
	_, err = until(SettleLimit, "the reload waits for "+path, r.hang.Waits)
	return err
}

func (r *reloading) letGo() {
	if r.hang != nil {
		_ = r.hang.End()
	}
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

func (r *reloading) refused() error {
	_, err := until(SettleLimit, "the reload is refused", func() bool { return strings.Contains(r.process.Log(), "configuration not reloaded") })
	return err
}

// computes begins a reload, and waits until it has cost a tenth of a second of a processor.
func (r *reloading) computes() error {
	before, err := r.process.CPU()
	if err != nil {
		return err
	}
	if err := r.hangup(); err != nil {
		return err
	}
	_, err = until(SettleLimit, "it computes", func() bool {
		now, err := r.process.CPU()
		return err == nil && now-before > 100*time.Millisecond || strings.Contains(r.process.Log(), "configuration not reloaded")
	})
	return err
}

// drainedAway has a reload wait for the end of a drain, which waits for a client, when the process is told to end.
func drainedAway(host *lab.Host, times int) (Findings, error) {
	var longest time.Duration
	endless := 0
	for range times {
		took, err := drainedAwayOnce(host)
		if errors.Is(err, errEndless) {
			endless++
		} else if err != nil {
			return nil, err
		}
		longest = max(longest, took)
	}
	return Findings{none("no end", endless), took("SIGTERM to the end", longest, endLimit)}, nil
}

func drainedAwayOnce(host *lab.Host) (time.Duration, error) {
	g, err := Open(host, Config{Product: Filed{}, Lab: lab.Config{Nodes: 2}})
	if err != nil {
		return 0, err
	}
	defer g.Close()
	holder, err := g.Settle()
	if err != nil {
		return 0, err
	}
	end, err := silentClient(g, holder, 7)
	if err != nil {
		return 0, err
	}
	defer end()
	r := &reloading{Node: holder, process: g.Daemon(holder)}
	other := Settings{Addresses: []netip.Addr{another}, Priority: 100, Interval: g.Settings[0].Interval}
	err = sequence(r.asks("drain", "--wait", "--timeout", "60s"), func() error { _, err := Filed{}.write(holder, other); return err }, r.asks("reload"))
	if err != nil {
		return 0, err
	}
	return ends(r.process)
}

// silentClient has the client connect to the node at the address; both say nothing until the end.
func silentClient(g *Group, n *lab.Node, port int) (end func(), err error) {
	var l net.Listener
	var client, server net.Conn
	at := netip.AddrPortFrom(g.Addresses[0], uint16(port))
	err = sequence(
		func() error {
			return n.Do(func() (err error) { l, err = net.ListenTCP("tcp", &net.TCPAddr{Port: port}); return err })
		},
		func() error {
			return g.Lab.Client.Namespace.Do(func() (err error) { client, err = net.DialTimeout("tcp", at.String(), 5*time.Second); return err })
		},
		func() (err error) { server, err = l.Accept(); return err },
	)
	if err != nil {
		return nil, fmt.Errorf("trial: a client at %s: %w", at, err)
	}
	return func() { _ = errors.Join(client.Close(), server.Close(), l.Close()) }, nil
}
