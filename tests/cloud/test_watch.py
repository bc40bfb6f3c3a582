#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cloud/watch against a fake metadata server on loopback: notices become signals, everything else does not.

usage: test_watch.py CASE
  notices   AWS, GCP, Azure and a file: SIGUSR1 once; AWS's rebalance hint: SIGUSR2 once, and watching goes on
  noise     404, slow and hanging answers, error pages, garbage, other machines' events, expired tokens, a refused token
  words     wrong words, and the end of the watched process
"""
import concurrent.futures, http.server, os, signal, socket, subprocess, sys, threading, time
from launch import check, main, source

watch = os.path.join(source, "cloud", "watch")
ACTION = '{"action": "terminate", "time": "2026-11-30T12:02:00Z"}'
EVENT = '{"DocumentIncarnation":2,"Events":[{"EventId":"A1","EventType":"%s","ResourceType":"VirtualMachine","Resources":["%s"],"EventStatus":"Scheduled","NotBefore":"Mon, 30 Nov 2026 12:02:00 GMT"}]}'


class Server:
    """A metadata server. `answer`: path without its query -> text, bytes, (status, text), or seconds to sleep before nothing."""

    def __init__(self, answer, token="t0ken=", server="Google"):
        outer = self
        self.answer, self.token, self.asked, self.tokens = answer, token, [], 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def reply(self, status, text, **headers):
                body = text if isinstance(text, bytes) else text.encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_PUT(self):
                outer.tokens += 1
                right = self.path == "/latest/api/token" and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
                if outer.token and right:
                    self.reply(200, outer.token)
                else:
                    self.reply(403, "no")

            def do_GET(self):
                path = self.path.split("?")[0]
                outer.asked.append(path)
                if path.startswith("/latest/") and self.headers.get("X-aws-ec2-metadata-token") != outer.token:
                    return self.reply(401, "token, please")
                if path.startswith("/computeMetadata/") and self.headers.get("Metadata-Flavor") != "Google":
                    return self.reply(403, "flavour, please")
                if path.startswith("/metadata/") and self.headers.get("Metadata") != "true":
                    return self.reply(400, "metadata: true, please")
                what = outer.answer.get(path, (404, "not found"))
                if isinstance(what, float):
                    time.sleep(what)
                elif isinstance(what, tuple):
                    self.reply(*what)
                else:
                    self.reply(200, what, Metadata_Flavor=server)

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.place = "127.0.0.1:%d" % self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


# Notes every signal in a file and lives on.
VICTIM = """
import signal, sys, time
out = open(sys.argv[1], "a", buffering=1)
for name in ("SIGUSR1", "SIGUSR2", "SIGTERM"):
    signal.signal(getattr(signal, name), lambda n, f: out.write(signal.Signals(n).name + "\\n"))
out.write("ready\\n")
while True:
    time.sleep(0.05)
"""


class Watched:
    def __init__(self, cloud, place="127.0.0.1:9", *words, patience="3"):
        self.notes = "notes-%d" % time.time_ns()
        self.victim = subprocess.Popen([sys.executable, "-c", VICTIM, self.notes])
        while not (os.path.exists(self.notes) and open(self.notes).read()):
            time.sleep(0.01)
        self.watch = subprocess.Popen(["bash", watch, "-i", "0.1", "-p", patience, "-e", place] + list(words) + [cloud, str(self.victim.pid)],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def signals(self):
        return open(self.notes).read().split()[1:]

    def ended(self, seconds=90):
        try:
            return self.watch.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def close(self):
        self.watch.kill()
        self.victim.kill()
        self.victim.wait()
        return self.watch.communicate()[1]


def told(cloud, server, what):
    w = Watched(cloud, server.place)
    code = w.ended()
    time.sleep(0.3)
    got = w.signals()
    said = w.close()
    check(code == 0 and got == ["SIGUSR1"], "%s: SIGUSR1, once, and watch ends" % what, (code, got, said, server.asked[-5:]))


def quiet(cloud, server, what, seconds=2.5, place=None, then=None, asked=True):
    """No signal while the server answers so; then, with `then` put in, there is one: it was watching all the time."""
    w = Watched(cloud, place or server.place)
    time.sleep(seconds)
    code, got = w.watch.poll(), w.signals()
    check(code is None and got == [] and (not asked or server is None or server.asked or server.tokens), "%s: no signal" % what, (code, got, w.watch.poll()))
    if then:
        server.answer.update(then)
        check(w.ended() == 0 and w.signals() == ["SIGUSR1"], "... and the notice that comes later is heard", (w.signals(), server.asked[-5:]))
    return w.close()


def notices():
    told("aws", Server({"/latest/meta-data/spot/instance-action": ACTION}), "AWS spot interruption")
    told("aws", Server({"/latest/meta-data/spot/instance-action": '{\n  "action" : "stop",\n "time":"2026-11-30T12:02:00Z" }'}), "AWS stop, written otherwise")
    told("gcp", Server({"/computeMetadata/v1/instance/preempted": "TRUE"}), "GCP preemption")
    told("azure", Server({"/metadata/scheduledevents": EVENT % ("Preempt", "vm_7"), "/metadata/instance/compute/name": "vm_7"}), "Azure preemption")
    told("azure", Server({"/metadata/scheduledevents": EVENT % ("Preempt", "vm_7")}), "Azure, where the machine's name cannot be had")
    # a file, on any machine
    w = Watched("none", "127.0.0.1:9", "-f", "going")
    time.sleep(0.5)
    check(w.watch.poll() is None and w.signals() == [], "no file: no signal")
    open("going", "w").close()
    check(w.ended() == 0 and w.signals() == ["SIGUSR1"], "a file appears: SIGUSR1", w.signals())
    w.close()
    # the hint is only a hint
    server = Server({"/latest/meta-data/events/recommendations/rebalance": '{"noticeTime": "2026-11-30T12:00:00Z"}'})
    w = Watched("aws", server.place)
    time.sleep(2)
    check(w.watch.poll() is None and w.signals() == ["SIGUSR2"], "AWS rebalance hint: SIGUSR2 once, and watching goes on", w.signals())
    server.answer["/latest/meta-data/spot/instance-action"] = ACTION
    check(w.ended() == 0 and w.signals() == ["SIGUSR2", "SIGUSR1"], "the interruption after it: SIGUSR1", w.signals())
    w.close()


def noise():
    aws, gcp, azure = "/latest/meta-data/spot/instance-action", "/computeMetadata/v1/instance/preempted", "/metadata/scheduledevents"
    page = "<html>login: $(touch pwned) `touch pwned` TRUE terminate Preempt</html>"
    cases = [
        lambda: quiet("aws", Server({}), "AWS says 404", then={aws: ACTION}),
        lambda: quiet("gcp", Server({gcp: "FALSE"}), "GCP says FALSE", then={gcp: "TRUE"}),
        lambda: quiet("azure", Server({azure: '{"DocumentIncarnation":1,"Events":[]}'}), "Azure has no events", then={azure: EVENT % ("Preempt", "me")}),
        lambda: quiet("azure", Server({azure: EVENT % ("Reboot", "me"), "/metadata/instance/compute/name": "me"}), "an Azure reboot"),
        lambda: quiet("azure", Server({azure: EVENT % ("Preempt", "someone-else"), "/metadata/instance/compute/name": "me"}), "an Azure event of another machine",
                      then={azure: EVENT % ("Preempt", "me")}),
        lambda: quiet("gcp", Server({gcp: "TRUE"}, server="proxy"), "GCP's word without Google's header"),
        expired_token, no_token, flood,
        lambda: quiet("aws", Server({aws: ACTION}, token="a b\r\nX-Evil: 1"), "a token that is none"),
    ]
    for cloud, path, notice in (("aws", aws, ACTION), ("gcp", gcp, "TRUE"), ("azure", azure, EVENT % ("Preempt", "me"))):
        cases += [
            lambda c=cloud, p=path: quiet(c, Server({p: page}), "%s: a page that is no answer" % c),
            lambda c=cloud, p=path: quiet(c, Server({p: os.urandom(3000) + b"\0\r\n\r\n"}), "%s: garbage" % c),
            lambda c=cloud, p=path: quiet(c, Server({p: (500, ACTION + "TRUE" + EVENT % ("Preempt", "me"))}), "%s: a notice in an error page" % c),
            lambda c=cloud, p=path, n=notice: quiet(c, Server({p: 30.0}), "%s: an answer that never comes" % c, seconds=5, then={p: n}),
            lambda c=cloud: quiet(c, None, "%s: nobody there" % c, place="127.0.0.1:9", seconds=1),
        ]
    # each waits, most of its time: several at once
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(case) for case in cases]:
            done.result()
    check(not os.path.exists("pwned"), "nothing that a server says is executed")


def expired_token():
    server = Server({})
    w = Watched("aws", server.place)
    time.sleep(1)
    server.token, server.answer = "another/token+", {"/latest/meta-data/spot/instance-action": ACTION}
    check(w.ended() == 0 and w.signals() == ["SIGUSR1"] and server.tokens >= 2, "an expired token is replaced", (w.signals(), server.tokens))
    w.close()


def no_token():
    server = Server({"/latest/meta-data/spot/instance-action": ACTION}, token=None)
    quiet("aws", server, "no token to be had")
    check(server.asked == [], "and nothing is asked the old way, without one", server.asked)


def flood():
    """Bytes without HTTP, from a server that sends for ever."""
    listener = socket.create_server(("127.0.0.1", 0))

    def send():
        while True:
            c = listener.accept()[0]
            try:
                while True:
                    c.sendall(b"TRUE terminate " * 1000)
            except OSError:
                c.close()
    threading.Thread(target=send, daemon=True).start()
    quiet("gcp", None, "a server that floods", place="127.0.0.1:%d" % listener.getsockname()[1])


def words():
    for wrong in ([], ["aws"], ["aws", "x"], ["aws", "-1"], ["mars", "1"], ["-e", "169.254.169.254", "aws", "1"], ["-e", "$(id):80", "aws", "1"], ["-z", "aws", "1"]):
        p = subprocess.run(["bash", watch] + wrong, capture_output=True, text=True, timeout=20)
        check(p.returncode == 64 and "watch" in p.stderr, "watch %s: 64" % " ".join(wrong), (p.returncode, p.stderr))
    w = Watched("gcp", Server({}).place)
    w.victim.kill()
    w.victim.wait()
    check(w.ended(5) == 0, "the watched process ends: so does watch")
    w.close()
    p = subprocess.run(["bash", watch, "none", str(os.getpid())], timeout=10)
    check(p.returncode == 0, "nothing to watch: it ends at once")


main({"notices": notices, "noise": noise, "words": words})
