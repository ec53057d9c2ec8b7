import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'

const Quantity = z.union([z.number(), z.string().regex(/^0x[0-9a-f]+$/i)]).transform(Number)
/** The parts of the file that are read here. The others are kept unchanged. */
const StateSchema = z.looseObject({
  block: z.looseObject({ gas_limit: Quantity }),
  blocks: z.array(
    z.looseObject({ header: z.looseObject({ number: Quantity, gasLimit: Quantity, timestamp: Quantity }) }),
  ),
})
/** A number that the runtime would round. The chain writes such numbers as strings. */
const LARGE_NUMBER = /[:,[]\s*\d{16}/

/**
 * Prepares the state of a chain for its next start. Half a file, left by a kill during a write, is set aside, and the
 * chain begins anew. With each start the chain makes a first block before it reads the state, and stores that block
 * with the others. The one that it reads last is its block 0 from then on, by whose hash a chain is known. All except
 * the true one are removed.
 */
export function prepareState(file: string, log: ((line: string) => void) | undefined): void {
  if (!existsSync(file)) return
  const text = readFileSync(file, 'utf8')
  const state = parseJson(text)
  if (state === undefined) {
    renameSync(file, `${file}.broken`)
    log?.(`the chain's state was cut short by a kill: the chain begins anew (the old file is ${file}.broken)`)
    return
  }
  const firsts = firstBlocksOf(state)
  if (firsts.length < 2 || LARGE_NUMBER.test(text)) return
  writeFileSync(`${file}.new`, JSON.stringify(withoutStrays(state, firsts)), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

type FirstBlock = { readonly index: number; readonly timestamp: number }

/** The first blocks of a state, the true one first: it has the gas limit of the chain, and is the oldest. */
function firstBlocksOf(state: unknown): readonly FirstBlock[] {
  const read = StateSchema.safeParse(state).data
  if (read === undefined) return []
  const isOther = (gasLimit: number) => (gasLimit === read.block.gas_limit ? 0 : 1)
  return read.blocks
    .flatMap(({ header: { number, gasLimit, timestamp } }, index) =>
      number === 0 ? [{ index, timestamp, other: isOther(gasLimit) }] : [],
    )
    .toSorted((one, next) => one.other - next.other || one.timestamp - next.timestamp)
}

function withoutStrays(state: unknown, [, ...strays]: readonly FirstBlock[]): unknown {
  const { blocks, ...others } = z.looseObject({ blocks: z.array(z.unknown()) }).parse(state)
  const out = new Set(strays.map(({ index }) => index))
  return { ...others, blocks: blocks.filter((_, index) => !out.has(index)) }
}
