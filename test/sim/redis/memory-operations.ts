import type { Run } from './memory-run.ts'

/**
 * Reads the operations of a batch from the keys and arguments that the contract's encoders write. Only this file of the
 * simulation knows their layout.
 */

/** The keys and arguments of a run. */
type Batch = Pick<Run, 'keys' | 'args'>

type Keys = { readonly account: string; readonly hold: string; readonly counter: string }

const keysOf = ({ keys }: Batch, index: number): Keys => ({
  account: keys[2 + index * 3] ?? '',
  hold: keys[3 + index * 3] ?? '',
  counter: keys[4 + index * 3] ?? '',
})

/** The number of operations in a batch of reserves, settlements or registrations. */
export function countOf({ keys }: Pick<Batch, 'keys'>): number {
  return (keys.length - 2) / 3
}

/** The arguments of one operation: one text with a line for each, or single texts. */
function fieldsOf(
  { args }: Batch,
  index: number,
  { operations, each }: { operations: number; each: number },
): string[] {
  if (args.length === operations) return (args[index] ?? '').split('\n')
  return [...args.slice(index * each, (index + 1) * each)]
}

export function reserveOf(run: Batch, index: number) {
  const fields = fieldsOf(run, index, { operations: countOf(run), each: 10 })
  const [rid = '', id = '', want = '', least = '', ttl = '', keyId = '', node = '', daily = '', monthly = ''] = fields
  const [budgets = ''] = fields.slice(9)
  return { ...keysOf(run, index), rid, id, want, least, ttl: Number(ttl), keyId, node, daily, monthly, budgets }
}

export function settleOf(run: Run, index: number) {
  const [kind = '', rid = '', id = '', keyId = '', node = '', used = '', reason = '', since = ''] = (
    run.args[index * 2] ?? ''
  ).split('\n')
  const event = run.args[index * 2 + 1] ?? ''
  return { ...keysOf(run, index), kind, rid, id, keyId, node, used, reason, since, event }
}
export type Settle = ReturnType<typeof settleOf>

export function registerOf(run: Run, index: number) {
  const fields = fieldsOf(run, index, { operations: countOf(run), each: 7 })
  const [rid = '', id = '', keyId = '', node = '', amount = '', ttl = '', budgets = ''] = fields
  return { ...keysOf(run, index), rid, id, keyId, node, amount, ttl: Number(ttl), budgets }
}

export function ackOf(run: Run, index: number) {
  const fields = fieldsOf(run, index, { operations: (run.keys.length - 2) / 3, each: 6 })
  const [rid = '', balance = '', version = '', postedAt = '', ttl = '', budgets = ''] = fields
  const account = run.keys[2 + index * 3] ?? ''
  const hold = run.keys[3 + index * 3] ?? ''
  const counter = run.keys[4 + index * 3] ?? ''
  return { account, hold, counter, rid, balance, version, postedAt, ttl: Number(ttl), budgets }
}
