import type { Micro } from '#control-plane/dashboard/data/format.ts'
import { exactMoney, toMicro } from '#control-plane/dashboard/data/format.ts'
import { Unknown } from './marks.tsx'

const CENT_MICRO = 10_000n
/** Characters of an exact amount after its cents. */
const TAIL_CHARS = 4

/** An amount to the micro-dollar, so that amounts beside each other add up in sight. The eye reads the cents first. */
export function Exact({ micro }: { readonly micro: Micro | null | undefined }) {
  if (micro === null || micro === undefined) return <Unknown />
  const text = exactMoney(micro)
  if (toMicro(micro) % CENT_MICRO === 0n) return text.slice(0, -TAIL_CHARS)
  return (
    <>
      {text.slice(0, -TAIL_CHARS)}
      <small className="tail">{text.slice(-TAIL_CHARS)}</small>
    </>
  )
}
