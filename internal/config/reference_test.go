package config

import (
	"fmt"
	"strings"
)

// Reference is docs/configuration.md: every option under all its names.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("```yaml\n" + Example + "```\n")
	for _, part := range []struct{ title, note, prefix string }{
		{"The virtual address", "`vips` has an entry for each. All addresses of an entry are always on the same node.", "vips[]."},
		{"Its health check", "`check: none` and `check: URL` are short for a mapping with just `url`.", "vips[].check."},
		{"Several health checks", checksNote, listedPrefix},
		{"Hooks", hooksNote, hookedPrefix},
		{"Spreading the load", "`spread: direct` is short for a mapping with just `via`. [spread.md](spread.md) says how it works.", spreadPrefix},
		{"Ports that are spread", portsNote, portedPrefix},
		{"Backends", backendsNote, backedPrefix},
		{"The process", "Once in a file, beside `vips`.", ""},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", part.title, part.note)
		if options, ok := inLists[part.prefix]; ok {
			b.WriteString(rowsInList(options))
			continue
		}
		b.WriteString("| key | flag and variable | value | default | when changed | |\n|---|---|---|---|---|---|\n")
		for _, o := range table {
			if o.part() == part.prefix {
				b.WriteString(o.row())
			}
		}
	}
	b.WriteString(referenceFoot)
	return []byte(b.String())
}

// part is the prefix of the reference's table that the option is in.
func (o Option) part() string {
	switch {
	case strings.HasPrefix(o.Key, "vips[].check."):
		return "vips[].check."
	case strings.HasPrefix(o.Key, spreadPrefix):
		return spreadPrefix
	case o.perVIP():
		return "vips[]."
	}
	return ""
}

// The prefixes of the options of a check, and of a hook, in a list.
const (
	listedPrefix = vipsKey + "[]." + checksKey + "[]."
	hookedPrefix = vipsKey + "[]." + hooksKey + "[]."
	spreadPrefix = vipsKey + "[]." + spreadKey + "."
	portedPrefix = vipsKey + "[]." + spreadPorts + "[]."
	backedPrefix = vipsKey + "[]." + spreadBackends + "[]."
)

var inLists = map[string][]Option{listedPrefix: listed, hookedPrefix: hooked, portedPrefix: ported, backedPrefix: backed}

const checksNote = "`checks` is a list in place of `check`, in the file only; `check.whenAllUnhealthy` may stand beside it. The node\n" +
	"is fit while every check of weight 0 is good. The other checks only change its priority: a weight above 0 is added while\n" +
	"the check is good, one below 0 is taken off while it is bad. Every change is taken over live; a check that has not\n" +
	"changed goes on."

const hooksNote = "`hooks` is a list of programs that are run when this node's part in the election of the entry changes, in the file only.\n" +
	"[hooks.md](hooks.md) says when, with what, and how keepalived's scripts go on working. Every change is taken over live;\n" +
	"a hook that a reload adds is told the present state immediately."

const portsNote = "`spread.ports` is a list, in the file only. Ports that are not in it are served by the holder alone. Without it the port\n" +
	"of the check is spread, as it is. Every change is taken over live."

const backendsNote = "`spread.backends` is a list, in the file only, with `via: masquerade`: servers that run no keepvip, in place of members,\n" +
	"at most 7, on all nodes in the same order. Every change is taken over live."

func rowsInList(options []Option) string {
	var b strings.Builder
	b.WriteString("| key | value | default | |\n|---|---|---|---|\n")
	for _, o := range options {
		value, def := o.cells()
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(o.Key), value, def, o.Help)
	}
	return b.String()
}

func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }

// cells are the value and the default.
func (o Option) cells() (value, def string) {
	value = code(o.kind)
	if o.span != "" {
		value += ", " + o.span
	}
	if o.list {
		value = "list of " + value
	}
	if o.Default != "" {
		def = code(o.Default)
	}
	return value, def
}

func (o Option) row() string {
	value, def := o.cells()
	return fmt.Sprintf("| %s | %s %s | %s | %s | %s | %s |\n",
		code(o.Key), code("--"+o.Flag), code(o.Env()), value, def, o.Reload, o.Help)
}

// Example is a complete file, as the reference shows it.
const Example = `apiVersion: keepvip/v1
kind: Config
key: {file: /etc/keepvip/key}
vips:
- name: apiserver
  addresses: [10.77.0.100, "fd77::100"]
  interface: eth0
  priority: 100
  vrrp: {id: 51, advertisementInterval: 100ms}
  check: {url: "https://127.0.0.1:6443/readyz", interval: 300ms, timeout: 600ms, rise: 2, fall: 3, whenAllUnhealthy: hold}
- name: registry
  addresses: [10.77.0.101]
  vrrp: {id: 52, peers: [10.77.0.11, 10.77.0.12, 10.77.0.13]}
  check: none
metrics: 127.0.0.1:9645
`

const referenceHead = `# Configuration

<!-- Generated from the table in internal/config by make golden: change it there. -->

The same file fits every node. A single virtual address needs no file: flags or variables describe it, under the
name ` + "`apiserver`" + `.

- A flag wins over its variable, a variable over the file, the file over the default. An empty variable counts as
  not set.
- A flag or variable that describes a virtual address changes the file's only entry under ` + "`vips`" + `, or makes one where
  there is none. With several entries it is an error.
- Lists are repeated flags, or one flag or variable with commas. They replace the file's list.
- The file is ` + "`--config`" + `, else ` + "`KEEPVIP_CONFIG`" + `; its text may also stand in ` + "`KEEPVIP_CONFIG_YAML`" + `, which is how
  a static pod carries it.
- In its place ` + "`--keepalived-conf`" + `, else ` + "`KEEPVIP_KEEPALIVED_CONF`" + `, names a keepalived.conf that is
  [run as it is](migrate-keepalived.md#running-it-as-it-is).
- Durations have a unit: ` + "`100ms`, `2s`, `1m30s`" + `. YAML anchors, aliases and several documents are not supported.
- Unknown and repeated keys, wrong types and values out of range are errors: one line each with file, line, key and
  remedy, exit status 2, and nothing is changed.
- A reload (SIGHUP, ` + "`keepvip reload`" + `) takes over all of a valid file or nothing of it. "live": nobody notices;
  "re-created": this virtual address goes through a new election on this node; "restart": the old value stays until the
  process is started anew, and the reload names the key; "member": the same in a process that is a member of a Raft
  cluster already, live in others. While the last file was refused, ` + "`keepvip status`" + ` says why.

`

const referenceFoot = `
## Notes

- The key is 32 to 64 bytes in hex or base64, such as from ` + "`keepvip key generate`" + `, in a file that only its owner can
  read; [authentication](authentication.md) says how it is introduced and changed.
- At most 2000 addresses fit into one entry. An advertisement names the first 255 of IPv4 or the first 89 of
  IPv6; the others are bound, announced and released with them.
- ` + "`keepvip config schema`" + ` prints a JSON schema for editors.
`
