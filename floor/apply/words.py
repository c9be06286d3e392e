"""What went wrong on the way to a box, in words: what was found, and what to do."""

from __future__ import annotations

from floor.apply.exchange import NotInstalledError, UnreachableError
from floor.errors import BoxError

LAST = 3  # lines of what was printed that an error repeats

NO_SSH = "ssh: not found"  # what Transport says where the program does not exist

# What ssh prints (OpenSSH 8 to 10) → what it means. The first that is found counts, so the special ones come first.
NEVER = (  # it will not work later either: somebody has to do something
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed; if you know why, `ssh-keygen -R {host}` and then log in once: `ssh {destination}`",
    ),
    (
        "Host key verification failed",
        "its host key is not known here; log in once with `ssh {destination}` and compare the fingerprint",
    ),
    (
        "Permission denied",
        "it does not let this user in; put your key there with `ssh-copy-id {destination}`, or load it with `ssh-add`",
    ),
    ("Too many authentication failures", "it refused after too many keys; set IdentityFile and IdentitiesOnly for it"),
    ("no matching host key type", "it offers no host key that this ssh accepts; update the older of the two"),
    ("no mutual signature", "it accepts no key of yours; make a newer one with `ssh-keygen -t ed25519`"),
    ("Bad owner or permissions", "ssh refuses its own configuration file; put its owner and mode right"),
    ("Bad configuration option", "ssh does not understand its configuration file; mend the line that it names"),
    ("terminating, ", "ssh does not understand its configuration file; mend the line that it names"),
    ("Can't open user config file", "FLOOR_SSH_CONFIG names a file that ssh cannot read"),
    (NO_SSH, "the program `ssh` is not installed on this machine; install openssh-client"),
)
PERHAPS = (  # the box or the way there is away
    ("Could not resolve hostname", "its name does not resolve; check the `ssh` and `host` of this box in floor.yaml"),
    ("No route to host", "there is no way to it; is it switched on, and in this network?"),
    ("Network is unreachable", "this machine has no way to that network; check cable, VPN and routes"),
    ("Connection refused", "it is up, but nothing listens on its ssh port; is sshd running there?"),
    ("timed out", "it did not answer in time; is it switched on, and in this network?"),
    ("not responding", "it stopped answering; is it switched on, and in this network?"),
    ("Connection reset", "it ended the connection; look at sshd's log there"),
    ("closed by", "it ended the connection; is it going down, or is sshd refusing this machine?"),
    ("Broken pipe", "the connection broke; is it going down?"),
)


def of_ssh(box: str, destination: str, code: int, said: str) -> BoxError:
    """Given what ssh ended with and printed, return the error; UnreachableError where the box may be away."""
    if (
        code >= 0 and code != 255 and NO_SSH not in said
    ):  # ssh itself ends with 255, all else is what the command there ended with
        return beyond_ssh(box, code, said)
    if code < 0:
        return UnreachableError(f"{box}: cannot be reached as {destination}: ssh was ended here by signal {-code}")
    host = destination.removeprefix("ssh://").rpartition("@")[2]
    for kind, rules in ((BoxError, NEVER), (UnreachableError, PERHAPS)):
        for mark, words in rules:
            if mark in said:
                advice = words.format(host=host, destination=destination)
                return kind(
                    f"{box}: cannot be reached as {destination}: {advice} (ssh: {last(said).removeprefix('ssh: ')})"
                )
    return UnreachableError(
        f"{box}: cannot be reached as {destination} (ssh: {last(said).removeprefix('ssh: ') or 'no word of why'})"
    )


def beyond_ssh(box: str, code: int, said: str) -> BoxError:
    """Given what sudo or the agent ended with and printed without an answer, return what that means."""
    setup = f"run `floor setup {box}`"
    if any(mark in said for mark in ("password is required", "terminal is required", "no tty present", "askpass")):
        found = f"sudo asks for a password there, since floor's own rule is missing; {setup}"
    elif "must have a tty" in said:
        found = (
            f"sudo there wants a terminal (Defaults requiretty); {setup}, its rule turns that off for floor's command"
        )
    elif "not in the sudoers" in said or "not allowed to execute" in said or "may not run sudo" in said:
        found = f"the user may not run floor's command with sudo there; {setup} as a user who may"
    elif "sudo: command not found" in said or "sudo: not found" in said:
        found = f"there is no sudo on it; {setup}"
    elif "No module named" in said:
        found = f"its floor is damaged ({last(said)}); {setup}"
    elif "command not found" in said or "No such file" in said or "not found" in said:
        return NotInstalledError(f"{box}: floor is not installed there; {setup}")
    elif code in (137, -9):
        found = "the agent there was killed; is the box out of memory (journalctl -k)?"
    else:
        found = f"the agent there gave no answer (exit {code}: {last(said) or 'nothing was printed'}); {setup}"
    return BoxError(f"{box}: {found}")


def last(said: str) -> str:
    """Return the last few lines of what was printed, in one line; ssh frames some of it with @ signs."""
    lines = [line.strip() for line in said.splitlines() if line.strip(" @\r\n\t")]
    return " / ".join(lines[-LAST:])
