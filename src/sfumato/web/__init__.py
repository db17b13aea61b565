"""What everything has in common that answers a browser: headers, whose request it is, and who may enter.

    headers    what a browser is told about every answer
    origins    whether a request is meant for us and comes from our own page (Host, Origin, Sec-Fetch-Site)
    tickets    an address that can be used once, and the session it becomes
    gate       the three together, before an application

It knows no screen, no model and no data. `service` takes the headers, `studio` all of it.
"""
