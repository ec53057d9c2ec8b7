import { z } from 'zod'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import type { AccountId } from '#shared/ids.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { TestMarket } from './control-plane.ts'
import { startMarket } from './control-plane.ts'
import type { Headers } from './doors.ts'
import { newProviderKey } from './offers.ts'
import { lentBody, putSampleResource } from './sample-lent-key.ts'
import { FAR_MOVES, storeDeposit, storePermit } from './stored-deposit.ts'
import { storePayout } from './stored-payout.ts'
import type { TestWallet } from './wallet.ts'
import { newWallet, signedChallenge, signInForSession } from './wallet.ts'

/** A market with a user who has one of everything, and functions that make more. */
export type DoorWorld = {
  readonly market: TestMarket
  /** Callers: the user's session, another user's session, an anonymous caller, and an operator's key. */
  readonly callers: Readonly<Record<'session' | 'stranger' | 'nobody' | 'operator', Headers>>
  readonly wallet: TestWallet
  readonly ids: Readonly<Record<Thing, string>>
  /** The user's accounts. */
  readonly accounts: { readonly buyer: AccountId; readonly seller: AccountId }
  /** Creates a thing through REST and returns its id. The user creates it, unless other headers are given. */
  make(path: string, body: object, headers?: Headers): Promise<string>
  /** A signed message of a wallet that has signed no other message, ready to be exchanged. */
  sign(): Promise<{ message: string; signature: string }>
  /** Creates an organisation of another user with an invitation for the user. */
  invite(): Promise<string>
  /** Creates an organisation of another user with an invite link. Returns the link's secret. */
  inviteLink(): Promise<string>
  /** Creates a member who has joined an organisation of the user. */
  joined(organization: string): Promise<string>
  offerInput(changes?: object): { model: string; apiKey: string; sellerBaseUrl: string; discount: number }
}
type Thing =
  | 'organization'
  | 'workspace'
  | 'member'
  | 'offer'
  | 'lentOffer'
  | 'operation'
  | 'provider'
  | 'webhook'
  | 'rid'
  | 'job'
  | 'payout'
  | 'deposit'
  | 'buyerKey'

const Made = z.object({ id: z.string() })
/** Many callers at once wait for one lock here, each for longer on a busy machine. */
const LOCK_MS = 60_000

export async function createDoorWorld(): Promise<DoorWorld> {
  const market = await startMarket({ overrides: { moves: FAR_MOVES, databaseLimits: { lockMs: LOCK_MS } } })
  await putSampleResource(market)
  const [wallet, other] = [newWallet(), newWallet()]
  const session = await signInForSession(market, wallet)
  const inviter = await signInForSession(market, other)
  let calls = 0

  async function make(path: string, body: object, headers: Headers = session): Promise<string> {
    const sent = { headers: { 'idempotency-key': `world-${++calls}`, ...headers }, body }
    const answer = await market.rest('POST', path, sent)
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status} ${answer.text}`)
    return Made.parse(answer.body).id
  }
  async function invite(): Promise<string> {
    const organization = await make('/v1/organizations', { name: 'Elsewhere' }, inviter)
    const body = { wallet: wallet.address, role: 'viewer' }
    return make(`/v1/organizations/${organization}/invitations`, body, inviter)
  }
  async function inviteLink(): Promise<string> {
    const organization = await make('/v1/organizations', { name: 'Elsewhere' }, inviter)
    const path = `/v1/organizations/${organization}/invite-links`
    const answer = await market.rest('POST', path, { headers: inviter, body: { role: 'viewer' } })
    return new URL(z.object({ url: z.string() }).parse(answer.body).url).hash.slice(1)
  }
  async function joined(organization: string): Promise<string> {
    const guest = newWallet()
    const guestSession = await signInForSession(market, guest)
    const body = { wallet: guest.address, role: 'developer' }
    const invitation = await make(`/v1/organizations/${organization}/invitations`, body)
    await make(`/v1/invitations/${invitation}/accept`, {}, guestSession)
    const { user } = z
      .object({ user: z.string() })
      .parse((await market.rest('GET', '/v1/auth/session', { headers: guestSession })).body)
    return user
  }
  const offerInput = (changes: object = {}) => ({
    model: 'gpt-test',
    apiKey: newProviderKey(),
    sellerBaseUrl: market.provider.url,
    discount: 12.5,
    ...changes,
  })

  const { apiKey, sellerBaseUrl } = offerInput()
  const organization = await make('/v1/organizations', { name: 'Team' })
  const at = `/v1/organizations/${organization}`
  const workspace = await make(`${at}/workspaces`, { name: 'Main' })
  await make(`${at}/workspaces/${workspace}/keys`, { key_type: 'seller', label: 'app' })
  await make(`${at}/keys`, { label: 'ci', role: 'viewer' })
  await make(`${at}/invitations`, { wallet: newWallet().address, role: 'billing' })
  await invite()
  await make(`${at}/invite-links`, { role: 'viewer' })
  const cancelled = await market.rest('POST', '/v1/seller/offers/bulk-cancel', { headers: session, body: {} })
  const place = { model: null, base_url: sellerBaseUrl, api_key: 'sk-good-own' }
  const ids = {
    organization,
    workspace,
    member: await joined(organization),
    offer: await make('/v1/seller/offers', {
      model: 'gpt-test',
      api_key: apiKey,
      seller_base_url: sellerBaseUrl,
      discount: 12.5,
      label: 'first',
    }),
    lentOffer: await make('/v1/resource/seller/offers', lentBody()),
    operation: z.object({ operation_id: z.string() }).parse(cancelled.body).operation_id,
    provider: await make('/v1/buyer/providers', place),
    webhook: await make('/v1/buyer/webhooks', { url: `${sellerBaseUrl}/hook`, label: 'alerts' }),
    buyerKey: await make('/v1/buyer/keys', { label: 'app', cap_daily_usd: 5 }),
    rid: market.plane.ids.ulid(),
    job: market.plane.ids.ulid(),
  }
  await make('/v1/seller/keys', { label: 'shop' })
  await market.rest('POST', `/v1/buyer/webhooks/${ids.webhook}/test`, { headers: session, body: {} })
  const accounts = await bookCall(ids)
  await storePermit(market, accounts.buyer, wallet.address)
  await rollUp(market.plane, 0)
  const callers = {
    session,
    stranger: await signInForSession(market, newWallet()),
    nobody: {},
    operator: { authorization: `Bearer ${await market.managementKey('operator')}` },
  }
  return {
    market,
    callers,
    wallet,
    ids: {
      ...ids,
      payout: await storePayout(market, accounts.seller),
      deposit: await storeDeposit(market, accounts.buyer),
    },
    accounts,
    make,
    sign: () => signedChallenge(market, newWallet()),
    invite,
    inviteLink,
    joined,
    offerInput,
  }

  /** Books a call and a whole long job that the user bought from the user's own offer. Returns the user's accounts. */
  async function bookCall({ offer, rid, job }: Readonly<Record<'offer' | 'rid' | 'job', string>>) {
    const user = await market.plane.db
      .selectFrom('app_user')
      .select(['buyer_account as buyer', 'seller_account as seller'])
      .where('wallet', '=', wallet.address.toLowerCase())
      .executeTakeFirstOrThrow()
    const accounts: { buyer: AccountId; seller: AccountId } = user
    const call = { rid, account: accounts.buyer, sellerAccount: accounts.seller, model: 'gpt-test', charge: 0 }
    const free = { ...call, rid: job, quote: 0 }
    const events = [eventText(call, { offer }), submitText(free), endText(free, 0)]
    await postBatch(market.plane, { events, source: 'test' })
    return accounts
  }
}
