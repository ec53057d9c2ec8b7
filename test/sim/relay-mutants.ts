import type { ProductMutant } from './product-mutants.ts'

const SETTLE = 'data-plane/pipeline/settle-call.ts'
const RELAY = 'data-plane/pipeline/attempt/relay-with-failover.ts'
const DECODER = 'data-plane/wires/forward/decoder.ts'
const QUOTE = 'shared/resources/quote-resource.ts'

const mutant = <const Name extends string>(name: Name, file: string, find: string, replace: string) =>
  ({ name, edits: [{ file, find, replace }] }) as const

/** Mistakes on the way of calls on lent keys. */
export const RELAY_MUTANTS = [
  mutant(
    'dearer_of_quote_and_report',
    QUOTE,
    'billFor(good, reported) < billFor(good, quoted) ? reported : quoted',
    'billFor(good, reported) > billFor(good, quoted) ? reported : quoted',
  ),
  mutant('failed_relay_is_charged', SETTLE, "const isWorthless = outcome === 'failed' || (", 'const isWorthless = ('),
  mutant(
    'broken_relay_is_charged',
    SETTLE,
    "(isPaidWhole(demand) && outcome === 'cut')",
    "(isPaidWhole(demand) && outcome === 'cut' && demand.kind === 'model')",
  ),
  mutant(
    'relay_is_sent_again',
    RELAY,
    "return result.isSent || result.failure?.fault === 'buyer'",
    "return result.failure?.fault === 'buyer'",
  ),
  mutant(
    'part_of_a_held_answer_is_charged',
    DECODER,
    'contentBytes: passing.isOver || passing.pieces > 0 ?',
    'contentBytes: passing.isOver || passing.bytes > 0 ?',
  ),
] as const satisfies readonly ProductMutant[]

export type RelayMutantName = (typeof RELAY_MUTANTS)[number]['name']
