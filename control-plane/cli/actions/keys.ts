import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { instant } from '#control-plane/cli/amounts.ts'
import type { Action, CommandOptions } from '#control-plane/cli/command.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import {
  argument,
  instantOption,
  isSet,
  listOption,
  numberOption,
  textOption,
  wholeOption,
} from '#control-plane/cli/read-options.ts'

type KeySide = 'buyer' | 'seller'
const sideOf = (options: CommandOptions): KeySide => (textOption(options, 'side') === 'seller' ? 'seller' : 'buyer')

const Key = z.looseObject({
  id: z.string(),
  key_prefix: z.string(),
  label: z.string().nullish(),
  created_at: z.number(),
  last_used_at: z.number().nullish(),
  revoked_at: z.number().nullish(),
  expires_at: z.number().nullish(),
})
const Keys = z.object({ keys: z.array(Key) })
const Created = Key.extend({ key: z.string().nullish() })

export const listKeys: Action = async ({ connection }, { options }) => {
  const side = sideOf(options)
  const { keys } = readAnswer(Keys, await connection.call('GET', `/v1/${side}/keys`, { side }))
  const shown = isSet(options, 'all') ? keys : keys.filter((key) => key.revoked_at == null)
  const rows = table(shown, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'KEY', value: ({ key_prefix }) => `${key_prefix}…` },
    { title: 'LABEL', value: ({ label }) => label },
    { title: 'CREATED', value: (key) => instant(key.created_at) },
    { title: 'LAST USED', value: (key) => instant(key.last_used_at) },
    { title: 'ENDS', value: (key) => instant(key.revoked_at ?? key.expires_at) },
  ])
  return { json: shown, blocks: [rows] }
}

const MAX_USD = 1_000_000_000

export const createKey: Action = async ({ connection }, { options }) => {
  const side = sideOf(options)
  const bounds = { min: 0, max: MAX_USD }
  const terms = {
    cap_daily_usd: numberOption(options, 'capDaily', bounds),
    cap_monthly_usd: numberOption(options, 'capMonthly', bounds),
    min_discount_pct: wholeOption(options, 'minDiscount', { min: 0, max: 100 }),
    rate_limit_rpm: wholeOption(options, 'rate', { min: 1, max: 1_000_000 }),
    models_allowed: listOption(options, 'models'),
  }
  const body = {
    label: textOption(options, 'label') ?? 'command line',
    expires_at: instantOption(options, 'expires'),
    ...(side === 'buyer' ? terms : {}),
  }
  const headers = { 'idempotency-key': textOption(options, 'idempotencyKey') ?? randomUUID() }
  const created = readAnswer(Created, await connection.call('POST', `/v1/${side}/keys`, { side, body, headers }))
  const blocks = [
    facts({ id: created.id, label: created.label, key: created.key ?? 'was shown before' }),
    text('The key is shown this once: keep it in a secret store.'),
  ]
  return { json: created, blocks }
}

export const revokeKey: Action = async ({ connection }, given) => {
  const [side, id] = [sideOf(given.options), argument(given)]
  await connection.call('DELETE', `/v1/${side}/keys/${encodeURIComponent(id)}`, { side })
  return { json: { id, revoked: true }, blocks: [text(`${id} is revoked.`)] }
}
