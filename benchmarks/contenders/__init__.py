"""The contenders, a file each. All have the same functions, each called in a process of its own:

``train(work, model, learner)``    learn from a file; seconds are of learning alone, ``total`` from file to model
``label(work, model)``             sentences as Python lists to labels, features included
``wait(work, model)``              one sentence at a time
``start(work, model)``             from a model file to the first labels
``beliefs(work, model)``           the marginals of every label of every token
``tag_file(work, model, ...)``     a file of columns to a file with labels, the whole process

A contender without one of them takes no part in that. Peers do not import trellis.
"""
