import { Prose } from '#control-plane/dashboard/ui/prose.tsx'

const CHAPTERS = [
  {
    title: 'What the market records of a call',
    lines: [
      'The time, the model, the provider, the API key, the numbers of tokens or media units, how long the call took, its outcome and its cost.',
      'Prompts and answers are not part of that record.',
    ],
  },
  {
    title: 'Who sees your prompt',
    lines: [
      'The seller that serves a call, and the provider behind the seller, receive your prompt. Their own terms apply to it.',
      'You choose which providers may serve you: on the Routing page, or for each API key.',
    ],
  },
  {
    title: 'Your account',
    lines: [
      'Wallet address, public key of a passkey or e-mail address. We send sign-in links and the alerts that you choose, nothing else. API keys are stored as hashes: nobody can read them back.',
      'Provider keys of sellers are encrypted, and are used for calls alone.',
    ],
  },
  {
    title: 'What others see',
    lines: [
      'The public feed shows the model, the size and the price of calls, never who made them.',
      'Payments by wallet are public on the chain.',
    ],
  },
  {
    title: 'This browser',
    lines: [
      'One cookie keeps you signed in, and one tells which browser asked for a sign-in; scripts cannot read them. Two more keep your theme and your time zone.',
      'No trackers, no third parties: this page loads nothing from any other host.',
    ],
  },
]

export function PrivacyPage() {
  return <Prose title="Privacy" about="What is recorded, who sees it, and what is not kept." chapters={CHAPTERS} />
}
