import { Link } from '@tanstack/react-router'
import { Meter } from '#control-plane/dashboard/charts/meter.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageRequestPayoutDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import type { SellerPayoutsQuery } from '#control-plane/dashboard/data/documents/seller-payouts.ts'
import { SellerPayoutsDocument } from '#control-plane/dashboard/data/documents/seller-payouts.ts'
import { money, percent, span, toMicro, words } from '#control-plane/dashboard/data/format.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { NeedsWallet } from '#control-plane/dashboard/market/needs-wallet.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import type { Tone } from '#control-plane/dashboard/ui/marks.tsx'
import { Address, Ago, Badge, Money, Time, Transaction } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, ErrorNotice, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { refusalOf } from './refusal-of.ts'
import { Withheld } from './withheld.tsx'

const BPS_OF_PERCENT = 100
const REFRESH_MS = 10_000
const TONES: Readonly<Record<string, Tone>> = {
  in_flight: 'info',
  scheduled: 'info',
  authorized: 'info',
  held: 'warn',
  returned: 'bad',
}

export function PayoutsPage() {
  return (
    <Gate side="seller" title="Payouts">
      <Payouts />
    </Gate>
  )
}

function Payouts() {
  const variables = {}
  const query = useScreen(SellerPayoutsDocument, variables, { everyMs: REFRESH_MS })
  const say = useToast()
  const request = useChange(PageRequestPayoutDocument, {
    onDone: ({ requestPayout: { payoutId, status } }) => {
      if (payoutId !== null) say(`The payout is ${words(status)}.`)
    },
  })
  // The last answer stays on the screen: a toast would be gone before it is read.
  const last = request.data?.requestPayout
  const withheldBy = last?.payoutId === null ? last.reason : null
  return (
    <Page
      title="Payouts"
      about="We pay in USDC to the addresses of your offers, automatically above the minimum."
      actions={
        <Button
          kind="primary"
          disabled={request.isPending || query.data === undefined}
          refusal={query.data?.payouts ? refusalOf(query.data.payouts) : undefined}
          onClick={() => request.mutate({})}
        >
          Pay me now
        </Button>
      }
    >
      {request.error === null ? null : <ErrorNotice error={request.error} />}
      <Loaded query={query}>
        {({ payouts, service }) =>
          payouts === null ? null : (
            <>
              <NeedsWallet>Earnings wait here until you link a wallet, or your offers name an address.</NeedsWallet>
              <Withheld position={payouts} answer={withheldBy} />
              <Position position={payouts} />
              <Schedule position={payouts} />
              <p className="muted">
                Amounts are net: the market's fee
                {service === null ? '' : ` of ${percent(service.feeBps / BPS_OF_PERCENT, 2)}`} is taken from each sale.
                Payouts are free. <Link to="/fees">Fees</Link>
              </p>
              <Card title="By address" about="Earned is the sum of the other amounts" isFlush>
                <Table
                  label="Balances by address"
                  columns={recipientColumns(payouts.thresholdUsdc)}
                  rows={payouts.recipients}
                  keyOf={({ recipient }) => recipient ?? ''}
                  curl={curlOf(SellerPayoutsDocument, variables, true)}
                  empty={
                    <Empty title="Nothing earned yet">
                      <p>Each payout address has its own balance.</p>
                    </Empty>
                  }
                />
              </Card>
              <Card title="History" about="Newest first" isFlush>
                <Table
                  label="Payouts"
                  columns={PAYOUT_COLUMNS}
                  rows={payouts.payouts}
                  keyOf={({ payoutId }) => payoutId}
                  curl={curlOf(SellerPayoutsDocument, variables, true)}
                  empty={
                    <Empty title="No payouts yet">
                      <p>Payouts are listed here with their transactions.</p>
                    </Empty>
                  }
                />
              </Card>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

type PayoutPosition = NonNullable<SellerPayoutsQuery['payouts']>

function Position({ position }: { readonly position: PayoutPosition }) {
  const { availableUsdc, inFlightUsdc, paidUsdc, thresholdUsdc } = position
  const share = Number(availableUsdc) / Math.max(1, Number(thresholdUsdc))
  return (
    <Stats
      figures={[
        {
          label: 'To be paid',
          value: <Money micro={availableUsdc} />,
          hint: (
            <>
              <Meter share={share} label="Share of the minimum payout" />
              {share >= 1
                ? `above the minimum of ${money(thresholdUsdc)}`
                : `${money(toMicro(thresholdUsdc) - toMicro(availableUsdc))} to go until automatic payout (${money(thresholdUsdc)})`}
            </>
          ),
        },
        { label: 'On its way', value: <Money micro={inFlightUsdc} />, hint: 'now' },
        { label: 'Paid', value: <Money micro={paidUsdc} />, hint: 'in all' },
      ]}
    />
  )
}

/** The times at which money leaves, and the reasons why it waits. */
function Schedule({ position }: { readonly position: PayoutPosition }) {
  const { nextPayoutAt, payoutEveryMs, holdMs, thresholdUsdc } = position
  return (
    <Card title="Schedule">
      <Facts
        facts={[
          [
            'Next automatic payout',
            nextPayoutAt === null ? (
              'Payouts are stopped'
            ) : nextPayoutAt <= Date.now() ? (
              'Within a minute'
            ) : (
              <Time key="next" at={nextPayoutAt} />
            ),
          ],
          ['Runs', `every ${span(payoutEveryMs)}`],
          ['Minimum', money(thresholdUsdc)],
          ['Hold period', holdMs === 0 ? 'None' : `${span(holdMs)} after each call`],
        ]}
      />
    </Card>
  )
}

const recipientColumns = (thresholdUsdc: string): readonly Column<PayoutPosition['recipients'][number]>[] => [
  {
    label: 'Address',
    cell: ({ recipient }) =>
      recipient === null ? <span className="muted">no address</span> : <Address address={recipient} isWhole />,
    text: ({ recipient }) => recipient,
  },
  {
    label: 'Earned',
    isNumber: true,
    cell: ({ earnedUsdc }) => <Money micro={earnedUsdc} />,
    text: ({ earnedUsdc }) => earnedUsdc,
    unit: 'microUsdc',
  },
  {
    label: 'To be paid',
    phone: 'lead',
    isNumber: true,
    cell: ({ availableUsdc }) => <Money micro={availableUsdc} />,
    text: ({ availableUsdc }) => availableUsdc,
    unit: 'microUsdc',
  },
  {
    label: 'On its way',
    isNumber: true,
    cell: ({ inFlightUsdc }) => <Money micro={inFlightUsdc} />,
    text: ({ inFlightUsdc }) => inFlightUsdc,
    unit: 'microUsdc',
  },
  {
    label: 'Paid',
    isNumber: true,
    cell: ({ paidUsdc }) => <Money micro={paidUsdc} />,
    text: ({ paidUsdc }) => paidUsdc,
    unit: 'microUsdc',
  },
  {
    label: 'Waits for',
    cell: ({ holdReason, coolsUntil, availableUsdc }) =>
      holdReason !== null ? (
        <Badge tone="warn">{holdReason}</Badge>
      ) : coolsUntil !== null ? (
        <span>
          new address, until <Ago at={coolsUntil} />
        </span>
      ) : availableUsdc !== '0' && toMicro(availableUsdc) < toMicro(thresholdUsdc) ? (
        `${money(toMicro(thresholdUsdc) - toMicro(availableUsdc))} more`
      ) : (
        <span className="muted">–</span>
      ),
    text: ({ holdReason, coolsUntil, availableUsdc }) =>
      holdReason ??
      (coolsUntil !== null
        ? 'new address'
        : availableUsdc !== '0' && toMicro(availableUsdc) < toMicro(thresholdUsdc)
          ? 'minimum payout'
          : null),
  },
]

const PAYOUT_COLUMNS: readonly Column<PayoutPosition['payouts'][number]>[] = [
  timeColumn('When', ({ createdAt }) => createdAt),
  {
    label: 'State',
    cell: ({ status, reason }) => (
      <>
        {status === 'paid' ? 'paid' : <Badge tone={TONES[status] ?? 'plain'}>{words(status)}</Badge>}
        {reason === null ? null : <span className="sub">{reason}</span>}
      </>
    ),
    text: ({ status }) => status,
  },
  {
    label: 'Amount',
    isNumber: true,
    cell: ({ amountUsdc }) => <Money micro={amountUsdc} />,
    text: ({ amountUsdc }) => amountUsdc,
    unit: 'microUsdc',
  },
  {
    label: 'To',
    cell: ({ recipient }) => <Address address={recipient} />,
    text: ({ recipient }) => recipient,
  },
  {
    label: 'Transaction',
    cell: ({ txHash }) => (
      <span className="actions">
        <Transaction hash={txHash} />
        {txHash === null ? null : <CopyButton text={txHash} />}
      </span>
    ),
    text: ({ txHash }) => txHash,
  },
]
