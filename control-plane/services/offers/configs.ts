import { z } from 'zod'
import type { SavedKey } from '#control-plane/db/credentials.ts'
import { forgetCredential, listSavedKeys } from '#control-plane/db/credentials.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { cursorOf, ListFields, NextToken, pagesById } from '#control-plane/services/page.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'

/** A saved provider key, without any part of the key itself. `createdAt` is Unix milliseconds. */
export const ConfigCardSchema = z
  .object({
    id: z.string(),
    label: z.string().nullable(),
    baseUrl: z.string(),
    /** An HMAC, which does not reveal the key. */
    keyFingerprint: z.string().describe('The fingerprint. Send it as reuse_key_fingerprint to use the key again.'),
    /** Distinguishes keys: the host, and the time at which the key was saved. */
    hint: z.string(),
    createdAt: UnixMs,
  })
  .meta({
    id: 'SavedKey',
    description: 'A provider key that a seller has saved: its place and its fingerprint, never the key.',
  })
export type ConfigCard = z.infer<typeof ConfigCardSchema>

export const ConfigListSchema = z.object({
  configs: z.array(ConfigCardSchema).readonly(),
  nextToken: NextToken,
  cursorOf: cursorOf<ConfigCard>(),
})
export type ConfigList = z.infer<typeof ConfigListSchema>

function cardOf(saved: SavedKey): ConfigCard {
  const { id, label, baseUrl, fingerprint, provider, createdAt, offers } = saved
  const used = offers === 1n ? '1 offer' : `${offers} offers`
  const hint = `${provider}, saved ${createdAt.toISOString().slice(0, 10)}, ${used}`
  return { id, label, baseUrl, keyFingerprint: fingerprint, hint, createdAt: createdAt.getTime() }
}

/** Lists the caller's saved provider keys, newest first. */
export const listConfigs = defineOperation({
  name: 'config.list',
  summary: 'List saved provider keys',
  about: 'Hints and fingerprints only.',
  access: 'seller',
  input: z.strictObject(ListFields),
  limit: 'read',
  idempotency: 'none',
  output: ConfigListSchema,
  run: async (ctx, actor, { maxItems, nextToken }): Promise<ConfigList> => {
    const pages = pagesById(ctx, { list: 'config.list', tenant: actor.account })
    const rows = await listSavedKeys(ctx.db, actor.account, { before: pages.idIn(nextToken), limit: maxItems + 1 })
    const { items: configs, ...page } = pages.pageOf(rows, maxItems, cardOf)
    return { ...page, configs }
  },
})

/** Ends the reuse of a saved key. Offers that use it continue. Throws `not_found`. */
export const deleteConfig = defineOperation({
  name: 'config.delete',
  summary: 'Delete a saved provider key',
  about: 'Removes the key from the list of keys that new offers can use.',
  example: {},
  access: 'seller',
  input: z.strictObject({ id: oneLine(100) }),
  limit: 'write',
  idempotency: 'none',
  output: z.object({
    id: z.string(),
  }),
  run: async (ctx, actor, { id }): Promise<{ readonly id: string }> => {
    const forget = async (trx: Trx) => {
      if (isId('crd', id) && (await forgetCredential(trx, actor.account, id, ctx.clock.now()))) return
      throw new AppError('not_found')
    }
    await ctx.change(forget, () => ({ subject: id, before: { saved: true }, after: { saved: false } }))
    return { id }
  },
})
