// Package manual renders manual pages: of the commands, from the description that the program prints, and of the
// configuration, from its reference.
package manual

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Page is one manual page.
type Page struct {
	Name string // "keepvip-run.8"
	Text []byte // in troff's man macros
}

// Command is one command, as `keepvip commands` prints it.
type Command struct {
	Path     string    `json:"path"`
	Usage    string    `json:"usage"`
	Short    string    `json:"short"`
	Long     string    `json:"long"`
	Example  string    `json:"example"`
	Flags    []Flag    `json:"flags"`
	Commands []Command `json:"commands"`
}

// Flag is one flag of a command.
type Flag struct {
	Name    string `json:"name"`
	Short   string `json:"short"`
	Env     string `json:"env"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Help    string `json:"help"`
}

const section = "8"

// Commands renders a page for the program and one for every command below it.
func Commands(description []byte, version string, date time.Time) ([]Page, error) {
	var root Command
	if err := json.Unmarshal(description, &root); err != nil {
		return nil, fmt.Errorf("manual: the commands: %w", err)
	}
	var pages []Page
	var visit func(c Command, parent string)
	visit = func(c Command, parent string) {
		p := newPage(c.page(), section, version, date)
		p.command(c)
		if parent == "" {
			p.raw(rootFoot)
		} else {
			p.section("SEE ALSO")
			p.raw(fmt.Sprintf(".BR %s (%s),\n.BR keepvip.yaml (5)\n", roff(parent), section))
		}
		pages = append(pages, Page{Name: c.page() + "." + section, Text: p.bytes()})
		for _, sub := range c.Commands {
			visit(sub, c.page())
		}
	}
	visit(root, "")
	return pages, nil
}

func (c Command) page() string { return strings.ReplaceAll(c.Path, " ", "-") }

func (p *page) command(c Command) {
	p.section("NAME")
	p.raw(roff(c.page()) + " \\- " + roff(lowerFirst(c.Short)) + "\n")
	p.section("SYNOPSIS")
	p.raw(".B " + roff(c.Usage) + "\n")
	p.section("DESCRIPTION")
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	p.paragraphs(long)
	if len(c.Commands) > 0 {
		p.section("COMMANDS")
		for _, sub := range c.Commands {
			p.raw(fmt.Sprintf(".TP\n.BR %s (%s)\n%s\n", roff(sub.page()), section, line(sub.Short)))
		}
	}
	if len(c.Flags) > 0 {
		p.section("OPTIONS")
		for _, f := range c.Flags {
			p.flag(f)
		}
	}
	if c.Example != "" {
		p.section("EXAMPLES")
		p.example(c.Example)
	}
}

func (p *page) flag(f Flag) {
	head := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Short != "" {
		head = `\fB` + roff("-"+f.Short) + `\fR, ` + head
	}
	if f.Value != "" && f.Value != "bool" {
		head += ` \fI` + roff(f.Value) + `\fR`
	}
	help := f.Help
	if f.Default != "" && f.Default != "false" && f.Default != "[]" {
		help += " (default " + f.Default + ")"
	}
	if f.Env != "" {
		help += " (" + f.Env + ")"
	}
	p.raw(".TP\n" + head + "\n" + line(help) + "\n")
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

const rootFoot = `.SH EXIT STATUS
.TP
.B 0
all is well
.TP
.B 1
something went wrong while running
.TP
.B 2
the command line or the configuration is wrong; nothing was changed on the host
.SH SIGNALS
.TP
.BR SIGTERM ", " SIGINT
resign, give the addresses up, and end
.TP
.B SIGHUP
read the configuration again; with an error the old one stays in force
.SH FILES
.TP
.I /etc/keepvip/keepvip.yaml
the configuration that the service reads; an example is beside it
.TP
.I /etc/keepvip/key
the shared key, where there is one; readable by root alone
.TP
.I /run/keepvip/keepvip.sock
the socket of the running keepvip
.TP
.I /var/lib/keepvip
what must survive a restart
.SH SEE ALSO
.BR keepvip.yaml (5),
.BR systemctl (1)
`
