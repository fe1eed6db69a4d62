package virtualrouter

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election"
)

// groupGrace is how long an instance that has just joined a group may take to get into its election before it counts as
// one that cannot be held.
const groupGrace = 3 * time.Second

// Group keeps instances on the same node: all of them are Active here, or none is. If one of them cannot be held, or is
// not fit, none is; they become Active together, when each of them could. Safe for concurrent use.
//
// Where the members' links disagree about who is alive, a group prefers to stay Backup: otherwise it would take an
// address here, lose it with another one there, and begin anew.
type Group struct {
	name string

	mu      sync.Mutex // guards what follows, and every member
	members map[string]*GroupMember
}

// NewGroup makes a group without members.
func NewGroup(name string) *Group { return &Group{name: name, members: map[string]*GroupMember{}} }

// GroupMember is one instance of a group.
type GroupMember struct {
	group *Group
	name  string

	// The lock of the group guards what follows.
	wake    func() // nil while the instance is in no election
	seen    bool   // it has been in one
	since   time.Time
	fitness election.Fitness
	state   election.State
	ready   bool      // Backup, and would be Active if it were alone
	follows time.Time // since when it is Backup of somebody who is heard; zero if it is not
	lost    string    // who of the others has given up
}

// Set says which instances belong to the group. Those that stay are not disturbed.
func (g *Group) Set(names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name := range g.members {
		if !slices.Contains(names, name) {
			delete(g.members, name)
		}
	}
	for _, name := range names {
		if g.members[name] == nil {
			g.members[name] = &GroupMember{group: g, name: name, since: time.Now()}
			time.AfterFunc(groupGrace, g.wakeAll)
		}
	}
	g.wakeOthers(nil)
}

// Member is the instance of that name that belongs to the group; nil for one that does not.
func (g *Group) Member(name string) *GroupMember {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members[name]
}

func (g *Group) wakeAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wakeOthers(nil)
}

// wakeOthers makes every other member look at the group again. The caller holds the lock.
func (g *Group) wakeOthers(self *GroupMember) {
	for _, s := range g.members {
		if s != self && s.wake != nil {
			s.wake()
		}
	}
}

// join brings the instance into the group; wake, which must not block, is called when the others have changed.
func (s *GroupMember) join(wake func()) {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	s.wake, s.seen, s.state, s.ready, s.lost, s.follows = wake, true, election.Initialize, false, "", time.Time{}
	g.wakeOthers(s)
}

// leave takes it out: the others cannot be held without it.
func (s *GroupMember) leave() {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	s.wake = nil
	s.enter(election.Initialize)
	s.ready = false
	g.wakeOthers(s)
}

// enter notes the state, and tells those that are Active when this one is not any more. The caller holds the lock. An instance that a reload
// has taken out of the group leaves its election afterwards, and that is nobody else's concern.
func (s *GroupMember) enter(to election.State) {
	if s.state == election.Active && to != election.Active && s.group.members[s.name] == s {
		for _, o := range s.group.members {
			if o != s && o.state == election.Active {
				o.lost = s.name
			}
		}
	}
	s.state = to
}

// tell notes how the instance's election stands: ready, as vrrp.Snapshot has it, and whether somebody else is heard.
func (s *GroupMember) tell(state election.State, ready, follows bool) {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := state != s.state || ready != s.ready
	s.enter(state)
	s.ready = ready
	switch {
	case state != election.Backup || ready || !follows:
		s.follows = time.Time{}
	case s.follows.IsZero():
		s.follows = time.Now()
	}
	if changed {
		g.wakeOthers(s)
	}
}

// fit notes the instance's own fitness, and returns that of the group: its worst member's.
func (s *GroupMember) fit(own election.Fitness) election.Fitness {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if own != s.fitness {
		s.fitness = own
		g.wakeOthers(s)
	}
	worst := own
	for _, o := range g.members {
		if f := o.shown(time.Now()); o != s && worse(f, worst) {
			worst = f
			worst.Reason = fmt.Sprintf("group %s: %s: %s", g.name, o.name, f.Reason)
		}
	}
	return worst
}

// shown is the fitness of a member, also of one that is in no election. The caller holds the lock.
func (s *GroupMember) shown(now time.Time) election.Fitness {
	if s.wake == nil && (s.seen || now.Sub(s.since) >= groupGrace) {
		return election.Fitness{Out: true, Reason: "not in its election"}
	}
	return s.fitness
}

// worse tells whether f is less fit than o.
func worse(f, o election.Fitness) bool {
	return f.Out && !o.Out || f.Out == o.Out && f.Less > o.Less
}

// mayTake tells whether the instance is to become Active, because every member can.
func (s *GroupMember) mayTake() bool {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.members {
		if o.wake == nil || o.state != election.Active && (!o.ready || o.fitness.Wait) {
			return false
		}
	}
	return s.ready
}

// mustYield returns why an instance that is Active has to give up; empty if it has not. patience is how long another
// member may be the Backup of another node meanwhile.
func (s *GroupMember) mustYield(patience time.Duration) string {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	lost := s.lost
	s.lost = ""
	if s.state != election.Active {
		return ""
	}
	for _, o := range g.members {
		if o != s && !o.follows.IsZero() && time.Since(o.follows) > patience {
			lost = o.name
		}
	}
	if lost == "" {
		return ""
	}
	return fmt.Sprintf("group %s: %s is not Active here", g.name, lost)
}
