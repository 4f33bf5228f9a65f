"""The IO shell: sockets, connections, what is known of the cluster. Never: group decisions."""
