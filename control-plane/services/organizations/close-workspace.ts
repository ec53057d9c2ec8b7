import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { WorkspaceUse } from '#control-plane/db/workspaces.ts'
import { findWorkspace, lockWorkspaceUse, updateWorkspaceClosed } from '#control-plane/db/workspaces.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import { lockWithRight } from './organization-access.ts'
import { RecordId } from './organizations.ts'
import type { WorkspaceView } from './workspaces.ts'
import { viewOfWorkspace, WorkspaceViewSchema } from './workspaces.ts'

/**
 * Closes a workspace for good. Its records stay readable, it accepts no new activity, and its name becomes free. A
 * repeat changes nothing. Throws `workspace_in_use` with the numbers while it has offers that are not inactive, working
 * keys or money, and `not_found`, `forbidden`.
 */
export const closeWorkspace = defineOperation({
  name: 'workspace.close',
  summary: 'Close a workspace',
  about:
    'You cannot undo this. Its records stay readable. Refused while the workspace has active offers, active keys or a balance.',
  access: 'org',
  input: z.strictObject({ organization: RecordId, workspace: RecordId }),
  limit: 'write',
  idempotency: 'none',
  output: WorkspaceViewSchema,
  run: async (ctx, actor, input): Promise<WorkspaceView> => {
    const at = ctx.clock.now()
    const close = async (trx: Trx) => {
      const { organization } = await lockWithRight(trx, actor, input.organization, 'workspace.change')
      const workspace = await findWorkspace(trx, organization, input.workspace)
      if (workspace === undefined) throw new AppError('not_found')
      if (workspace.closedAt !== null) return { before: workspace, after: workspace }
      requireUnused(await lockWorkspaceUse(trx, workspace, at))
      const closedAt = new Date(at)
      await updateWorkspaceClosed(trx, workspace.id, closedAt)
      return { before: workspace, after: { ...workspace, closedAt } }
    }
    const { after } = await ctx.change(close, (change) => ({
      subject: change.before.id,
      before: viewOfWorkspace(change.before),
      after: viewOfWorkspace(change.after),
      organization: change.before.organization,
    }))
    return viewOfWorkspace(after)
  },
})

function requireUnused({ offers, keys, balanceMicro }: WorkspaceUse): void {
  if (offers === 0 && keys === 0 && balanceMicro === 0n) return
  throw new AppError('workspace_in_use', { detail: { offers, keys, balance_usdc: balanceMicro.toString() } })
}
