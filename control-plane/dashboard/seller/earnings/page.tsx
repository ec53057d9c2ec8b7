import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { SellerEarningsQuery } from '#control-plane/dashboard/data/documents/seller-earnings.ts'
import { SellerEarningsDocument } from '#control-plane/dashboard/data/documents/seller-earnings.ts'
import { SellerSalesFileDocument } from '#control-plane/dashboard/data/documents/seller-sales-file.ts'
import { compact, day, money, percent, UNKNOWN, volume } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Settlement } from '#control-plane/dashboard/market/settlement.tsx'
import { Exact } from '#control-plane/dashboard/ui/exact.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Money, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { fileOf } from '#control-plane/dashboard/ui/whole-list.ts'
import { ProviderBills } from './provider-bills.tsx'

const REFRESH_MS = 30_000
/** The list has sales of all time. */
const ALL_SALES = { from: 0 }
const RANGES = [
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
  { value: '90d', label: '90 days' },
] as const

export function EarningsPage() {
  return (
    <Gate side="seller" title="Earnings">
      <Earnings />
    </Gate>
  )
}

function Earnings() {
  const { range = '30d', after } = useSearch({ from: '/seller/earnings' })
  const navigate = useNavigate({ from: '/seller/earnings' })
  const variables = { range, after }
  const query = useScreen(SellerEarningsDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(SellerEarningsDocument, variables, true)
  const feeBps = query.data?.service?.feeBps
  const rangeName = RANGES.find(({ value }) => value === range)?.label ?? ''
  return (
    <Page
      title="Earnings"
      about={`What you earned, after the market's fee${feeBps === undefined ? '' : ` of ${percent(feeBps / 100, 2)}`}.`}
      actions={
        <>
          <Segments
            label="Range"
            value={range}
            choices={RANGES}
            onChoose={(next) => void navigate({ search: { range: next }, replace: true })}
          />
          <Link to="/fees">Fees</Link>
          <Link to="/seller/payouts">Payouts</Link>
        </>
      }
    >
      <Loaded query={query}>
        {(data) => (
          <>
            <Sums data={data} rangeName={rangeName} />
            <Days data={data} />
            <Models data={data} curl={curl} about={`The last ${rangeName}`} />
            <ProviderBills data={data} curl={curl} />
            <Card title="Sales" about="All sales, newest first" isFlush>
              <Table
                label="Sales"
                columns={SALE_COLUMNS}
                rows={(data.sales?.edges ?? []).map(({ node }) => node)}
                keyOf={({ id }) => id}
                curl={curl}
                whole={fileOf(SellerSalesFileDocument, ALL_SALES, (read) => read.salesExport)}
                empty={
                  <Empty title="No sales yet">
                    <p>Each call that one of your offers serves is a line here.</p>
                  </Empty>
                }
                foot={
                  <Pager
                    after={after}
                    next={data.sales?.pageInfo.endCursor}
                    hasNext={data.sales?.pageInfo.hasNextPage}
                    onPage={(to) => void navigate({ search: { range, after: to } })}
                  />
                }
              />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  )
}

type SumsProps = { readonly data: SellerEarningsQuery; readonly rangeName: string }

function Sums({ data: { earnings }, rangeName }: SumsProps) {
  const { share } = earnings ?? {}
  return (
    <>
      {earnings?.payoutHold === null || earnings === null ? null : (
        <Notice tone="warn">
          <span>
            Payouts are held
            {earnings.payoutHold.since === null ? null : (
              <>
                {' '}
                since <Time at={earnings.payoutHold.since} />
              </>
            )}
            : {earnings.payoutHold.reason}
          </span>
        </Notice>
      )}
      <Stats
        figures={[
          { label: 'Gross', value: <Exact micro={share?.grossMicro} />, hint: `paid by buyers, last ${rangeName}` },
          { label: 'Fee', value: <Exact micro={share?.feeMicro} />, hint: `of the market, last ${rangeName}` },
          { label: 'Net', value: <Exact micro={share?.earnedMicro} />, hint: `earned by you, last ${rangeName}` },
        ]}
      />
      <Stats
        figures={[
          { label: 'Earned', value: <Exact micro={earnings?.totalEarnedUsdc} />, hint: 'in all, after the fee' },
          { label: 'To be paid', value: <Exact micro={earnings?.pendingUsdc} />, hint: 'now' },
          { label: 'On its way', value: <Exact micro={earnings?.inFlightUsdc} />, hint: 'now' },
          { label: 'Paid', value: <Exact micro={earnings?.paidUsdc} />, hint: 'in all' },
        ]}
      />
    </>
  )
}

function Days({ data: { earnings } }: { readonly data: SellerEarningsQuery }) {
  const days = [...(earnings?.daily ?? [])].sort((a, b) => (a.day < b.day ? -1 : 1))
  return (
    <Card title="By day" about="What buyers paid: your net and the fee of the market">
      {days.every(({ earnedMicro }) => earnedMicro === 0) ? (
        <Empty title="Nothing earned in this range">
          <p>
            Calls go to the offer with the best price first. <Link to="/seller/offers">See your offers.</Link>
          </p>
        </Empty>
      ) : (
        <TimeChart
          label="Earnings by day"
          kind="bars"
          times={days.map((line) => Date.parse(`${line.day}T00:00:00Z`))}
          series={[
            { name: 'Net', values: days.map(({ earnedMicro }) => earnedMicro) },
            { name: 'Fee', values: days.map(({ feeMicro }) => feeMicro) },
          ]}
          format={money}
          formatTime={(at) => day(at, 'utc')}
          zone="UTC"
        />
      )}
    </Card>
  )
}

type ModelLine = NonNullable<SellerEarningsQuery['earnings']>['byModel'][number]

const MODEL_COLUMNS: readonly Column<ModelLine>[] = [
  {
    label: 'Model',
    cell: ({ model }) => (
      <Link to="/seller/offers" search={{ model }}>
        {model}
      </Link>
    ),
    text: ({ model }) => model,
  },
  { label: 'Calls', isNumber: true, cell: ({ requests }) => compact(requests), text: ({ requests }) => requests },
  {
    label: 'Tokens',
    isNumber: true,
    // Media is not sold by the token.
    cell: ({ totalTokens }) => (totalTokens === 0 ? UNKNOWN : compact(totalTokens)),
    text: ({ totalTokens }) => totalTokens,
  },
  {
    label: 'Gross',
    isNumber: true,
    cell: ({ grossMicro }) => <Money micro={grossMicro} />,
    text: ({ grossMicro }) => grossMicro,
    unit: 'microUsd',
  },
  {
    label: 'Fee',
    isNumber: true,
    cell: ({ feeMicro }) => <Money micro={feeMicro} />,
    text: ({ feeMicro }) => feeMicro,
    unit: 'microUsd',
  },
  {
    label: 'Net',
    isNumber: true,
    cell: ({ earnedMicro }) => <Money micro={earnedMicro} />,
    text: ({ earnedMicro }) => earnedMicro,
    unit: 'microUsd',
  },
  {
    label: 'Last sale',
    isNumber: true,
    cell: ({ lastSaleAt }) => <Ago at={lastSaleAt} />,
    text: ({ lastSaleAt }) => lastSaleAt,
    unit: 'time',
  },
]

type ModelsProps = { readonly data: SellerEarningsQuery; readonly curl: string; readonly about: string }

function Models({ data: { earnings }, curl, about }: ModelsProps) {
  const rows = [...(earnings?.byModel ?? [])].sort((a, b) => b.earnedMicro - a.earnedMicro)
  return (
    <Card title="By model" about={about} isFlush>
      <Table
        label="Earnings by model"
        columns={MODEL_COLUMNS}
        rows={rows}
        most={12}
        keyOf={({ model }) => model}
        curl={curl}
        empty={<Empty title="No sales in this range">{null}</Empty>}
      />
    </Card>
  )
}

type Sale = NonNullable<SellerEarningsQuery['sales']>['edges'][number]['node']

const SALE_COLUMNS: readonly Column<Sale>[] = [
  timeColumn('When', ({ createdAt }) => createdAt),
  {
    label: 'Model',
    phone: 'title',
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
  { label: 'Volume', cell: (sale) => <span className="muted nowrap">{volume(sale)}</span>, text: volume },
  {
    label: 'Gross',
    isNumber: true,
    cell: ({ grossMicro }) => <Money micro={grossMicro} />,
    text: ({ grossMicro }) => grossMicro,
    unit: 'microUsd',
  },
  {
    label: 'Fee',
    isNumber: true,
    cell: ({ feeMicro }) => <Money micro={feeMicro} />,
    text: ({ feeMicro }) => feeMicro,
    unit: 'microUsd',
  },
  {
    label: 'Net',
    isNumber: true,
    cell: ({ sellerCostUsdc }) => <Money micro={sellerCostUsdc} />,
    text: ({ sellerCostUsdc }) => sellerCostUsdc,
    unit: 'microUsdc',
  },
  {
    label: 'State',
    cell: ({ settlementStatus }) => <Settlement status={settlementStatus} side="seller" />,
    text: ({ settlementStatus }) => settlementStatus,
  },
]
