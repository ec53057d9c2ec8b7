import { z } from 'zod'
import { deleteLimit, listLimits, listSwitches, upsertLimit, upsertSwitch } from '#control-plane/db/controls.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { Ctx, Settings } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { CallLimit } from '#control-plane/ports/limits/controls.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { FEATURE_NAMES, FEATURES } from '#shared/contract/features.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'

const Reason = oneLine(500).trim().min(1)

/** The state of a switch. `changedAt` is Unix milliseconds, null for a switch that was never set. */
export const FeatureViewSchema = z.object({
  name: z.enum(FEATURE_NAMES),
  isOn: z.boolean(),
  /** The effect of the switch while it is on. */
  meaning: z.string(),
  reason: z.string().nullable(),
  changedAt: UnixMs.nullable(),
  changedBy: z.string().nullable(),
})
export type FeatureView = z.infer<typeof FeatureViewSchema>

async function viewFeatures(ctx: Pick<Ctx, 'db'>): Promise<FeatureView[]> {
  const rows = new Map((await listSwitches(ctx.db)).map((row) => [row.name, row]))
  return FEATURE_NAMES.map((name) => {
    const row = rows.get(name)
    return {
      name,
      isOn: row?.isOn ?? true,
      meaning: FEATURES[name],
      reason: row?.reason ?? null,
      changedAt: row?.changedAt.getTime() ?? null,
      changedBy: row?.changedBy ?? null,
    }
  })
}

/** Lists every switch. */
export const listFeatures = defineOperation({
  name: 'feature.list',
  summary: 'List every switch',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(FeatureViewSchema).readonly(),
  run: async (ctx): Promise<readonly FeatureView[]> => viewFeatures(ctx),
})

/** Sets a switch. Both planes apply it within about two seconds. */
export const putFeature = defineOperation({
  name: 'feature.put',
  summary: 'Set a switch',
  about: 'Both planes apply it within about two seconds.',
  access: 'operator',
  input: z.strictObject({ name: z.enum(FEATURE_NAMES), isOn: z.boolean(), reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: FeatureViewSchema,
  run: async (ctx, actor, { name, isOn, reason }): Promise<FeatureView> => {
    const before = (await viewFeatures(ctx)).find((feature) => feature.name === name)
    const changed = { changedAt: new Date(ctx.clock.now()), changedBy: tenantOf(actor) }
    await ctx.change(
      (trx) => upsertSwitch(trx, { name, isOn, reason, ...changed }),
      () => ({ subject: `feature ${name}`, before: { isOn: before?.isOn ?? true }, after: { isOn, reason } }),
    )
    await ctx.publication.publishSoon(['limits'])
    const meaning = FEATURES[name]
    return { name, isOn, meaning, reason, changedAt: changed.changedAt.getTime(), changedBy: changed.changedBy }
  },
})

/** Limits of the data plane for keys whose record sets none. */
const KEY_LIMITS = ['key_rate', 'key_in_flight'] as const

/** A limit in force. `perKey` is calls a minute, or calls at once for `key_in_flight`. */
export const LimitViewSchema = z.object({
  perKey: z.number(),
  perWallet: z.number().nullable(),
  name: z.string(),
  /** The plane that enforces it. */
  plane: z.enum(['control', 'data']),
  isStandard: z.boolean(),
  changedAt: UnixMs.nullable(),
  changedBy: z.string().nullable(),
})
export type LimitView = z.infer<typeof LimitViewSchema>

function standards(settings: Settings): { name: string; plane: 'control' | 'data'; limit: CallLimit }[] {
  const kinds = Object.entries(settings.rateLimits)
  return [
    ...kinds.map(([name, limit]) => ({ name, plane: 'control' as const, limit })),
    { name: 'key_rate', plane: 'data', limit: { perKey: settings.keyRatePerMinute, perWallet: null } },
    { name: 'key_in_flight', plane: 'data', limit: { perKey: settings.keyInFlight, perWallet: null } },
  ]
}

async function viewLimits({ db, settings }: Pick<Ctx, 'db' | 'settings'>): Promise<LimitView[]> {
  const rows = new Map((await listLimits(db)).map((row) => [row.name, row]))
  return standards(settings).map(({ name, plane, limit }) => {
    const row = rows.get(name)
    return {
      name,
      plane,
      perKey: row?.perKey ?? limit.perKey,
      perWallet: row === undefined ? limit.perWallet : row.perWallet,
      isStandard: row === undefined,
      changedAt: row?.changedAt.getTime() ?? null,
      changedBy: row?.changedBy ?? null,
    }
  })
}

/** Lists every limit of calls with its value in force. */
export const listRateLimits = defineOperation({
  name: 'rate-limit.list',
  summary: 'List every limit of calls',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(LimitViewSchema).readonly(),
  run: async (ctx): Promise<readonly LimitView[]> => viewLimits(ctx),
})

const Calls = z.number().int().min(1).max(1_000_000)

/** Sets a limit, or restores its standard by `perKey: null`. It applies within about two seconds. */
export const putRateLimit = defineOperation({
  name: 'rate-limit.put',
  summary: 'Set or reset a limit of calls',
  about: 'It applies within about two seconds.',
  access: 'operator',
  input: z.strictObject({ name: oneLine(64), perKey: Calls.nullable(), perWallet: Calls.nullish() }),
  limit: 'none',
  idempotency: 'none',
  output: LimitViewSchema,
  run: async (ctx, actor, { name, perKey, perWallet }): Promise<LimitView> => {
    const before = await requireLimit(ctx, name)
    if (perWallet != null && before.plane === 'data') {
      throw new AppError('invalid_request', { message: 'Only keys have this limit.', param: 'perWallet' })
    }
    const put = async (trx: Trx) => {
      if (perKey === null) await deleteLimit(trx, name)
      else {
        const keptLimit = perWallet === undefined ? before.perWallet : perWallet
        const changed = { changedAt: new Date(ctx.clock.now()), changedBy: tenantOf(actor) }
        await upsertLimit(trx, { name, perKey, perWallet: keptLimit, ...changed })
      }
      return requireLimit({ ...ctx, db: trx }, name)
    }
    const after = await ctx.change(put, (limit) => ({ subject: `limit ${name}`, before, after: limit }))
    await ctx.publication.publishSoon(['limits'])
    return after
  },
})

async function requireLimit(ctx: Pick<Ctx, 'db' | 'settings'>, name: string): Promise<LimitView> {
  const found = (await viewLimits(ctx)).find((limit) => limit.name === name)
  if (found === undefined) throw new AppError('not_found', { message: `No limit is called ${name}.` })
  return found
}

/** The part of the controls that the data plane reads: its limits, and the names of the switches that are off. */
export async function readDataPlaneControls(db: Database | Trx, settings: Settings) {
  const [limits, switches] = await Promise.all([listLimits(db), listSwitches(db)])
  const set = (name: (typeof KEY_LIMITS)[number]) => limits.find((row) => row.name === name)?.perKey
  return {
    keyRatePerMinute: set('key_rate') ?? settings.keyRatePerMinute,
    keyInFlight: set('key_in_flight') ?? settings.keyInFlight,
    switchedOff: switches.filter(({ isOn }) => !isOn).map(({ name }) => name),
  }
}
