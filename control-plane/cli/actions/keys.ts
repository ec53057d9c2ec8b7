import { randomUUID } from 'node:crypto'
import { instant } from '#control-plane/cli/amounts.ts'
import type { Action, Cli, CommandOptions } from '#control-plane/cli/command.ts'
import type { Answers } from '#control-plane/cli/market-client.ts'
import { once } from '#control-plane/cli/market-client.ts'
import type { CommandOutput } from '#control-plane/cli/output.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import {
  argument,
  instantOption,
  isSet,
  listOption,
  numberOption,
  textOption,
  wholeOption,
} from '#control-plane/cli/read-options.ts'
import { toSnakeBody } from '#shared/field-names.ts'

type KeySide = 'buyer' | 'seller'
const sideOf = (options: CommandOptions): KeySide => (textOption(options, 'side') === 'seller' ? 'seller' : 'buyer')

type Key = Answers['buyerKey']['list']['keys'][number]

/**
 * A key as REST writes it: the terms are among its own members, and `expires_at` is absent for a key without an end.
 */
const flat = <Shown extends Key>({ keyType: _type, terms, expiresAt, ...rest }: Shown) => ({
  ...rest,
  ...terms,
  ...(expiresAt === null ? {} : { expiresAt }),
})

export const listKeys: Action = async ({ connection }, { options }) => {
  const side = sideOf(options)
  const { keys } = await connection.as(side, (client) => client[`${side}Key`].list.query())
  const shown = isSet(options, 'all') ? keys : keys.filter(({ revokedAt }) => revokedAt === null)
  const rows = table(shown, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'KEY', value: ({ keyPrefix }) => `${keyPrefix}…` },
    { title: 'LABEL', value: ({ label }) => label },
    { title: 'STATE', value: (key) => stateOf(key, Date.now()) },
    { title: 'CREATED', value: (key) => instant(key.createdAt) },
    { title: 'LAST USED', value: (key) => instant(key.lastUsedAt) },
    { title: 'ENDS', value: (key) => instant(key.revokedAt ?? key.expiresAt) },
  ])
  return { json: toSnakeBody(shown.map(flat)), blocks: [rows] }
}

/** The state of a key in one word. A revoked key stays revoked, and an expired key ends even where it is frozen. */
function stateOf({ revokedAt, expiresAt, frozenAt }: Key, now: number): 'revoked' | 'expired' | 'frozen' | 'active' {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt !== null && expiresAt <= now) return 'expired'
  return frozenAt === null ? 'active' : 'frozen'
}

const MAX_USD = 1_000_000_000

export const createKey: Action = async ({ connection }, { options }) => {
  const side = sideOf(options)
  const bounds = { min: 0, max: MAX_USD }
  const terms = {
    capDailyUsd: numberOption(options, 'capDaily', bounds),
    capMonthlyUsd: numberOption(options, 'capMonthly', bounds),
    minDiscountPct: wholeOption(options, 'minDiscount', { min: 0, max: 100 }),
    rateLimitRpm: wholeOption(options, 'rate', { min: 1, max: 1_000_000 }),
    modelsAllowed: listOption(options, 'models'),
  }
  const input = {
    label: textOption(options, 'label') ?? 'command line',
    expiresAt: instantOption(options, 'expires'),
  }
  const sent = once(textOption(options, 'idempotencyKey') ?? randomUUID())
  const { key, ...created } = await connection.as(side, (client) =>
    side === 'seller'
      ? client.sellerKey.create.mutate(input, sent)
      : client.buyerKey.create.mutate({ ...input, ...terms }, sent),
  )
  const blocks = [
    facts({ id: created.id, label: created.label, key: key ?? 'was shown before' }),
    text('We show the key only once. Keep it in a secret store.'),
  ]
  const { keyType } = created
  return { json: toSnakeBody({ ...(key === null ? {} : { key, apiKey: key }), ...flat(created), keyType }), blocks }
}

export const revokeKey: Action = async ({ connection }, given) => {
  const [side, id] = [sideOf(given.options), argument(given)]
  await connection.as(side, (client) => client[`${side}Key`].revoke.mutate({ id }))
  return { json: { id, revoked: true }, blocks: [text(`${id} is revoked.`)] }
}

export const freezeKey: Action = ({ connection }, given) => setFrozen(connection, argument(given), true)
export const unfreezeKey: Action = ({ connection }, given) => setFrozen(connection, argument(given), false)

async function setFrozen(connection: Cli['connection'], id: string, isFrozen: boolean): Promise<CommandOutput> {
  const key = await connection.as('buyer', (client) => client.buyerKey.update.mutate({ id, isFrozen }))
  const message = isFrozen ? `${id} is frozen. Calls with the key are refused.` : `${id} works again.`
  return { json: toSnakeBody(flat(key)), blocks: [text(message)] }
}
