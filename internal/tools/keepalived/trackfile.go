package keepalived

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// readFile reads a track_file.
func (r *reader) readFile(n statement) {
	if !named(n) {
		return
	}
	f := &trackFile{Block: newBlock(n), Weight: weight{Value: 1}}
	readBlock("track_file", map[string]keyword[trackFile]{
		"file": {words: 2, read: func(f *trackFile, n statement) {
			if f.Path != "" {
				n.fault(CodeDuplicate, n.At, "a second file in one track_file: keepalived drops it", "remove one of them")
				return
			}
			if f.Path = n.Words[1]; f.Path == "" {
				n.fault(CodeValue, n.At, "file of "+f.Name+" is empty: keepalived tracks the directory of the configuration", "write the path of a file")
			}
			if !filepath.IsAbs(f.Path) && filepath.IsAbs(n.At.File) { // where keepalived is while it reads
				f.Path = filepath.Join(filepath.Dir(n.At.File), f.Path)
			}
		}},
		"weight": {words: 2, read: func(f *trackFile, n statement) {
			if v, ok := n.weight(f.Name, n.Words[1], mostFileWeight, false); ok {
				f.Weight = weight{Value: v, Reverse: n.reversed(n.Words[2:], false)}
			}
		}},
		"init_file": {read: func(f *trackFile, n statement) {
			zero := 0
			f.Init = &zero
			for _, w := range n.Words[1:] {
				if v, ok := signed(w); ok {
					value := int(v)
					f.Init = &value
				} else if w == "overwrite" {
					f.Overwrite = true
				} else {
					n.fault(CodeValue, n.At, fmt.Sprintf("init_file %q, want a number or overwrite", w), "")
				}
			}
		}},
	}, f, &f.Block, n)
	switch old, ok := r.files[f.Name]; {
	case f.Path == "":
		n.fault(CodeMissing, n.At, fmt.Sprintf("%s %s has no file: keepalived drops the block", n.Words[0], f.Name), "add file /path")
	case ok:
		n.fault(CodeDuplicate, n.At, fmt.Sprintf("the track_file %s is there already (%v)", f.Name, old.At), "give it another name")
	default:
		r.files[f.Name] = f
		r.config.Files = append(r.config.Files, f)
	}
}

// readProcess reads a vrrp_track_process.
func (r *reader) readProcess(n statement) {
	if !named(n) {
		return
	}
	p := &TrackProcess{Block: newBlock(n), Quorum: 1}
	readBlock("vrrp_track_process", processKeywords(), p, &p.Block, n)
	switch old, ok := r.processes[p.Name]; {
	case len(p.Command) == 0:
		n.fault(CodeMissing, n.At, fmt.Sprintf("vrrp_track_process %s has no process: keepalived drops the block", p.Name), "add process NAME")
	case ok:
		n.fault(CodeDuplicate, n.At, fmt.Sprintf("the vrrp_track_process %s is there already (%v)", p.Name, old.At), "give it another name")
	default:
		r.processes[p.Name] = p
		r.config.Processes = append(r.config.Processes, p)
	}
}

func processKeywords() map[string]keyword[TrackProcess] {
	delay := func(set func(*TrackProcess, time.Duration)) keyword[TrackProcess] {
		return withTime(time.Microsecond, 3600*time.Second, "ignores the line", set)
	}
	return map[string]keyword[TrackProcess]{
		"process": {words: 2, read: func(p *TrackProcess, n statement) {
			if p.Command != nil {
				n.fault(CodeDuplicate, n.At, "a second process in one vrrp_track_process: keepalived drops it", "remove one of them")
				return
			}
			if p.Command = n.Words[1:]; len(p.Command) > 1 {
				p.FullCommand = true
				p.ParamMatch = cmp.Or(p.ParamMatch, "exact")
			}
		}},
		"param_match": {read: func(p *TrackProcess, n statement) {
			switch how := strings.Join(n.Words[1:min(len(n.Words), 2)], ""); how {
			case "":
				p.ParamMatch, p.FullCommand = "exact", true
			case "initial", "partial":
				p.ParamMatch, p.FullCommand = how, true
			default:
				n.fault(CodeValue, n.At, fmt.Sprintf("param_match %q, want initial or partial: keepalived ignores the line", how), "")
			}
		}},
		"weight": {words: 2, read: func(p *TrackProcess, n statement) {
			if v, ok := n.weight(p.Name, n.Words[1], mostFileWeight, false); ok {
				p.Weight = weight{Value: v, Reverse: n.reversed(n.Words[2:], false)}
			}
		}},
		"quorum": {words: 2, read: func(p *TrackProcess, n statement) {
			v, ok := n.number(1, 65535, "ignores the line")
			switch {
			case ok && p.QuorumMax != nil && v > *p.QuorumMax:
				n.fault(CodeValue, n.At, fmt.Sprintf("quorum %d above quorum_max %d: keepalived ignores the line", v, *p.QuorumMax), "")
			case ok:
				p.Quorum = v
			}
		}},
		"quorum_max": {words: 2, read: func(p *TrackProcess, n statement) {
			v, ok := n.number(0, 65535, "ignores the line")
			switch {
			case ok && (v > 0 || p.Quorum > 1) && v < p.Quorum:
				n.fault(CodeValue, n.At, fmt.Sprintf("quorum_max %d below quorum %d: keepalived ignores the line", v, p.Quorum), "")
			case ok && v == 0:
				p.Quorum, p.QuorumMax = 0, &v
			case ok:
				p.Quorum, p.QuorumMax = max(p.Quorum, 1), &v
			}
		}},
		"delay":           delay(func(p *TrackProcess, d time.Duration) { p.ForkDelay, p.TerminateDelay = d, d }),
		"fork_delay":      delay(func(p *TrackProcess, d time.Duration) { p.ForkDelay = d }),
		"terminate_delay": delay(func(p *TrackProcess, d time.Duration) { p.TerminateDelay = d }),
		"full_command":    {read: func(p *TrackProcess, _ statement) { p.FullCommand = true }},
	}
}
