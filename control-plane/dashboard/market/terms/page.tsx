import { Prose } from '#control-plane/dashboard/ui/prose.tsx'

const CHAPTERS = [
  {
    title: 'What you buy',
    lines: [
      'You call one API. The market sends each call to an independent seller. You pay the price that the seller asked when you called.',
      'The receipt of a call shows its usage, list price, discount and charge. They always add up.',
    ],
  },
  {
    title: 'What you pay for',
    lines: [
      'You pay for answers. A call that fails before its answer begins, or that returns no output, costs nothing.',
      'Before each call, we reserve the most that the call can cost. When the call ends, we release the rest.',
      'Calls with a key use your prepaid credit. Payments from a wallet settle on the blockchain and cannot be reversed there.',
    ],
  },
  {
    title: 'What sellers agree to',
    lines: [
      'List only capacity that the terms of your provider let you resell.',
      'For each call you get its discounted price, less our fee. The Fees page shows the fee.',
      'The operator can remove an offer that answers with another model or keeps failing.',
    ],
  },
  {
    title: 'Fair use',
    lines: [
      'Do not break the law or the rules of the model that you call. Do not work around the limits of your keys.',
      'Keep your keys secret. You pay for every call with a key until you revoke the key.',
    ],
  },
  {
    title: 'No warranty',
    lines: [
      'Models can be wrong. Prices, sellers and models can change at any time. The Status page shows how many calls were answered, today and before.',
      'The operator of this market may add terms. Ask the operator before you rely on this page as a contract.',
    ],
  },
]

export function TermsPage() {
  return (
    <Prose
      title="Terms"
      about="What you can rely on here, and what the market expects of you."
      changed="28 November 2026"
      chapters={CHAPTERS}
    />
  )
}
