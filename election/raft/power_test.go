package raft

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// TestStoreSurvivesLossOfPower: three nodes with real stores elect, and lose their power in the middle of any write of their
// databases. No vote that anybody has heard is given twice in a term, and every store opens again.
func TestStoreSurvivesLossOfPower(t *testing.T) { simulations(t, 2, losePower) }

func losePower(t *testing.T, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 27))
	l := newLan(t, 3)
	defer l.stopAll()
	machines := map[*host]*platter{}
	for i := range 3 {
		h := l.hosts[addr(i)]
		p := &platter{t: t, dir: filepath.Join(memory(t), "0"), r: rand.New(rand.NewPCG(uint64(seed), uint64(i))), host: h}
		h.disk, machines[h] = p.open(), p
		h.boot()
	}
	l.await(5 * time.Second)
	cuts := 0
	reboot := func() {
		for victim, p := range machines {
			if p.isOff() {
				cuts++
				victim.crash()
				victim.boot()
			}
		}
	}
	for range 40 {
		h := l.hosts[addr(r.IntN(3))]
		machines[h].arm(r.IntN(24))
		if holder := l.answering(); len(holder) > 0 && r.IntN(2) == 0 {
			l.isolate(holder[0].self, true) // somebody has to vote
		}
		for range 30 {
			l.watch(50 * time.Millisecond)
			reboot()
		}
		l.heal()
		l.watch(time.Duration(r.IntN(700)) * time.Millisecond)
	}
	for _, p := range machines {
		p.arm(-1) // from now on the power lasts
	}
	reboot()
	l.watch(5 * time.Second)
	assert.Len(t, l.answering(), 1)
	t.Log(cuts, "losses of power,", len(l.votes), "votes")
	assert.Greater(t, cuts, 3)
	assert.Greater(t, len(l.votes), 10)
}

// memory is a directory where syncing costs nothing, if there is one: what a loss of power leaves is decided here.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "keepvip-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// platter is the disk of one machine, below its database: what has been synced is safe, and of what has been written since,
// a loss of power leaves any sectors.
type platter struct {
	t    *testing.T
	r    *rand.Rand
	dir  string
	life int
	host *host

	mu     sync.Mutex // guards what follows
	synced []byte
	since  []block
	left   int // writes until the power is lost; below 0 = it stays
	count  int
	image  []byte
}

// block is one write.
type block struct {
	at   int64
	data []byte
}

const sector = 512

// open opens the store as it is in the directory of this life.
func (p *platter) open() disk {
	st, err := openStore(p.dir, newLibrary(testLog(addr(0))))
	require.NoError(p.t, err)
	content, err := os.ReadFile(p.path())
	require.NoError(p.t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced, p.since, p.left, p.image = content, nil, -1, nil
	p.below(database(st))
	return disk{store: st, after: p.again}
}

func (p *platter) path() string { return filepath.Join(p.dir, "raft", "store.db") }

// database is the one under a store.
func database(st *store) *bbolt.DB { return st.logs.(*logStore).db }

// below gets between the database and its file. The database syncs what it has written before it writes one of its two first
// pages, which say what counts, and again after that; it is not asked to leave that out.
func (p *platter) below(db *bbolt.DB) {
	require.False(p.t, db.NoSync)
	ops := reflect.ValueOf(db).Elem().FieldByName("ops").FieldByName("writeAt")
	writeAt := (*func([]byte, int64) (int, error))(unsafe.Pointer(ops.UnsafeAddr()))
	file, life, pages := *writeAt, p.life, int64(db.Info().PageSize)
	*writeAt = func(b []byte, at int64) (int, error) {
		p.written(life, at, b, pages)
		return file(b, at)
	}
}

func (p *platter) written(life int, at int64, b []byte, pages int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if life != p.life || p.image != nil {
		return // of a process that is dead
	}
	p.count++
	head := at < 2*pages
	if head || len(p.since) > 0 && p.since[0].at < 2*pages {
		for _, w := range p.since {
			p.synced = lay(p.synced, w.at, w.data)
		}
		p.since = nil
	}
	p.since = append(p.since, block{at, append([]byte(nil), b...)})
	if p.left--; p.left == 0 {
		p.lose()
	}
}

// lose keeps what the disk has at this moment: of the writes that are not synced some sectors. The process is not heard any
// more. The caller holds the lock.
func (p *platter) lose() {
	p.image = append([]byte(nil), p.synced...)
	keep := p.r.Float64()
	for _, w := range p.since {
		for i := 0; i < len(w.data); i += sector {
			if p.r.Float64() < keep {
				p.image = lay(p.image, w.at+int64(i), w.data[i:min(i+sector, len(w.data))])
			}
		}
	}
	p.host.lan.mu.Lock()
	defer p.host.lan.mu.Unlock()
	p.host.proc.dead.Store(true)
}

// lay puts data into a file.
func lay(file []byte, at int64, data []byte) []byte {
	if end := int(at) + len(data); end > len(file) {
		file = append(file, make([]byte, end-len(file))...)
	}
	copy(file[at:], data)
	return file
}

// arm lets the power be lost in one of the next writes.
func (p *platter) arm(writes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = writes + 1
}

func (p *platter) writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (p *platter) isOff() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.image != nil
}

// again is the disk when the power is back.
func (p *platter) again() disk {
	p.mu.Lock()
	p.life++
	image, before := p.image, p.dir
	p.dir = filepath.Join(filepath.Dir(before), strconv.Itoa(p.life))
	p.mu.Unlock()
	require.NoError(p.t, os.MkdirAll(filepath.Dir(p.path()), 0o700))
	require.NoError(p.t, os.WriteFile(p.path(), image, 0o600))
	return p.open()
}
