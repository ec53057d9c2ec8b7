import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { readConfig } from '#control-plane/config.ts'
import { createDatabase } from '#control-plane/db/database.ts'
import { migrate } from '#control-plane/db/migrate.ts'
import type { BuyerActor, SellerActor } from '#control-plane/operation/actor.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { createBuyerKey, revokeBuyerKey } from '#control-plane/services/keys/keys.ts'
import { grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { deleteOffer } from '#control-plane/services/offers/change.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { createUser } from '#control-plane/services/users/users.ts'
import { createLogger } from '#shared/logger.ts'
import { filmFacts, textModel } from '#test/support/facts/text-model.ts'
import type { Environment } from './process.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url))
const MANY = 1_000_000
const OPERATOR = machineOperator('fault run')
/** US dollars per token. They are so high that every call costs thousands of micro-USD. */
const PRICES = { prompt: '0.000004', completion: '0.00002' }

export type Buyer = { readonly account: string; readonly key: string; readonly actor: BuyerActor }
export type SellerName = 'a' | 'b'

export type OfferInput = {
  readonly model: string
  /** The name of the model at the sample provider: one of its list, or `sandbox/…` for one that misbehaves. */
  readonly providerModel: string
  readonly seller: SellerName
  readonly discount: number
  readonly capDailyUsd?: number
}

/** The market's control plane inside the harness, for acts of operators, sellers and buyers. */
export type Market = {
  readonly plane: ControlPlane
  buyer(usd: number): Promise<Buyer>
  model(...names: string[]): Promise<void>
  /** Adds videos to the catalogue, at a cent per second. */
  film(...names: string[]): Promise<void>
  /** Creates an offer. Returns its id. */
  offer(given: OfferInput): Promise<string>
  seller(name: SellerName): SellerActor
  /** Sets new prices of a model, in US dollars per token. */
  price(name: string, prompt: string, completion: string): Promise<void>
  /** Gives an offer another key of the seller's provider. Returns the key. */
  rotate(name: SellerName, offer: string): Promise<string>
  /** Takes an offer off the market. */
  withdraw(name: SellerName, offer: string): Promise<void>
  /** Revokes the key of a buyer. */
  revoke(buyer: Buyer): Promise<void>
  close(): Promise<void>
}

type Options = {
  readonly environment: Environment
  /** Base URLs of the sellers' providers. */
  readonly sellers: Readonly<Record<SellerName, string>>
  /** Collects the secrets that must not appear in any output. */
  readonly secrets: Map<string, string>
}

export async function migrateDatabase(url: string): Promise<void> {
  const db = createDatabase(url, { max: 1 })
  try {
    await migrate(db, MIGRATIONS)
  } finally {
    await db.destroy()
  }
}

export async function openMarket({ environment, sellers, secrets }: Options): Promise<Market> {
  const config = readConfig({ ...environment, LOG_LEVEL: 'silent', DATABASE_POOL: '4' })
  const wide = { perKey: MANY, perWallet: MANY }
  const rateLimits = { read: wide, write: wide, probe: wide, challenge: wide }
  const log = createLogger('fault-run', 'silent')
  const plane = createControlPlane(config, { log, settings: { rateLimits } })
  await plane.connected(5_000)
  const actors = new Map<SellerName, SellerActor>()
  const providerKeys = new Map<SellerName, string>()
  let people = 0
  const wallet = () => `0x${randomBytes(4).toString('hex')}${(++people).toString(16).padStart(32, '0')}`

  for (const name of ['a', 'b'] as const) {
    const made = await invoke(plane, OPERATOR, createUser, { wallet: wallet(), keys: ['seller'] })
    const actor = await authenticate(plane, made.sellerKey?.reveal())
    if (actor.kind !== 'seller') throw new Error('a seller has no key')
    actors.set(name, actor)
    providerKeys.set(name, newProviderKey(name))
    secrets.set(`the provider key of ${name}`, providerKeys.get(name) ?? '')
    secrets.set(`the key of seller ${name}`, made.sellerKey?.reveal() ?? '')
    const provider = { id: `provider-${name}`, name, baseUrl: sellers[name], isTrusted: true }
    await invoke(plane, OPERATOR, putProvider, provider)
  }
  const seller = (name: SellerName) => {
    const actor = actors.get(name)
    if (actor === undefined) throw new Error(`there is no seller ${name}`)
    return actor
  }

  return {
    plane,
    seller,
    async buyer(usd) {
      const made = await invoke(plane, OPERATOR, createUser, { wallet: wallet(), keys: ['buyer'] })
      const first = await authenticate(plane, made.buyerKey?.reveal())
      if (first.kind !== 'buyer') throw new Error('a buyer has no key')
      const input = { label: 'load', rateLimitRpm: MANY }
      const idempotencyKey = plane.ids.ulid()
      const { secret } = await invoke(plane, first, createBuyerKey, input, { idempotencyKey })
      const key = secret?.reveal() ?? ''
      secrets.set(`the key of buyer ${made.buyerAccount}`, key)
      const ticket = `faults-${plane.ids.ulid()}`
      await invoke(plane, OPERATOR, grantCredit, { account: made.buyerAccount, amountUsd: usd, ticket, note: 'test' })
      const actor = await authenticate(plane, key)
      if (actor.kind !== 'buyer') throw new Error('a buyer has no key')
      return { account: made.buyerAccount, key, actor }
    },
    async model(...names) {
      await invoke(plane, OPERATOR, importCatalog, {
        source: 'fault run',
        models: names.map((name) => modelOf(name)),
      })
    },
    async film(...names) {
      const film = filmFacts('0.01')
      const models = names.map((name) => textModel(name, film))
      await invoke(plane, OPERATOR, importCatalog, { source: 'fault run', models })
    },
    async price(name, prompt, completion) {
      const models = [modelOf(name, { prompt, completion })]
      await invoke(plane, OPERATOR, importCatalog, { source: 'fault run', models })
    },
    async rotate(name, offer) {
      const apiKey = newProviderKey(name)
      secrets.set(`a later provider key of ${name}`, apiKey)
      await invoke(plane, seller(name), rotateCredential, { id: offer, apiKey })
      return apiKey
    },
    async withdraw(name, offer) {
      await invoke(plane, seller(name), deleteOffer, { id: offer })
    },
    async revoke({ actor }) {
      await invoke(plane, actor, revokeBuyerKey, { id: actor.keyId })
    },
    async offer({ model, providerModel, seller: name, discount, capDailyUsd }) {
      const input = {
        model,
        providerModel,
        sellerBaseUrl: sellers[name],
        discount,
        apiKey: providerKeys.get(name),
        ...(capDailyUsd === undefined ? {} : { capDailyUsd }),
      }
      return (await invoke(plane, seller(name), createOffer, input, { idempotencyKey: plane.ids.ulid() })).id
    },
    close: () => plane.close(),
  }
}

function newProviderKey(name: SellerName): string {
  return `sk-seller-${name}-${randomBytes(12).toString('hex')}`
}

function modelOf(name: string, pricing = PRICES) {
  return textModel(name, { pricing, supported_parameters: ['temperature', 'max_tokens'] })
}
