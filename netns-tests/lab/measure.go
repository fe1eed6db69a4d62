package lab

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// MeasureConfig says what to measure. The zero value probes [VIP4] from the
// on-link client each millisecond and asks every node directly. After
// [Host.MeasureLess] intervals that are 0 are five times as long.
type MeasureConfig struct {
	Name     string
	Targets  []netip.Addr  // probed addresses; none = VIP4
	Interval time.Duration // of client probes, 0 = 1 ms
	Deadline time.Duration // a later answer counts as lost, 0 = 200 ms
	OffLink  bool          // probe from the client behind the router, too
	// HTTPS adds requests through the first target, a new connection each
	// HTTPSInterval (0 = 10 ms), to HTTPSPath ("" = /livez). One that fails is
	// made once more after HTTPSRetry (0 = not at all), which changes no figure
	// but the count of those that fail twice.
	HTTPS         bool
	HTTPSInterval time.Duration
	HTTPSPath     string
	HTTPSRetry    time.Duration
	// NoDirect leaves out the direct questions to every node. DirectEvery is
	// their interval by UDP (0 = 2 ms), AskEvery by ARP and ND (0 = 10 ms).
	NoDirect    bool
	DirectEvery time.Duration
	AskEvery    time.Duration
}

// withDefaults fills in what is 0, times times for an interval.
func (c MeasureConfig) withDefaults(times time.Duration) MeasureConfig {
	if len(c.Targets) == 0 {
		c.Targets = []netip.Addr{VIP4}
	}
	for at, value := range map[*time.Duration]time.Duration{
		&c.Interval: times * time.Millisecond, &c.Deadline: 200 * time.Millisecond, &c.HTTPSInterval: times * 10 * time.Millisecond,
		&c.DirectEvery: times * 2 * time.Millisecond, &c.AskEvery: times * 10 * time.Millisecond,
	} {
		if *at == 0 {
			*at = value
		}
	}
	if c.HTTPSPath == "" {
		c.HTTPSPath = "/livez"
	}
	return c
}

// Measurement is running probes, captures and watches, until Stop.
type Measurement struct {
	lab      *Lab
	cfg      MeasureConfig
	began    time.Duration
	streams  []*stream
	https    *httpsStream
	direct   *direct
	capture  *capture
	binds    *bindWatcher
	lateness *latenessWatch

	once   sync.Once
	report *Report

	mu    sync.Mutex
	marks []Mark
}

// Mark is a moment that the test itself noted.
type Mark struct {
	At   time.Duration `json:"at"`
	Text string        `json:"text"`
}

// Measure starts measuring. All instants in the report count from [Host.Open].
func (l *Lab) Measure(cfg MeasureConfig) (*Measurement, error) {
	times := time.Duration(1)
	if l.host.less {
		times = 5
	}
	cfg = cfg.withDefaults(times)
	m := &Measurement{lab: l, cfg: cfg, began: l.Now()}
	l.mu.Lock()
	l.measures[m] = struct{}{}
	l.mu.Unlock()
	if err := m.start(); err != nil {
		m.Stop()
		return nil, err
	}
	return m, nil
}

func (m *Measurement) start() (err error) {
	defer try.Catch(&err)
	if !m.lab.host.less {
		m.lateness = startLatenessWatch(m.lab.Now)
	}
	m.binds = try.Get(m.lab.startBindWatcher())
	m.capture = try.Get(m.lab.startCapture(nil))
	clients := map[string]*Peer{"c1": m.lab.Client}
	if m.cfg.OffLink {
		if m.lab.OffLink == nil {
			return fmt.Errorf("lab: measure from c2: the lab was opened without OffLink")
		}
		clients["c2"] = m.lab.OffLink
	}
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		for _, target := range m.cfg.Targets {
			m.streams = append(m.streams, try.Get(m.lab.startStream(name, clients[name].Namespace, target, m.cfg.Interval, m.cfg.Deadline)))
		}
	}
	if m.cfg.HTTPS {
		m.https = try.Get(m.lab.startHTTPS(m.cfg))
	}
	if !m.cfg.NoDirect {
		m.direct, err = m.lab.startDirect(m.cfg.Targets, m.cfg.DirectEvery, m.cfg.AskEvery)
	}
	return err
}

// Mark notes the moment now in the timeline and returns it.
func (m *Measurement) Mark(format string, args ...any) time.Duration {
	at := m.lab.Now()
	m.MarkAt(at, format, args...)
	return at
}

// MarkAt notes a moment that is already known.
func (m *Measurement) MarkAt(at time.Duration, format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks = append(m.marks, Mark{At: at, Text: fmt.Sprintf(format, args...)})
}

// Advertiser is the node that has advertised last since the measurement began, 0 if none has. A silence that began before that is not seen.
func (m *Measurement) Advertiser() int { return int(m.capture.heard.Load()) }

// Stop ends all measuring and returns what was seen; again, the same report.
func (m *Measurement) Stop() *Report {
	m.once.Do(func() {
		m.report = m.finish()
		m.lab.mu.Lock()
		delete(m.lab.measures, m)
		m.lab.mu.Unlock()
	})
	return m.report
}

func (m *Measurement) finish() *Report {
	r := &Report{Name: m.cfg.Name, Began: m.began, Load: loadAverage(), targets: m.cfg.Targets}
	// All stop together: each waits for its last answers.
	var wait sync.WaitGroup
	r.Streams = make([]StreamReport, len(m.streams))
	for i, s := range m.streams {
		wait.Go(func() { r.Streams[i] = s.finish() })
	}
	if m.https != nil {
		wait.Go(func() { r.HTTPS = []StreamReport{m.https.finish()} })
	}
	wait.Wait()
	if m.direct != nil {
		m.direct.halt()
	}
	if m.capture != nil {
		r.Blind = m.capture.finish()
		r.Announcements, r.Adverts, r.Answers = m.capture.announcements, m.capture.adverts, m.capture.answers
	}
	if m.binds != nil {
		r.Binds = m.binds.finish()
	}
	if m.lateness != nil {
		r.Stalls, r.Starved = m.lateness.finish()
	}
	r.Ended = m.lab.Now()
	m.mu.Lock()
	r.Marks = slices.Clone(m.marks)
	m.mu.Unlock()
	return r
}

func loadAverage() (v float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &v)
	return v
}
