"""`sfumato studio`: the whole way by pointing and clicking, on one's own machine. It edits a plan.

    studio          what is open; one per process, shown by every window
    plan_folder     the document: plan, schema and hierarchies, edited, undone, never half-written (journal)
    look, work      what was counted of the data; long work in a process of its own (process, tasks)
    app, server     addresses and the port on loopback, behind the gate of `web`
    view, frame, markup, pictures, texts   what pages are made of
    screens         one module each; a screen is a function that draws and functions that do

Start at `screens` to see what a person does, at `plan_folder` for what that changes. It knows the plan and
what methods declare; it makes no release itself.
"""
