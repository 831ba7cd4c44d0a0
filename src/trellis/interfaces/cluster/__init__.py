"""Many files and many machines: bulk prediction on workers, and models as functions for Ray Data, Dask and Spark.

workers.py says what workers do, ray_workers.py and ray_actors.py have those of Ray (extra ``ray``), tagging.py what
users call.
"""

from trellis.interfaces.cluster.ray_workers import connect as connect
from trellis.interfaces.cluster.tagging import TagBatches as TagBatches
from trellis.interfaces.cluster.tagging import predict_files as predict_files
from trellis.interfaces.cluster.tagging import tag_batches as tag_batches

__all__ = ["TagBatches", "connect", "predict_files", "tag_batches"]
