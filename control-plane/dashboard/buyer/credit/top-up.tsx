import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { ask } from '#control-plane/dashboard/data/client.ts'
import { PageOpenDepositDocument, PageSignDepositDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import type { BrowserWallet } from '#control-plane/dashboard/data/wallets.ts'
import { signTypedData, useWallets } from '#control-plane/dashboard/data/wallets.ts'
import { SampleCredit } from '#control-plane/dashboard/market/sample-credit.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { AmountField, EXAMPLE_USD, LEAST_USD } from './amount-field.tsx'
import { ByCommand } from './by-command.tsx'
import { SignButtons } from './sign-buttons.tsx'

type Props = {
  /** True for a new account of a development market, which gives it credit. */
  readonly hasSample: boolean
}

/** Funds the account: a wallet signs an authorization, and the market submits it to the chain. */
export function TopUp({ hasSample }: Props) {
  return (
    <Card title="Add credit" about="In USDC. Your wallet signs, and we send the transaction and pay the gas.">
      <div className="form" style={{ maxWidth: '28rem' }}>
        {hasSample ? (
          <div className="actions">
            <SampleCredit />
          </div>
        ) : null}
        <Deposit />
      </div>
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

function Deposit() {
  const say = useToast()
  const wallets = useWallets()
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
  const isEnough = Number(amount) >= LEAST_USD
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const [first] = wallets
    if (first !== undefined && isEnough) sign.mutate(first)
  }
  return (
    <form className="form" onSubmit={submit}>
      <AmountField
        label="Amount, US dollars"
        hint={`At least $${LEAST_USD}, in USDC of the wallet that signs`}
        value={amount}
        onChange={setAmount}
      />
      {sign.error === null ? null : <Notice tone="bad">{sign.error.message}</Notice>}
      <div className="actions">
        <SignButtons wallets={wallets} isDisabled={sign.isPending || !isEnough} onSign={sign.mutate} />
      </div>
      <ByCommand
        label="Add credit at the command line"
        command={`deposit --usd ${isEnough ? amount : EXAMPLE_USD} --private-key-from wallet.key --yes`}
      />
    </form>
  )
}
