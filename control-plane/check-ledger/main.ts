/**
 * `npm run check:ledger [-- --quiesce] [-- --json]`: reads the ledger, the spending gate and the journals with code of
 * its own and prints one line an invariant. Exit code 1 on a breach, 2 when something could not be read.
 */
import { parseArgs } from 'node:util'
import { checkMoney } from './check.ts'
import { readConfig } from './config.ts'
import { lineOf } from './finding.ts'

const { values } = parseArgs({
  options: { quiesce: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
})

try {
  const { findings, poisoned, conflicts } = await checkMoney(readConfig(), { isQuiesced: values.quiesce })
  if (values.json) console.log(JSON.stringify({ findings, poisoned, conflicts }, null, 2))
  else {
    for (const finding of findings) console.log(lineOf(finding))
    if (poisoned + conflicts > 0)
      console.log(`${poisoned} poisoned and ${conflicts} contradicting events wait for a person`)
  }
  process.exitCode = findings.some(({ state }) => state === 'breach') ? 1 : 0
} catch (error) {
  // The address is left out: it may hold a password.
  console.error(`the ledger was not checked: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 2
}
