// Package places says who of those that connect keeps a place where there are not enough for all. Every listener of keepvip goes by this rule.
//
// A place has an owner: the user of this host at the other end, or else the host it comes from. When all places are taken the owner who has
// the most of them loses the oldest. So nobody can keep others out, by however many connections.
//
// [Turns] bound what callers without end cost the processor, whether they get a place or not.
//
// There are no goroutines.
package places
