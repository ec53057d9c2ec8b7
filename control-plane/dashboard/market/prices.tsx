import type { PublicModelsQuery } from '#control-plane/dashboard/data/documents/public-models.ts'
import { UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import type { Prices } from './price-text.ts'
import { priceFile, unitPriceText } from './price-text.ts'

type Market = NonNullable<PublicModelsQuery['markets']>['edges'][number]['node']

export const PRICE: Column<Pick<Market, 'best' | 'direct' | 'mediaUnit'>> = {
  label: 'Price',
  isNumber: true,
  cell: ({ best, direct, mediaUnit }) => <PriceCell best={best} direct={direct} mediaUnit={mediaUnit} />,
  text: ({ best }) => best.inputPer1m ?? best.mediaUnitPrice,
  file: priceFile(
    ({ best }) => best,
    ({ mediaUnit }) => mediaUnit,
  ),
  phone: 'lead',
  order: 'price',
  isLowFirst: true,
}

/** The best price now, beside the provider's own price. */
function PriceCell(props: { readonly best: Prices; readonly direct: Prices; readonly mediaUnit: string | null }) {
  const { best, direct, mediaUnit } = props
  const now = unitPriceText(best, mediaUnit)
  const reference = unitPriceText(direct, mediaUnit)
  return (
    <>
      <span className="nowrap">{now === UNKNOWN ? 'not on sale' : now}</span>
      {now === reference ? null : <span className={now === UNKNOWN ? 'sub' : 'sub desk'}>list {reference}</span>}
    </>
  )
}
