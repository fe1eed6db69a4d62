package convert

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// check is one check as keepvip writes it.
type check struct {
	kind, name string
	at         syntax.Origin // of the line that tracks it
	nameAt     syntax.Origin // of the block that it is defined by, or that line
	fields     []field
	weight     int
	weightAt   source
	rise, fall counted
	numbered   bool // a number in a file is multiplied by the weight
}

// counted is how many results in a row count; 0: keepvip's default, because what keepalived acts on at once is definite.
type counted struct {
	n    int
	from source
}

func (k *check) set(name string, value any, from source) {
	k.fields = append(k.fields, field{name, value, from})
}

// reverse turns a check round: what a reversed weight adds while the check is bad is added while one that is turned round is good, and what it
// takes off while the check is good is taken off while that is bad.
func (k *check) reverse() {
	k.set("reverse", true, source{k.weightAt.at, "a reversed weight"})
	if k.numbered {
		return // which multiplies by the opposite of the weight
	}
	k.weight = -k.weight
	if k.rise.n == 0 {
		k.rise, k.fall = counted{1, atOnce}, counted{1, atOnce}
	}
	k.rise, k.fall = k.fall, k.rise
}

// atOnce is why one result is enough.
var atOnce = source{why: "keepalived acts immediately"}

// counts are rise and fall, where they are not keepvip's defaults. The end of a process is definite, unless it is what is good.
func (k *check) counts() []field {
	if k.rise.n != 0 && k.rise.n != 2 {
		k.set("rise", k.rise.n, k.rise.from)
	}
	if k.fall.n != 0 && k.fall.n != 3 {
		k.set("fall", k.fall.n, k.fall.from)
	}
	return k.fields
}

// checking makes checks of what instances track.
type checking struct{ *converter }

// checks writes what an instance tracks, itself and by its group.
func (c checking) checks(i *keepalived.Instance) {
	all, lost := c.tracked(i)
	if len(all) == 0 {
		why := "nothing is tracked"
		if g := c.groups[i.SyncGroup]; g != nil && len(g.Track.Scripts)+len(g.Track.Interfaces)+len(g.Track.Processes) > 0 && c.leaves(g, i) {
			why = "the first entry of the group has the check"
		}
		if lost {
			why = "nothing that keepvip can check is tracked"
		}
		c.out.set("vips[].check", "none", source{why: why})
		return
	}
	for _, k := range all {
		if k.weight == 0 || k.numbered {
			why, when := "weight 0", "it fails"
			if k.weight != 0 {
				why, when = "a number", "it comes to -254"
			}
			c.out.flow("vips[].check", source{k.at, fmt.Sprintf("%s: nobody holds the addresses while %s everywhere", why, when)}, field{name: "whenAllUnhealthy", value: "release"})
			c.say(keepalived.Note, codeChanged, k.at, fmt.Sprintf("%s has %s: while %s on all nodes nobody holds the addresses, as with keepalived", k.name, why, when),
				"remove whenAllUnhealthy: release, and the last holder keeps them instead")
			break
		}
	}
	const checks = "vips[].checks[]"
	c.out.open("vips[].checks", nowhere)
	names := map[string]bool{}
	for _, k := range all {
		c.out.next(checks)
		c.out.set(checks+".kind", k.kind, placed(k.at))
		c.out.set(checks+".name", unique(slug(k.name), names), placed(k.nameAt))
		for _, f := range k.counts() {
			c.out.set(checks+"."+f.name, f.value, f.from)
		}
		c.out.set(checks+".counts", "plain", source{why: "as keepalived counts: rise and fall, without damping"})
		if k.weight != 0 {
			c.out.set(checks+".weight", k.weight, k.weightAt)
		}
	}
}

// tracked are the checks of an instance. lost says that some could not be made.
func (c checking) tracked(i *keepalived.Instance) (all []*check, lost bool) {
	seen := map[string]bool{}
	each := func(kind string, list []keepalived.Tracked, of func(keepalived.Tracked) *check) {
		for _, t := range list {
			if seen[kind+t.Name] || kind == "interface " && t.Name == i.Interface {
				continue
			}
			seen[kind+t.Name] = true
			c.used[kind+t.Name] = true
			k := of(t)
			if k == nil {
				lost = true
				continue
			}
			k.at, k.weight = t.At, t.Weight.Value
			if k.nameAt.File == "" {
				k.nameAt = t.At
			}
			if t.Own {
				k.weightAt = placed(t.At)
			}
			if t.Weight.Reverse {
				k.reverse()
			}
			all = append(all, k)
		}
	}
	tracks := []keepalived.Tracking{i.Track}
	if g := c.groups[i.SyncGroup]; g != nil {
		tracks = append(tracks, c.ofGroup(g, i))
	}
	for _, t := range tracks {
		each("interface ", t.Interfaces, func(t keepalived.Tracked) *check {
			k := &check{kind: "interface", name: t.Name}
			k.set("interface", t.Name, placed(t.At))
			return k
		})
		each("vrrp_script ", t.Scripts, c.script)
		each("vrrp_track_process ", t.Processes, c.process)
		each("track_file ", t.Files, c.file)
	}
	return all, lost
}

// ofGroup is what a group tracks, as far as it is checked in this entry of it. keepvip keeps the entries together by the least fit of them: what
// takes the group away, or its priority down, is checked in the first entry alone. What raises the priority has to be in all.
func (c checking) ofGroup(g *keepalived.SyncGroup, i *keepalived.Instance) keepalived.Tracking {
	if !c.leaves(g, i) {
		return g.Track
	}
	raises := func(list []keepalived.Tracked) []keepalived.Tracked {
		return slices.DeleteFunc(slices.Clone(list), func(t keepalived.Tracked) bool {
			return t.Weight.Value == 0 || t.Weight.Value < 0 && !t.Weight.Reverse
		})
	}
	return keepalived.Tracking{
		Interfaces: raises(g.Track.Interfaces), Scripts: raises(g.Track.Scripts), Files: g.Track.Files, Processes: raises(g.Track.Processes),
	}
}

// leaves says whether an entry leaves what its group tracks to the first one. It does not where there is no group of keepvip's, nor where
// somebody is told of this entry: its FAULT is told when the group's check fails, as by keepalived.
func (c *converter) leaves(g *keepalived.SyncGroup, i *keepalived.Instance) bool {
	told := c.opt.InMemory || i.Notify != (keepalived.Notify{}) || c.cfg.Global.NotifyFIFO.Path != "" || c.cfg.Global.VRRPFIFO.Path != ""
	return c.slugs[g.Name] != "" && !told && i != c.firstOf(g)
}

// firstOf is the first instance of a group.
func (c *converter) firstOf(g *keepalived.SyncGroup) *keepalived.Instance {
	for _, i := range c.cfg.Instances {
		if i.SyncGroup == g.Name {
			return i
		}
	}
	return nil
}

// file makes a check of a track_file.
func (c checking) file(t keepalived.Tracked) *check {
	for _, f := range c.cfg.Files {
		if f.Name != t.Name {
			continue
		}
		at := f.Where("file")
		switch {
		case !filepath.IsAbs(f.Path) || !utf8.ValidString(f.Path):
			c.refuse(at, fmt.Sprintf("the file of %s has no whole path", f.Name), "write its path from / on")
			return nil
		case f.Overwrite:
			c.refuse(f.Where("init_file"), fmt.Sprintf("init_file overwrite of %s: keepvip writes no files, and would go by what is in it", f.Name), "have something else write it before keepvip starts (tmpfiles.d: F PATH 0644 root root - NUMBER), and remove overwrite")
			return nil
		}
		if dir := filepath.Dir(f.Path); c.opt.Host.HasDirectory != nil && !c.opt.Host.HasDirectory(dir) {
			c.changed(at, fmt.Sprintf("there is no directory %s on this host: keepalived drops the track_file %s when it starts, and keepvip counts 0 until the file is there", dir, f.Name),
				"make the directory before keepvip starts, or correct the path")
		}
		if c.opt.Hidden != nil && c.opt.Hidden(f.Path) {
			c.changed(at, fmt.Sprintf("the unit of keepvip's packages sees nothing of %s that others write: there keepvip always counts 0 for %s", f.Path, f.Name),
				"have it below /run, or for one below /tmp print the unit by keepvip manifest systemd")
		}
		k := &check{kind: "file", name: f.Name, nameAt: f.At, weightAt: given(&f.Block, "weight"), numbered: true}
		k.set("path", f.Path, placed(at))
		k.set("number", true, placed(f.At))
		if f.Init != nil {
			c.changed(f.Where("init_file"), fmt.Sprintf("init_file of %s: keepvip writes no files; until the file is there it counts for %d", f.Name, *f.Init), "")
			if *f.Init != 0 {
				k.set("initial", min(max(*f.Init, -mostNumber), mostNumber), placed(f.Where("init_file")))
			}
		}
		k.rise = counted{1, atOnce}
		return k
	}
	return nil
}

// process makes a check of a vrrp_track_process that only asks whether a program runs.
func (c checking) process(t keepalived.Tracked) *check {
	for _, p := range c.cfg.Processes {
		if p.Name != t.Name {
			continue
		}
		if slices.ContainsFunc(p.Command, func(w string) bool { return !utf8.ValidString(w) }) {
			c.refuse(p.Where("process"), fmt.Sprintf("the process of %s has bytes that are no text", p.Name), "track it by a script")
			return nil
		}
		k := &check{kind: "process", name: p.Name, nameAt: p.At, weightAt: given(&p.Block, "weight")}
		k.set("process", base(p.Command[0]), placed(p.Where("process")))
		if p.FullCommand && strings.Contains(p.Command[0], "/") {
			c.changed(p.Where("process"), fmt.Sprintf("%s: keepvip goes by the program's name, %s, in whatever directory it is", p.Name, base(p.Command[0])), "")
		}
		c.counted(k, p)
		return k
	}
	return nil
}

// counted writes how many processes keepalived wants, with which parameters, and for how long the number has to last.
func (c checking) counted(k *check, p *keepalived.TrackProcess) {
	at := func(keyword string) source { return given(&p.Block, keyword) }
	if p.ParamMatch != "" {
		k.set("arguments", p.Command[1:], placed(p.Where("process")))
		if how := map[string]string{"partial": "first", "initial": "begin"}[p.ParamMatch]; how != "" {
			k.set("match", how, at("param_match"))
		}
	}
	delayed := p.ForkDelay > 0 || p.TerminateDelay > 0
	if p.Quorum > 1 || p.Quorum == 1 && delayed {
		k.set("quorum", p.Quorum, at("quorum"))
	}
	if p.QuorumMax != nil {
		k.set("quorumMax", *p.QuorumMax, at("quorum_max"))
	}
	if !delayed && p.Quorum == 1 && p.QuorumMax == nil && p.ParamMatch == "" {
		return // its end is seen at once
	}
	const often = 300 * time.Millisecond
	interval := max(often, (max(p.ForkDelay, p.TerminateDelay)/(mostResults-1)).Round(time.Millisecond)+time.Millisecond)
	probes := func(d time.Duration) int { return int(min(1+(d+interval-1)/interval, mostResults, latest/interval)) }
	if interval > often {
		k.set("interval", interval, placed(p.At))
	}
	by := func(d time.Duration, keyword string) counted {
		if d == 0 {
			return counted{1, atOnce}
		}
		if !p.Has(keyword) {
			keyword = "delay"
		}
		return counted{probes(d), placed(p.Where(keyword))}
	}
	k.rise, k.fall = by(p.ForkDelay, "fork_delay"), by(p.TerminateDelay, "terminate_delay")
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// unused says which scripts and processes nothing tracks.
func (c checking) unused() {
	say := func(kind string, b keepalived.Block) {
		if !c.used[kind+b.Name] {
			c.note(b.At, fmt.Sprintf("nothing tracks the %s%s", kind, b.Name))
		}
	}
	for _, s := range c.cfg.Scripts {
		say("vrrp_script ", s.Block)
	}
	for _, p := range c.cfg.Processes {
		say("vrrp_track_process ", p.Block)
	}
	for _, f := range c.cfg.Files {
		say("track_file ", f.Block)
	}
}
