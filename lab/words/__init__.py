"""The words that people read, in their language: templates stand in the code in English, and the
catalogues beside this file translate them. `language` chooses, `words` says.
"""
