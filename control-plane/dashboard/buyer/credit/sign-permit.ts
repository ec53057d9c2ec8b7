import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { at } from '#control-plane/dashboard/data/answer-of.ts'
import { ask } from '#control-plane/dashboard/data/client.ts'
import {
  PageCloseAllowanceDocument,
  PageOpenAllowanceDocument,
  PageSignAllowanceDocument,
} from '#control-plane/dashboard/data/documents/buyer.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import type { BrowserWallet } from '#control-plane/dashboard/data/wallets.ts'
import { signTypedData } from '#control-plane/dashboard/data/wallets.ts'

type PermitTerms = {
  readonly wallet: string
  readonly spender: string
  readonly asset: string
  readonly typedData: string | null
}
type Permit = { readonly typedData: string; readonly value: string; readonly deadline: number }

const MICRO = 1_000_000
const same = (left: unknown, right: string) => String(left).toLowerCase() === right.toLowerCase()

/**
 * The permit in an answer, after a check that it is the requested one. A wallet is never shown another. Throws an
 * Error.
 */
function permitOf({ wallet, spender, asset, typedData }: PermitTerms, address: string, value: string): Permit {
  if (typedData === null) throw new Error('The market made no permit to sign.')
  if (!same(address, wallet)) {
    throw new Error(
      `Your wallet uses ${address}. The account belongs to ${wallet}. Choose that address in your wallet.`,
    )
  }
  const typed: unknown = JSON.parse(typedData)
  const isAsAsked =
    same(at(typed, 'message', 'owner'), wallet) &&
    same(at(typed, 'message', 'spender'), spender) &&
    same(at(typed, 'domain', 'verifyingContract'), asset) &&
    at(typed, 'message', 'value') === value
  if (!isAsAsked) throw new Error('The market sent a different permit. Nothing was signed.')
  return { typedData, value, deadline: Number(at(typed, 'message', 'deadline')) }
}

/** Opens the line with a permit of an amount in US dollars, which a wallet signs. */
export function usePermit(options: { readonly onDone: () => void }) {
  const hand = useChange(PageSignAllowanceDocument, options)
  return useMutation({
    mutationFn: async ({ wallet, amountUsd }: { readonly wallet: BrowserWallet; readonly amountUsd: string }) => {
      const { signature, value, deadline } = await signTypedData(wallet, async (address) => {
        const idempotencyKey = crypto.randomUUID()
        const { openAllowance } = await ask(PageOpenAllowanceDocument, { amountUsd }, { idempotencyKey })
        return permitOf(openAllowance, address, String(Math.round(Number(amountUsd) * MICRO)))
      })
      await hand.mutateAsync({ value, deadline, signature })
    },
  })
}

/** Revokes the rest of the allowance of an ended line. `note` shows the reader the result. */
export function useRevocation() {
  const [note, setNote] = useState<string>()
  const hand = useChange(PageSignAllowanceDocument, {
    onDone: () => setNote('Signed. The allowance ends once the permit is in a block.'),
  })
  const revoke = useMutation({
    mutationFn: async (wallet: BrowserWallet) => {
      // A second close changes nothing, and returns a permit of 0 while the wallet has an allowance.
      const { closeAllowance } = await ask(PageCloseAllowanceDocument, {}, { idempotencyKey: crypto.randomUUID() })
      if (closeAllowance.typedData === null) return setNote('The wallet has no allowance to revoke.')
      const { signature, value, deadline } = await signTypedData(wallet, (address) =>
        Promise.resolve(permitOf(closeAllowance, address, '0')),
      )
      await hand.mutateAsync({ value, deadline, signature })
    },
  })
  return { revoke, note }
}
