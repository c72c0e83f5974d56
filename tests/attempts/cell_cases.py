"""Cells that do everything a cell can do short of ending its kernel, and the error that is due for each."""

from __future__ import annotations

import textwrap

_SEND = '''
k = get_ipython().kernel
pack = k.session.pack
def send(kind, text):
    """Send a message of a kind whose content is the given text, signed as any other."""
    k.session.pack = lambda value: text.encode() if value == {'marker': 1} else pack(value)
    try:
        k.session.send(k.iopub_socket, kind, {'marker': 1}, parent=k.get_parent())
    finally:
        k.session.pack = pack
'''

_CELLS: dict[str, str | tuple[str, str]] = {
    # ---- text
    "plain": """
        first_id = get_ipython().kernel.get_parent()['header']['msg_id']
        print('hello'); 41 + 1
    """,
    "input": ("input('your name? ')", "EOFError"),
    "getpass": ("import getpass; getpass.getpass()", "EOFError"),
    "bytes": r"""
        import os, subprocess, sys
        every = bytes(range(256))
        child = 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)'
        subprocess.run([sys.executable, '-c', child])
        os.write(1, every * 40); os.write(2, every)
        print('after the bytes')
    """,
    "split utf-8": r"""
        import os
        for part in ('\u00e9\u4f60\U0001f600' * 50).encode():
            os.write(1, bytes([part]))
        print('end')
    """,
    "surrogate print": r"print('a\ud800b'); import sys; print('c\udfffd', file=sys.stderr)",
    "surrogate raise": (r"raise ValueError('bad \ud800 text')", "ValueError"),
    "surrogate show": r"""
        data = {'text/plain': 'x\udc00', 'application/json': {'\ud800': '\udfff'}, 'a/b\ud800': 'y'}
        display(data, raw=True, metadata={'\ud800': '\ud800'})
    """,
    "surrogate value": r"'lone \ud800 value'",
    "surrogate file": r"import os; open(b'name\xff', 'w').close(); print(os.listdir('.'))",
    "ansi": r"print('\x1b[31mred\x1b[0m and \x1b[1mbold\x1b[0m')",
    "nul": r"print('a\x00b')",
    "bar": r"""
        import sys
        for i in range(1, 3001):
            sys.stderr.write(f'\rstep {i}/3000'); sys.stderr.flush()
        sys.stderr.write('\n')
    """,
    "warn": "import warnings; warnings.warn('careful')",
    "log": "import logging; logging.getLogger().error('logged')",
    "streams": """
        import sys
        print(sys.stdout.encoding, sys.stdout.isatty()); sys.stdout.write('w'); sys.stdout.writelines(['l'])
    """,
    "empty": "",
    "comment": "# nothing",
    "long source": "x = '''" + "y" * 100_000 + "'''; len(x)",
    # ---- displays
    "image": r"""
        from IPython.display import Image
        display(Image(data=b'\x89PNG' + bytes(range(256)), format='png'))
    """,
    "display": "shown = display('value 71.9', display_id='r')",
    "update": "shown.update('value 84.3')",
    "clear": """
        from IPython.display import clear_output
        print('first 0.1'); clear_output(); print('second 0.2'); clear_output(wait=True); print('third 0.3')
    """,
    "many": "for i in range(1000): display({'text/plain': f'output {i}'}, raw=True)",
    "order": """
        for i in range(50):
            print(f'text {i}')
            display({'text/plain': f'shown {i}'}, raw=True)
    """,
    "bad repr": (
        """
        class Bad:
            def __repr__(self): raise RuntimeError('no repr')
        Bad()
        """,
        "RuntimeError: no repr",
    ),
    # ---- errors
    "magic": ("%nope 3", "UsageError"),
    "cell magic": ("%%nope\nx", "UsageError"),
    "syntax": ("def f(:", "SyntaxError"),
    "exit 0": ("import sys; sys.exit(0)", "SystemExit"),
    "exit text": ("raise SystemExit('enough')", "SystemExit"),
    "long error": ("raise ValueError('x' * 2_000_000)", "ValueError"),
    "huge error": ("raise ValueError('x' * 20_000_000)", "error: "),
    "deep error": ("def f(n): return f(n + 1) if n < 50 else 1 / 0\nf(0)", "ZeroDivisionError"),
    "group": ("raise ExceptionGroup('two', [ValueError(1), KeyError('k')])", "ExceptionGroup"),
    "own error": (
        """
        class E(Exception):
            def __str__(self): raise RuntimeError('no text')
        raise E()
        """,
        "RuntimeError",
    ),
    "handler": """
        def handle(shell, kind, value, tb, tb_offset=None): print('handled')
        get_ipython().set_custom_exc((Exception,), handle)
    """,
    "handled": ("1/0", "ZeroDivisionError"),
    "handler off": "get_ipython().set_custom_exc((), None)",
    # ---- processes and threads
    "shell": r"!printf 'from the shell\n'; exit 3",
    "bash": ("%%bash\necho in bash >&2; exit 4", "CalledProcessError"),
    "writes": "import subprocess\nfor i in range(100): subprocess.run(['echo', f'line {i}'])",
    "after writes": "print('after')",
    "holds stdout": """
        import subprocess, sys
        child = 'import time; print("started", flush=True); time.sleep(600)'
        holder = subprocess.Popen([sys.executable, '-c', child])
        print('the cell ends')
    """,
    "holder lives": "print(holder.poll()); holder.kill(); print(holder.wait())",
    "forked": """
        import os
        pid = os.fork()
        if pid == 0:
            print('in the child'); os._exit(0)
        os.waitpid(pid, 0)[1]
    """,
    "pool": """
        from multiprocessing import get_context
        with get_context('fork').Pool(2) as pool:
            print(pool.map(abs, [-1, -2]))
    """,
    "async": "import asyncio; await asyncio.sleep(0.01); print('awaited')",
    "thread": """
        import threading
        go = threading.Event()
        thread = threading.Thread(target=lambda: (go.wait(), print('late 84.3', flush=True)))
        thread.start()
    """,
    "thread joins": "go.set(); thread.join(); print('joined')",
    # ---- tools
    "tool": "print(attempt.check_anchor('two', 2)); print(attempt.release, len(attempt.read_paper('Method')) > 0)",
    "tool in a thread": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor() as pool:
            print(pool.submit(attempt.check_anchor, 'two', 2).result())
    """,
    "tool refused": ("attempt.check_anchor('three', 3)", "ToolError"),
    "tool number": ("attempt.submit('1e999999999')", "ToolError"),
    "tool nan": ("attempt.submit(float('nan'))", "ToolError"),
    "tool note": ("attempt.submit(4, note='x' * 20_000)", "ToolError"),
    "tool unknown": ("attempt._call('erase')", "ToolError"),
    "tool lies": ("attempt._call('read_output', cell=[1])", "ToolError"),
    "tool infinite": (
        "attempt._call('read_output', cell='parameters', start='1e400', length='x')",
        "ToolError",
    ),
    "tool look-alike": ("attempt._call('check_anchor', name={'$payload': {'offset': 3}}, value='1')", "ToolError"),
    "tool long": ("attempt._call('check_anchor', name='y' * 100_000, value='1')", "ToolError"),
    "budget": "print(attempt.budget())",
    # ---- forgeries: a cell can send what it likes through the kernel's own session
    "forged types": _SEND
    + r"""
kinds = ['stream', 'display_data', 'update_display_data', 'execute_result', 'error', 'clear_output', 'execute_input',
         'comm_open', 'nonsense', '\ud800']
contents = [
    '{}', '[]', '"text"', 'null', '3', '{"text": [1]}', '{"data": 1, "transient": "x"}', '{"data": {"a": 1}}',
    '{"traceback": 3}', '{"execution_count": -1}', '{"data": {"application/json": {"$payload": 1}}}',
    '{"text": {"$payload": {"offset": 0, "length": 1, "bytes": 1, "sha256": "x"}}}', '{"execution_state": []}',
]
for kind in kinds:
    for content in contents:
        send(kind, content)
print('all sent')
""",
    "forged json": _SEND
    + """
for text in (
    '{"data": {"application/json": ' + '[' * 5000 + ']' * 5000 + '}}', '{"data":' + '9' * 5000 + '}',
    '{"data": {"application/json": NaN}}', '{"text": ', '[]', 'nul', '',
    '{"data": {"application/json": ' + '{"a":' * 400 + '1' + '}' * 400 + '}}',
):
    send('display_data', text)
print('all sent')
""",
    "forged frames": r"""
        for frames in (
            [b''], [b'x', b'<IDS|MSG>'], [b'x', b'<IDS|MSG>', b'', b'{}', b'{}', b'{}', b'{}'], [b'\xff' * 9] * 9,
        ):
            get_ipython().kernel.iopub_socket.send_multipart(frames)
        print('all sent')
    """,
    "forged id": r"""
        k = get_ipython().kernel
        m = k.session.msg('stream', {'name': 'stdout', 'text': 'forged'}, parent=k.get_parent())
        for number in ('\u00b2', '9' * 5000, 'x', ''):
            m['header']['msg_id'] = m['msg_id'] = f'some_1_{number}'
            k.session.send(k.iopub_socket, m)
    """,
    "older cell": r"""
        k = get_ipython().kernel
        header = dict(k.get_parent()['header'], msg_id=first_id)
        _ = k.session.send(k.iopub_socket, 'stream', {'name': 'stdout', 'text': 'forged 84.3'}, parent=header)
    """,
    "last": "print('the kernel still answers', 41 + 1)",
}


def _source(cell: str | tuple[str, str]) -> str:
    return textwrap.dedent(cell if isinstance(cell, str) else cell[0]).strip("\n").rstrip(" ")


CELLS = {case: _source(cell) for case, cell in _CELLS.items()}
"""Source by name of the case."""

ERRORS = {case: cell[1] for case, cell in _CELLS.items() if isinstance(cell, tuple)}
"""How the detail of those begins that end in an error."""
