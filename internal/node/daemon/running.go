package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/reloads"
)

// RunningConfig is what `keepvip config show --running` prints as JSON: what this process runs with, beside what its sources say now.
type RunningConfig struct {
	Error  string         `json:"error,omitempty"` // why the sources cannot be read now
	File   string         `json:"file,omitempty"`  // the text of the file in force; absent without one, and of a keepalived.conf
	Args   []string       `json:"args,omitempty"`  // what flags and environment add to it, as flags
	Values []RunningValue `json:"values"`
}

// RunningValue is one value. Of a secret it is the name of the file.
type RunningValue struct {
	Key     string  `json:"key"` // vips[0].priority
	Value   string  `json:"value"`
	Origin  string  `json:"origin"`            // a file with its line, a flag, a variable, or default
	OnDisk  *string `json:"onDisk,omitempty"`  // what the sources say now; absent where it is the same
	Restart bool    `json:"restart,omitempty"` // only a new process uses what they say now; a reload takes over the rest
	Only    string  `json:"only,omitempty"`    // "running" or "disk": the key is there alone, and its value elsewhere empty, as of an address that was removed or added
}

func (d *Daemon) running() any {
	now := d.inForce.Load()
	next, err := reloads.Read(context.Background(), d.sources, func() (loaded, error) { return d.opts.load(now, nil) })
	if err != nil {
		return compared(now, now, err)
	}
	return compared(now, next.cfg, nil)
}

// loaded is what the sources say.
type loaded struct {
	cfg     *config.Config
	secrets secrets
}

// load reads the configuration, and the files of its secrets, which may have new contents under their old names. A process
// that runs with now, and with these departures, reads the files that it goes on with.
func (o Options) load(now *config.Config, under departures) (loaded, error) {
	next, err := o.Load()
	if err != nil {
		return loaded{}, err
	}
	served, m := under.moves(now, next, time.Now())
	serving, _ := m.running(served, next)
	s, err := loadSecrets(serving, next)
	return loaded{cfg: next, secrets: s}, err
}

// The places that alone have a key.
const (
	onlyRunning = "running"
	onlyOnDisk  = "disk"
)

// compared marks what differs in next.
func compared(now, next *config.Config, err error) RunningConfig {
	doc := RunningConfig{Values: []RunningValue{}}
	if !now.Converted { // whose text names secrets that this process alone has
		doc.File, doc.Args = string(now.File), now.Args()
	}
	if err != nil {
		doc.Error = err.Error()
	}
	later, waits := map[string]string{}, config.Diff(now, next).Restart
	for _, v := range next.Values() {
		later[v.Key] = v.Text
	}
	for _, v := range now.Values() {
		r := RunningValue{Key: v.Key, Value: v.Text, Origin: v.Origin.String()}
		switch text, there := later[v.Key]; {
		case !there:
			r.Only = onlyRunning
		case text != v.Text:
			r.OnDisk, r.Restart = &text, slices.Contains(waits, v.Key)
		}
		delete(later, v.Key)
		doc.Values = append(doc.Values, r)
	}
	for _, v := range next.Values() {
		if text, added := later[v.Key]; added {
			doc.Values = append(doc.Values, RunningValue{Key: v.Key, Origin: v.Origin.String(), OnDisk: &text, Only: onlyOnDisk})
		}
	}
	return doc
}
