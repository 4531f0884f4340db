# What `make bench-ktls` and tests/kernel_tls.rs run in a virtual machine whose time counts instructions
# (`scripts/ktls-vm --count`). It prints a line for each server, mode, object and record size: those, how many
# responses were counted, and how many instructions all tasks of the server took for them.
#
#   count.sh TOLL SERVERS OBJECTS RECORDS     OBJECTS are SIZE:RESPONSES, for records of 16 KiB; RECORDS are
#                                             SIZE:RESPONSES of records, for objects of 256 KiB
toll=$1 servers=$2 objects=$3 records=$4
mkdir -p /tmp/served/files && cd /tmp/served
# What one connection learns of the path changes nothing for the next.
echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save
printf '[req]\ndistinguished_name = name\n[name]\n' >openssl.cnf
openssl req -config openssl.cnf -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x \
    -keyout key -out cert 2>/dev/null || exit
for object in $objects 262144:0; do
    head -c ${object%:*} /dev/urandom >files/${object%:*}
done

# The lines of nginx's configuration that matter are those that toll writes for its studies.
start_nginx() { # MODE RECORD
    sendfile=on options=
    [ $1 != ktls-write ] || sendfile=off
    [ $1 = user ] || options="ssl_conf_command Options KTLS;"
    cat >nginx.conf <<CONF
user root;
daemon off;
pid /tmp/served/pid;
events { multi_accept on; }
http {
    access_log off;
    sendfile $sendfile;
    tcp_nopush on;
    keepalive_requests 1000000;
    server {
        listen 127.0.0.1:8443 ssl;
        root /tmp/served/files;
        ssl_certificate /tmp/served/cert;
        ssl_certificate_key /tmp/served/key;
        ssl_buffer_size $2;
        ssl_session_tickets off;
        ssl_conf_command NumTickets 0;
        $options
    }
}
CONF
    mkdir -p /usr/share/nginx /var/lib/nginx
    nginx -c /tmp/served/nginx.conf -e /tmp/served/log &
}
start_embedded() { # MODE RECORD
    "$toll" serve --listen 127.0.0.1:8443 --certificate cert --key key --root files --cpus 0 \
        --send $1 --record-size ${2}B >/dev/null &
}

# The instructions of all tasks of the server, while none of them runs.
instructions() {
    for process in $server $(cat /proc/$server/task/*/children); do cat /proc/$process/task/*/schedstat; done |
        awk '{ sum += $1 } END { printf "%.0f", sum }'
}
# Fetches an object as often over one connection. The client runs where the server waits, and only there: else
# the moments at which it takes turns with the server decide how much goes out at once.
fetch() { # OBJECT RESPONSES
    chrt -i 0 curl -sSkf --http1.1 --tls13-ciphers TLS_AES_128_GCM_SHA256 -o /dev/null "https://127.0.0.1:8443/$1#[1-$2]"
}
# As many responses over a connection, then twice as many: the difference has no handshake and no warm-up.
count() { # SERVER MODE OBJECT RECORD RESPONSES
    at_first=$(instructions)
    fetch $3 $5 || exit
    between=$(instructions)
    fetch $3 $((2 * $5)) || exit
    echo $1 $2 $3 $4 $5 $(($(instructions) - 2 * between + at_first))
}
measure() { # SERVER MODE RECORD OBJECT:RESPONSES...
    one=$1 mode=$2 record=$3
    shift 3
    start_$one $mode $record
    server=$!
    until grep -q ":20FB .* 0A " /proc/net/tcp; do
        kill -0 $server || exit
        sleep 0.1
    done
    fetch 262144 2 || exit
    for object; do
        count $one $mode ${object%:*} $record ${object#*:}
    done
    kill $server
    wait $server
}

for one in $servers; do
    for mode in user ktls-write ktls-sendfile; do
        measure $one $mode 16384 $objects
        [ $mode != ktls-sendfile ] || continue
        for record in $records; do
            measure $one $mode ${record%:*} 262144:${record#*:}
        done
    done
done
