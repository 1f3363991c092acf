"""Rows of a table that are changed: found, hidden or copied around, and written into new files
(spec: Deletion Vectors, Row Tracking, Add CDC File).

In: a version of a table, and which of its rows change. Out: `RowChanges`, what becomes of files.

Every statement that changes rows goes the same way, whatever it is:

1. `candidates` says which live files a condition leaves, and which of them go as a whole, because
   the log alone says that every row matches: no row of these is read.
2. Somebody looks into the others and says which rows it found, as a table `FOUND` of `found_rows`:
   one row for each file, by its path as in the log, with the physical positions of the rows that
   leave it as a 64-bit bitmap. Rows may be found in any number of parts; `join_found` adds them up.
3. The rows leave their files (`explorer.pipeline.removing.leaving`). Where the table takes deletion
   vectors `hidden_rows` writes them: many in one file of bounded size, few small ones into the log
   itself; a file without a live row left is removed. Elsewhere the rows that stay of a file are
   copied to a new one, with their ids and commit versions.
4. What SET says of columns and fields is read by `set_tree`, for updates and merges. New and
   updated rows go through `explorer.writing.gate`, and from there into `ChangedRowFiles`
   of `changed_rows`: beside the table's columns each row has `KIND` (update, insert, delete), for
   the feed `BEFORE` (the row as it was), and where ids are kept `ROW_ID` (null for new rows). It
   makes data files, and files of change data where the feed needs them.
5. All of it is a `RowChanges` of `row_changes`, which
   `explorer.writing.statements.change_statement` commits.

Change data are written where `needs_change_data` says so, for all rows that a statement changes or
for none: one such file silences what the commit's other actions say.

Read first: `found_rows`, then `row_changes`.
"""
