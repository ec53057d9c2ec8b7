import { z } from 'zod'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { ExportFile } from '#control-plane/ports/exports/exporter.ts'
import { linesOf } from '#control-plane/services/view-fields.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'
import { openExportLink } from './export-link.ts'

/** The schema of {@link ExportFile} for the doors. */
const ExportFileSchema = z.object({
  fileName: z.string(),
  contentType: z.string(),
  chunks: linesOf(z.union([z.string(), z.instanceof(Uint8Array)])),
})

/** Most downloads of one link a minute. A broken download may be started again. */
const DOWNLOADS_PER_MINUTE = 10
/** Enough characters of a signed token to be unique. */
const TAIL_CHARS = 40

/** Opens a signed link. The link is the permission, so no key is needed. Throws `not_found`, `rate_limited`. */
export const downloadExport = defineOperation({
  name: 'export.download',
  summary: 'Download a file behind a signed link',
  about: 'Exports redirect here. The link works without a key for five minutes.',
  access: 'public',
  input: z.strictObject({ token: oneLine(2_048) }),
  // Runs are limited by link. The shared limit of callers without a key would let one of them block the others.
  limit: 'none',
  isAudited: false,
  idempotency: 'none',
  output: ExportFileSchema,
  run: async (ctx, _actor, { token }): Promise<ExportFile> => {
    const { kind, query } = openExportLink(ctx, token)
    const exporter = ctx.exporters[kind]
    if (exporter === undefined) throw new AppError('not_found')
    const { isExceeded, resetsAt } = await ctx.limiter(`export:${token.slice(-TAIL_CHARS)}`, DOWNLOADS_PER_MINUTE)
    if (isExceeded) {
      const waitMs = Math.min(Math.max(resetsAt - ctx.clock.now(), SECOND), MINUTE)
      throw new AppError('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / SECOND) })
    }
    return exporter(query)
  },
})
