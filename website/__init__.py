"""The documentation as a site: the pages of docs/, the docstrings, the gallery and the results, made into HTML.

`python -m website` stages all pages in build/site/pages and has Sphinx write build/site/html; `make docs` installs what
that needs first. The pages stay readable where they are: links between them are those of the repository, and staging
turns them into those of the site.
"""
