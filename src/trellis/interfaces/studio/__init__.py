"""The studio: label sentences in a browser, train, see the errors (extra ``serve``)."""
