import { z } from 'zod'
import { openAccount } from '#control-plane/db/accounts.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { refusalOf } from '#control-plane/db/database.ts'
import type { WorkspaceRow } from '#control-plane/db/workspaces.ts'
import {
  countWorkspaces,
  findWorkspace,
  findWorkspaceOf,
  insertWorkspace,
  listWorkspaces,
  listWorkspacesOf,
  updateWorkspaceName,
} from '#control-plane/db/workspaces.ts'
import type { ActorWorkspace, BuyerActor, SellerActor, SessionActor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Label } from '#control-plane/services/input-fields.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, OrganizationId } from '#shared/ids.ts'
import { lockWithRight, RIGHTS, requireRight } from './organization-access.ts'
import { RecordId, RoleField, tooMany } from './organizations.ts'

/** Most open workspaces of an organisation, and most workspaces in a list. */
const MAX_WORKSPACES = 100
export const MAX_LISTED_WORKSPACES = 1_000

/**
 * A workspace: an account of its own on each side of the market. Instants are Unix milliseconds. A closed workspace is
 * read-only.
 */
export const WorkspaceViewSchema = z
  .object({
    id: z.string(),
    organization: z.string(),
    name: z.string(),
    buyerAccount: z.string(),
    sellerAccount: z.string(),
    createdAt: UnixMs,
    closedAt: UnixMs.nullable(),
  })
  .meta({ id: 'Workspace', description: 'A part of an organization with a buyer’s and a seller’s account of its own.' })
export type WorkspaceView = z.infer<typeof WorkspaceViewSchema>

export function viewOfWorkspace({ createdAt, closedAt, ...facts }: WorkspaceRow): WorkspaceView {
  return { ...facts, createdAt: createdAt.getTime(), closedAt: closedAt?.getTime() ?? null }
}

/** The workspaces of an organisation: open ones first, then by age, oldest first. */
export const WorkspaceListSchema = z.object({
  workspaces: z.array(WorkspaceViewSchema).readonly(),
})
export type WorkspaceList = z.infer<typeof WorkspaceListSchema>

export const listOrganizationWorkspaces = defineOperation({
  name: 'workspace.list',
  summary: 'List workspaces',
  about: 'Workspaces keep the accounts of an organization apart.',
  access: 'org',
  input: z.strictObject({ organization: RecordId }),
  limit: 'read',
  idempotency: 'none',
  output: WorkspaceListSchema,
  run: async (ctx, actor, input): Promise<WorkspaceList> => {
    const { organization } = await requireRight(ctx.db, actor, input.organization, 'organization.read')
    return { workspaces: (await listWorkspaces(ctx.db, organization, MAX_LISTED_WORKSPACES)).map(viewOfWorkspace) }
  },
})

export const OwnWorkspaceSchema = WorkspaceViewSchema.extend({
  organizationName: z.string(),
  /** The caller's role in the organisation. */
  role: RoleField,
}).meta({ id: 'OwnWorkspace', description: 'A workspace that the caller may enter, with the role of the caller.' })
export const OwnWorkspaceListSchema = z.object({ workspaces: z.array(OwnWorkspaceSchema).readonly() })
export type OwnWorkspaceList = z.infer<typeof OwnWorkspaceListSchema>

/** Lists the open workspaces that a session may enter, of every organisation of its user. */
export const listOwnWorkspaces = defineOperation({
  name: 'workspace.list-own',
  summary: 'List workspaces of the caller',
  about:
    'The open workspaces of every organization that you belong to. A session acts in one with the header x-mkt-workspace.',
  access: 'session',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: OwnWorkspaceListSchema,
  run: async (ctx, { user }): Promise<OwnWorkspaceList> => {
    const rows = await listWorkspacesOf(ctx.db, user, MAX_LISTED_WORKSPACES)
    return {
      workspaces: rows.map(({ role, organizationName, ...row }) => ({
        ...viewOfWorkspace(row),
        organizationName,
        role,
      })),
    }
  },
})

/** Opens a workspace with its accounts. Throws `conflict` for a name in use, and above {@link MAX_WORKSPACES}. */
export const createWorkspace = defineOperation({
  name: 'workspace.create',
  summary: 'Create a workspace',
  about: 'A workspace has a buyer and a seller account of its own, and keys that act for them.',
  example: { name: 'evaluation' },
  access: 'org',
  input: z.strictObject({ organization: RecordId, name: Label }),
  limit: 'write',
  idempotency: 'none',
  output: WorkspaceViewSchema,
  run: async (ctx, actor, { name, ...input }): Promise<WorkspaceView> => {
    const newWorkspace = await nameOnce(() =>
      ctx.change(
        async (trx) => {
          const { organization } = await lockWithRight(trx, actor, input.organization, 'workspace.change')
          if ((await countWorkspaces(trx, organization)) >= MAX_WORKSPACES) {
            throw tooMany(`An organisation has at most ${MAX_WORKSPACES} open workspaces.`)
          }
          const accounts = { buyerAccount: ctx.ids.make('acc'), sellerAccount: ctx.ids.make('acc') }
          await openAccount(trx, { id: accounts.buyerAccount, kind: 'buyer_credit', owner: organization })
          await openAccount(trx, { id: accounts.sellerAccount, kind: 'seller_available', owner: organization })
          const id = ctx.ids.make('wsp')
          const workspace = {
            id,
            organization,
            name,
            ...accounts,
            createdAt: new Date(ctx.clock.now()),
            closedAt: null,
          }
          await insertWorkspace(trx, workspace)
          return workspace
        },
        (workspace) => ({
          subject: workspace.id,
          before: null,
          after: viewOfWorkspace(workspace),
          organization: workspace.organization,
        }),
      ),
    )
    return viewOfWorkspace(newWorkspace)
  },
})

/** Renames a workspace. Throws `conflict` for a name in use and for a closed workspace, `not_found`. */
export const updateWorkspace = defineOperation({
  name: 'workspace.update',
  summary: 'Rename a workspace',
  about: 'Changes the name that members see.',
  example: { name: 'production' },
  access: 'org',
  input: z.strictObject({ organization: RecordId, workspace: RecordId, name: Label }),
  limit: 'write',
  idempotency: 'none',
  output: WorkspaceViewSchema,
  run: async (ctx, actor, { name, ...input }): Promise<WorkspaceView> => {
    const before = await nameOnce(() =>
      ctx.change(
        async (trx) => {
          const { organization } = await lockWithRight(trx, actor, input.organization, 'workspace.change')
          const openWorkspace = await findOpenWorkspace(trx, organization, input.workspace)
          await updateWorkspaceName(trx, openWorkspace.id, name)
          return openWorkspace
        },
        ({ id, name: was, organization }) => ({ subject: id, before: { name: was }, after: { name }, organization }),
      ),
    )
    return viewOfWorkspace({ ...before, name })
  },
})

/** Finds an open workspace of an organisation. Throws `not_found`, and `conflict` for a closed one. */
export async function findOpenWorkspace(trx: Trx, organization: OrganizationId, id: string): Promise<WorkspaceRow> {
  const workspace = await findWorkspace(trx, organization, id)
  if (workspace === undefined) throw new AppError('not_found')
  if (workspace.closedAt !== null) throw new AppError('conflict', { message: 'The workspace is closed.' })
  return workspace
}

async function nameOnce<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (refusalOf(error)?.constraint !== 'workspace_one_name') throw error
    throw new AppError('conflict', { message: 'A workspace of this name exists.', param: 'name', cause: error })
  }
}

/** The workspace whose figures are read instead of the caller's own. */
export const WorkspaceField = RecordId.nullish()

/**
 * Returns the account that a read concerns: the caller's own, or that of a workspace of an organisation that the caller
 * belongs to. A key of one workspace can read no other. Throws `not_found`.
 */
export async function accountOf(
  ctx: Pick<Ctx, 'db'>,
  actor: BuyerActor | SellerActor,
  workspaceId: string | null | undefined,
): Promise<AccountId> {
  if (workspaceId == null || workspaceId === actor.workspace?.id) return actor.account
  const isBound = actor.keyId !== null && actor.workspace !== undefined
  const workspace = isBound ? undefined : await findWorkspaceOf(ctx.db, actor.user, workspaceId)
  if (workspace === undefined) throw new AppError('not_found', { message: 'No workspace has this id.' })
  return actor.kind === 'buyer' ? workspace.buyerAccount : workspace.sellerAccount
}

/**
 * Moves a session into a workspace, with the rights of its wallet's role. A closed workspace is read-only. Throws
 * `not_found`.
 */
export async function enterWorkspace(
  ctx: Pick<Ctx, 'db'>,
  session: SessionActor,
  workspaceId: string,
): Promise<SessionActor> {
  const foundWorkspace = await findWorkspaceOf(ctx.db, session.user, workspaceId)
  if (foundWorkspace === undefined) throw new AppError('not_found', { message: 'No workspace has this id.' })
  const { id, organization, buyerAccount, sellerAccount, role } = foundWorkspace
  const isReadOnly = foundWorkspace.closedAt !== null || !RIGHTS['workspace.use'].includes(role)
  const workspace: ActorWorkspace = { id, organization, isReadOnly }
  return { ...session, buyerAccount, sellerAccount, workspace }
}
