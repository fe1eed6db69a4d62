package daemon

import (
	"sync"

	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/config"
)

// groups are the instances that move together. The zero value has none.
type groups struct {
	mu     sync.Mutex // guards byName
	byName map[string]*virtualrouter.Group
}

// set makes the groups those of a configuration.
func (g *groups) set(vips []config.VIP) {
	members := map[string][]string{}
	for _, v := range vips {
		if v.Group != "" {
			members[v.Group] = append(members[v.Group], v.Name)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byName == nil {
		g.byName = map[string]*virtualrouter.Group{}
	}
	for name, group := range g.byName {
		if members[name] == nil {
			group.Set(nil)
			delete(g.byName, name)
		}
	}
	for name, list := range members {
		if g.byName[name] == nil {
			g.byName[name] = virtualrouter.NewGroup(name)
		}
		g.byName[name].Set(list)
	}
}

// member is v as one of its group; nil without one.
func (g *groups) member(v config.VIP) *virtualrouter.GroupMember {
	g.mu.Lock()
	defer g.mu.Unlock()
	if group := g.byName[v.Group]; group != nil {
		return group.Member(v.Name)
	}
	return nil
}
