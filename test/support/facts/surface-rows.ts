import { surfaceRows } from '#data-plane/routes.ts'

/** A rail for tests of the rows, which pay nothing. A list of rails has it once. */
const rail = {} as never
const RAILS = { credit: rail, creditByEitherHeader: rail, x402: [rail], x402Exact: [rail], mpp: [rail] }

/** The rows of the data plane, for tests of their paths, methods and bodies. */
export const SURFACE_ROWS = surfaceRows(RAILS)
