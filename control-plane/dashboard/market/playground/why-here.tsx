import { useQuery } from '@tanstack/react-query'
import { exactMoney, money } from '#control-plane/dashboard/data/format.ts'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'
import { placeServed, routeReasonOf } from '#control-plane/dashboard/data/route-taken.ts'
import { Badge } from '#control-plane/dashboard/ui/marks.tsx'
import { Skeleton } from '#control-plane/dashboard/ui/states.tsx'
import type { CallRecord } from './read-record.ts'
import { readRecord } from './read-record.ts'

/** Offers of a route that are listed. The log entry has all. */
const MAX_OFFERS = 5

type Props = { readonly paid: PayingCall; readonly requestId: string }

/** Why a call went to the seller that served it. */
export function WhyHere({ paid, requestId }: Props) {
  const { data, isPending } = useQuery({
    queryKey: ['playground record', requestId],
    queryFn: async () => (await readRecord(paid, requestId)) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (isPending) return <Skeleton height="3rem" />
  return (
    <div className="play-why">
      {data == null ? <p className="muted">This call is not on record yet.</p> : <Route record={data} />}
      <p>
        <a href={`/buyer/logs?call=${requestId}`} target="_blank" rel="noopener">
          Open the log entry
        </a>
      </p>
    </div>
  )
}

function Route({ record }: { readonly record: CallRecord }) {
  const { offers, attempts, excluded, savingMicro, costMicro, listMicro } = record
  if (offers === undefined) return <p className="muted">A call that begins a job has no route on record.</p>
  const served = placeServed({ offers, attempts })
  return (
    <>
      <p>
        {savingMicro === undefined
          ? routeReasonOf({ offers, attempts })
          : `The conversation was cached at this offer, which saved ${exactMoney(savingMicro)}.`}
      </p>
      <ol>
        {offers.slice(0, MAX_OFFERS).map(({ offer, provider, estimateMicro }, place) => (
          <li key={offer}>
            {provider} <span className="muted">at most {money(estimateMicro)}</span>{' '}
            {place === served ? <Badge tone="good">served</Badge> : null}
          </li>
        ))}
      </ol>
      <p className="muted small">
        {excluded === 0 ? '' : `${excluded} other ${excluded === 1 ? 'offer was' : 'offers were'} passed over. `}
        {listMicro === undefined ? '' : `List price ${exactMoney(listMicro)}, you paid ${exactMoney(costMicro)}.`}
      </p>
    </>
  )
}
