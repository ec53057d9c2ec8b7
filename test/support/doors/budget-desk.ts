import type { SessionActor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import {
  listOrganizationBudgets,
  setMemberBudget,
  setWorkspaceBudget,
} from '#control-plane/services/organizations/budgets.ts'
import { createWorkspaceKey } from '#control-plane/services/organizations/workspace-keys.ts'
import type { WorkspaceView } from '#control-plane/services/organizations/workspaces.ts'
import { createWorkspace } from '#control-plane/services/organizations/workspaces.ts'
import type { CreditHold } from '#data-plane/payment.ts'
import { hashApiKey } from '#shared/api-key.ts'
import type { KeyBudget } from '#shared/contract/key-record.ts'
import { KeyRecordSchema } from '#shared/contract/key-record.ts'
import { cacheKeys, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import { eventText, reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { grant, newAccount } from '#test/support/books/ledger.ts'
import type { TestMarket } from './control-plane.ts'
import type { Team } from './team.ts'
import { createTeams } from './team.ts'

/** A key with which a member calls in a workspace. */
export type Caller = { readonly keyId: KeyId; readonly secret: string; readonly account: AccountId }

export type BudgetDesk = Awaited<ReturnType<typeof openBudgetDesk>>

/** Organisations with funded workspaces in a market, whose members set budgets and spend through the gate. */
export async function openBudgetDesk(market: TestMarket) {
  const teams = createTeams(market)
  const node = await market.world.node('n1')
  await untilOpen(node)
  const seller = await newAccount(market.plane.db, 'seller_available')

  async function open({ organization, owner }: Team, name: string): Promise<WorkspaceView> {
    const workspace = await invoke(market.plane, owner, createWorkspace, { organization, name })
    if (!isId('acc', workspace.buyerAccount)) throw new Error('not an account')
    await grant(market.plane.db, workspace.buyerAccount, 10_000_000)
    await drainAccountChanges(market.plane)
    return workspace
  }

  /** Makes a key with which a member calls in a workspace. */
  async function caller({ organization }: Team, member: SessionActor, workspace: WorkspaceView): Promise<Caller> {
    const input = { organization, workspace: workspace.id, keyType: 'buyer' as const, label: 'app' }
    const made = await invoke(market.plane, member, createWorkspaceKey, input)
    if (!isId('key', made.id) || !isId('acc', workspace.buyerAccount)) throw new Error('not a key')
    return { keyId: made.id, secret: made.secret?.reveal() ?? '', account: workspace.buyerAccount }
  }

  /** The budgets of a key as data planes read them. */
  async function budgetsOf({ secret }: Caller): Promise<readonly KeyBudget[]> {
    const hash = hashApiKey(secret, market.plane.settings.keyPepper)
    const text = await market.world.redis.hget(cacheKeys.keys, hash)
    return KeyRecordSchema.parse(JSON.parse(text ?? 'null')).budgets ?? []
  }

  async function reserve(of: Caller, want: number): Promise<CreditHold> {
    const budgets = await budgetsOf(of)
    const input = { want, keyId: of.keyId, ...(budgets.length > 0 && { budgets }) }
    return node.funds.reserve(reserveRequest(of.account, input))
  }

  async function capture(hold: CreditHold, cost: number): Promise<string> {
    const event = JSON.stringify({ ...JSON.parse(eventText(hold, cost, 'n1')), sellerAccount: seller })
    node.journal.capture(hold, event)
    await node.funds.capture(hold, microUsd(cost), event)
    return event
  }

  const post = (...events: string[]) => postBatch(market.plane, { events, source: 'test' })
  async function spend(of: Caller, cost: number): Promise<string> {
    const event = await capture(await reserve(of, cost), cost)
    await post(event)
    return event
  }

  const list = ({ organization, owner }: Team) => invoke(market.plane, owner, listOrganizationBudgets, { organization })
  const ofMember = ({ organization, owner }: Team, member: SessionActor, limitUsd: number | null) =>
    invoke(market.plane, owner, setMemberBudget, { organization, member: member.user, limitUsd })
  const ofWorkspace = ({ organization, owner }: Team, { id: workspace }: WorkspaceView, limitUsd: number | null) =>
    invoke(market.plane, owner, setWorkspaceBudget, { organization, workspace, limitUsd })
  const counted = async (budget: KeyBudget | undefined) =>
    Number(await market.world.redis.hget(moneyKeys.budget(budget?.id ?? ''), 'mu'))

  return {
    teams,
    node,
    seller,
    open,
    caller,
    budgetsOf,
    reserve,
    capture,
    post,
    spend,
    list,
    ofMember,
    ofWorkspace,
    counted,
  }
}
