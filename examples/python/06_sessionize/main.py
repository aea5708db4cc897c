"""Sessions from a click log: a click starts one when its user was quiet for an hour. Grid barriers, time stamps."""
import numpy as np

from warploom import cuda

GAP = int(np.timedelta64(1, "h") // np.timedelta64(1, "s"))


# [kernel]
@cuda.jit
def sessionize(user, time, session):
    """session[i] becomes the index of the first click of click i's session. The log is sorted by user and time."""
    i = cuda.grid(1)
    grid = cuda.cg.this_grid()
    n = user.size
    if i < n:
        starts = i == 0 or user[i] != user[i - 1] or time[i] - time[i - 1] > GAP
        session[i] = i if starts else -1
    grid.sync()  # every start is known
    if i < n and session[i] == i:
        j = i + 1
        while j < n and session[j] == -1:  # this session's clicks, up to the next start
            session[j] = i
            j += 1
# [/kernel]


def reference(user, time):
    starts = np.ones(user.size, bool)
    starts[1:] = (user[1:] != user[:-1]) | (time[1:] - time[:-1] > GAP)
    return np.maximum.accumulate(np.where(starts, np.arange(user.size), 0))


def main():
    generator = np.random.default_rng(6)
    n = 5000
    user = np.sort(generator.integers(0, 40, n))
    begin = np.datetime64("2026-01-01T00:00:00")
    time = begin + generator.integers(0, 10 * 86400, n).astype("timedelta64[s]")
    order = np.lexsort((time, user))
    user, time = user[order], time[order].astype(np.int64)  # seconds since 1970
    session = cuda.device_array(n, np.int64)
    sessionize[(n + 127) // 128, 128](cuda.to_device(user), cuda.to_device(time), session)
    result = session.copy_to_host()
    np.testing.assert_array_equal(result, reference(user, time))
    print(f"{n} clicks, {np.unique(result).size} sessions: ok")


if __name__ == "__main__":
    main()
