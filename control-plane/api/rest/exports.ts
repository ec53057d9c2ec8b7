import { EXPORT_PATH } from '#control-plane/services/exports/export-link.ts'
import { downloadExport } from '#control-plane/services/exports/exports.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

/** Files behind signed links. */
export const EXPORT_ROWS: readonly RestRow[] = [
  restRow({
    method: 'GET',
    path: `${EXPORT_PATH}/:token`,
    tag: 'Usage',
    refusals: [403, 410],
    as: 'file',
    envelope: 'v1',
    operation: downloadExport,
    answer: (file) => ({ kind: 'file', ...file }),
  }),
]
