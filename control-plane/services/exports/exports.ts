import { z } from 'zod'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { ExportFile } from '#control-plane/ports/exports/exporter.ts'
import { linesOf } from '#control-plane/services/view-fields.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { openExportLink } from './export-link.ts'

/** {@link ExportFile} as the door is given it. */
const ExportFileSchema = z.object({ fileName: z.string(), contentType: z.string(), chunks: linesOf(z.string()) })

/** How often one link may be opened a minute: a download may break off and be begun again. */
const DOWNLOADS_PER_MINUTE = 10
/** Enough of a signed token to tell it from all others. */
const TAIL_CHARS = 40

/** Opens a signed link. It needs no key: the link is the permission. Throws `not_found`, `rate_limited`. */
export const downloadExport = defineOperation({
  name: 'export.download',
  access: 'public',
  input: z.object({ token: z.string().max(2_048) }),
  // Counted below by the link: strangers have one limit together, and one of them must not close the door to all.
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
