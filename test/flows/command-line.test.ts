import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runInTerminal, runMarket } from '#test/support/market/command-line.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const BOLD = '\u001b[1m'
const WALLET_KEY = `0x${randomBytes(32).toString('hex')}`
let network: Network
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  network = await startNetwork()
  folder = await mkdtemp(join(tmpdir(), 'market-cli-'))
  env = { MARKET_HOME: network.home, MARKET_CONFIG_DIR: folder, WALLET_KEY, PROVIDER_KEY: 'sk-good-command-line' }
})
afterAll(async () => {
  await network?.remove()
  await rm(folder, { recursive: true, force: true })
})

/** The JSON answer of a successful command. */
async function json<Schema extends z.ZodType>(schema: Schema, ...args: string[]): Promise<z.output<Schema>> {
  const ran = await runMarket([...args, '--json'], { env })
  expect([args.join(' '), ran.code, ran.err]).toEqual([args.join(' '), 0, ''])
  return schema.parse(JSON.parse(ran.out))
}

const Explained = z.looseObject({ would_serve: z.boolean(), offers: z.array(z.looseObject({ offer: z.string() })) })
const explain = (...args: string[]) => json(Explained, 'route', 'explain', '--model', 'gpt-5-mini', ...args)
const Offers = z.looseObject({ items: z.array(z.looseObject({ id: z.string(), model: z.string() })) })

describe('a provider’s bill at the command line', () => {
  it('is imported from a file, appears beside the list cost, and shows operators which provider differs', async () => {
    const path = join(folder, 'bill.csv')
    await writeFile(path, 'date,model,cost_usd\n2026-01-01,gpt-5-mini,-1')
    const refused = await runMarket(['bills', 'import', path, '--provider', 'sandbox-a'], { env })
    expect([refused.code === 0, refused.err]).toEqual([false, expect.stringContaining('Line 2: ')])
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
    await writeFile(path, `date,model,cost_usd\n${day},nobody-sells-this,7.5`)
    const Stored = z.looseObject({ lines: z.number(), billed_usd: z.string() })
    expect(await json(Stored, 'bills', 'import', path, '--provider', 'sandbox-a')).toMatchObject({
      lines: 1,
      billed_usd: '7.5',
    })
    const drift = await runMarket(['drift', '--provider', 'sandbox-a'], { env })
    expect([drift.code, drift.err]).toEqual([0, ''])
    expect(drift.out).toMatch(/nobody-sells-this +all +\$7\.50 +\$0\.00 +- +0 +key_used_elsewhere/)
    const keyless = await runMarket(['bills', 'fetch', '--provider', 'openai', '--key-env', 'NO_SUCH_KEY'], { env })
    expect(keyless.err).toContain('NO_SUCH_KEY')
    const off = await runMarket(['operator', 'drift'], { env })
    expect([off.code, off.err]).toEqual([0, ''])
    expect(off.out).toMatch(/sandbox-a +bills +1 +\$7\.50/)
    const Removed = z.looseObject({ lines: z.number() })
    expect(await json(Removed, 'bills', 'remove', '--provider', 'sandbox-a', '--yes')).toMatchObject({ lines: 1 })
    expect((await runMarket(['drift'], { env })).out).not.toContain('nobody-sells-this')
  })
})

describe('a buyer at the command line', () => {
  it('sees the market, asks a model, and finds the cost of the call', async () => {
    const table = await runMarket(['models', '--search', 'gpt-5-mini'], { env })
    expect([table.code, table.err]).toEqual([0, ''])
    expect(table.out).toMatch(/^MODEL +NAME +CONTEXT +IN\/1M +OUT\/1M +BY UNIT\ngpt-5-mini .*\$0\.25 +\$2\.00 +-\n$/)
    const said = await runMarket(['chat', '--model', 'sandbox/echo', 'Say', 'hello.'], { env })
    expect([said.code, said.out]).toEqual([0, 'Say hello.\n'])
    expect(said.err).toMatch(/^\d+ tokens in, \d+ out, \$\d+\.\d+\n$/)
    const piped = await runMarket(['chat', '--model', 'sandbox/echo', '-'], { env, input: 'From a pipe.\n' })
    expect(piped.out).toBe('From a pipe.\n')
    const Paid = z.looseObject({ usage: z.looseObject({ buyer_cost_micro: z.number() }) })
    const paid = await json(Paid, 'chat', '--model', 'gpt-5-mini', 'Hi')
    expect(paid.usage.buyer_cost_micro).toBeGreaterThan(0)
    const Usage = z.looseObject({
      items: z.array(z.looseObject({ request_id: z.string(), buyer_cost_micro: z.number() })),
    })
    await until('the call is booked', 20_000, async () =>
      (await json(Usage, 'usage')).items.some((item) => item.buyer_cost_micro === paid.usage.buyer_cost_micro),
    )
    const Caps = z.looseObject({ keys: z.array(z.looseObject({ binds: z.string() })) })
    expect((await json(Caps, 'caps')).keys).toContainEqual(expect.objectContaining({ binds: 'balance' }))
    const jobs = await runMarket(['jobs', '--running'], { env })
    expect([jobs.code, jobs.out.trim()]).toEqual([0, 'No long jobs.'])
    const [latest] = (await json(Usage, 'usage', '--model', 'gpt-5-mini')).items
    const record = await runMarket(['request', latest?.request_id ?? ''], { env })
    expect([record.code, record.out]).toEqual([0, expect.stringContaining('accrued')])
    expect(record.out).toMatch(/^list price +\$0\.\d+$/m)
    expect(record.out).toMatch(/^tokens +\d+ in \(0 cached\), \d+ out \(\d+ thought\)$/m)
    expect(record.out).toMatch(/^at +\d{4}-\d{2}-\d{2} .*Z\ntook +\d+ ms$/m)
    const plain = await runMarket(['chat', 'Say', 'hello.', '--json'], { env })
    expect([plain.code, plain.out]).toEqual([0, expect.stringContaining('"model":"gpt-5-mini"')])
    const short = await runMarket(['chat', '-m', 'sandbox/echo', 'Short.'], { env })
    expect([short.code, short.out]).toEqual([0, 'Short.\n'])
    const bare = network.sandbox.provider_url.replace(/\/v1$/, '')
    const lost = await runMarket(['discover', '--provider', bare, '--key-env', 'PROVIDER_KEY'], { env })
    expect([lost.code, lost.err]).toEqual([expect.any(Number), expect.stringContaining(`Try --provider ${bare}/v1.`)])
  })

  it('sees the same error in a terminal and in a pipe, with the request id', async () => {
    const refused = await runMarket(['chat', '--model', 'no-such-model', 'Hi'], { env })
    expect(refused.code).toBe(1)
    expect(refused.err).toMatch(/^market: .+\n +code unknown_model.* request [0-9A-Z]{26}/)
    const mistyped = await runMarket(['chat', '--model', 'gpt-5-mni', 'Hi'], { env })
    expect(mistyped.err).toContain('Did you mean gpt-5-mini?')
    expect((await runMarket(['request', '01ARZ3NDEKTSV4RRFFQ69G5FAV'], { env })).code).toBe(4)
    const badKey = { ...env, MARKET_BUYER_KEY: 'inf_wrong' }
    const asJson = await runMarket(['balance', '--json'], { env: badKey })
    expect([asJson.code, JSON.parse(asJson.err)]).toEqual([
      3,
      { error: expect.objectContaining({ code: 'invalid_api_key', request_id: expect.stringMatching(/^\w{26}$/) }) },
    ])
  })
})

describe('a terminal', () => {
  it('gets tables of its width, in colour unless colour is switched off', async () => {
    for (const columns of [60, 200]) {
      const { code, out } = await runInTerminal(['models'], { env: { ...env, NO_COLOR: '1' }, columns })
      expect(code).toBe(0)
      const lines = out.split('\r\n').filter((line) => line !== '')
      expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(columns)
      expect(lines.some((line) => line.includes('…'))).toBe(columns === 60)
      expect(out).not.toContain('\u001b')
    }
    const colored = await runInTerminal(['keys', 'list'], { env })
    expect(colored.out).toContain(BOLD)
  })
})

describe('a seller at the command line', () => {
  it('signs in with a wallet, lists capacity in one command, and removes it again', async () => {
    const signedIn = await runMarket(['login', '--side', 'seller', '--private-key-env', 'WALLET_KEY'], { env })
    expect([signedIn.code, signedIn.out]).toEqual([0, expect.stringContaining('mkt_seller_')])
    expect(signedIn.out + signedIn.err).not.toContain(WALLET_KEY.slice(2))
    const place = ['--provider', `${network.sandbox.provider_url}/v1`, '--key-env', 'PROVIDER_KEY']
    const asked = ['sell', ...place, '--discount', '71.5', '--models', 'gpt-5-mini,gpt-5-nano']
    const unconfirmed = await runMarket(asked, { env })
    expect([unconfirmed.code, unconfirmed.err]).toEqual([2, expect.stringContaining('--yes')])
    const listed = await runInTerminal(asked, { env, answers: [{ when: '[y/N]', type: 'y\n' }] })
    expect([listed.code, listed.out]).toEqual([0, expect.stringContaining('2 of 2 listed.')])
    expect(listed.out).toMatch(/The test calls cost about \$0\.0000\d+ at the provider\./)
    const { items } = await json(Offers, 'offers', 'list')
    expect(items.map(({ model }) => model).sort()).toEqual(['gpt-5-mini', 'gpt-5-nano'])
    const again = await runMarket([...asked, '--yes'], { env })
    expect(again.out).toMatch(/gpt-5-nano +error +- +duplicate_offer_for_credential: An active offer/)
    const mine = items.find(({ model }) => model === 'gpt-5-mini')?.id
    await until('the offer is routed first', 5_000, async () => (await explain()).offers[0]?.offer === mine)
    const Cancelled = z.looseObject({ status: z.literal('succeeded'), processed: z.literal(2) })
    await json(Cancelled, 'offers', 'cancel-all', '--yes')
    await until('the offer is no longer first', 5_000, async () => (await explain()).offers[0]?.offer !== mine)
  })
})

describe('a lender at the command line', () => {
  const Lent = z.looseObject({ id: z.string(), status: z.string(), discount_percent: z.number() })
  const costOfPicture = async () => {
    const { api_base_url: base, buyer_key: key } = network.sandbox
    const answer = await fetch(`${base}/resources/provider-p1/v1/images`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'canvas-1-mini', prompt: 'A boat.' }),
    })
    return answer.headers.get('x-mkt-buyer-cost-micro')
  }

  it('lends a key with one command, changes its terms, and destroys it', async () => {
    await runMarket(['login', '--side', 'seller', '--private-key-env', 'WALLET_KEY'], { env })
    const asked = ['lend', 'provider-p1', '--key-env', 'PROVIDER_KEY', '--discount', '75', '--models', 'canvas-1-mini']
    const tried = await runMarket(['lent', 'try', 'provider-p1', '--key-env', 'PROVIDER_KEY'], { env })
    expect([tried.code, tried.out]).toEqual([0, expect.stringContaining('account.tier2')])
    const badKey = { ...env, PROVIDER_KEY: 'sk-bad-command-line' }
    const bad = await runMarket(['lent', 'try', 'provider-p1', '--key-env', 'PROVIDER_KEY'], { env: badKey })
    expect([bad.code, bad.out]).toEqual([1, expect.stringContaining('The key does not work')])
    const unconfirmed = await runMarket(asked, { env })
    expect([unconfirmed.code, unconfirmed.err]).toEqual([2, expect.stringContaining('--yes')])
    const answers = ['Is that all right?', 'with your account?'].map((when) => ({ when, type: 'y\n' }))
    const lent = await runInTerminal(asked, { env, answers })
    expect([lent.code, lent.out]).toEqual([0, expect.stringContaining('The key is lent.')])
    expect(lent.out + lent.err).not.toContain('sk-good-command-line')
    const { items } = await json(z.looseObject({ items: z.array(Lent) }), 'lent', 'list')
    const id = items[0]?.id ?? ''
    expect(items).toEqual([expect.objectContaining({ status: 'active', discount_percent: 75 })])
    // The best discount is tried first: 11,000 micro-USD at 25 %, and after the change at 20 %.
    await until('the key is routed first', 5_000, async () => (await costOfPicture()) === '2750')
    await json(Lent, 'lent', 'update', id, '--discount', '80', '--rate', '100')
    await until('the new price is in effect', 5_000, async () => (await costOfPicture()) === '2200')
    const Earned = z.looseObject({ calls: z.number(), earned_micro: z.number() })
    await until('its sales are booked', 20_000, async () => (await json(Earned, 'lent', 'earnings')).calls > 1)
    expect(await json(Lent, 'lent', 'pause', id)).toMatchObject({ status: 'paused' })
    await until('the key sells nothing', 5_000, async () => (await costOfPicture()) === '7150')
    expect(await json(Lent, 'lent', 'activate', id)).toMatchObject({ status: 'active' })
    expect(await json(Lent, 'lent', 'show', id)).toMatchObject({ id, status: 'active', discount_percent: 80 })
    const unsure = await runMarket(['lent', 'remove', id], { env })
    expect([unsure.code, unsure.err]).toEqual([2, expect.stringContaining('--yes')])
    expect(await json(Lent, 'lent', 'remove', id, '--yes')).toMatchObject({ id, status: 'delisted' })
    const again = await runMarket(['lent', 'activate', id], { env })
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('conflict')])
    const nobody = await runMarket(['lent', 'show', 'ofr_00000000000000000000000000'], { env })
    expect([nobody.code, nobody.err]).toEqual([4, expect.stringContaining('not_found')])
    const purged = await runMarket(['lent', 'purge', id, '--yes'], { env })
    expect([purged.code, purged.out]).toEqual([0, expect.stringContaining('The secret is destroyed.')])
    const none = await json(z.looseObject({ delisted: z.literal(0) }), 'lent', 'remove-all', '--yes')
    expect(none.delisted).toBe(0)
  })
})

describe('has JSON output', () => {
  type Side = 'buyer' | 'seller'
  const KEY = z.looseObject({ key: z.string() })
  const keys: Record<Side, string> = { buyer: '', seller: '' }
  let own: Record<string, string>

  beforeAll(async () => {
    own = {
      ...env,
      MARKET_CONFIG_DIR: await mkdtemp(join(folder, 'own-')),
      WALLET_KEY: `0x${randomBytes(32).toString('hex')}`,
    }
    for (const side of ['buyer', 'seller'] as const) {
      await runMarket(['login', '--side', side, '--private-key-env', 'WALLET_KEY'], { env: own })
      keys[side] = KEY.parse(await told('keys', 'create', '--side', side)).key
    }
  })

  /** The JSON of a command about the user's own account. */
  async function told(...args: string[]): Promise<unknown> {
    const ran = await runMarket([...args, '--json'], { env: own })
    expect([args.join(' '), ran.code, ran.err]).toEqual([args.join(' '), 0, ''])
    return JSON.parse(ran.out)
  }

  async function rest(side: Side, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${network.sandbox.control_plane_url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${keys[side]}`, 'content-type': 'application/json', 'idempotency-key': path },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return answer.json()
  }

  /** Keys record their last use, and these commands use them. */
  const steady = (body: unknown): unknown =>
    JSON.parse(JSON.stringify(body), (name, value) => (name === 'last_used_at' ? 'once' : value))

  const namesOf = (body: unknown) => new Set(Object.keys(z.looseObject({}).parse(body)))

  it('equals the answer of REST to the same account', async () => {
    const { wallet } = z.looseObject({ wallet: z.string() }).parse(await told('balance'))
    const money = ['--wallet', wallet, '--usd', '3', '--event', `evt_${wallet}`]
    const unpaid = await runMarket(['chat', 'Hi'], { env: own })
    expect([unpaid.code, unpaid.err]).toEqual([1, expect.stringMatching(/\n +Add credit: market deposit\n$/)])
    expect((await runMarket(['operator', 'credit', 'deposit', ...money], { env })).code).toBe(0)
    await until('a call is paid', 5_000, async () => (await runMarket(['chat', 'Hi'], { env: own })).code === 0)
    await until('the call is booked', 20_000, async () => JSON.stringify(await told('usage')).includes('request_id'))
    const place = ['--provider', `${network.sandbox.provider_url}/v1`, '--key-env', 'PROVIDER_KEY']
    await told('sell', ...place, '--discount', '5', '--models', 'gpt-5-nano', '--yes')
    const deployment = 'our-o1?api-version=2025-01-01-preview'
    const named = ['--format', 'azuredeployments', '--models', `o1=${deployment}`, '--dry-run']
    expect(await told('sell', ...place, '--discount', '5', ...named)).toMatchObject({
      would_list: [{ model: 'o1', metadata: { provider_model_id: deployment } }],
    })
    await told('lend', 'provider-p1', '--key-env', 'PROVIDER_KEY', '--discount', '5', '--yes')
    const [offer] = Offers.parse(await told('offers', 'list')).items
    const [lent] = z
      .looseObject({ items: z.array(z.looseObject({ id: z.string() })) })
      .parse(await told('lent', 'list')).items
    const Keys = z.looseObject({ keys: z.array(z.unknown()) })
    const SAME: readonly (readonly [command: string, side: Side, path: string, read?: (body: unknown) => unknown])[] = [
      ['balance', 'buyer', '/v1/buyer/me'],
      ['usage', 'buyer', '/v1/buyer/usage'],
      ['caps', 'buyer', '/v1/buyer/caps'],
      ['jobs', 'buyer', '/v1/buyer/jobs'],
      ['deposits', 'buyer', '/v1/payments/deposits'],
      ['allowance show', 'buyer', '/v1/buyer/allowance'],
      ['keys list', 'buyer', '/v1/buyer/keys', (body) => Keys.parse(body).keys],
      ['keys list --side seller', 'seller', '/v1/seller/keys', (body) => Keys.parse(body).keys],
      ['offers list', 'seller', '/v1/seller/offers'],
      [`offers show ${offer?.id}`, 'seller', `/v1/seller/offers/${offer?.id}`],
      ['health-log', 'seller', '/v1/seller/health-log'],
      ['earnings', 'seller', '/v1/seller/earnings'],
      ['payouts list', 'seller', '/v1/seller/payouts'],
      ['lent list', 'seller', '/v1/resource/seller/offers'],
      [`lent show ${lent?.id}`, 'seller', `/v1/resource/seller/offers/${lent?.id}`],
      ['lent earnings', 'seller', '/v1/resource/seller/analytics'],
    ]
    for (const [command, side, path, read = (body: unknown) => body] of SAME) {
      expect([command, steady(await told(...command.split(' ')))]).toEqual([
        command,
        steady(read(await rest(side, path))),
      ])
    }
    for (const side of ['buyer', 'seller'] as const) {
      const made = await rest(side, `/v1/${side}/keys`, { label: 'by REST' })
      expect(namesOf(await told('keys', 'create', '--side', side))).toEqual(namesOf(made))
    }
    expect(await told('deposit')).toEqual(await rest('buyer', '/v1/payments/deposits', {}))
    expect(steady(await told('allowance', 'open'))).toEqual(steady(await rest('buyer', '/v1/buyer/allowance', {})))
  })

  it('of a frozen key says since when, and the list of keys names its state', async () => {
    const made = z.looseObject({ id: z.string() }).parse(await told('keys', 'create', '--label', 'freezing'))
    const stateOf = async () => {
      const { out } = await runMarket(['keys', 'list'], { env: own })
      return /freezing +(\w+)/.exec(out)?.[1]
    }
    expect(await stateOf()).toBe('active')
    expect(await told('keys', 'freeze', made.id)).toMatchObject({ id: made.id, frozen_at: expect.any(Number) })
    expect(await stateOf()).toBe('frozen')
    const again = await runMarket(['keys', 'unfreeze', made.id], { env: own })
    expect([again.code, again.out.trim()]).toEqual([0, `${made.id} works again.`])
    expect(await stateOf()).toBe('active')
    const missing = await runMarket(['keys', 'freeze', 'key_none'], { env: own })
    expect([missing.code, missing.err]).toEqual([4, expect.stringContaining('not_found')])
  })

  it('of refusals equals that of REST, with its names', async () => {
    const [offer] = Offers.parse(await told('offers', 'list')).items
    const ran = await runMarket(['offers', 'update', offer?.id ?? '', '--cap-daily', '0.0000011', '--json'], {
      env: own,
    })
    const answer = await fetch(`${network.sandbox.control_plane_url}/v1/seller/offers/${offer?.id}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${keys.seller}`, 'content-type': 'application/json' },
      body: JSON.stringify({ cap_daily_usd: 0.0000011 }),
    })
    const Refused = z.object({
      error: z.object({ code: z.string(), message: z.string(), detail: z.object({ param: z.string() }) }),
    })
    const { code, message, detail } = Refused.parse(await answer.json()).error
    expect(detail.param).toBe('cap_daily_usd')
    expect([ran.code, JSON.parse(ran.err)]).toMatchObject([
      1,
      { error: { code, message, param: detail.param, status: 400 } },
    ])
  })
})

describe('an operator at the command line', () => {
  const row = (id: string, changes: object = {}) => ({
    id,
    name: id,
    created: 1_770_000_000,
    description: 'd',
    context_length: 100_000,
    architecture: { modality: 'text->text', input_modalities: ['text'], output_modalities: ['text'] },
    pricing: { prompt: '0.000001', completion: '0.000002', web_search: '1' },
    top_provider: { is_moderated: false },
    supported_parameters: ['tools'],
    ...changes,
  })

  it('imports a catalogue after reading the difference, and the data plane has it', async () => {
    const file = join(folder, 'models.json')
    // The descriptions are long, so these rows need more than one request.
    const many = Array.from({ length: 500 }, (_, at) => row(`acme/bulk-${at}`, { description: 'x'.repeat(2_500) }))
    await writeFile(file, JSON.stringify({ data: [...many, row('acme/broken', { pricing: {} })] }))
    const args = ['operator', 'catalog', 'import', file, '--source', 'flow test']
    const declined = await runInTerminal(args, { env, answers: [{ when: '[y/N]', type: 'n\n' }] })
    expect([declined.code, declined.out]).toEqual([7, expect.stringContaining('500 new, 0 changed')])
    const Search = z.array(z.looseObject({ id: z.string() }))
    expect(await json(Search, 'models', '--search', 'bulk-')).toEqual([])
    const taken = await runMarket([...args, '--yes', '--json'], { env })
    // A single row was refused. The other rows are imported.
    expect([taken.code, taken.err]).toEqual([6, ''])
    expect(JSON.parse(taken.out)).toMatchObject({
      imported: { added: 500 },
      rejected: [{ index: 500, id: 'acme/broken' }],
    })
    await until('the catalogue is published', 5_000, async () => {
      const models = await (await fetch(`${network.sandbox.base_url}/v1/models/bulk-499`)).json()
      return z.looseObject({ id: z.string() }).safeParse(models).success
    })
  })

  it('delists an offer, and routing follows within a second', async () => {
    const [first] = (await explain()).offers
    const id = first?.offer ?? ''
    const call = async () => {
      const answer = await fetch(`${network.sandbox.base_url}/v1/route/explain`, {
        method: 'POST',
        headers: { authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          path: '/v1/chat/completions',
          body: { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }] },
        }),
      })
      return Explained.parse(await answer.json()).offers[0]?.offer
    }
    expect(await call()).toBe(id)
    const delisted = await runMarket(['operator', 'delist', id, '--reason', 'flow test'], { env })
    expect([delisted.code, delisted.err]).toEqual([0, ''])
    await until('another offer is first', 1_000, async () => (await call()) !== id)
    const said = await runMarket(['operator', 'offers', '--delisted'], { env })
    expect(said.out).toContain(id)
    const Audit = z.looseObject({ items: z.array(z.looseObject({ operation: z.string(), subject: z.string() })) })
    const { items } = await json(Audit, 'operator', 'audit', '--subject', id)
    expect(items[0]).toMatchObject({ operation: 'offer.delist', subject: id })
    const restored = await runMarket(['operator', 'restore', id, '--reason', 'flow test'], { env })
    expect(restored.code).toBe(0)
  })

  it('switches paid calls off and on again', async () => {
    const paid = () => runMarket(['chat', '--model', 'gpt-5-mini', 'Hi'], { env })
    await runMarket(['operator', 'features', 'off', 'paid_calls', '--reason', 'drill'], { env })
    await until('paid calls are refused', 10_000, async () => (await paid()).code === 5)
    expect((await runMarket(['chat', '--model', 'sandbox/echo', 'free'], { env })).out).toBe('free\n')
    await runMarket(['operator', 'features', 'on', 'paid_calls', '--reason', 'over'], { env })
    await until('paid calls are accepted', 10_000, async () => (await paid()).code === 0)
  })

  it('books a deposit once, and pays back the deposited amount and no granted credit', async () => {
    const { wallet } = await json(z.looseObject({ wallet: z.string() }), 'balance')
    const credit = (...args: string[]) =>
      runMarket(['operator', 'credit', ...args, '--wallet', wallet, '--json'], { env })
    const deposit = ['deposit', '--usd', '3', '--event', 'evt_flow']
    expect(JSON.parse((await credit(...deposit)).out)).toMatchObject({
      key: 'deposit:fiat:evt_flow',
      isRepeat: false,
    })
    expect(JSON.parse((await credit(...deposit)).out)).toMatchObject({ isRepeat: true })
    const refund = (usd: string) =>
      credit('refund', '--usd', usd, '--ticket', `flow-${usd}`, '--note', 'flow test', '--yes')
    expect((await refund('3')).code).toBe(0)
    // Only the granted rest is left.
    const beyond = await refund('1')
    expect([beyond.code, JSON.parse(beyond.err)]).toMatchObject([1, { error: { code: 'conflict' } }])
    expect(await json(z.array(z.unknown()), 'operator', 'payout-holds', 'list')).toEqual([])
  })

  it('adjusts the books by hand once, and lists the cases that wait for a person', async () => {
    const { wallet } = await json(z.looseObject({ wallet: z.string() }), 'balance')
    const adjust = (...args: string[]) =>
      runMarket(['operator', 'ledger', 'adjust', '--wallet', wallet, '--usd', '1', ...args, '--yes', '--json'], {
        env,
      })
    const given = ['--direction', 'credit', '--ticket', 'flow-adjust', '--reason', 'flow test']
    expect(JSON.parse((await adjust(...given)).out)).toMatchObject({ isRepeat: false })
    expect(JSON.parse((await adjust(...given)).out)).toMatchObject({ isRepeat: true })
    expect((await adjust('--direction', 'up', '--ticket', 'x', '--reason', 'x')).code).toBe(2)
    const Report = z.looseObject({ owedMicro: z.string(), lines: z.array(z.unknown()) })
    expect(await json(Report, 'operator', 'shortfall', 'list')).toMatchObject({ owedMicro: '0', lines: [] })
    expect(await json(z.array(z.unknown()), 'operator', 'conflicts', 'list')).toEqual([])
    const Chain = z.looseObject({ isReplaced: z.boolean(), genesis: z.string() })
    const known = await json(Chain, 'operator', 'treasury', 'chain')
    expect(known.isReplaced).toBe(false)
    const accept = ['operator', 'treasury', 'accept-chain', known.genesis, '--reason', 'flow test', '--yes', '--json']
    const accepted = await runMarket(accept, { env })
    expect([accepted.code, JSON.parse(accepted.err)]).toMatchObject([1, { error: { code: 'conflict' } }])
    const Wallets = z.looseObject({ isOpen: z.boolean(), gasWei: z.string().nullable(), hanging: z.number() })
    expect(await json(Wallets, 'operator', 'payments', 'state')).toMatchObject({ isOpen: true, hanging: 0 })
    expect(await json(z.array(z.unknown()), 'operator', 'payments', 'list', '--state', 'written_off')).toEqual([])
    expect(await json(z.array(z.unknown()), 'operator', 'payments', 'debtors')).toEqual([])
    const forgiven = await runMarket(
      ['operator', 'payments', 'forgive', '0'.repeat(26), '--reason', 'flow test', '--yes'],
      { env },
    )
    expect([forgiven.code, forgiven.err]).toEqual([4, expect.stringContaining('not_found')])
    const unknown = await runMarket(['operator', 'poison', 'read', 'a'.repeat(64)], { env })
    expect([unknown.code, unknown.err]).toEqual([4, expect.stringContaining('not_found')])
    const old = ['--since', '2020-01-01T00:00:00Z', '--reason', 'flow test', '--yes']
    expect((await runMarket(['operator', 'journal', 'repost', ...old], { env })).code).toBe(1)
  })

  it('announces an incident, and its end', async () => {
    const incidents = (...args: string[]) => runMarket(['operator', 'incidents', ...args], { env })
    const told = await incidents('declare', 'Slow answers', '--models', 'gpt-5-mini', '--note', 'We look.', '--json')
    const { id } = z.looseObject({ id: z.string() }).parse(JSON.parse(told.out))
    const more = await incidents('update', id, '--note', 'It was a provider.', '--state', 'identified')
    expect([more.code, more.out]).toEqual([0, expect.stringMatching(/identified.*We look\..*It was a provider\./s)])
    expect((await incidents('end', id, '--note', 'Over.')).code).toBe(0)
    expect((await incidents('list')).out).toMatch(new RegExp(`${id}.*resolved.*Slow answers.*gpt-5-mini`))
    expect((await incidents('end', id, '--note', 'Again.')).code).toBe(1)
  })

  it('sees processes, queues, snapshot and the checker', async () => {
    const Nodes = z.array(
      z.looseObject({ isAlive: z.boolean(), report: z.looseObject({ version: z.string(), openEpoch: z.number() }) }),
    )
    expect(await json(Nodes, 'operator', 'nodes')).toMatchObject([{ isAlive: true }])
    const Queues = z.array(z.looseObject({ queue: z.string(), failed: z.number() }))
    expect((await json(Queues, 'operator', 'queues', 'list')).find(({ queue }) => queue === 'usage')?.failed).toBe(0)
    await json(z.looseObject({ isWhole: z.boolean() }), 'operator', 'snapshot', 'show')
    const checked = await runMarket(['operator', 'invariants', '--run'], { env })
    expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('none')])
    const nobody = await runMarket(['operator', 'nodes'], {
      env: { ...env, MARKET_OPERATOR_KEY: network.sandbox.buyer_key },
    })
    expect(nobody.code).toBe(3)
  })
})
