import { z } from 'zod'
import type { BudgetRow, BudgetSubject, SpentRow } from '#control-plane/db/budgets.ts'
import {
  deleteBudget,
  findBudget,
  insertBudget,
  insertKeyChangesOfBudget,
  listBudgets,
  sumSpent,
  updateBudget,
} from '#control-plane/db/budgets.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { findMember, listMembers } from '#control-plane/db/organizations.ts'
import { listWorkspaces } from '#control-plane/db/workspaces.ts'
import type { OrgActor, SessionActor } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Dollars } from '#control-plane/services/input-fields.ts'
import { publishKeysSoon } from '#control-plane/services/keys/key-store.ts'
import { seedBudgetUse } from '#control-plane/services/keys/key-use.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { nextUtcMonth, utcMonth } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { MAX_MEMBERS } from './members.ts'
import { lockWithRight, requireRight } from './organization-access.ts'
import { RecordId } from './organizations.ts'
import { findOpenWorkspace, MAX_LISTED_WORKSPACES } from './workspaces.ts'

/** A member or workspace with its budget. Amounts are micro-USD. */
export const BudgetViewSchema = z
  .object({
    of: z.string().describe('The id of the member or the workspace.'),
    limitUsdc: MicroDigits.nullable().describe('The most that the calls of a month may cost. Null without a budget.'),
    spentUsdc: MicroDigits.describe('The booked cost of the calls of this month. Running jobs count with their quote.'),
  })
  .meta({ id: 'Budget', description: 'The monthly budget of a member or a workspace, with the spend of this month.' })
export type BudgetView = z.infer<typeof BudgetViewSchema>

export const BudgetsSchema = z
  .object({
    month: z.string().describe('The UTC month, such as 2026-11.'),
    resetsAt: UnixMs,
    members: z.array(BudgetViewSchema).readonly(),
    workspaces: z.array(BudgetViewSchema).readonly(),
  })
  .meta({ id: 'Budgets', description: 'The monthly budgets of an organization, and the spend of this month.' })
export type Budgets = z.infer<typeof BudgetsSchema>

export const listOrganizationBudgets = defineOperation({
  name: 'budget.list',
  summary: 'List budgets',
  about: 'The budget and the spend of this month for each member and each workspace of the organization.',
  access: 'org',
  input: z.strictObject({ organization: RecordId }),
  limit: 'read',
  idempotency: 'none',
  output: BudgetsSchema,
  run: async (ctx, actor, input): Promise<Budgets> => {
    const { organization } = await requireRight(ctx.db, actor, input.organization, 'organization.read')
    const now = ctx.clock.now()
    const [members, workspaces, budgets, spent] = await Promise.all([
      listMembers(ctx.db, organization, MAX_MEMBERS),
      listWorkspaces(ctx.db, organization, MAX_LISTED_WORKSPACES),
      listBudgets(ctx.db, organization),
      sumSpent(ctx.db, organization, monthFloor(now)),
    ])
    return {
      month: utcMonth(now),
      resetsAt: nextUtcMonth(now),
      members: members.map(({ user }) => viewOf(user, 'user', budgets, spent)),
      workspaces: workspaces.map(({ id }) => viewOf(id, 'workspace', budgets, spent)),
    }
  },
})

/** The least request id of the UTC month of an instant. */
function monthFloor(now: number): string {
  return ulidFloor(Date.parse(`${utcMonth(now)}-01T00:00:00Z`))
}

function viewOf(
  of: string,
  kind: 'user' | 'workspace',
  budgets: readonly BudgetRow[],
  spent: readonly SpentRow[],
): BudgetView {
  const sum = spent.reduce((total, row) => (row[kind] === of ? total + row.spentMicro : total), 0n)
  const budget = budgets.find((row) => row[kind] === of)
  return { of, limitUsdc: budget?.limitMicro.toString() ?? null, spentUsdc: sum.toString() }
}

const Limit = Dollars.nullable().describe('US dollars for each UTC month. Null removes the budget.')

/**
 * Sets or removes the budget of a member. It counts the calls of all keys and sessions of the member in workspaces of
 * the organisation. Throws `not_found`, `forbidden`, and `service_unavailable` while the gate cannot count for a new
 * budget; a repeat then counts.
 */
export const setMemberBudget = defineOperation({
  name: 'budget.set-member',
  summary: 'Set the budget of a member',
  about:
    'The most that the calls of a member in the workspaces of the organization may cost in a UTC month. Earlier calls of the month count. Null removes the budget.',
  example: { limitUsd: 50 },
  access: 'org',
  input: z.strictObject({ organization: RecordId, member: RecordId, limitUsd: Limit }),
  limit: 'write',
  idempotency: 'none',
  output: BudgetViewSchema,
  run: (ctx, actor, { member, ...input }): Promise<BudgetView> =>
    setBudget(ctx, actor, input, async (trx, organization) => {
      const found = await findMember(trx, organization, member)
      if (found === undefined) throw new AppError('not_found')
      return { organization, workspace: null, user: found.user }
    }),
})

/** Sets or removes the budget of a workspace, as {@link setMemberBudget}. Throws `conflict` for a closed workspace. */
export const setWorkspaceBudget = defineOperation({
  name: 'budget.set-workspace',
  summary: 'Set the budget of a workspace',
  about:
    'The most that all calls in a workspace may cost in a UTC month. Earlier calls of the month count. Null removes the budget.',
  example: { limitUsd: 200 },
  access: 'org',
  input: z.strictObject({ organization: RecordId, workspace: RecordId, limitUsd: Limit }),
  limit: 'write',
  idempotency: 'none',
  output: BudgetViewSchema,
  run: (ctx, actor, { workspace, ...input }): Promise<BudgetView> =>
    setBudget(ctx, actor, input, async (trx, organization) => {
      const { id } = await findOpenWorkspace(trx, organization, workspace)
      return { organization, workspace: id, user: null }
    }),
})

type BudgetCtx = Pick<RunCtx, 'change' | 'clock' | 'db' | 'gate' | 'ids' | 'log' | 'publisher'>
type BudgetInput = { readonly organization: string; readonly limitUsd: MicroUsd | null }
type FindSubject = (trx: Trx, organization: BudgetSubject['organization']) => Promise<BudgetSubject>

/**
 * The budget is stored before its counter is seeded. So the gate learns of each call of the month once: from the seed,
 * or from the acknowledgement of its posting, which names the stored budgets.
 */
async function setBudget(
  ctx: BudgetCtx,
  actor: SessionActor | OrgActor,
  { organization: name, limitUsd: limitMicro }: BudgetInput,
  find: FindSubject,
): Promise<BudgetView> {
  const at = ctx.clock.now()
  const change = async (trx: Trx) => {
    const { organization } = await lockWithRight(trx, actor, name, 'people.change')
    const subject = await find(trx, organization)
    const before = await findBudget(trx, subject)
    const id = before?.id ?? ctx.ids.make('bdg')
    if (limitMicro !== null) {
      if (before === undefined) await insertBudget(trx, { ...subject, id, limitMicro, at })
      else await updateBudget(trx, id, limitMicro)
    } else if (before !== undefined) await deleteBudget(trx, id)
    await insertKeyChangesOfBudget(trx, subject)
    return { id, subject, of: subject.workspace ?? subject.user, before: before?.limitMicro.toString() ?? null }
  }
  const { id, subject, of } = await ctx.change(change, (done) => ({
    subject: done.of,
    before: { limitUsdc: done.before },
    after: { limitUsdc: limitMicro?.toString() ?? null },
    organization: done.subject.organization,
  }))
  if (limitMicro !== null) await seedBudgetUse(ctx, id)
  await publishKeysSoon(ctx)
  const { organization, workspace } = subject
  const spent = await sumSpent(ctx.db, organization, monthFloor(at))
  const budget = { id, workspace, user: subject.user, limitMicro: limitMicro ?? 0n }
  return viewOf(of, workspace === null ? 'user' : 'workspace', limitMicro === null ? [] : [budget], spent)
}
