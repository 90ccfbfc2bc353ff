"""Timers fire in order, can be cancelled until they fire, and do not pile up."""

from claude_control.process.timers import Timer, TimerQueue


def push(queue: TimerQueue, when: float, fired: list[float]) -> Timer:
    """Set a timer that notes its own time."""
    timer = Timer(when, lambda: fired.append(when), queue.cancel)
    queue.push(timer)
    return timer


def test_due_functions_come_in_order() -> None:
    """What is due comes earliest first, what is not stays."""
    queue, fired = TimerQueue(), list[float]()
    for when in (3.0, 1.0, 2.0, 9.0):
        push(queue, when, fired)
    for function in queue.due(3.0):
        function()
    assert fired == [1.0, 2.0, 3.0]
    assert len(queue) == 1
    assert queue.next == 9.0


def test_push_says_whether_the_timer_is_the_earliest() -> None:
    """Only a timer that is earlier than all others needs the sleeper woken."""
    queue = TimerQueue()
    assert queue.push(Timer(5.0, bool, queue.cancel))
    assert not queue.push(Timer(6.0, bool, queue.cancel))
    assert queue.push(Timer(4.0, bool, queue.cancel))


def test_cancelled_timer_does_not_fire() -> None:
    """A cancelled timer never fires, and cancelling says whether it was in time."""
    queue, fired = TimerQueue(), list[float]()
    timer = push(queue, 1.0, fired)
    assert timer.cancel()
    assert not timer.cancel()
    assert queue.due(2.0) == []
    assert len(queue) == 0


def test_fired_timer_cannot_be_cancelled() -> None:
    """A timer that was taken out to be fired is too late to cancel."""
    queue, fired = TimerQueue(), list[float]()
    timer = push(queue, 1.0, fired)
    assert len(queue.due(1.0)) == 1
    assert not timer.cancel()
    assert repr(timer) == "<Timer over>"


def test_cancelled_timers_do_not_pile_up() -> None:
    """Ten thousand timers that were set and cancelled leave only a few behind in the heap."""
    queue, fired = TimerQueue(), list[float]()
    push(queue, 1e9, fired)
    for number in range(10_000):
        push(queue, 1000.0 + number, fired).cancel()
    assert len(queue) == 1
    assert len(queue._heap) < 200


def test_timer_of_another_queue_is_refused() -> None:
    """A timer from before a fork is cancelled without counting in the queue of the child."""
    old, new = TimerQueue(), TimerQueue()
    timer = Timer(1.0, bool, new.cancel)
    old.push(timer)
    assert not timer.cancel()
    assert len(new) == 0
