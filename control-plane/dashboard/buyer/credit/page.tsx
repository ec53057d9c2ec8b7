import { useSearch } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { BuyerCreditDocument } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { NeedsWallet } from '#control-plane/dashboard/market/needs-wallet.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { LiveMark } from '#control-plane/dashboard/ui/live-mark.tsx'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Loaded } from '#control-plane/dashboard/ui/states.tsx'
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
              The market credits transfers of a linked wallet only, and draws only on a linked wallet.
            </NeedsWallet>
            <TopUp />
            <WalletLine allowance={data.allowance} curl={curl} />
            <Deposits data={data} curl={curl} />
            <Ledger data={data} curl={curl} />
            <StatementFiles />
            <Card title="Pay for single calls with a wallet" about="Without an account: x402 and MPP">
              <Code
                label="Pay by wallet"
                text={`WALLET_KEY=0x… npx market pay "Say hello." --url ${location.origin} --private-key-env WALLET_KEY`}
              />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  )
}

type Live = { readonly creditBalanceUsdc: string; readonly heldUsdc: string }

function Balances({ data: { me }, live }: { readonly data: BuyerCreditQuery; readonly live: Live | undefined }) {
  const held = live?.heldUsdc ?? me?.heldUsdc
  return (
    <Stats
      figures={[
        {
          label: 'Available credit',
          value: <Money micro={live?.creditBalanceUsdc ?? me?.creditBalanceUsdc} />,
          hint: 'prepaid credit less the held amount',
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
