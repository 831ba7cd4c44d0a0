"""Many files and many machines: prediction and training on Ray, models as functions for Ray Data, Dask and Spark.

workers.py defines workers, ray_workers.py and ray_actors.py those of Ray, tagging.py the functions for users.
"""

from trellis.interfaces.cluster.ray_workers import connect as connect
from trellis.interfaces.cluster.tagging import TagBatches as TagBatches
from trellis.interfaces.cluster.tagging import predict_files as predict_files
from trellis.interfaces.cluster.tagging import tag_batches as tag_batches

__all__ = ["TagBatches", "connect", "predict_files", "tag_batches"]
