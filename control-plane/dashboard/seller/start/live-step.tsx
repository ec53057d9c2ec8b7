import { Link } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageProbeDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import { milliseconds, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Badge, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { ErrorNotice, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { shownPlace } from './shown-place.ts'
import type { KeyEntry, Listed } from './steps.ts'

type Sale = { readonly model: string; readonly offerId: string | null; readonly sellerCostUsdc: string }

type Props = {
  readonly place: KeyEntry
  readonly listed: readonly Listed[]
  /** The newest sale of the seller. */
  readonly newest: Sale | undefined
}

type Tested = Pick<Listed, 'probeCostUsd' | 'probes'>

/** The cost of the latest test call of a model, and the endpoints that the provider refused. */
function TestCall({ tested: { probeCostUsd: cost, probes } }: { readonly tested: Tested }) {
  const refusedEndpoints = (probes ?? []).filter(({ result }) => result === 'refused').map(({ endpoint }) => endpoint)
  return (
    <>
      {cost === null ? UNKNOWN : <Money micro={Math.round(cost * 1e6)} />}
      {refusedEndpoints.length === 0 ? null : <span className="sub">{`refused: ${refusedEndpoints.join(', ')}`}</span>}
    </>
  )
}

/** Says when the first call of a buyer was served by one of these offers. */
function FirstSale({ listed, newest }: Pick<Props, 'listed' | 'newest'>) {
  const isOfThese = newest !== undefined && listed.some(({ offerId }) => offerId !== null && offerId === newest.offerId)
  if (!isOfThese) return <Notice>Waiting for your first sale.</Notice>
  return (
    <Notice tone="good">
      First sale: a buyer called {newest.model}, and you earned <Money micro={newest.sellerCostUsdc} />.{' '}
      <Link to="/seller/earnings">See your earnings</Link>
    </Notice>
  )
}

/** The result for each model, and a first real call to each. */
export function LiveStep({ place, listed, newest }: Props) {
  const probe = useChange(PageProbeDocument)
  const models = listed.filter(({ offerId }) => offerId !== null).map(({ model }) => model)
  const curl = curlOf(PageProbeDocument, { place: shownPlace(place), models }, true)
  const probed = probe.data?.testHealth ?? []
  const columns: readonly Column<Listed>[] = [
    {
      label: 'Model',
      cell: ({ model, offerId }) =>
        offerId === null ? (
          model
        ) : (
          <Link to="/seller/offers/$offer" params={{ offer: offerId }}>
            {model}
          </Link>
        ),
      text: ({ model }) => model,
    },
    {
      label: 'Offer',
      cell: ({ status, error }) => (
        <>
          <Badge tone={status === 'error' ? 'bad' : 'good'}>{words(status)}</Badge>
          {error === null ? null : <span className="sub">{error}</span>}
        </>
      ),
      text: ({ status }) => status,
    },
    {
      label: 'Test call',
      cell: (line) => <TestCall tested={probed.find(({ model }) => model === line.model) ?? line} />,
      text: ({ probeCostUsd }) => probeCostUsd,
      unit: 'usd',
    },
    {
      label: 'First call',
      cell: ({ model }) => {
        const result = probed.find((one) => one.model === model)
        if (result === undefined) return <span className="muted">not called yet</span>
        return result.ok ? (
          <Badge tone="good">{`answered in ${milliseconds(result.latencyMs)}`}</Badge>
        ) : (
          <Badge tone="bad">{result.error ?? 'failed'}</Badge>
        )
      },
      text: ({ model }) => probed.find((one) => one.model === model)?.latencyMs,
      unit: 'ms',
    },
  ]
  return (
    <div className="form">
      <Table
        label="Result for each model"
        columns={columns}
        rows={listed}
        keyOf={({ model }) => model}
        curl={curl}
        empty={<p>Nothing was listed.</p>}
      />
      {probe.error === null ? null : <ErrorNotice error={probe.error} />}
      <FirstSale listed={listed} newest={newest} />
      <div className="actions">
        <Button
          kind="primary"
          disabled={models.length === 0 || probe.isPending}
          onClick={() => probe.mutate({ place, models })}
        >
          {probe.isPending ? 'Calling …' : 'Make a first call to each'}
        </Button>
        <Link className="button" to="/seller/offers">
          See your offers
        </Link>
      </div>
    </div>
  )
}
