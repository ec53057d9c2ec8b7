import { useState } from 'react'
import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { exactMoney, money, words } from '#control-plane/dashboard/data/format.ts'
import { useWallets } from '#control-plane/dashboard/data/wallets.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import type { Tone } from '#control-plane/dashboard/ui/marks.tsx'
import { Ago, Badge, Money, State, Transaction, Unknown } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts } from '#control-plane/dashboard/ui/page.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { AllowMore } from './allow-more.tsx'
import { EndLine } from './end-line.tsx'
import { useRevocation } from './sign-permit.ts'

type Allowance = NonNullable<BuyerCreditQuery['allowance']>

const TONES: Readonly<Record<Allowance['status'], Tone>> = {
  none: 'plain',
  open: 'good',
  stopped: 'bad',
  closed: 'plain',
}

type Props = {
  readonly allowance: BuyerCreditQuery['allowance']
  /** The query of the screen, as a command. */
  readonly curl: string
}

/**
 * Shows that calls are paid from the wallet of the account, and the state of that payment. Hidden in a market that does
 * not draw from wallets.
 */
export function WalletLine({ allowance, curl }: Props) {
  const allowing = useDialog()
  const [isEnding, setEnding] = useState(false)
  if (allowance == null) return null
  const { status, limitUsdc } = allowance
  const isOpen = status === 'open' || status === 'stopped'
  if (!isOpen && limitUsdc === '0') return null
  return (
    <Card
      title="Pay from your wallet"
      about="No deposit. We collect what you spend from your wallet, in batches."
      actions={
        <>
          <Button {...(isOpen ? {} : { kind: 'primary' as const })} onClick={allowing.open}>
            {isOpen ? 'Allow more' : 'Set up'}
          </Button>
          {isOpen ? (
            <Button kind="danger" onClick={() => setEnding(true)}>
              End payment
            </Button>
          ) : null}
        </>
      }
    >
      <div className="grid">
        {status === 'stopped' ? (
          <Notice tone="warn">
            We advance no more credit{allowance.reason === null ? '' : `: ${words(allowance.reason)}`}. We will try to
            collect the debt again. Add USDC to the wallet, or allow more.
          </Notice>
        ) : null}
        <Standing allowance={allowance} />
        {status === 'closed' ? <TakeBack /> : null}
        {allowance.draws.length === 0 ? null : (
          <Table
            label="Collected from the wallet"
            curl={curl}
            columns={DRAWS}
            rows={allowance.draws}
            keyOf={({ id }) => id}
            empty={null}
          />
        )}
      </div>
      <AllowMore dialog={allowing} allowance={allowance} />
      {isEnding ? <EndLine allowance={allowance} onClose={() => setEnding(false)} /> : null}
    </Card>
  )
}

function Standing({ allowance }: { readonly allowance: Allowance }) {
  const { status, wallet, spender, balanceUsdc, allowanceUsdc, readAt, permit } = allowance
  const amountOf = (micro: string | null) => (micro === null ? <Unknown /> : <Money micro={micro} />)
  if (status === 'none') {
    return (
      <p>
        You sign a permit once, and need no ETH. Calls then run on credit that we advance: up to{' '}
        {money(allowance.limitUsdc)}, and never more than your wallet has and allows.
      </p>
    )
  }
  return (
    <Facts
      facts={[
        [
          'State',
          <Badge key="state" tone={TONES[status]}>
            {status}
          </Badge>,
        ],
        ['Wallet', <code key="wallet">{wallet}</code>],
        ['Spender', <code key="spender">{spender}</code>],
        ['Wallet balance', amountOf(balanceUsdc)],
        ['Allowance', amountOf(allowanceUsdc)],
        ['Read from the chain', readAt === null ? <Unknown key="read" /> : <Ago key="read" at={readAt} />],
        [
          'Advanced',
          <span key="advanced">{`${exactMoney(allowance.advancedUsdc)} of at most ${money(allowance.limitUsdc)}`}</span>,
        ],
        ['Spent, not collected', <span key="owed">{exactMoney(allowance.owedUsdc)}</span>],
        ...(permit === null
          ? []
          : [
              [
                'Newest permit',
                `${money(permit.valueUsdc)}, ${permit.status === 'signed' ? 'on its way to the chain' : words(permit.status)}`,
              ] as const,
            ]),
      ]}
    />
  )
}

/** The permit of an ended line may still be valid on the chain. */
function TakeBack() {
  const wallets = useWallets()
  const { revoke, note } = useRevocation()
  return (
    <>
      <p>Payment from the wallet has ended. To revoke the remaining allowance, sign a permit of zero.</p>
      {note === undefined ? null : <Notice>{note}</Notice>}
      {revoke.error === null ? null : <Notice tone="bad">{revoke.error.message}</Notice>}
      <div className="actions">
        {wallets.length === 0 ? <span className="muted">No wallet extension found.</span> : null}
        {wallets.map((wallet) => (
          <Button key={wallet.info.uuid} disabled={revoke.isPending} onClick={() => revoke.mutate(wallet)}>
            {`Revoke with ${wallet.info.name}`}
          </Button>
        ))}
      </div>
    </>
  )
}

type Draw = Allowance['draws'][number]
const DRAW_TONES: Readonly<Record<Draw['status'], Tone>> = {
  planned: 'plain',
  approved: 'info',
  settled: 'good',
  failed: 'bad',
}

const DRAWS: readonly Column<Draw>[] = [
  timeColumn('When', ({ createdAt }) => createdAt),
  {
    label: 'State',
    cell: ({ status, reason }) => <State tone={DRAW_TONES[status]} name={status} reason={reason} />,
    text: ({ status }) => status,
  },
  {
    label: 'Collected',
    isNumber: true,
    cell: ({ amountUsdc }) => <Money micro={amountUsdc} />,
    text: ({ amountUsdc }) => amountUsdc,
    unit: 'microUsdc',
  },
  {
    label: 'Transaction',
    cell: ({ txHash }) => <Transaction hash={txHash} />,
    text: ({ txHash }) => txHash,
  },
]
