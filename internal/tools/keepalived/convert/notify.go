package convert

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// notifications writes who is told what an instance does: hooks, and the readers of the FIFO.
type notifications struct{ *converter }

// told writes the names that notify scripts, readers of the FIFO and of keepalived's files know, where they are not those of keepvip.
func (c notifications) told(i *keepalived.Instance, g *keepalived.SyncGroup, name string) {
	tells := c.tells(i, g)
	write := func(key, name, now string, at syntax.Origin) {
		switch {
		case reportable(name):
			c.out.set("vips[]."+key, name, placed(at))
		case tells:
			c.changed(at, fmt.Sprintf("scripts are told the name %s: keepvip tells no names with blanks, quotes, =, : and commas", now), "")
		}
	}
	if c.opt.InMemory || tells && i.Name != name {
		write("keepalivedName", i.Name, name, i.At)
	}
	if g != nil && tells && g.Name != c.slugs[g.Name] {
		write("keepalivedGroupName", g.Name, c.slugs[g.Name], g.At)
	}
}

// tells says whether anybody is told of an instance.
func (c notifications) tells(i *keepalived.Instance, g *keepalived.SyncGroup) bool {
	return c.cfg.Global.NotifyFIFO.Path != "" || c.cfg.Global.VRRPFIFO.Path != "" ||
		i.Notify != (keepalived.Notify{}) || g != nil && g.Notify != (keepalived.Notify{})
}

// hook is one notify keyword: what keepvip makes of it.
type hook struct {
	command   *keepalived.Command
	keyword   string
	states    []string
	arguments bool
}

func hooksOf(n keepalived.Notify, kind string) []hook {
	fault := []string{"FAULT", "DELETED"} // keepalived calls it so when a reload takes an instance away
	if n.SayDeleted || kind != "" {
		fault = fault[:1]
	}
	all := []hook{
		{n.Master, "notify_master", []string{"MASTER"}, false},
		{n.Backup, "notify_backup", []string{"BACKUP"}, false},
		{n.Fault, "notify_fault", fault, false},
		{n.Stop, "notify_stop", []string{"STOP"}, false},
		{n.Deleted, "notify_deleted", []string{"DELETED"}, false},
		{n.Any, "notify", nil, true},
	}
	return slices.DeleteFunc(all, func(h hook) bool { return h.command == nil })
}

// group is the type of a hook that is about a group; "" is that of one about an entry.
const group = "GROUP"

// hooks writes the notify scripts of an instance, and those of its group at the first of its entries.
func (c notifications) hooks(i *keepalived.Instance, g *keepalived.SyncGroup) {
	open := sync.OnceFunc(func() { c.out.open("vips[].hooks", nowhere) })
	write := func(block string, n keepalived.Notify, kind string) {
		for _, h := range hooksOf(n, kind) {
			args, from, ok := c.callable(h, block)
			if !ok {
				continue
			}
			user, as, ok := c.runsAs(h, block, args[0])
			if !ok {
				continue
			}
			open()
			c.out.next("vips[].hooks")
			c.out.set("vips[].hooks[].command", args, from)
			c.out.set("vips[].hooks[].user", user, as)
			c.hook(h, kind)
		}
	}
	write(i.Name, i.Notify, "")
	if i.Notify.Any != nil && !i.Notify.SayDeleted {
		c.note(i.Notify.Any.At, "notify: when a reload takes the instance away, keepvip tells the state DELETED, and keepalived FAULT, unless it is given notify_deleted")
	}
	if i.Notify.SayDeleted && i.Notify.Deleted == nil {
		c.note(i.Where("notify_deleted"), "notify_deleted: keepvip tells the state DELETED in any case")
	}
	if own := c.groups[i.SyncGroup]; own != nil && g == nil {
		for _, h := range hooksOf(own.Notify, group) {
			c.say(keepalived.Warning, keepalived.CodeUnsupported, h.command.At, fmt.Sprintf("%s of the group %s is left out: keepvip has no such group", h.keyword, own.Name), "give it to one of the instances")
		}
	}
	if g != nil && !c.used["notify "+g.Name] {
		c.used["notify "+g.Name] = true
		write(g.Name, g.Notify, group)
	}
}

// hook writes what stands behind the command.
func (c notifications) hook(h hook, kind string) {
	if kind != "" {
		c.out.set("vips[].hooks[].type", kind, nowhere)
	}
	if len(h.states) > 0 {
		c.out.set("vips[].hooks[].states", h.states, nowhere)
	}
	if !h.arguments {
		c.out.set("vips[].hooks[].arguments", false, nowhere)
	}
}

// callable is what keepvip calls for a notify keyword, and where it comes from. Where that is not possible it is left out with a warning.
func (c notifications) callable(h hook, block string) (args []string, from source, ok bool) {
	args, from, p := c.called(h.command, "the script", source{h.command.At, h.keyword})
	if h.command.Shell && h.arguments && p.text == "" {
		p = trouble{"the script is text for a shell, which takes no arguments", "put it into a file that begins with #!/bin/sh"}
	}
	if p.text == "" {
		return args, from, true
	}
	c.say(keepalived.Warning, keepalived.CodeUnsupported, h.command.At, fmt.Sprintf("%s of %s is left out: %s", h.keyword, block, p.text), p.remedy)
	return nil, from, false
}

// runsAs is whom a notify script runs as: the same as under keepalived. Where keepalived does not call it, it is left out with a warning.
func (c notifications) runsAs(h hook, block, program string) (user string, from source, ok bool) {
	u, from, dropped := c.runner(h.command.User, program, placed(h.command.At))
	if absent := c.opt.Host.Absent; dropped.text == "" && c.opt.InMemory && absent != nil {
		// A check that is not there is refused, though keepalived drops it as well: nobody would know that the node is ill.
		if err := absent(program); err != nil {
			dropped = trouble{err.Error(), "write the path of one that is there, or delete it"}
		}
	}
	if dropped.text != "" {
		c.changed(h.command.At, fmt.Sprintf("%s of %s is not called, as in keepalived, which drops it: %s", h.keyword, block, dropped.text), dropped.remedy)
		return "", from, false
	}
	if from.at.File == "" && c.opt.Default == "" && c.opt.Host.HasUser == nil {
		c.changed(h.command.At, h.keyword+" runs as root: keepalived takes the user keepalived_script where there is one, and root only where there is none",
			"write user: keepalived_script if that user is there")
	}
	return u.Spelled(), from, true
}

// fifo writes the notify FIFO. keepvip has one.
func (c notifications) fifo() {
	written := ""
	for i, f := range []keepalived.FIFO{c.cfg.Global.NotifyFIFO, c.cfg.Global.VRRPFIFO} { // one is taken, in this order
		keyword := []string{"notify_fifo", "vrrp_notify_fifo"}[i]
		at := c.cfg.Global.Where(keyword)
		if f.Script != nil {
			c.say(keepalived.Warning, keepalived.CodeUnsupported, f.Script.At, keyword+"_script is left out: keepvip starts no reader of the FIFO",
				"run it by a unit of its own, with the path of the FIFO as its last argument")
		}
		switch {
		case f.Path == "":
		case written != "":
			c.say(keepalived.Warning, keepalived.CodeUnsupported, at, fmt.Sprintf("%s is left out: keepvip has one FIFO, %s", keyword, written), "have its reader read that one")
		case !filepath.IsAbs(f.Path) || !utf8.ValidString(f.Path):
			c.say(keepalived.Warning, keepalived.CodeUnsupported, at, fmt.Sprintf("%s is left out: keepvip wants the whole path of a FIFO", keyword), "write it, below /run/keepvip under keepvip's unit")
		default:
			written = f.Path
			c.out.open("notifyFIFO", placed(at))
			c.out.set("notifyFIFO.path", f.Path, placed(at))
			if f.Owner.Name != "" {
				c.out.set("notifyFIFO.user", f.Owner.Spelled(), placed(at))
			}
			if !strings.HasPrefix(f.Path, "/run/keepvip/") {
				c.changed(at, keyword+": keepvip's unit lets it write below /run/keepvip alone", "write /run/keepvip/notify here and for the reader, or add ReadWritePaths= to the unit")
			}
		}
	}
}
