"""Models over HTTP: JSON (extra ``serve``). ``trellis serve -m MODEL`` runs it, ``make_app`` makes it.

app.py is the ASGI program, questions.py its addresses about sentences, server.py the process.
"""

from trellis.interfaces.serve.app import make_app as make_app
from trellis.interfaces.serve.door import Limits as Limits
from trellis.interfaces.serve.models import Models as Models
