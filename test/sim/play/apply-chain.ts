import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import { WALLETS } from '#test/sim/model/wallets.ts'
import type { ChainEvent } from '#test/sim/plan/payment-plan.ts'
import type { World } from '#test/sim/world/world.ts'

/** Largest number of payments that one stranger sends. */
const MOST_FRONT_RUN = 3

/** Applies an event of the chain, and notes in the model the failures that it excuses. */
export function applyChain({ ground, model }: World, event: ChainEvent): void {
  const { chain: host, scheduler, postgres } = ground
  if (host === undefined) return
  const { chain } = host
  const walletOf = (index: number) => (WALLETS[index % WALLETS.length] ?? WALLETS[0]).payer
  switch (event.what) {
    case 'reorganise':
      chain.reorganise(event.depth)
      return
    case 'forget':
      chain.forgetWaiting()
      return
    case 'full':
      chain.setFull(scheduler.now() + event.ms)
      return
    case 'greedless':
      host.takeLess(event.ms)
      return
    case 'no_gas':
      chain.setGas(false)
      scheduler.after(event.ms, () => chain.setGas(true))
      return
    case 'endpoint':
      host.fault(event.fault, event.ms)
      return
    case 'drain': {
      const payer = walletOf(event.wallet)
      chain.drain(payer, event.percent)
      for (const payment of model.payments.values()) if (payment.payer === payer) payment.isDrained = true
      return
    }
    case 'fund':
      chain.fund(walletOf(event.wallet), BigInt(event.amount))
      return
    case 'front_run': {
      const { payments, signed } = postgres.tables()
      const isWaiting = ({ state }: ChainPayment) => state === 'due' || state === 'written_off'
      // Strangers only know payments that were sent.
      const isKnown = ({ nonce }: ChainPayment) => [...signed.values()].some(({ ref }) => ref.endsWith(nonce))
      const rows = [...payments.values()].filter((row) => row.requirement['scheme'] === 'exact' && isWaiting(row))
      for (const { rid } of rows
        .filter((row) => row.state === 'written_off' || isKnown(row))
        .slice(0, MOST_FRONT_RUN)) {
        const payment = [...model.payments.values()].find(({ paidFor }) => paidFor === rid)
        if (payment !== undefined) chain.sendByOther(payment)
      }
      return
    }
  }
}
