import type { DoorRow } from './door-row.ts'
import { reads } from './door-row.ts'

/** Reads of a buyer's calls. */
export const CALL_ROWS: readonly Omit<DoorRow, 'by'>[] = [
  reads('request.list', 'requests', 'request.list', () => ({ limit: 5 })),
  reads('request.bill', 'requestBill', 'request.bill', ({ ids }) => ({ id: ids.rid })),
  reads('request.get', 'request', 'request.get', ({ ids }) => ({ id: ids.rid })),
  reads('usage.list', 'usage', 'usage.list', () => ({ period: '24h', maxItems: 5 })),
]
