"""Models over HTTP: JSON (extra ``serve``). ``trellis serve -m MODEL`` runs it, ``make_app`` makes it.

- models.py: the models, and new files taken over while requests go on
- batching.py: requests that wait are tagged together, while the loop stays free
- messages.py: what comes in and goes out, checked at the door
- questions.py: what is asked about sentences, for models of any task
- door.py: limits (bytes, time, requests at once), the token, counts for /metrics
- app.py: the addresses; docs_page.py describes them
- connections.py: time limits and number of connections
- server.py: the process
"""

from trellis.interfaces.serve.app import make_app as make_app
from trellis.interfaces.serve.door import Limits as Limits
from trellis.interfaces.serve.models import Models as Models
