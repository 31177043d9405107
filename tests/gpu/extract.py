"""Makes a small recording of some calls of a large one, and the answers of an accelerator to them
(answers_python.py), so that both can be kept as test data.

Arguments: msrun, the dump.json of the large recording, the folder of the answers to it, the folder to make, which then has
recording/dump.json with its tensors and answers/; the names of the calls come from standard input, one a line
("Torch.cov.3"). msrun replays the answers to these calls, and what it asks for is kept.
"""

import json
import os
import shutil
import subprocess
import sys


def _tensor_files(value):
    if isinstance(value, list):
        for item in value:
            yield from _tensor_files(item)
    elif isinstance(value, dict):
        if "data_name" in value:
            yield value["data_name"]
        for item in value.values():
            yield from _tensor_files(item)


def _write_recording(dump_file, calls, folder):
    with open(dump_file) as file:
        dump = json.load(file)
    dump["data"] = {name: entry for name, entry in dump["data"].items() if name.rpartition(".")[0] in calls}
    data_folder = os.path.join(os.path.dirname(dump_file), "dump_tensor_data")
    os.makedirs(os.path.join(folder, "dump_tensor_data"))
    for name in _tensor_files(dump["data"]):
        shutil.copy(os.path.join(data_folder, name), os.path.join(folder, "dump_tensor_data", name))
    dump["dump_data_dir"] = "./dump_tensor_data"
    with open(os.path.join(folder, "dump.json"), "w") as file:
        json.dump(dump, file, indent=0)


def _replay():
    """As the worker's Python: answers with what was written down and writes that down again."""
    import answers_python
    player = answers_python.Player
    answers_python.Player = lambda folder: answers_python.Recorder(os.environ["MSRUN_EXTRACT_TO"], player(folder))
    answers_python.main()


def main():
    msrun, dump_file, answers, folder = sys.argv[1:]
    calls = set(sys.stdin.read().split())
    kept = os.path.join(folder, "answers")
    os.makedirs(kept)
    _write_recording(dump_file, calls, os.path.join(folder, "recording"))
    python = os.path.join(folder, "python")
    with open(python, "w") as file:
        file.write("#!/bin/sh\nexec '%s' '%s' \"$@\"\n" % (sys.executable, os.path.abspath(__file__)))
    os.chmod(python, 0o755)
    command = [msrun, "-api_info", os.path.join(folder, "recording", "dump.json"), "-o", os.path.join(folder, "results"),
               "--backend", os.environ.get("MSRUN_EXTRACT_BACKEND", "torch:cuda"), "--python", python, "-d", "0", "-n", "1"]
    subprocess.run(command, check=True,
                   env=dict(os.environ, MSRUN_ANSWERS_FROM=answers, MSRUN_EXTRACT_TO=os.path.abspath(kept)))
    os.remove(python)
    shutil.rmtree(os.path.join(folder, "results"))
    shutil.copy(os.path.join(answers, "hello.json"), kept)
    (written,) = [name for name in os.listdir(kept) if name.endswith(".answers")]
    os.rename(os.path.join(kept, written), os.path.join(kept, "all.answers"))


if __name__ == "__main__":
    if "MSRUN_EXTRACT_TO" in os.environ:
        _replay()
    else:
        main()
