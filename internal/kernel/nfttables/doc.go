// Package nfttables keeps the nftables tables of this program in the kernel, and finds and deletes those of earlier
// runs by their names. What is in them is the matter of those who describe them.
//
// A [Keeper] makes the tables of one name what is wanted, and makes anew what somebody else takes away or changes.
// Below it is a [Conn], a socket for transactions and questions. Where the kernel can (Linux 6.9), a table is owned by
// the Conn that has made it: nobody else can change it, and a flush of all rules passes it over. Where the kernel
// cannot, a [Watch] tells of each transaction of others, so that what they have taken away is there again within
// milliseconds.
//
// A Watch has a goroutine, and one for each who follows it. All else has none. A socket belongs to the network
// namespace of the thread that opens it. The package needs CAP_NET_ADMIN.
package nfttables
