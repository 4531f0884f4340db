# What these tests run in virtual machines whose kernel has TLS: studies, or servers and their faults. It prints
# what they look at, in parts that begin with a line `== NAME`.
toll=$1
what=$2
part() { echo "== $1"; }
# The counters of a server whose connections are all closed, as numbers; the first is even then.
counters() {
    numbers=1
    until [ $((${numbers%% *} % 2)) = 0 ]; do
        sleep 0.1
        numbers=$(echo $(od -A n -v -w256 -t u8 counters))
    done
    echo "counters $numbers"
}
serve() {
    rm -f cert.pem
    "$toll" serve --listen 127.0.0.1:8443 --certificate-key ecdsa:p256 --write-certificate cert.pem \
        --root files --cpus 0 --counters counters "$@" >/dev/null 2>serve.log &
    server=$!
    until [ -s cert.pem ] && curl -sk -o /dev/null https://127.0.0.1:8443/short; do sleep 0.1; done
}
end() { kill $server; wait $server; }
get() { curl -sk --http1.1 "$@"; }
# The connections that the kernel has encrypted, and those of them that are open.
taken() { awk '/^TlsTxSw/ { print $2 }' /proc/net/tls_stat; }
open() { awk '/^TlsCurrTxSw/ { print $2 }' /proc/net/tls_stat; }
# Whether the server has sent more than 64 KiB that its peer has not acknowledged; 20FB is its port.
sending() {
    awk '$2 ~ /:20FB$/ && substr($5, 1, 8) > "00010000" { found = 1 } END { exit !found }' /proc/net/tcp
}
# A file of more than the buffers of both sockets hold.
large() { for i in 1 2 3 4 5 6 7 8 9 10; do cat files/long; done >files/$1; }

# Runs a study into a folder of its own. On a busy machine a window may be too short for any response;
# such a trial is measured again.
run() {
    folder=$1
    shift
    "$toll" run "$@" --quiet --out $folder
    code=$?
    for again in 1 2 3; do
        [ $code = 3 ] || break
        "$toll" run --continue $folder/* --quiet
        code=$?
    done
    echo "exit $code"
}

mkdir -p /tmp/served/files && cd /tmp/served
# A folder that is there keeps runs.
mkdir -p study suites traced gone
head -c 3000000 "$toll" >files/long
echo short >files/short

if [ "$what" = studies ]; then
    part study
    run study ktls --scale vm
    part study-journal
    cat study/*/journal.jsonl

    part suites
    run suites /suites.toml --only case=nginx-walked --only case=nginx-decrypted \
        --only case=embedded-walked --only case=embedded-decrypted
    part suites-journal
    cat suites/*/journal.jsonl
    exit
fi

part quota
mkdir /cgroup && mount -t cgroup2 none /cgroup && echo +cpu >/cgroup/cgroup.subtree_control
mkdir /cgroup/half && echo "50000 100000" >/cgroup/half/cpu.max
serve
echo $server >/cgroup/half/cgroup.procs
"$toll" load https://127.0.0.1:8443/short --insecure --operation handshakes -c 4 -d 3s --json --cpus 1 \
    --server-pid $server
end

large large
part strace
serve --send ktls-write
for send in ktls-write ktls-sendfile; do
    strace -f --seccomp-bpf -qq -e trace=sendfile -e signal=none -o trace \
        "$toll" run /suites.toml --only case=traced --only send=$send --quiet --out traced >/dev/null &
    trial=$!
    # Connections of another server than the one on trial.
    while kill -0 $trial 2>/dev/null; do
        get -o /dev/null https://127.0.0.1:8443/short
        sleep 0.3
    done
    echo "$send sendfile $(grep -c 'sendfile.* = [1-9]' trace)"
done
end
part traced-journal
cat traced/*/journal.jsonl

for send in ktls-write ktls-sendfile; do
    part "curl-$send"
    serve --send $send
    before=$(taken)
    counters
    get -o got https://127.0.0.1:8443/long
    cmp got files/long && echo same
    counters
    echo "kernel $(($(taken) - before))"

    part "faults-$send"
    get https://127.0.0.1:8443/long | head -c 100000 >/dev/null
    get -o /dev/null --limit-rate 1000 --max-time 1 https://127.0.0.1:8443/long
    echo "close mid-body $? $(get https://127.0.0.1:8443/short)"
    large cut
    rm -f cut rekeyed
    get -N -o cut --limit-rate 4000000 https://127.0.0.1:8443/cut &
    reader=$!
    until [ -s cut ]; do sleep 0.1; done
    : >files/cut
    wait $reader
    echo "cut short $? $(get https://127.0.0.1:8443/short)"
    (printf 'GET /short HTTP/1.1\r\nHost: x\r\n\r\n'
        until grep -q short rekeyed; do sleep 0.1; done
        echo K; sleep 1; printf 'GET /short HTTP/1.1\r\nHost: x\r\n\r\n'; sleep 1) |
        openssl s_client -quiet -connect 127.0.0.1:8443 -tls1_3 >rekeyed 2>&1
    echo "key update $(grep -c short rekeyed) $(get https://127.0.0.1:8443/short)"
    end
    part "stopped-reader-$send"
    serve --send $send --timeout 1s
    until [ $(open) = 0 ]; do sleep 0.1; done
    # Little room, so that most is still to be sent when the reader is stopped.
    for room in /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem; do
        cat $room >${room##*/}
        echo 4096 65536 262144 >$room
    done
    read_large() {
        before=$(taken)
        "$toll" load https://127.0.0.1:8443/large --insecure -c 1 -n 1 -d 60s --json >load &
        reader=$!
    }
    read_large
    # The first connection only asks whether there is a server, in vain where this machine is slow.
    until [ $(taken) -gt $((before + 1)) ]; do
        kill -0 $reader 2>/dev/null || read_large
        sleep 0.1
    done
    # Stopped before its request, it is let go on for a moment.
    until kill -STOP $reader; sleep 0.3; sending; do kill -CONT $reader && sleep 0.1 || break; done
    until [ $(open) = 0 ]; do sleep 0.1; done
    echo "stopped reader $(get https://127.0.0.1:8443/short)"
    kill -CONT $reader
    wait $reader
    echo "exit $?"
    cat load
    end
    for room in tcp_rmem tcp_wmem; do cat $room >/proc/sys/net/ipv4/$room; done
done

part module
serve --send ktls-write
# A trial of connections one after another, between two of which the module goes.
"$toll" run /suites.toml --only case=gone --quiet --out gone &
trial=$!
before=$(taken)
until [ $(taken) -gt $((before + 10)) ]; do sleep 0.1; done
until rmmod tls; do sleep 0.01; done 2>/dev/null
wait $trial
echo "exit $?"
get https://127.0.0.1:8443/short || echo "no response"
counters
end
"$toll" serve --listen 127.0.0.1:8443 --send ktls-write 2>&1
echo "refused $?"
part module-journal
cat gone/*/journal.jsonl
part without
run without /suites.toml --only case=traced 2>&1
