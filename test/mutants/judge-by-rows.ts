import { runRow } from '#test/faults/harness/row.ts'
import { startWorld } from '#test/faults/harness/world.ts'
import { ROWS } from '#test/faults/rows/index.ts'
import type { Judge } from './judge.ts'

/** Builds the programs of a market with the mistake in them, and runs the row. */
export function createRowJudge(): Judge<'rows'> {
  return {
    async judge({ edits }, noticer) {
      const row = ROWS.find(({ number }) => number === noticer.row)
      if (row === undefined) throw new Error(`there is no row ${noticer.row}`)
      const world = await startWorld({ ...row.world, edits })
      const { wrong, skipped } = await runRow(world, row, { isQuick: false })
      await world.remove()
      const [why] = wrong
      return why === undefined
        ? { is: 'MISSED', by: `${row.number} ${skipped ?? ''}` }
        : { is: 'caught', by: `${row.number}: ${why}` }
    },
    close: async () => undefined,
  }
}
