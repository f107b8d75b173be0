"""Reads a trace by Perfetto's own types, those of the package `perfetto`, into the tables that its
`trace_processor` has, and fails if a name in them is missing. `.ci/long` calls it:
`read-trace.py FILE SLICE`. `trace_processor` itself is in no registry of packages."""

import sys
from collections import defaultdict

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto


def check_known(message):
    """Fails if Perfetto does not define a field of the message or of those within it."""
    unknown = [field.field_number for field in UnknownFieldSet(message)]
    assert not unknown, f"Perfetto does not know the fields {unknown} of {message}"
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.is_repeated else [value]:
                check_known(one)


path, slice_of_spe_0 = sys.argv[1:]
trace = perfetto.Trace()
with open(path, "rb") as file:
    trace.ParseFromString(file.read())

tracks, names, is_clear = {}, {}, False
slices, counters, open_slices = [], defaultdict(list), defaultdict(list)
for packet in trace.packet:
    check_known(packet)
    assert packet.trusted_packet_sequence_id, "Perfetto skips packets without a sequence"
    is_clear |= bool(packet.sequence_flags & perfetto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert not track.HasField("parent_uuid") or track.parent_uuid in tracks, f"{track} has no parent"
        assert track.uuid not in tracks, f"{track} is described twice"
        tracks[track.uuid] = track
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    assert event.track_uuid in tracks, f"{event} is on no track"
    if event.name_iid:
        needs = packet.sequence_flags & perfetto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        assert is_clear and needs, f"Perfetto has no names for {packet}"
    name = names[event.name_iid] if event.name_iid else event.name
    is_counter = tracks[event.track_uuid].HasField("counter")
    assert is_counter == (event.type == event.TYPE_COUNTER), f"{event} is on a track of another kind"
    if event.type == event.TYPE_COUNTER:
        counters[event.track_uuid].append((packet.timestamp, event.counter_value))
    elif event.type == event.TYPE_SLICE_BEGIN:
        open_slices[event.track_uuid].append((packet.timestamp, name))
    elif event.type == event.TYPE_SLICE_END:
        begin, name = open_slices[event.track_uuid].pop()
        assert begin <= packet.timestamp, f"{name} ends before it begins"
        slices.append((event.track_uuid, name))
    else:
        assert event.type == event.TYPE_INSTANT, f"{event} has no type"
        slices.append((event.track_uuid, name))
assert not any(open_slices.values()), f"slices without an end: {open_slices}"


def thread_of(uuid):
    """The thread to which a track belongs: its own, or that of the next track above it."""
    track = tracks[uuid]
    if track.HasField("thread"):
        return track.thread
    return thread_of(track.parent_uuid) if track.HasField("parent_uuid") else None


processes = [track.process for track in tracks.values() if track.HasField("process")]
threads = [track.thread for track in tracks.values() if track.HasField("thread")]
of_counters = [track for track in tracks.values() if track.HasField("counter")]
assert [process.process_name for process in processes] == ["qs20"], processes
assert {thread.pid for thread in threads} == {processes[0].pid}, threads
assert len({thread.tid for thread in threads}) == len(threads), f"two threads have one number: {threads}"
spes = [f"SPE {spe}" for spe in range(16)]
expected = {"PPE", *spes, *(f"MFC of {spe}" for spe in spes)}
assert {thread.thread_name for thread in threads} == expected, threads

for track in of_counters:
    assert track.name and track.counter.unit_name, f"{track} has no name or no unit"
values = {tracks[uuid].name: [value for _, value in values] for uuid, values in counters.items()}
assert max(values["MFC queue of SPE 0"]) > 0, values
assert max(values["memory module 0"]) > 0, values

assert all(name for _, name in slices), "a slice has no name"
on_threads = defaultdict(set)
for uuid, name in slices:
    thread = thread_of(uuid)
    assert thread or tracks[uuid].name == "window", f"{name} is on no thread"
    if thread:
        on_threads[thread.thread_name].add(name)
assert {slice_of_spe_0, "computing"} <= on_threads["SPE 0"], on_threads
assert "computing" in on_threads["PPE"], on_threads
assert any(name.startswith("get ") for name in on_threads["MFC of SPE 0"]), on_threads
print(
    f"{path}: process {len(processes)}, thread {len(threads)}, thread_track {len(threads)}, "
    f"counter_track {len(of_counters)}, counter {sum(map(len, counters.values()))}, slice {len(slices)}"
)
