import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ROWS } from '#control-plane/api/rest/door.ts'
import type { RestRow } from '#control-plane/api/rest/route.ts'
import { transact } from '#control-plane/db/database.ts'
import { insertEmail } from '#control-plane/db/emails.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import type { UserId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { submitText } from '#test/support/books/job-events.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { newAuthenticator } from '#test/support/doors/authenticator.ts'
import type { Answer, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import { newPasskeyBrowser } from '#test/support/doors/passkey-browser.ts'
import { lentBody, putSampleResource } from '#test/support/doors/sample-lent-key.ts'
import { storeDeposit } from '#test/support/doors/stored-deposit.ts'
import { storePayout } from '#test/support/doors/stored-payout.ts'
import type { TestWallet } from '#test/support/doors/wallet.ts'
import { newWallet, OUR_ORIGIN, signInForKey, signInForSession } from '#test/support/doors/wallet.ts'

/** A wallet with credentials of every kind. */
type Resident = {
  readonly seller: string
  readonly buyer: string
  readonly session: Record<string, string>
  readonly wallet: TestWallet
}

let market: TestMarket
let victim: Resident
let stranger: Resident
/** The values of path variables, by the beginning of the path. The longest beginning decides. */
let ids: Partial<Record<string, Partial<Record<string, string>>>>
/** Texts that only the victim may see. */
let traces: string[]

async function resident(): Promise<Resident> {
  const wallet = newWallet()
  const { key: seller } = await signInForKey(market, wallet, 'seller')
  const { key: buyer } = await signInForKey(market, wallet, 'buyer')
  return { wallet, seller, buyer, session: await signInForSession(market, wallet) }
}

const WithId = z.object({ id: z.string() }).loose()
let made = 0

/** Creates a thing for the victim and returns its id. */
async function make(path: string, body: object): Promise<string> {
  const by = /^\/v1\/(resource\/)?seller/.test(path)
    ? { key: victim.seller }
    : path.startsWith('/v1/buyer')
      ? { key: victim.buyer }
      : {}
  const headers = { 'idempotency-key': `tenancy-${++made}`, ...('key' in by ? {} : victim.session) }
  const answer = await market.rest('POST', path, { ...by, headers, body })
  expect([path, answer.status, answer.text]).toEqual([path, 201, answer.text])
  return WithId.parse(answer.body).id
}

const UserOf = z.object({ user: z.custom<UserId>((id) => typeof id === 'string' && isId('usr', id)) })

/** Creates a passkey for the victim and returns its id. */
async function makePasskey(): Promise<string> {
  const browser = newPasskeyBrowser(market, OUR_ORIGIN)
  const { cookie = '' } = victim.session
  const [name = '', token = ''] = cookie.split('=')
  browser.cookies.set(name, token)
  const passkey = newAuthenticator('http://localhost:8402').register(await browser.challenge('add'))
  return WithId.parse((await browser.send('POST', '/v1/auth/passkeys', passkey)).body).id
}

/** Stores an address of the victim and returns its id. */
async function makeEmail(): Promise<string> {
  const user = UserOf.parse(await bodyAs(victim, '/v1/auth/session')).user
  const email = { id: market.plane.ids.make('eml'), user, address: 'ada@victim.example', createdAt: 0 }
  await transact(market.plane.db, (trx) => insertEmail(trx, email))
  return email.id
}

beforeAll(async () => {
  market = await startMarket()
  victim = await resident()
  stranger = await resident()
  const passkey = await makePasskey()
  const email = await makeEmail()
  const offer = await make('/v1/seller/offers', {
    model: 'gpt-test',
    api_key: 'sk-good-victim',
    seller_base_url: market.provider.url,
    discount: 10,
    label: 'label of the victim',
  })
  await putSampleResource(market)
  const lentOffer = await make('/v1/resource/seller/offers', { ...lentBody(), label: 'key of the victim' })
  const sellerKey = await make('/v1/seller/keys', { label: 'seller key of the victim' })
  const buyerKey = await make('/v1/buyer/keys', { label: 'buyer key of the victim', cap_daily_usd: 5 })
  const webhook = await make('/v1/buyer/webhooks', { url: 'https://victim.example/hook' })
  const provider = await make('/v1/buyer/providers', {
    model: null,
    base_url: market.provider.url,
    api_key: 'sk-good-victim-own',
    label: 'provider of the victim',
  })
  const organization = await make('/v1/organizations', { name: 'organisation of the victim' })
  const at = `/v1/organizations/${organization}`
  const guest = newWallet().address
  const invitation = await make(`${at}/invitations`, { wallet: guest, role: 'viewer' })
  const link = await make(`${at}/invite-links`, { role: 'viewer' })
  const workspace = await make(`${at}/workspaces`, { name: 'workspace of the victim' })
  const workspaceKey = await make(`${at}/workspaces/${workspace}/keys`, { key_type: 'seller', label: 'x' })
  const managementKey = await make(`${at}/keys`, { label: 'management key of the victim', role: 'admin' })
  const { user } = z.object({ user: z.string() }).parse(await bodyAs(victim, '/v1/auth/session'))
  const configs = await bodyAs(victim, '/v1/seller/configs', 'seller')
  const config = z.object({ configs: z.array(WithId).min(1) }).parse(configs).configs[0]?.id ?? ''
  const cancel = await market.rest('POST', '/v1/seller/offers/bulk-cancel', {
    key: victim.seller,
    headers: { 'idempotency-key': 'bulk-cancel' },
    body: {},
  })
  const operation = z.object({ operation_id: z.string() }).parse(cancel.body).operation_id
  const view = await make('/v1/views', { screen: 'logs', name: 'calls of the victim', query: 'period=7d' })
  const { rid, job, payout, deposit } = await bookCall()
  ids = {
    '/v1/seller/offers': { id: offer },
    '/v1/resource/seller/offers': { id: lentOffer },
    '/v1/seller/keys': { id: sellerKey },
    '/v1/seller/configs': { id: config },
    '/v1/seller/operations': { id: operation },
    '/v1/seller/payouts': { id: payout },
    '/v1/payments/deposits': { id: deposit },
    '/v1/buyer/keys': { id: buyerKey },
    '/v1/buyer/webhooks': { id: webhook },
    '/v1/buyer/providers': { id: provider },
    '/v1/requests': { id: rid },
    '/v1/buyer/jobs': { id: job },
    '/v1/invitations': { invitation },
    '/v1/views': { view },
    '/v1/auth/passkeys': { passkey },
    '/v1/auth/emails': { email },
    '/v1/organizations': { organization, workspace, member: user, invitation, link, key: managementKey },
    '/v1/buyer/unsubscribe': { webhook, token: 'x'.repeat(43) },
    '/v1/organizations/:organization/workspaces': { organization, workspace, key: workspaceKey },
  }
  const wallet = victim.wallet.address.toLowerCase()
  const named = Object.values(ids).flatMap((place) => Object.values(place ?? {}).filter((id) => id !== undefined))
  traces = [...new Set(named), wallet, 'of the victim', 'victim.example', guest.toLowerCase()]
})
afterAll(() => market?.stop())

/** Books a call of the victim at its own offer and a running long job, and stores a payout. Returns their ids. */
async function bookCall(): Promise<{ rid: string; job: string; payout: string; deposit: string }> {
  const { rows } = await sql<{ buyer: `acc_${string}`; seller: `acc_${string}` }>`select buyer_account as buyer,
    seller_account as seller from app_user where wallet = ${victim.wallet.address.toLowerCase()}`.execute(
    market.plane.db,
  )
  const [accounts] = rows
  if (accounts === undefined) throw new Error('the victim has no account')
  const [rid, job] = [market.plane.ids.ulid(), market.plane.ids.ulid()]
  const parties = { account: accounts.buyer, sellerAccount: accounts.seller }
  const events = [eventText({ ...parties, rid, charge: 0 }), submitText({ ...parties, rid: job, quote: 0 })]
  await postBatch(market.plane, { events, source: 'test' })
  const [payout, deposit] = [await storePayout(market, accounts.seller), await storeDeposit(market, accounts.buyer)]
  return { rid, job, payout, deposit }
}

async function bodyAs(who: Resident, path: string, side?: 'seller' | 'buyer'): Promise<unknown> {
  const by = side === undefined ? { headers: who.session } : { key: who[side] }
  return (await market.rest('GET', path, by)).body
}

/** Path variables that name no tenant's record. A row with one is about the caller's own records there. */
const SHARED_NAMES: Readonly<Record<string, string>> = { provider: 'sample' }
/**
 * Rows whose path names a record. Files behind signed links are left out, because every holder of a link may read them.
 */
const NAMED = ROWS.filter(
  ({ path }) => path.includes('/:') && !path.startsWith('/v1/exports') && !path.endsWith('/bills/:provider'),
)
const LISTS = ROWS.filter(
  ({ path, method }) => method === 'GET' && !path.includes('/:') && !path.includes('/challenge'),
)

/** The body that makes a request of the row well formed. */
const BODIES: Readonly<Record<string, object>> = {
  'offer.update': { discount: 90 },
  'lent-offer.update': { discount_percent: 80 },
  'offer.rotate-credential': { api_key: 'sk-good-stranger' },
  'buyer-key.update': { label: 'taken', cap_daily_usd: 1 },
  'buyer-key.rotate': {},
  'deposit.sign': { signature: `0x${'1'.repeat(130)}` },
  'webhook.update': { label: 'taken' },
  'organization.update': { name: 'taken' },
  'member.update': { role: 'viewer' },
  'invitation.create': { wallet: '0x00000000000000000000000000000000000000aa', role: 'viewer' },
  'invite-link.create': { role: 'viewer' },
  'saved-view.update': { name: 'taken' },
  'workspace.create': { name: 'taken' },
  'workspace.update': { name: 'taken' },
  'workspace-key.create': { key_type: 'seller', label: 'taken' },
  'budget.set-member': { limit_usd: 1 },
  'budget.set-workspace': { limit_usd: 1 },
  'organization-key.create': { label: 'taken', role: 'viewer' },
}

function fill(row: RestRow): string {
  const home = Object.keys(ids)
    .filter((beginning) => row.path.startsWith(beginning))
    .reduce((longest, beginning) => (beginning.length > longest.length ? beginning : longest), '')
  return row.path.replace(/:(\w+)/g, (_match, name: string) => {
    const id = ids[home]?.[name] ?? SHARED_NAMES[name]
    if (id === undefined) throw new Error(`${row.method} ${row.path}: give the victim one of these`)
    return id
  })
}

/** The credentials of a side that fit a path. */
function comings(who: Resident, path: string): Record<string, object> {
  const key = /^\/v1\/(resource\/)?seller/.test(path)
    ? { key: who.seller }
    : /^\/v1\/(buyer|requests|payments|resource)/.test(path)
      ? { key: who.buyer }
      : undefined
  return { session: { headers: who.session }, ...(key === undefined ? {} : { key }) }
}

async function ask(row: RestRow, by: { headers?: object; key?: string }, path: string): Promise<Answer> {
  const body = row.method === 'GET' ? {} : { body: BODIES[row.operation] ?? {} }
  const headers = { 'idempotency-key': `walk-${++made}`, ...by.headers }
  return market.rest(row.method, path, { ...('key' in by ? { key: by.key } : {}), headers, ...body })
}

/** Tables that change by themselves, or with every call. */
const RESTLESS = new Set([
  'audit_log',
  'idempotency',
  'used_nonce',
  'worker_lease',
  'key_change',
  'money_watch',
  'invariant_run',
  'money_epoch',
])

/** Every row of every other table as text, without the marks of a credential's use. */
async function everything(): Promise<Record<string, string[]>> {
  const tables = await sql<{ name: string }>`select relname as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
    order by relname`.execute(market.plane.db)
  const found: Record<string, string[]> = {}
  for (const { name } of tables.rows.filter((table) => !RESTLESS.has(table.name))) {
    const { rows } = await sql<{ row: string }>`select (to_jsonb(t) - 'last_used_at')::text as row
      from ${sql.table(name)} t order by 1`.execute(market.plane.db)
    found[name] = rows.map(({ row }) => row)
  }
  return found
}

function expectNoTrace(answer: Answer, what: string): void {
  for (const trace of traces) expect(answer.text.includes(trace), `${what} tells ${trace}`).toBe(false)
}

/** Reads that take `workspace_id`. */
const WORKSPACE_READS = [
  '/v1/seller/earnings',
  '/v1/seller/earnings/history',
  '/v1/seller/usage/export',
  '/v1/seller/payouts',
  '/v1/seller/health-log',
  '/v1/seller/outages',
]

describe('a stranger', () => {
  it('finds nothing under the ids of another account, at any row, and changes nothing', async () => {
    expect(NAMED.length).toBeGreaterThan(30)
    const before = await everything()
    for (const row of NAMED) {
      const path = fill(row)
      for (const [how, by] of Object.entries(comings(stranger, row.path))) {
        const what = `${row.method} ${row.path} by ${how}`
        const answer = await ask(row, by, path)
        const unknown = await ask(
          row,
          by,
          path.replace(/[^/]+$/, (id) => (/_|^0/.test(id) ? `${id.slice(0, -2)}ZZ` : id)),
        )
        expect([what, answer.status, codeOf(answer)]).toEqual([what, 404, 'not_found'])
        expect([what, unknown.status, codeOf(unknown)]).toEqual([what, 404, 'not_found'])
        expectNoTrace(answer, what)
      }
    }
    expect(await everything()).toEqual(before)
  })

  it('finds no trace of another account in any list', async () => {
    for (const row of LISTS) {
      for (const [how, by] of Object.entries(comings(stranger, row.path))) {
        const what = `${row.method} ${row.path} by ${how}`
        const answer = await ask(row, by, row.path)
        expect([what, answer.status < 500]).toEqual([what, true])
        expectNoTrace(answer, what)
      }
    }
  })

  it('is asked for a credential at every row that is not public', async () => {
    for (const row of ROWS.filter((each) => !each.isPublic)) {
      const answer = await ask(row, {}, row.path.includes('/:') && row.path in ids ? fill(row) : row.path)
      expect([row.path, answer.status, codeOf(answer)]).toEqual([row.path, 401, 'authentication_required'])
    }
  })

  it("reads no figures of another's workspace", async () => {
    const workspace = ids['/v1/organizations']?.['workspace'] ?? ''
    for (const path of WORKSPACE_READS) {
      for (const how of Object.values(comings(stranger, path))) {
        const answer = await market.rest('GET', `${path}?workspace_id=${workspace}`, how)
        expect([path, answer.status, codeOf(answer)]).toEqual([path, 404, 'not_found'])
      }
      for (const how of Object.values(comings(victim, path))) {
        const answer = await market.rest('GET', `${path}?workspace_id=${workspace}`, { ...how })
        expect([path, answer.status < 400]).toEqual([path, true])
      }
    }
    const entered = { ...stranger.session, 'x-mkt-workspace': workspace }
    expect(codeOf(await market.rest('GET', '/v1/seller/offers', { headers: entered }))).toBe('not_found')
  })
})

describe('the victim', () => {
  it('finds the things that the stranger did not', async () => {
    for (const row of NAMED.filter(({ method, path }) => method === 'GET' && !path.startsWith('/v1/invitations'))) {
      for (const [how, by] of Object.entries(comings(victim, row.path))) {
        const answer = await ask(row, by, fill(row))
        expect([row.path, how, answer.status < 400]).toEqual([row.path, how, true])
      }
    }
  })
})

describe('a management key', () => {
  it('reaches its own organisation and nothing of either side', async () => {
    const headers = { ...stranger.session, 'idempotency-key': `mgmt-${++made}` }
    const own = await market.rest('POST', '/v1/organizations', { headers, body: { name: 'own' } })
    const { id } = WithId.parse(own.body)
    const body = { label: 'x', role: 'admin' }
    const created = await market.rest('POST', `/v1/organizations/${id}/keys`, { headers, body })
    const { key } = z.object({ key: z.string() }).parse(created.body)
    expect((await market.rest('GET', `/v1/organizations/${id}/members`, { key })).status).toBe(200)
    for (const row of ROWS.filter(({ path }) => path.startsWith('/v1/organizations/:organization'))) {
      const answer = await ask(row, { key }, fill(row))
      // Operations for people only are refused before anything is read.
      const expected = row.operation === 'workspace-key.create' ? 401 : 404
      expect([row.operation, answer.status]).toEqual([row.operation, expected])
      expectNoTrace(answer, row.operation)
    }
    for (const row of ROWS.filter(
      ({ path, isPublic }) => /^\/v1\/(resource\/)?(seller|buyer)/.test(path) && !isPublic,
    )) {
      const answer = await ask(row, { key }, row.path.includes('/:') ? fill(row) : row.path)
      expect([row.path, codeOf(answer)]).toEqual([row.path, 'wrong_key_type'])
    }
  })
})
