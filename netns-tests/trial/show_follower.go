package trial

import (
	"fmt"
	"math"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// The limits of what a follower notices.
const (
	serverDeath = 20 * time.Millisecond
	nodeDeath   = 500 * time.Millisecond
)

// followed are what is promised of a worker whose connections go straight to the members, beside the same worker without `keepvip follow`.
func followed() []Case {
	return []Case{
		{Name: "shares", Run: followerShares},
		{Name: "a member's server dies", Run: followerServerDeath},
		{Name: "a member's node dies", Run: followerNodeDeath},
		{Name: "keepvip is killed", Run: followerKilled},
	}
}

// follow opens a group with a worker, which follows or does not. The steps of what is done there are caught.
func follow(host *lab.Host, follows bool, do func(*Follower)) (err error) {
	f, err := OpenFollower(host, FollowerConfig{Signed: true})
	if err != nil {
		return err
	}
	defer f.end(&err)
	if follows {
		try.Do(f.Begin(len(f.Members())))
	}
	do(f)
	return nil
}

// followerShares divides 300 connections.
func followerShares(host *lab.Host, times int) (out Findings, err error) {
	defer try.Catch(&err)
	const count = 300
	for _, follows := range []bool{true, false} {
		try.Do(follow(host, follows, func(f *Follower) {
			var most, failed float64
			for range times {
				got := try.Get(f.SampleFrom(count))
				failed += float64(count - got.Served())
				for _, n := range f.Members() {
					most = max(most, math.Abs(float64(got.ByNode[n.Label])-count/3))
				}
			}
			found := Findings{
				{What: fmt.Sprintf("%d connections over 3 members: most off by", count), Got: most, Limit: 1, Unit: "connections"},
				{What: "failed", Got: failed, Unit: "connections"},
			}
			for i := range found {
				if !follows {
					found[i].What, found[i].Limit = "without: "+found[i].What, -1
				}
			}
			out = append(out, found...)
		}))
	}
	return out, nil
}

// deaths are what several of them came to.
type deaths struct {
	count, refused int
	noticed        time.Duration
	kept           Kept
}

func (s *deaths) add(d Death) {
	s.count++
	s.refused += len(d.FailedAt)
	s.noticed = max(s.noticed, d.Noticed)
	s.kept.add(d.Kept)
}

// deathWithout is what a worker sees of a member's death that does not follow.
func deathWithout(host *lab.Host, die func(*Follower, *lab.Node) (Death, error)) (seen deaths, err error) {
	err = follow(host, false, func(f *Follower) { seen.add(try.Get(die(f, f.Members()[0]))) })
	return seen, err
}

// followerServerDeath has the servers of all members die, one after the other: each is back before the next one goes.
func followerServerDeath(host *lab.Host, times int) (out Findings, err error) {
	defer try.Catch(&err)
	var with deaths
	for with.count < times {
		try.Do(follow(host, true, func(f *Follower) {
			for _, n := range f.Members() {
				with.add(try.Get(f.EndServer(n)))
				try.Do(f.serve(n))
				try.Do(f.Follows(len(f.Members())))
			}
		}))
	}
	without, err := deathWithout(host, (*Follower).EndServer)
	each := float64(with.refused) / float64(max(with.count, 1))
	return append(Findings{took("new connections go to the others after", with.noticed, serverDeath)},
		Measured{What: "refused until then, on average", Got: each, Limit: -1, Unit: "connections"}, told("without: after", without.noticed)), err
}

// followerNodeDeath has the node of a member die.
func followerNodeDeath(host *lab.Host, times int) (out Findings, err error) {
	defer try.Catch(&err)
	var with deaths
	for range max(times/4, 1) {
		try.Do(follow(host, true, func(f *Follower) { with.add(try.Get(f.EndNode(f.Members()[0]))) }))
	}
	without, err := deathWithout(host, (*Follower).EndNode)
	return append(Findings{took("new connections go to the others after", with.noticed, nodeDeath)}, took("connections to it are ended after", with.kept.Told, nodeDeath),
		none("of these never", with.kept.Silent), none("of the others lost", with.kept.Lost),
		told("without: after", without.noticed)), err
}

// followerKilled kills keepvip on the worker: connections go on, and new ones go to the virtual address when the kernel has forgotten the members.
func followerKilled(host *lab.Host, times int) (out Findings, err error) {
	defer try.Catch(&err)
	var kept Kept
	failed := 0
	for range max(times/10, 1) {
		try.Do(follow(host, true, func(f *Follower) {
			h := try.Get(f.HoldFrom(30))
			s := try.Get(f.Lab.StartSampling(f.Worker.Namespace, f.Target(), eachLost))
			at := f.Lab.Now()
			try.Do(sequence(f.Process.Kill9, f.FallenThrough))
			time.Sleep(time.Second) // by the wire
			failed += len(s.Stop().FailedAt)
			kept.add(keptOf([]lab.HeldReport{h.Stop()}, nil, at))
		}))
	}
	return Findings{
		none("lost", kept.Lost), none("new connections failed", failed), told("longest stall", kept.Stall),
	}, nil
}
