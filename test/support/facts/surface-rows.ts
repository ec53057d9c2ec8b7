import { surfaceRows } from '#data-plane/routes.ts'

/** Tests of the rows pay by no rail. A member for several rails has one of them. */
const rail = {} as never
const RAILS = { credit: rail, creditByEitherHeader: rail, x402: [rail], x402Exact: [rail], mpp: [rail] }

/** The rows of the data plane, for tests of their paths, methods and bodies. */
export const SURFACE_ROWS = surfaceRows(RAILS)
