"""Models over HTTP: JSON (extra ``serve``). ``trellis serve -m MODEL`` runs it, ``App`` is the program.

app.py is the ASGI program, questions.py its addresses about sentences, server.py the process.
"""

from trellis.interfaces.serve.app import App as App
from trellis.interfaces.serve.door import Limits as Limits
from trellis.interfaces.serve.models import Models as Models
