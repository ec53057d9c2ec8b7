import { UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import type { Prices } from './price-text.ts'
import { unitPriceText } from './price-text.ts'

/** The best price now beside what the provider itself asks. */
export function PriceCell(props: {
  readonly best: Prices
  readonly direct: Prices
  readonly mediaUnit: string | null
}) {
  const { best, direct, mediaUnit } = props
  const now = unitPriceText(best, mediaUnit)
  const reference = unitPriceText(direct, mediaUnit)
  return (
    <>
      <span className="nowrap">{now === UNKNOWN ? 'not on sale' : now}</span>
      {now === reference ? null : <span className="sub">list {reference}</span>}
    </>
  )
}
