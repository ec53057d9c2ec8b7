import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { toSnakeBody } from '#shared/field-names.ts'
import type { Answer, Call, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, pathOfLink, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { newWallet, signInForSession } from '#test/support/doors/wallet.ts'

let market: TestMarket
const [ownerWallet, guestWallet] = [newWallet(), newWallet()]
let owner: Record<string, string>
let guest: Record<string, string>
let count = 0

beforeAll(async () => {
  market = await startMarket()
  owner = await signInForSession(market, ownerWallet)
  guest = await signInForSession(market, guestWallet)
})
afterAll(() => market?.stop())

const WithId = z.object({ id: z.string() }).loose()
type Headers = Record<string, string>

function call(headers: Headers, method: string, path: string, body?: object): Promise<Answer> {
  const key = { 'idempotency-key': `organizations-${++count}` }
  const asked: Call = { headers: { ...key, ...headers }, ...(body === undefined ? {} : { body }) }
  return market.rest(method, path, asked)
}

async function make(headers: Headers, path: string, body: object): Promise<string> {
  const answer = await call(headers, 'POST', path, body)
  expect([path, answer.status]).toEqual([path, path.endsWith('/accept') ? 200 : 201])
  return WithId.parse(answer.body).id
}

async function graph(headers: Headers, document: string, variables: object = {}): Promise<Record<string, unknown>> {
  const answer = await call(headers, 'POST', '/graphql', { query: document, variables })
  expect(codeOf(answer)).toBeUndefined()
  const { data } = z.object({ data: z.record(z.string(), z.unknown()) }).parse(answer.body)
  return z.record(z.string(), z.unknown()).parse(toSnakeBody(data))
}

const trpc = (headers: Headers) => market.trpc(undefined, { 'idempotency-key': `trpc-${++count}`, ...headers })

const Nodes = z.object({ edges: z.array(z.object({ node: z.unknown() })) })

describe('an organisation', () => {
  it('is created, filled and read with the same answers at every door', async () => {
    const organization = await make(owner, '/v1/organizations', { name: 'Team' })
    const at = `/v1/organizations/${organization}`
    const invitation = await make(owner, `${at}/invitations`, { wallet: guestWallet.address, role: 'developer' })
    const waiting = await graph(guest, '{ ownInvitations { id organizationName role } }')
    expect(waiting['own_invitations']).toEqual([{ id: invitation, organization_name: 'Team', role: 'developer' }])
    await make(guest, `/v1/invitations/${invitation}/accept`, {})
    const workspace = await make(owner, `${at}/workspaces`, { name: 'Main' })
    const mine = '{ ownWorkspaces { id name organizationName role } }'
    expect((await graph(guest, mine))['own_workspaces']).toEqual([
      { id: workspace, name: 'Main', organization_name: 'Team', role: 'developer' },
    ])
    expect((await graph(await signInForSession(market, newWallet()), mine))['own_workspaces']).toEqual([])
    await make(owner, `${at}/keys`, { label: 'ci', role: 'viewer' })
    await make(guest, `${at}/workspaces/${workspace}/keys`, { key_type: 'buyer', label: 'app' })

    const rest = async (path: string) => z.record(z.string(), z.unknown()).parse((await call(owner, 'GET', path)).body)
    const variables = { organization, workspace }
    const keyFields = 'id keyType keyPrefix label role workspace madeBy createdAt lastUsedAt expiresAt revokedAt'
    const ask = async (field: string, fields: string) => {
      const isInWorkspace = field === 'workspaceKeys'
      const declared = isInWorkspace ? '$organization: ID!, $workspace: ID!' : '$organization: ID!'
      const first = fields.startsWith('edges') ? ', first: 10' : ''
      const place = isInWorkspace ? 'organization: $organization, workspace: $workspace' : 'organization: $organization'
      const args = place + first
      const found = await graph(owner, `query (${declared}) { found: ${field}(${args}) { ${fields} } }`, variables)
      return found['found']
    }
    const askPage = async (field: string, fields: string) =>
      Nodes.parse(await ask(field, `edges { node { ${fields} } }`)).edges.map(({ node }) => node)
    const client = trpc(owner)
    const rows = [
      {
        rest: await rest(at),
        graph: await ask('organization', 'id name role createdAt'),
        trpc: await client.organization.get.query({ organization }),
      },
      {
        rest: (await rest(`${at}/members`))['members'],
        graph: await ask('members', 'id wallet role createdAt'),
        trpc: (await client.member.list.query({ organization })).members,
      },
      {
        rest: (await rest(`${at}/workspaces`))['workspaces'],
        graph: await ask('workspaces', 'id organization name buyerAccount sellerAccount createdAt closedAt'),
        trpc: (await client.workspace.list.query({ organization })).workspaces,
      },
      {
        rest: (await rest(`${at}/keys`))['keys'],
        graph: await askPage('organizationKeys', keyFields),
        trpc: (await client.organizationKey.list.query({ organization })).keys,
      },
      {
        rest: (await rest(`${at}/workspaces/${workspace}/keys`))['keys'],
        graph: await askPage('workspaceKeys', keyFields),
        trpc: (await client.workspaceKey.list.query(variables)).keys,
      },
    ]
    for (const row of rows) {
      expect(row.graph).toEqual(row.rest)
      expect(toSnakeBody(row.trpc)).toEqual(row.rest)
    }
    expect(rows.map((row) => (Array.isArray(row.rest) ? row.rest.length : 1))).toEqual([1, 2, 1, 1, 1])
  })

  it('refuses the same requests with the same code at every door', async () => {
    const organization = await make(owner, '/v1/organizations', { name: 'Closed' })
    const at = `/v1/organizations/${organization}`
    const named = { organization }
    for (const [headers, code] of [
      [guest, 'not_found'],
      [{}, 'authentication_required'],
    ] as const) {
      expect(codeOf(await call(headers, 'GET', `${at}/members`))).toBe(code)
      const query = `query ($organization: ID!) { members(organization: $organization) { id } }`
      expect(codeOf(await call(headers, 'POST', '/graphql', { query, variables: named }))).toBe(code)
      expect(await trpcCodeOf(trpc(headers).member.list.query(named))).toBe(code)
      const rename = `mutation ($organization: ID!) { updateOrganization(organization: $organization, name: "x") { id } }`
      expect(codeOf(await call(headers, 'PATCH', at, { name: 'x' }))).toBe(code)
      expect(codeOf(await call(headers, 'POST', '/graphql', { query: rename, variables: named }))).toBe(code)
      expect(await trpcCodeOf(trpc(headers).organization.update.mutate({ ...named, name: 'x' }))).toBe(code)
    }
    const person = await market.person()
    expect(codeOf(await market.rest('GET', at, { key: person.sellerKey }))).toBe('wrong_key_type')
    expect(codeOf(await call(owner, 'POST', '/v1/organizations', { name: '' }))).toBe('invalid_request')
    expect(codeOf(await call(owner, 'POST', '/v1/organizations', { name: 'a\nb' }))).toBe('invalid_request')
    expect(codeOf(await call(owner, 'POST', '/v1/organizations', { name: 'x', owner: 'me' }))).toBe('invalid_request')
    const noKey = { ...owner, 'idempotency-key': '' }
    expect((await call(noKey, 'POST', `${at}/keys`, { label: 'x', role: 'viewer' })).status).toBe(400)
    expect(codeOf(await call(owner, 'POST', `${at}/keys`, { label: 'x', role: 'owner' }))).toBe('invalid_request')
  })

  it('shows a key in the first answer only', async () => {
    const organization = await make(owner, '/v1/organizations', { name: 'Keys' })
    const headers = { ...owner, 'idempotency-key': 'the-same' }
    const path = `/v1/organizations/${organization}/keys`
    const first = await call(headers, 'POST', path, { label: 'ci', role: 'admin' })
    const again = await call(headers, 'POST', path, { label: 'ci', role: 'admin' })
    const { key, ...record } = z.object({ key: z.string() }).loose().parse(first.body)
    expect([again.status, again.body]).toEqual([201, record])
    expect(codeOf(await call(headers, 'POST', path, { label: 'other', role: 'admin' }))).toBe('idempotency_key_reused')
    expect((await call(owner, 'GET', path)).text).not.toContain(key)
    expect((await market.rest('GET', path, { key })).status).toBe(200)
    const { id } = WithId.parse(record)
    expect((await market.rest('DELETE', `${path}/${id}`, { key })).status).toBe(204)
    expect((await market.rest('GET', path, { key })).status).toBe(401)
  })
})

describe('the log', () => {
  it('is listed in pages and exported as CSV and NDJSON by a link that needs no key', async () => {
    const organization = await make(owner, '/v1/organizations', { name: '=danger("x")' })
    for (const name of ['A', 'B', 'C']) await make(owner, `/v1/organizations/${organization}/workspaces`, { name })
    const path = `/v1/organizations/${organization}/audit`
    const Page = z.object({ items: z.array(WithId), next_token: z.string().nullable() })
    const all = Page.parse((await call(owner, 'GET', path)).body)
    expect(all.items.map((item) => item['operation'])).toEqual([
      'workspace.create',
      'workspace.create',
      'workspace.create',
      'organization.create',
    ])
    const first = Page.parse((await call(owner, 'GET', `${path}?max_items=3`)).body)
    const second = Page.parse((await call(owner, 'GET', `${path}?max_items=3&next_token=${first.next_token}`)).body)
    expect([...first.items, ...second.items]).toEqual(all.items)
    const filtered = Page.parse((await call(owner, 'GET', `${path}?operation=organization.create`)).body)
    expect(filtered.items).toEqual(all.items.slice(3))
    expect(codeOf(await call(owner, 'GET', `${path}?next_token=zzz`))).toBe('invalid_request')
    const listed = await trpc(owner).audit.list.query({ organization })
    expect(listed.items.map(({ id }) => id)).toEqual(all.items.map(({ id }) => id))
    const document = `query ($organization: ID!) {
      organizationAudit(organization: $organization, first: 3) { edges { node { id } } pageInfo { endCursor hasNextPage } } }`
    const graphed = await graph(owner, document, { organization })
    expect(graphed['organization_audit']).toEqual({
      edges: first.items.map(({ id }) => ({ node: { id } })),
      page_info: { end_cursor: first.next_token, has_next_page: true },
    })

    const fileOf = async (format: string) => {
      const answer = await fetch(`${market.url}${path}/export?format=${format}`, { headers: owner, redirect: 'manual' })
      expect(answer.status).toBe(302)
      return market.rest('GET', pathOfLink(market, answer.headers.get('location') ?? ''))
    }
    const csv = await fileOf('csv')
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const lines = csv.text.trimEnd().split('\r\n')
    expect(lines[0]).toBe('id,at,operation,actor_kind,actor,wallet,key_id,subject,before,after')
    expect(lines).toHaveLength(5)
    expect(csv.text).toContain(`,${ownerWallet.address.toLowerCase()},`)
    const ndjson = await fileOf('ndjson')
    const entries = ndjson.text
      .trimEnd()
      .split('\n')
      .map((line) => WithId.parse(JSON.parse(line)))
    expect(entries.map(({ id }) => id)).toEqual(all.items.map(({ id }) => id).reverse())
    expect(entries[0]).toMatchObject({ operation: 'organization.create', after: { name: '=danger("x")' } })
    expect(codeOf(await call(guest, 'GET', `${path}/export`))).toBe('not_found')
  })

  it("of a wallet contains the wallet's own acts, with sign-ins and without secrets", async () => {
    const wallet = newWallet()
    const session = await signInForSession(market, wallet)
    const { cookie = '' } = session
    const made = await call(session, 'POST', '/v1/buyer/keys', { label: 'x' })
    const { key } = z.object({ key: z.string() }).parse(made.body)
    const log = await call(session, 'GET', '/v1/audit')
    const { items } = z.object({ items: z.array(z.object({ operation: z.string() }).loose()) }).parse(log.body)
    expect(items.map(({ operation }) => operation)).toEqual(['buyer-key.create', 'session.create'])
    expect(log.text).not.toContain(key.slice(-20))
    expect(log.text).not.toContain(cookie.slice(-20))
    expect(codeOf(await market.rest('GET', '/v1/audit', { key }))).toBe('wrong_key_type')
  })
})
