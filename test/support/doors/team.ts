import type { SessionActor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { acceptInvitation, createInvitation } from '#control-plane/services/organizations/invitations.ts'
import { createOrganization } from '#control-plane/services/organizations/organizations.ts'
import type { TestMarket } from './control-plane.ts'

/** An organisation and its owner. */
export type Team = { readonly organization: string; readonly owner: SessionActor }

/** Creates people with sessions, organisations, and their members, in a market. */
export function createTeams(market: Pick<TestMarket, 'plane' | 'person'>) {
  const { plane } = market

  async function somebody(): Promise<SessionActor> {
    const { buyer, seller, wallet } = await market.person()
    const accounts = { buyerAccount: buyer.account, sellerAccount: seller.account }
    return {
      kind: 'session',
      sessionId: plane.ids.make('ses'),
      signedInAt: plane.clock.now(),
      user: buyer.user,
      wallet,
      ...accounts,
    }
  }

  async function team(): Promise<Team> {
    const owner = await somebody()
    const { id } = await invoke(plane, owner, createOrganization, { name: 'Team' })
    return { organization: id, owner }
  }

  /** Adds `who`, or a new person, as a member with a role. */
  async function join({ organization, owner }: Team, role: string, who?: SessionActor): Promise<SessionActor> {
    const member = who ?? (await somebody())
    const { id } = await invoke(plane, owner, createInvitation, { organization, wallet: member.wallet, role })
    await invoke(plane, member, acceptInvitation, { invitation: id })
    return member
  }

  return { somebody, team, join }
}
