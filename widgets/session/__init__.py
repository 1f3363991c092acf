"""What the screens of one page share: tables, people, work, maintenance.

In: what a person may open and do. Out: answers of the engine, worked out beside the page and
kept by table and version. No Panel, no HTML.

Read first: `page_services`, then `tables` and `work`.
"""
