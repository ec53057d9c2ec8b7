import { useSearch } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { BuyerCreditDocument } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { NeedsWallet } from '#control-plane/dashboard/market/needs-wallet.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { LiveMark } from '#control-plane/dashboard/ui/live-mark.tsx'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Loaded } from '#control-plane/dashboard/ui/states.tsx'
import { ByCommand } from './by-command.tsx'
import { Deposits } from './deposits.tsx'
import { Ledger } from './ledger.tsx'
import { StatementFiles } from './statement-files.tsx'
import { TopUp } from './top-up.tsx'
import { WalletLine } from './wallet-line.tsx'

/** A deposit is credited within a block or two, so it is asked for often. */
const REFRESH_MS = 10_000

export function CreditPage() {
  return (
    <Gate side="buyer" title="Credit">
      <Credit />
    </Gate>
  )
}

function Credit() {
  const { after, kind } = useSearch({ from: '/buyer/credit' })
  const query = useScreen(BuyerCreditDocument, { after, kind }, { everyMs: REFRESH_MS })
  const curl = curlOf(BuyerCreditDocument, { after, kind }, true)
  const { updates, state, setPaused } = useLive({ kind: 'credit' })
  const { kind: viewer } = useViewer()
  return (
    <Page
      title="Credit"
      about="Prepaid balance, deposits, charges and statements."
      actions={<LiveMark state={state} onPause={setPaused} />}
    >
      <Loaded query={query}>
        {(data) => (
          <>
            <Balances data={data} live={updates?.credit ?? undefined} />
            <NeedsWallet>
              We credit transfers from a linked wallet only, and collect from a linked wallet only.
            </NeedsWallet>
            <TopUp hasSample={viewer === 'session' && data.service?.isDevelopment === true && isNew(data)} />
            <WalletLine allowance={data.allowance} curl={curl} />
            <Deposits data={data} curl={curl} />
            <div className="grid two">
              <StatementFiles />
              <Card title="Pay per call without an account" about="A wallet pays each call by x402 or MPP. No deposit">
                <div className="form">
                  <p>
                    <a href="/docs/pay">Ways to pay</a> has the steps for your own code.
                  </p>
                  <ByCommand
                    label="Pay by wallet"
                    command={'pay "Say hello." --private-key-from wallet.key --scheme exact --yes'}
                  />
                </div>
              </Card>
            </div>
            <Ledger data={data} curl={curl} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** True for an account whose ledger is empty. */
const isNew = ({ me, statements }: BuyerCreditQuery) => me?.creditBalanceUsdc === '0' && statements?.edges.length === 0

type Live = { readonly creditBalanceUsdc: string; readonly heldUsdc: string }

function Balances({ data: { me }, live }: { readonly data: BuyerCreditQuery; readonly live: Live | undefined }) {
  const held = live?.heldUsdc ?? me?.heldUsdc
  return (
    <Stats
      figures={[
        {
          label: 'Available credit',
          value: <Money micro={live?.creditBalanceUsdc ?? me?.creditBalanceUsdc} />,
          hint: 'prepaid, less what running calls hold',
        },
        { label: 'Held', value: <Money micro={held} />, hint: 'for running calls' },
        ...(me?.balanceUsdc === null || me === null
          ? []
          : [{ label: 'In the wallet', value: <Money micro={me.balanceUsdc} />, hint: 'USDC on chain' }]),
        ...(me?.allowanceUsdc === null || me === null
          ? []
          : [
              {
                label: 'Allowance',
                value: <Money micro={me.allowanceUsdc} />,
                hint: 'the settlement contract may take this',
              },
            ]),
      ]}
    />
  )
}
