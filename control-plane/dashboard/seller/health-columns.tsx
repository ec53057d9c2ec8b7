import type { SellerOfferQuery } from '#control-plane/dashboard/data/documents/seller-offer.ts'
import { UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { Time } from '#control-plane/dashboard/ui/marks.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'

export type ShownHealthLine = NonNullable<SellerOfferQuery['healthLog']>['edges'][number]['node']

/** Columns of an offer's health log. */
export const HEALTH_COLUMNS: readonly Column<ShownHealthLine>[] = [
  { label: 'When', cell: ({ timestamp }) => <Time at={timestamp} />, text: ({ timestamp }) => timestamp, unit: 'time' },
  { label: 'Event', cell: ({ actionTaken }) => words(actionTaken), text: ({ actionTaken }) => actionTaken },
  {
    label: 'Cause',
    cell: ({ errorCategory }) => (errorCategory === null ? UNKNOWN : words(errorCategory)),
    text: ({ errorCategory }) => errorCategory,
  },
  {
    label: "Provider's message",
    cell: ({ statusCode, errorDetail }) => `${statusCode === null ? '' : `${statusCode} `}${errorDetail}`,
    text: ({ errorDetail }) => errorDetail,
  },
  {
    label: 'Paused until',
    cell: ({ backedOffUntil }) => (backedOffUntil === null ? '' : <Time at={backedOffUntil} />),
    text: ({ backedOffUntil }) => backedOffUntil,
    unit: 'time',
  },
]
