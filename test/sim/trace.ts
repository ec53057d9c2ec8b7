import type { ScriptRun } from './redis/memory-redis.ts'
import type { World } from './world/world.ts'

/** Prints every money script, epoch and commit when it happens. */
export function traceWorld({ ground }: World, print: (line: string) => void): void {
  const { scheduler, redis, postgres } = ground
  const say = (text: string) => print(`${scheduler.now().toFixed(1).padStart(12)}   ${text}`)
  redis.server.onRun((run: ScriptRun, answers) => {
    const facts = run.args.map((text) => text.replaceAll('\n', ' ').slice(0, 150)).join(' | ')
    say(`${run.name} ${run.epoch} ${run.keys.length} ${facts} -> ${answers.join(' ')}`)
  })
  redis.server.onPublish((channel) => say(`${channel} ${redis.server.data.get('m:epoch')}`))
  const known = new Map<string, unknown>()
  let seen = postgres.tables().entries.length
  postgres.onCommit(() => {
    const { entries, epoch } = postgres.tables()
    const lines = entries.slice(seen).map(({ tx, account, amount }) => `${tx} ${account} ${amount}`)
    seen = entries.length
    say(`commit, epoch ${epoch.epoch}: ${lines.join(', ')}`)
    tracePayments()
  })
  /** Payments and transactions that have changed since the last call. */
  function tracePayments(): void {
    const { payments, signed } = postgres.tables()
    for (const [rid, row] of payments) {
      if (known.get(rid) !== row) say(`payment ${rid} ${row.state} due ${row.due} by ${row.transaction}, ${row.reason}`)
      known.set(rid, row)
    }
    for (const [hash, row] of signed) {
      if (known.get(hash) !== row) say(`signed ${row.nonce} ${hash} mined ${row.minedAt !== null}, ${row.isReverted}`)
      known.set(hash, row)
    }
  }
}
