import { createTRPCClient, httpLink } from '@trpc/client'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { AppRouter } from '#control-plane/api/trpc/router.ts'
import { readConfig } from '#control-plane/config.ts'
import { insertOrganization } from '#control-plane/db/organizations.ts'
import type { BuyerActor, SellerActor } from '#control-plane/operation/actor.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { ControlOverrides, ControlPlane } from '#control-plane/plane.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { createServer } from '#control-plane/server.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { createManagementKey, createUser } from '#control-plane/services/users/users.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import type { Time } from '#shared/clock.ts'
import { systemClock } from '#shared/clock.ts'
import type { GateWorld } from '#test/support/books/gate.ts'
import { startGateWorld } from '#test/support/books/gate.ts'
import type { ChainEnvironment } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { requireDescribed } from '#test/support/facts/description.ts'
import { holdToOutputs, readOutputs } from '#test/support/facts/outputs.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import { PATIENT } from '#test/support/run/database.ts'
import { until } from '#test/support/run/until.ts'

const SECRET = 'for tests only, 32 characters long'
const MANY = 1_000_000

/** A wallet with a key on each side. */
export type Person = {
  readonly wallet: string
  readonly buyerKey: string
  readonly sellerKey: string
  readonly buyer: BuyerActor
  readonly seller: SellerActor
}

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

export type Call = { readonly key?: string; readonly body?: unknown; readonly headers?: Record<string, string> }

/** The control plane with all its doors, on real services, with a real provider and a catalogue of three models. */
export type TestMarket = {
  readonly plane: ControlPlane
  readonly world: GateWorld
  readonly provider: SampleProvider
  readonly url: string
  /** Moves the clock of the control plane forward by these milliseconds. */
  advance(ms: number): void
  /** The SQL statements of operations so far. */
  statements(): number
  person(): Promise<Person>
  managementKey(scope: 'org' | 'operator'): Promise<string>
  rest(method: string, path: string, call?: Call): Promise<Answer>
  graphql(key: string | undefined, query: string, variables?: object): Promise<Answer>
  trpc(key: string | undefined, headers?: Record<string, string>): ReturnType<typeof createTRPCClient<AppRouter>>
  stop(): Promise<void>
}

export const operator = machineOperator('test')
export const MODELS = ['gpt-test', 'claude-test', 'sandbox/echo'] as const

/** A model of the tests' market. The sandbox's models are free. */
export const catalogItem = (id: string) =>
  id.startsWith('sandbox/')
    ? textModel(id, { id, pricing: { prompt: '0', completion: '0' } })
    : textModel(id, { aliases: [`${id}-20260101`] })

type Options = {
  readonly overrides?: ControlOverrides
  readonly environment?: Record<string, string>
  /**
   * Takes payments by wallet on the run's chain, or on the chain of these variables. Without it, no such payments are
   * taken.
   */
  readonly chain?: true | ChainEnvironment
  /** Operations of the test itself, which no service has. */
  readonly operations?: readonly { readonly name: string; readonly output: z.ZodType }[]
}

/** Starts a market. It checks every answer against the output of its operation, and `stop` throws when one differs. */
export async function startMarket({
  overrides = {},
  environment = {},
  operations = [],
  chain,
}: Options = {}): Promise<TestMarket> {
  const [world, provider] = await Promise.all([
    startGateWorld(),
    createSampleProvider({ host: '127.0.0.1', port: 0, name: 'test', models: [...MODELS] }),
  ])
  let offsetMs = 0
  const clock: Time = { ...systemClock, now: () => systemClock.now() + offsetMs }
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATABASE_URL: world.databaseUrl,
    REDIS_URL: world.redisUrl,
    KEY_PEPPER: SECRET,
    FINGERPRINT_PEPPER: SECRET,
    SESSION_SECRET: SECRET,
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    ALLOW_LOOPBACK_UPSTREAMS: '1',
    LOG_LEVEL: 'silent',
    ...(chain === true ? await (await chainOf()).environment() : chain),
    ...environment,
  })
  const wide = { perKey: MANY, perWallet: MANY }
  const rateLimits = { read: wide, write: wide, probe: wide, challenge: wide }
  const settings = { rateLimits, ...overrides.settings }
  const databaseLimits = { ...PATIENT, ...overrides.databaseLimits }
  const made = createControlPlane(config, { clock, ...overrides, settings, databaseLimits })
  const faults: string[] = []
  const telemetry = holdToOutputs(made.telemetry, await readOutputs(operations), faults)
  let statements = 0
  const db = made.db.withPlugin({
    transformQuery({ node }) {
      statements++
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  const plane = { ...made, telemetry, db }
  await plane.connected(5_000)
  await until('the gate is open', 10_000, async () => (await world.redis.get('m:epoch'))?.endsWith(':open') ?? false)
  await invoke(plane, operator, importCatalog, { source: 'test', models: MODELS.map(catalogItem) })
  const base = { id: 'test', name: 'Test', baseUrl: provider.url, isTrusted: true }
  await invoke(plane, operator, putProvider, base)
  const public_ = { id: 'public', name: 'Public', baseUrl: 'https://allowed.example/v1', isTrusted: false }
  await invoke(plane, operator, putProvider, public_)
  const server = await createServer(plane)
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  return {
    plane,
    world,
    provider,
    url,
    advance: (ms) => (offsetMs += ms),
    statements: () => statements,
    ...callers(plane, url),
    ...ends(server),
  }

  function ends(listening: FastifyInstance) {
    return {
      stop: async () => {
        await listening.close()
        await plane.close()
        await Promise.all([world.stop(), provider.close()])
        if (faults.length > 0) throw new Error(`answers that their schemas do not describe:\n${faults.join('\n')}`)
      },
    }
  }
}

let people = 0

function callers(plane: ControlPlane, url: string) {
  async function rest(method: string, path: string, { key, body, headers = {} }: Call = {}): Promise<Answer> {
    const asked = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const link = asked.headers.get('location')
    // A link contains the address from the settings, where no test market listens.
    const answer = link === null ? asked : await fetch(new URL(link.replace(plane.settings.apiBaseUrl, url), url))
    const text = await answer.text()
    // The page behind a redirect is not the answer of this path.
    if (answer === asked) requireDescribed(method, path, { status: answer.status, headers: answer.headers, text })
    return { status: answer.status, headers: answer.headers, text, body: parse(text) }
  }
  return {
    rest,
    person: async (): Promise<Person> => {
      const wallet = `0x${(++people).toString(16).padStart(40, '0')}`
      const made = await invoke(plane, operator, createUser, { wallet })
      const [buyerKey, sellerKey] = [made.buyerKey?.reveal() ?? '', made.sellerKey?.reveal() ?? '']
      const [buyer, seller] = await Promise.all([authenticate(plane, buyerKey), authenticate(plane, sellerKey)])
      if (buyer.kind !== 'buyer' || seller.kind !== 'seller') throw new Error('the keys have the wrong kind')
      return { wallet, buyerKey, sellerKey, buyer, seller }
    },
    managementKey: async (scope: 'org' | 'operator') => {
      const id = plane.ids.make('org')
      if (scope === 'org') await insertOrganization(plane.db, { id, name: 'test', at: plane.clock.now() })
      const whose = scope === 'org' ? { organization: id } : {}
      return (await invoke(plane, operator, createManagementKey, { label: 'test', scope, ...whose })).key.reveal()
    },
    graphql: (key: string | undefined, query: string, variables: object = {}) =>
      rest('POST', '/graphql', { ...(key === undefined ? {} : { key }), body: { query, variables } }),
    trpc: (key: string | undefined, headers: Record<string, string> = {}) =>
      createTRPCClient<AppRouter>({
        links: [
          httpLink({
            url: `${url}/trpc`,
            headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
          }),
        ],
      }),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const RestError = z.object({
  error: z.object({ code: z.string(), detail: z.record(z.string(), z.unknown()).optional() }),
})
const GraphError = z.object({ errors: z.array(z.object({ extensions: z.object({ code: z.string() }) })).min(1) })

/** The path of a link to this market. The address in the link is from the settings, where no test market listens. */
export function pathOfLink(market: TestMarket, link: string): string {
  const url = new URL(link)
  if (url.origin !== market.plane.settings.apiBaseUrl) throw new Error(`${link} leads elsewhere`)
  return url.pathname
}

/** The code in a REST or GraphQL error; undefined for any other answer. */
export function codeOf(answer: Answer): string | undefined {
  const rest = RestError.safeParse(answer.body)
  if (rest.success) return rest.data.error.code
  const graph = GraphError.safeParse(answer.body)
  return graph.success ? graph.data.errors[0]?.extensions.code : undefined
}

/** The detail of a REST error. */
export function detailOf(answer: Answer): Record<string, unknown> {
  return RestError.parse(answer.body).error.detail ?? {}
}

const TrpcFailure = z.object({ data: z.object({ errorCode: z.string().nullable(), httpStatus: z.number() }) })

/** The market's code in the error that a tRPC client throws. */
export async function trpcCodeOf(call: Promise<unknown>): Promise<string | null | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    return TrpcFailure.parse(error).data.errorCode
  }
}
