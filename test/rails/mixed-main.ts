/** `npm run test:payments [-- --calls N]`: makes mixed payments and prints whether chain, ledger and look-ups agree. */
import { parseArgs } from 'node:util'
import { startChain } from '#test/support/chain/chain.ts'
import { payMixed } from '#test/support/market/mixed-payments.ts'
import { startNetwork } from '#test/support/market/network.ts'

const { values } = parseArgs({ options: { calls: { type: 'string', default: '1000' } } })
const chain = await startChain()
const network = await startNetwork({ LOG_LEVEL: 'warn', ...(await chain.environment()) }, 'own')
const began = performance.now()
try {
  const { differences, ...found } = await payMixed({ chain, network }, Number(values.calls))
  console.log(`${values.calls} calls in ${((performance.now() - began) / 1_000).toFixed(1)} s`, found)
  for (const line of differences) console.log(line)
  console.log(differences.length === 0 ? 'all figures agree' : `${differences.length} figures differ`)
  process.exitCode = differences.length === 0 ? 0 : 1
} finally {
  await network.remove()
  await chain.stop()
}
