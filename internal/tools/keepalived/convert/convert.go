package convert

import (
	"cmp"
	"fmt"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// Options say how to convert.
type Options struct {
	Partial bool   // write what can be carried over, although something that matters cannot
	User    string // whom check scripts run as that keepalived runs as root; "": [DefaultUser]
	Strict  bool   // refuse what keepalived complains of, and runs by other values than those that are written
	Root    bool   // they run as root instead, as under keepalived
	// Find is where this host has a program, by its bare name; empty: nowhere. nil: nobody knows.
	Find    func(name string) string
	Default string // whom keepalived runs scripts as that are given no user: keepalived_script where there is one; "": root
	Host    Host
	// Hidden tells that the unit of keepvip's packages does not see what others have at a path; nil: it sees everything.
	Hidden func(path string) bool
	// VirtualServers is what becomes of virtual_server: "": nothing, which is said; [VirtualServersSpread].
	VirtualServers string
	Secrets        string // the directory of files that an operator has to make; "": [DefaultSecrets]
	// InMemory is for a process that runs the draft: there is no text. It hands secrets over in [Result.Secrets], so that no file has to be made, and keeps the
	// names of instances for keepalived's files.
	InMemory bool
	// ReadSecret reads a file with a key, for InMemory; nil: none is read.
	ReadSecret func(path string) ([]byte, error)
}

// Host is what keepalived asks of the host before it runs a script. A nil function: nobody knows, and all is well.
type Host struct {
	HasUser func(user string) bool           // with a group behind a colon, or without
	Unsafe  func(program string) (why error) // how others than root could put another program in its place
	// Absent tells that there is no program at that path.
	Absent func(program string) (why error)
	// HasDirectory tells of the directory of a track_file.
	HasDirectory func(path string) bool
}

// The defaults of [Options].
const (
	DefaultUser    = "65534:65534" // nobody on every distribution, whatever it is called
	DefaultSecrets = "/etc/keepvip"
)

// Result is what a conversion comes to.
type Result struct {
	Draft    *config.Draft        // the configuration of keepvip; nil when it is refused
	Text     []byte               // the same, as a file of keepvip has it; nil with [Options.InMemory], too
	Findings []keepalived.Finding // in the order of their places
	Refused  int                  // how many of them are of severity Fault
	Valid    bool                 // there is a text, or there would be with [Options.Partial]
	names    map[string]bool
	Secrets  map[string][]byte // with [Options.InMemory]: what the files hold that the text names
}

// Codes of findings, beside those of package keepalived.
const (
	codeChanged = "changed"     // it is carried over, and behaves in another way
	codeSecret  = "secret"      // a file that has to be made
	codeLeft    = "not-carried" // a keyword that this package does not know
	codeInvalid = "invalid"     // keepvip does not take the value
)

// Convert makes the configuration. It never panics, whatever the document says.
func Convert(doc *syntax.Document, o Options) Result {
	c := &converter{
		opt: o, cfg: keepalived.Model(doc), names: map[string]bool{}, slugs: map[string]string{}, groups: map[string]*keepalived.SyncGroup{},
		nodes: map[syntax.Origin][]*syntax.Node{}, report: newReport(), used: map[string]bool{}, secrets: map[string][]byte{},
	}
	c.opt.User, c.opt.Secrets = cmp.Or(o.User, DefaultUser), cmp.Or(o.Secrets, DefaultSecrets)
	c.opt.Root = c.opt.Root || (keepalived.User{Name: c.opt.User}).Root()
	return c.convert(doc)
}

type converter struct {
	report
	opt     Options
	cfg     *keepalived.Config
	out     page
	names   map[string]bool   // of entries, that are taken
	slugs   map[string]string // the name of each group
	groups  map[string]*keepalived.SyncGroup
	used    map[string]bool // scripts and processes that became checks, or were refused; files, and the notify scripts of groups
	nodes   map[syntax.Origin][]*syntax.Node
	roots   []*syntax.Node
	secrets map[string][]byte
	virtual []*virtualServer
	vmacs   map[*keepalived.Instance]string // the interface that keepalived makes for each with use_vmac
	asRoot  source                          // why a check runs as root; nowhere: none does
}

func (c *converter) convert(doc *syntax.Document) Result {
	c.roots = doc.Nodes
	c.index(doc.Nodes)
	c.regrade()
	c.keywords(doc.Nodes)
	c.nameVMACs()
	for _, g := range c.cfg.Groups {
		c.groups[g.Name] = g
	}
	if c.out.silent = c.opt.InMemory; !c.out.silent {
		c.out.kept = remarksOf(doc, c.nodes)
	}
	spreading{c}.virtualServers()
	c.head(doc)
	entries := 0
	for _, i := range c.cfg.Instances {
		if c.instance(i) {
			entries++
		}
	}
	c.leftRemarks()
	c.vmacPrefix()
	c.rootChecks()
	checking{c}.unused()
	c.left(doc.Nodes)
	valid := c.valid(entries, doc)
	c.cfg.Sort(c.findings)
	r := Result{Findings: c.findings, Valid: valid, names: namesOf(c.cfg)}
	for _, f := range c.findings {
		if f.Severity == keepalived.Fault {
			r.Refused++
		}
	}
	if valid && (r.Refused == 0 || c.opt.Partial) {
		r.Draft, r.Text, r.Secrets = &c.out.draft, c.out.text(), c.secrets
	}
	return r
}

func (c *converter) head(doc *syntax.Document) {
	c.out.short = shortened(doc.Sources)
	from := "a keepalived.conf"
	if len(doc.Sources) > 0 {
		from = plain(doc.Sources[0])
	}
	c.out.remark(0, fmt.Sprintf("Converted from %s. Behind each line is the line that it comes from.", from))
	if len(doc.Nodes) > 0 {
		before, _ := c.out.kept.take(doc.Nodes[0].At)
		for _, text := range before {
			c.out.remark(0, plain(text))
		}
	}
	c.out.line("", "apiVersion: keepvip/v1", nowhere)
	c.out.line("", "kind: Config", nowhere)
	if c.cfg.Global.RTPriority > 0 {
		c.out.set("realtime", true, placed(c.cfg.Global.Where("vrrp_rt_priority")))
	}
	c.key(doc)
	notifications{c}.fifo()
	c.out.open("vips", nowhere)
}

// leftRemarks writes the comments of lines that leave no trace.
func (c *converter) leftRemarks() {
	for i, r := range c.out.kept.rest() {
		if i == 0 {
			c.out.remark(0, "Comments on lines that have no counterpart here:")
		}
		c.out.remark(0, c.out.comment(placed(r.At))+": "+plain(r.Text))
	}
}

// index notes which keywords are on which line.
func (c *converter) index(nodes []*syntax.Node) {
	for _, n := range nodes {
		c.nodes[n.At] = append(c.nodes[n.At], n)
		c.index(n.Children)
	}
}
