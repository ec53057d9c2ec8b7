import type { SellerOfferQuery } from '#control-plane/dashboard/data/documents/seller-offer.ts'
import { UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { Time } from '#control-plane/dashboard/ui/marks.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'

export type ShownHealthLine = NonNullable<SellerOfferQuery['healthLog']>['edges'][number]['node']

/** The status of the provider's answer, and its message where it had one. */
const messageOf = ({ statusCode, errorDetail }: ShownHealthLine) => `${statusCode ?? ''} ${errorDetail}`.trim()

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
    cell: messageOf,
    text: messageOf,
  },
  {
    label: 'Paused until',
    cell: ({ backedOffUntil }) => (backedOffUntil === null ? '' : <Time at={backedOffUntil} />),
    text: ({ backedOffUntil }) => backedOffUntil,
    unit: 'time',
  },
]
