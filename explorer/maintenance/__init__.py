"""Change a table under guard: plan, review, approve, execute.

    from explorer import maintenance

    plan = maintenance.plan_checkpoint(table)
    print(plan.summary, plan.verdicts, plan.steps, plan.files)
    receipt = maintenance.execute(plan, maintenance.Approval(plan.digest))

Planning changes nothing. A plan is executed exactly as approved, or not at all.

Folders: each operation (`vacuum`, `optimize`, `log_files`, `features`, `columns`, `repair`, or a
module of this folder) makes a `Plan`, whose types are in `plan`; `run` executes it with the steps
in `steps`; `documents` stores plans and receipts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.front_door import lazy_names

if TYPE_CHECKING:
    from explorer.maintenance.columns.cluster_plan import plan_cluster_by
    from explorer.maintenance.columns.column_plans import (
        plan_add_columns,
        plan_change_column,
        plan_drop_columns,
        plan_rename_column,
    )
    from explorer.maintenance.constraints import plan_add_constraint, plan_drop_constraint
    from explorer.maintenance.documents.receipt import Receipt
    from explorer.maintenance.documents.state_folder import StateFolder
    from explorer.maintenance.features.drop_feature import plan_drop_feature
    from explorer.maintenance.features.upgrade import plan_upgrade
    from explorer.maintenance.log_files.checkpoint import plan_checkpoint
    from explorer.maintenance.log_files.log_cleanup import plan_log_cleanup
    from explorer.maintenance.log_files.log_compaction import plan_log_compaction
    from explorer.maintenance.optimize.optimize import plan_optimize
    from explorer.maintenance.plan.plan import Approval, Plan, Verdict
    from explorer.maintenance.plan.step_types import Step
    from explorer.maintenance.repair.repair import plan_repair
    from explorer.maintenance.restore import plan_restore
    from explorer.maintenance.run.executor import Running, execute, start
    from explorer.maintenance.table_properties import plan_set_properties
    from explorer.maintenance.vacuum.vacuum import plan_vacuum

# Name -> the module that defines it, loaded when the name is asked for. No module
# is called like what it defines: importing it would put it in the place of that.
_HOMES = {
    "Approval": "plan.plan",
    "Plan": "plan.plan",
    "Receipt": "documents.receipt",
    "Running": "run.executor",
    "StateFolder": "documents.state_folder",
    "Step": "plan.step_types",
    "Verdict": "plan.plan",
    "execute": "run.executor",
    "plan_add_columns": "columns.column_plans",
    "plan_add_constraint": "constraints",
    "plan_change_column": "columns.column_plans",
    "plan_checkpoint": "log_files.checkpoint",
    "plan_cluster_by": "columns.cluster_plan",
    "plan_drop_columns": "columns.column_plans",
    "plan_drop_constraint": "constraints",
    "plan_drop_feature": "features.drop_feature",
    "plan_log_cleanup": "log_files.log_cleanup",
    "plan_log_compaction": "log_files.log_compaction",
    "plan_optimize": "optimize.optimize",
    "plan_rename_column": "columns.column_plans",
    "plan_repair": "repair.repair",
    "plan_restore": "restore",
    "plan_set_properties": "table_properties",
    "plan_upgrade": "features.upgrade",
    "plan_vacuum": "vacuum.vacuum",
    "start": "run.executor",
}

__all__ = [
    "Approval",
    "Plan",
    "Receipt",
    "Running",
    "StateFolder",
    "Step",
    "Verdict",
    "execute",
    "plan_add_columns",
    "plan_add_constraint",
    "plan_change_column",
    "plan_checkpoint",
    "plan_cluster_by",
    "plan_drop_columns",
    "plan_drop_constraint",
    "plan_drop_feature",
    "plan_log_cleanup",
    "plan_log_compaction",
    "plan_optimize",
    "plan_rename_column",
    "plan_repair",
    "plan_restore",
    "plan_set_properties",
    "plan_upgrade",
    "plan_vacuum",
    "start",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
