"""The language server: the engine of `check` behind the protocol that editors speak.

Texts and positions are in `texts` and `documents`, what is checked and with which settings in `folders`, when in
`desk`; `application` and `features` tie them to the protocol. pygls is imported by these two and by
nothing that `check` needs.
"""
