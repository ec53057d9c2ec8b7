import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { ask } from '#control-plane/dashboard/data/client.ts'
import { PageOpenDepositDocument, PageSignDepositDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import type { BrowserWallet } from '#control-plane/dashboard/data/wallets.ts'
import { signTypedData, useWallets } from '#control-plane/dashboard/data/wallets.ts'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { SignButtons } from './sign-buttons.tsx'

/** The least signed deposit, in US dollars: the treasury pays its gas. */
const LEAST_USD = 1

/** Funds the account: a wallet signs an authorization, and the market submits it to the chain. */
export function TopUp() {
  const wallets = useWallets()
  return (
    <Card title="Top up with a wallet" about="USDC. You sign, and the market sends the transaction and pays the gas.">
      {wallets.length === 0 ? (
        <div className="form">
          <p className="muted">No wallet extension found. Install one, or use a terminal:</p>
          <Code
            label="Top up at the command line"
            text={`npx market deposit --usd 5 --private-key-from wallet.key --yes --url ${location.origin}`}
          />
        </div>
      ) : (
        <Deposit wallets={wallets} />
      )}
    </Card>
  )
}

async function openFor(amountUsd: string, address: string) {
  const variables = { amountUsd, sender: address.toLowerCase() }
  const { openDeposit } = await ask(PageOpenDepositDocument, variables, { idempotencyKey: crypto.randomUUID() })
  const { deposit, typedData } = openDeposit
  if (deposit === null || typedData === null) throw new Error('The market made no deposit to sign.')
  return { id: deposit.id, typedData }
}

function Deposit({ wallets }: { readonly wallets: readonly BrowserWallet[] }) {
  const say = useToast()
  const [amount, setAmount] = useState('')
  const hand = useChange(PageSignDepositDocument, {
    onDone: () => {
      setAmount('')
      say('Signed. Your balance grows once the transfer is in a block.')
    },
  })
  const sign = useMutation({
    mutationFn: async (wallet: BrowserWallet) => {
      const { id, signature } = await signTypedData(wallet, (address) => openFor(amount, address))
      await hand.mutateAsync({ id, signature })
    },
  })
  const isBusy = sign.isPending
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const [first] = wallets
    if (first !== undefined) sign.mutate(first)
  }
  return (
    <form className="form" onSubmit={submit}>
      <Input
        label="US dollars"
        hint={`${LEAST_USD} or more, in USDC of the signing wallet`}
        type="number"
        required
        min={LEAST_USD}
        step={0.000001}
        value={amount}
        onChange={({ currentTarget: { value } }) => setAmount(value)}
      />
      {sign.error === null ? null : <Notice tone="bad">{sign.error.message}</Notice>}
      <div className="actions">
        <SignButtons wallets={wallets} isDisabled={isBusy || Number(amount) < LEAST_USD} onSign={sign.mutate} />
      </div>
    </form>
  )
}
