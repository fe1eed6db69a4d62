// Package members lets the keepvip nodes of a group know each other and pass the address on.
//
// VRRP's Backups are silent, so an unfit holder cannot know whether anybody is fitter. Beside VRRP, keepvip nodes
// therefore send each other three UDP messages, which docs/protocol.md describes byte by byte: HELLO says who a node is
// and how it is, REQUEST asks the holder for the address, GRANT passes it on.
//
// The package has five parts that know little of each other:
//
//   - the codec: [Message], [Message.Append] and [Parse], bytes and nothing else;
//   - [Auth], which authenticates messages when there is a key, and keeps replayed ones out;
//   - the state machine: [Machine], pure, with the time as an argument, no clock and no I/O;
//   - the socket: [Conn], for one interface and one address family;
//   - [Hub], which shares a socket among the groups of a node.
//
// A Machine joins parts that are as pure. Each owns its state, is called by the Machine and calls neither it nor another part. What a part has to
// know of the others it is given each time, and what is to be done it returns:
//
//   - own: this node, as it is configured and was told, and what it says of itself;
//   - table: who was heard, and when each is forgotten; after a standstill what came in meanwhile is read first;
//   - claimants: who claims the address, whose advertisements are missing, and who does not hear this node;
//   - known: these three, and what follows from them together;
//   - outage: when nobody was fit;
//   - grantor: who asks this node for the address, and who was granted it;
//   - requester: whom this node asks for the address, and how far it is with that;
//   - hello: when to speak.
//
// Left out: who becomes the holder when the holder is gone. That is the election's; the machine is told about it, and
// what it asks for, the election carries out.
//
// Nothing is logged here. A Machine belongs to one goroutine.
//
// # Goroutines
//
//   - Hub: one reader, from NewHub to Close, which waits for it.
package members
