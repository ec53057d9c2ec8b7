import type { ChainEvent } from './payment-plan.ts'
import { WALLETS } from './wallets.ts'
import type { World } from './world.ts'

/** Applies an event of the chain, and tells the model what it excuses. */
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
      // Only what was sent is known to others.
      const due = [...postgres.tables().payments.values()].find(({ state, rid, requirement }) => {
        const isSent = state === 'due' && requirement['scheme'] === 'exact'
        return isSent && [...postgres.tables().signed.values()].some(({ ref }) => ref.endsWith(nonceOf(rid)))
      })
      const payment = due && [...model.payments.values()].find(({ paidFor }) => paidFor === due.rid)
      if (payment !== undefined) chain.sendByOther(payment)
      return
    }
  }

  function nonceOf(rid: string): string {
    return postgres.tables().payments.get(rid)?.nonce ?? rid
  }
}
