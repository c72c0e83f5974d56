#!/bin/sh
# Runs squid and dnsmasq until one of them ends, or until the runner's heartbeat has stopped: a sidecar must not outlive
# its attempt. The heartbeat is a file of the host whose time of change moves while a runner lives.
set -u
heartbeat=/given/heartbeat
abandon=${RECLAIM_ABANDON_SECONDS:-600}

dnsmasq --keep-in-foreground --conf-file=/conf/dnsmasq.conf &
names=$!
squid -N -f /conf/squid.conf &
proxy=$!
stop() { kill "$proxy" "$names" 2>/dev/null; }
trap stop TERM INT

while kill -0 "$proxy" 2>/dev/null && kill -0 "$names" 2>/dev/null; do
    last=$(stat -c %Y "$heartbeat" 2>/dev/null || echo 0)
    [ $(($(date +%s) - last)) -le "${abandon%.*}" ] || break
    sleep 2 &
    wait $!
done
stop
wait "$proxy"
