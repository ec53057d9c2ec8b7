import { Prose } from '#control-plane/dashboard/ui/prose.tsx'

const CHAPTERS = [
  {
    title: 'What you buy',
    lines: [
      'You call one API. The market sends each call to an independent seller and charges you the price that the seller asked at that moment.',
      'The receipt of a call shows its usage, the list price, the discount and the charge. The four always add up.',
    ],
  },
  {
    title: 'What you pay for',
    lines: [
      'You pay for answers. A call that fails before its answer begins, or that returns no output, costs nothing.',
      'The market reserves the most that a call can cost before it sends the call, and gives back what the call did not use.',
      'Prepaid credit is spent call by call. Wallet payments are settled on the chain and cannot be reversed there.',
    ],
  },
  {
    title: 'What sellers agree to',
    lines: [
      'List only capacity that you may resell under the terms of your provider.',
      'You are paid the discounted price of each call less the fee of the market. The Fees page names the fee.',
      'The operator can take an offer off the market when it answers with another model or keeps failing.',
    ],
  },
  {
    title: 'Fair use',
    lines: [
      'Do not use the market to break the law, the rules of the model that you call, or the limits of your keys.',
      'Keep your keys secret. You answer for calls made with them until you revoke them.',
    ],
  },
  {
    title: 'No warranty',
    lines: [
      'Models can be wrong. Prices, sellers and models change at any time. The Status page shows how the market works now and how it worked before.',
      'The operator of this market may add terms of its own. Ask the operator before you rely on this page for a contract.',
    ],
  },
]

export function TermsPage() {
  return (
    <Prose title="Terms" about="What you can rely on here, and what the market expects of you." chapters={CHAPTERS} />
  )
}
