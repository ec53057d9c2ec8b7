import type { LimitRow, SwitchRow } from '#control-plane/db/controls.ts'
import { listLimits, listSwitches } from '#control-plane/db/controls.ts'
import type { Database } from '#control-plane/db/database.ts'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { Logger } from '#shared/logger.ts'
import type { Controls } from './controls.ts'

/** Greatest age of the values that a process uses. */
const KNOWN_FOR_MS = SECOND

type ControlRows = { readonly switches: readonly SwitchRow[]; readonly limits: readonly LimitRow[] }

/** Reads the operators' switches and limits from the tables, at most once a second. */
export function createLiveControls(parts: { db: Database; clock: Clock; log: Logger }): Controls {
  const { db, clock, log } = parts
  let controlRows: ControlRows = { switches: [], limits: [] }
  let freshUntil = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    try {
      const [switches, limits] = await Promise.all([listSwitches(db), listLimits(db)])
      controlRows = { switches, limits }
    } catch (error) {
      log.warn({ err: error }, 'switches and limits could not be read: the last known ones count')
    } finally {
      freshUntil = clock.monotonic() + KNOWN_FOR_MS
      reading = undefined
    }
  }

  async function fresh(): Promise<ControlRows> {
    if (clock.monotonic() >= freshUntil) {
      reading ??= read()
      await reading
    }
    return controlRows
  }

  return {
    async limitOf(kind, standard) {
      const row = (await fresh()).limits.find(({ name }) => name === kind)
      return row === undefined ? standard : { perKey: row.perKey, perWallet: row.perWallet }
    },
    async isOn(feature) {
      return (await fresh()).switches.find(({ name }) => name === feature)?.isOn ?? true
    },
  }
}
